"""`torch.onnx.operators`: names that libraries import; using one raises NotImplementedError."""

from .._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "shape_as_tensor reshape_from_tensor_shape",
        "jaxtorch exports no ONNX; use jax.export",
    )
)
