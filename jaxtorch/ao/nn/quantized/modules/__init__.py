"""`torch.ao.nn.quantized.modules`: layers that compute on integers."""

from __future__ import annotations

from typing import Any

from ..... import _quantized
from ....._core.define.op import functions
from ....._core.types import dtypes
from ....._private_names.absent import absent as _absent
from .....nn import Module
from .....nn.modules.pooling import MaxPool2d as MaxPool2d
from . import conv as conv
from . import functional_modules as functional_modules
from . import linear as linear
from .activation import ELU, Hardswish, LeakyReLU, ReLU6, Sigmoid, Softmax
from .batchnorm import BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d
from .dropout import Dropout
from .functional_modules import FloatFunctional, FXFloatFunctional, QFunctional
from .linear import Linear
from .normalization import GroupNorm, LayerNorm

__all__ = ["ELU", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "Conv3d", "DeQuantize", "Dropout", "FXFloatFunctional",
           "FloatFunctional", "GroupNorm", "Hardswish", "LayerNorm", "LeakyReLU", "Linear", "QFunctional", "Quantize", "ReLU6",
           "Sigmoid", "Softmax"]  # fmt: skip

_LAYERS = {
    "activation": "MultiheadAttention PReLU",
    "conv": "ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "embedding_ops": "Embedding EmbeddingBag",
    "normalization": "InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    "rnn": "LSTM",
}
for _module, _names in _LAYERS.items():
    globals().update(_absent(f"{__name__}.{_module}", _names, "jaxtorch has no quantised layer of this kind"))


class Quantize(Module):
    """Makes a float32 tensor a quantised one of `dtype`, by a scale and a zero point of one entry each."""

    scale: Any
    zero_point: Any
    _extra_repr_names = ("scale", "zero_point", "dtype")

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: Any = None) -> None:
        super().__init__()
        self.register_buffer("scale", functions["tensor"]([scale]))
        self.register_buffer("zero_point", functions["tensor"]([zero_point], dtype=dtypes.int64))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        return _quantized.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """That of an observed `QuantStub`."""
        if not hasattr(mod, "activation_post_process"):
            raise AssertionError("Expected 'activation_post_process' attribute on module")
        scale, zero = mod.activation_post_process.calculate_qparams()
        return Quantize(scale.float().item(), zero.long().item(), mod.activation_post_process.dtype)


class DeQuantize(Module):
    """Makes a quantised tensor a float32 one."""

    def forward(self, Xq: Any) -> Any:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """That of a `DeQuantStub`."""
        return DeQuantize()
