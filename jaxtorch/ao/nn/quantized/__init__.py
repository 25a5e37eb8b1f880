"""`torch.ao.nn.quantized`: layers that compute on integers."""

from . import dynamic as dynamic
from . import functional as functional
from . import modules as modules
from .modules import (
    ELU,
    BatchNorm2d,
    BatchNorm3d,
    Conv1d,
    Conv2d,
    Conv3d,
    DeQuantize,
    Dropout,
    FloatFunctional,
    FXFloatFunctional,
    GroupNorm,
    Hardswish,
    LayerNorm,
    LeakyReLU,
    Linear,
    QFunctional,
    Quantize,
    ReLU6,
    Sigmoid,
    Softmax,
)
from .modules import MaxPool2d as MaxPool2d

__all__ = ["ELU", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "DeQuantize", "Dropout", "FXFloatFunctional",
           "FloatFunctional", "GroupNorm", "Hardswish", "LayerNorm", "LeakyReLU", "Linear", "QFunctional", "Quantize", "ReLU6",
           "Sigmoid", "Softmax"]  # fmt: skip

ABSENT = """ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag InstanceNorm1d InstanceNorm2d InstanceNorm3d
PReLU""".split()
"""Layers whose making raises NotImplementedError."""
globals().update({name: getattr(modules, name) for name in [*ABSENT, "LSTM", "MultiheadAttention"]})
