"""Quantised tensors, and the functions of `torch` that make and read them.

They hold 8 or 32 bits an element (`qint8`, `quint8`, `qint32`), with one scale and zero point or one for each channel. Views,
copies, joins, comparison, sorting, `relu`, `clamp`, `sigmoid`, `tanh` and pooling work; what else there is in PyTorch for them raises
NotImplementedError naming the operation. Quantised layers are in `torch.ao.nn.quantized`.
"""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.define.signature import need_kind
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types import dtypes, warn_once
from .._ops.quantized import quantize as _ops
from . import _operations as _operations
from ._tensor import BITS, RANGES, QuantizedTensor, Scheme, make, quantized

_INTEGERS = {bits: name for name, bits in BITS.items()}
_DEPRECATED = (
    "torch.quantize_per_tensor, torch.quantize_per_channel and other quantized tensor creation functions that produce tensors "
    "with dtype torch.quint8, torch.qint8, and torch.qint32 are deprecated and will be removed in a future PyTorch release."
)


def _check(input: Tensor, dtype: Any) -> None:
    warn_once.once(_DEPRECATED, key="quantize")
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"quantize_per_tensor(): argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
    if dtype.name not in RANGES:
        if dtype.name in ("quint4x2", "quint2x4"):
            raise NotImplementedError(f"quantize_per_tensor(): jaxtorch has no tensors of {dtype}")
        raise RuntimeError(f"ScalarType {dtypes.scalar_name(dtype)} is not supported in new_qtensor.")
    if input.dtype.name != "float32":
        raise RuntimeError(f"Quantize only works on Float Tensor, got {dtypes.scalar_name(input.dtype)}")


def _check_zero(zero: int, dtype: Any, function: str) -> None:
    low, high = RANGES[dtype.name]
    if not low <= zero <= high:
        side = "below lower" if zero < low else "above upper"
        raise RuntimeError(f"{function} zero_point {zero} is {side} bound.")


def _given(function: str, **arguments: Any) -> list[Any]:
    """Arguments of which each has two names; TypeError where one is missing."""
    for name, (one, other) in arguments.items():
        if one is None and other is None:
            raise TypeError(f"{function}(): missing argument '{name}'")
    return [other if one is None else one for one, other in arguments.values()]


def quantize_per_tensor(
    input: Any = None,
    scale: Any = None,
    zero_point: Any = None,
    dtype: Any = None,
    *,
    tensors: Any = None,
    scales: Any = None,
    zero_points: Any = None,
) -> Any:
    """A float32 tensor as integers n of type `dtype` that stand for `(n - zero_point) * scale`.

    scale, zero_point: numbers or tensors of one element; for a list of tensors, tensors with an entry for each. A list may be
    given by the names `tensors`, `scales` and `zero_points`.
    RuntimeError for other tensors than float32 ones and for a zero point that the type does not hold.
    """
    names = {"input": (input, tensors), "scale": (scale, scales), "zero_point": (zero_point, zero_points)}
    input, scale, zero_point, dtype = _given("quantize_per_tensor", **names, dtype=(dtype, None))
    if isinstance(input, (list, tuple)):
        parts = zip(input, scale, zero_point, strict=True)
        return tuple([quantize_per_tensor(x, s.item(), z.item(), dtype) for x, s, z in parts])
    need_tensor(input, "quantize_per_tensor")
    for name, given, kind in (("scale", scale, "float"), ("zero_point", zero_point, "int")):
        if not (isinstance(scale, Tensor) and isinstance(zero_point, Tensor)):
            need_kind("quantize_per_tensor", name, kind, given)
    _check(input, dtype)
    scale = scale.item() if isinstance(scale, Tensor) else float(scale)
    zero = int(zero_point.item()) if isinstance(zero_point, Tensor) else int(zero_point)
    _check_zero(zero, dtype, "quantize_tensor_per_tensor_affine")
    return quantized(input, Scheme(scale, zero), dtype)


def quantize_per_tensor_dynamic(input: Tensor, dtype: Any, reduce_range: bool) -> QuantizedTensor:
    """A float32 tensor as integers of a scale and a zero point that suit its values; of 7 bits with `reduce_range`."""
    _check(input, dtype)
    if dtype.name not in ("qint8", "quint8"):
        raise RuntimeError("dtype must be torch.qint8 or torch.quint8")
    low, high = RANGES[dtype.name]
    if reduce_range:
        low, high = low // 2, high // 2
    lowest, highest = (input.min(), input.max()) if input.numel() else (functions["zeros"](()),) * 2
    scale, zero = _ops._quantization_range(lowest, highest, low, high)
    return quantized(input, Scheme(scale.item(), zero.item()), dtype)


