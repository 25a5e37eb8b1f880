"""`torch.utils.benchmark.utils`."""

from . import common, compare, timer

__all__ = ["common", "compare", "timer"]
