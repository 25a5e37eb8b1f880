"""`torch.ao.nn.quantized`: layers that compute on integers."""

# ruff: noqa: F403 - the names of these modules are the package's
from . import dynamic as dynamic
from . import functional as functional
from . import modules as modules
from .modules import *
from .modules import MaxPool2d as MaxPool2d

__all__ = []
__all__ += modules.__all__

ABSENT = """ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag InstanceNorm1d InstanceNorm2d InstanceNorm3d
PReLU""".split()
"""Layers whose making raises NotImplementedError."""
globals().update({name: getattr(modules, name) for name in [*ABSENT, "LSTM", "MultiheadAttention"]})
