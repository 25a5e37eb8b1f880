"""`torch._higher_order_ops.associative_scan`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "associative_scan",
        "see jax.lax.associative_scan and jaxtorch.interop.jax_function",
    )
)
