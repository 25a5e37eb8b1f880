"""`torch.utils.serialization`: settings of `torch.save` and `torch.load`."""

from . import config as config

__all__ = ["config"]