def _per_channel(scales: Tensor, zero_points: Tensor, axis: int, sizes: Any) -> Scheme:
    if zero_points.dtype.is_floating_point:
        raise NotImplementedError("quantize_per_channel(): jaxtorch has integer zero points only")
    if scales.dim() != 1 or zero_points.dim() != 1:
        raise RuntimeError("scale and zero_point tensors must be of dimension 1")
    if scales.numel() != zero_points.numel():
        raise RuntimeError("number of elements in scales and zero_points must match")
    if not 0 <= axis < len(sizes):
        raise RuntimeError("Channel axis out of range in per channel affine quantization.")
    if sizes[axis] != scales.numel():
        raise RuntimeError(f"length of scales must equal to channel, expected {sizes[axis]} got, {scales.numel()}")
    return Scheme(scales.detach().to(dtypes.float64), zero_points.detach().to(dtypes.int64), axis)


def quantize_per_channel(input: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any) -> QuantizedTensor:
    """As `quantize_per_tensor`, with a scale and a zero point (n,) for each index of the dimension `axis` of size n."""
    _check(input, dtype)
    scheme = _per_channel(scales, zero_points, axis, input.shape)
    for zero in scheme.zero.tolist():
        _check_zero(zero, dtype, "quantize_tensor_per_channel_affine")
    return quantized(input, scheme, dtype)


def _kind_of(ints: Tensor) -> Any:
    if ints.dtype.name not in _INTEGERS:
        raise RuntimeError(f"expected integers of int8, uint8 or int32, but got {ints.dtype}")
    return dtypes._BY_NAME[_INTEGERS[ints.dtype.name]]


def _make_per_tensor_quantized_tensor(input: Tensor, scale: float, zero_point: int) -> QuantizedTensor:
    """The quantised tensor of a copy of these integers."""
    return make(input.clone(), Scheme(float(scale), int(zero_point)), _kind_of(input))


def _make_per_channel_quantized_tensor(input: Tensor, scale: Tensor, zero_point: Tensor, axis: int) -> QuantizedTensor:
    """The same with a scale and a zero point for each channel."""
    return make(input.clone(), _per_channel(scale, zero_point, axis, input.shape), _kind_of(input))


def _zeros(size: Any, dtype: Any, device: Any) -> Tensor:
    if getattr(dtype, "name", None) not in RANGES:
        raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")
    sizes = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return functions["zeros"](*sizes, dtype=dtypes._BY_NAME[BITS[dtype.name]], device=device)


def _empty_affine_quantized(
    *size: Any, scale: float = 1.0, zero_point: int = 0, dtype: Any = None, device: Any = None, **kwargs: Any
) -> QuantizedTensor:
    """A quantised tensor of a size; its integers are 0."""
    return make(_zeros(size, dtype, device), Scheme(float(scale), int(zero_point)), dtype)


def _empty_per_channel_affine_quantized(
    *size: Any, scales: Tensor, zero_points: Tensor, axis: int, dtype: Any = None, device: Any = None, **kwargs: Any
) -> QuantizedTensor:
    """The same with a scale and a zero point for each channel."""
    ints = _zeros(size, dtype, device)
    return make(ints, _per_channel(scales, zero_points, axis, ints.shape), dtype)


def dequantize(input: Any = None, *, tensors: Any = None) -> Any:
    """What a quantised tensor, or each of several (by the name `tensors` too), stands for, in float32."""
    (input,) = _given("dequantize", input=(input, tensors))
    return tuple([t.dequantize() for t in input]) if isinstance(input, (list, tuple)) else input.dequantize()


def int_repr(input: Tensor) -> Tensor:
    """A copy of a quantised tensor's integers."""
    return need_tensor(input, "int_repr").int_repr()


def q_scale(input: Tensor) -> float:
    """The scale of a tensor that is quantised per tensor."""
    return input.q_scale()


def q_zero_point(input: Tensor) -> int:
    """The integer that stands for 0 in a tensor that is quantised per tensor."""
    return input.q_zero_point()


def q_per_channel_scales(input: Tensor) -> Tensor:
    """(channels,) scales."""
    return input.q_per_channel_scales()


def q_per_channel_zero_points(input: Tensor) -> Tensor:
    """(channels,) integers that stand for 0."""
    return input.q_per_channel_zero_points()


def q_per_channel_axis(input: Tensor) -> int:
    """The dimension of the channels."""
    return input.q_per_channel_axis()


def _choose_qparams_per_tensor(input: Tensor, reduce_range: bool = False) -> tuple[float, int]:
    """(scale, zero_point) of 8 bits (of 7 with `reduce_range`) for a tensor's values."""
    scale, zero = _ops._quantization_range(input.min(), input.max(), 0, 127 if reduce_range else 255)
    return scale.item(), zero.item()
