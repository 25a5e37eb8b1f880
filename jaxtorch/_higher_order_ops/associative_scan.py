"""`torch._higher_order_ops.associative_scan`."""

from ._control import associative_scan as associative_scan
