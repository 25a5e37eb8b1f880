"""`torch.fx.passes`: what goes through a graph node by node."""

from . import shape_prop

__all__ = ["shape_prop"]
