"""`torch._higher_order_ops.inline_asm_elementwise`, which has no meaning on XLA's devices."""

from .._private_names.absent import absent_function as _absent_function

__all__ = ["inline_asm_elementwise"]

inline_asm_elementwise = _absent_function(
    "torch._higher_order_ops.inline_asm_elementwise", "XLA's programs hold no assembly of somebody else"
)
