"""`torch._higher_order_ops.scan`."""

from ._control import scan as scan
