"""`torch.fx.experimental.proxy_tensor`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "make_fx get_proxy_mode",
        "use torch.fx.symbolic_trace, or jax.make_jaxpr",
    )
)
