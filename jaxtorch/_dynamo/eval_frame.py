"""`torch._dynamo.eval_frame`."""

from .._compile import OptimizedModule

__all__ = ["OptimizedModule"]
