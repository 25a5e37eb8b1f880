"""`torch.onnx.symbolic_opset11`: what an export would call. Nothing is exported."""

from .._absent import absent as _absent

globals().update(_absent(__name__, "add select squeeze unsqueeze", "jaxtorch exports no ONNX; use jax.export"))
