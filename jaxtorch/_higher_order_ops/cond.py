"""`torch._higher_order_ops.cond`."""

from .._rare import cond as cond
