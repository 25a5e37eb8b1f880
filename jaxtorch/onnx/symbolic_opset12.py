"""`torch.onnx.symbolic_opset12`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "dropout",
        "jaxtorch exports no ONNX; use jax.export",
    )
)
