"""`torch._higher_order_ops.cond`."""

from .._namespace.rare import cond as cond
