"""`torch._higher_order_ops.map`."""

from ._control import map as map
