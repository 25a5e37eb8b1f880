"""What quantised layers compute: sums of products of integers, each rounded once to the result's scale and zero point.

Every function takes quantised tensors of `quint8` (weights: `qint8`) and gives one with the scale and zero point named last.
"""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.types import dtypes
from .._ops.quantized import quantize as _ops
from .._ops.types import constants
from ..nn import functional as F
from ._tensor import BITS, RANGES, QuantizedTensor, Scheme, like, make, per_tensor, quantized, values


def _need(x: Any, what: str) -> None:
    if not isinstance(x, QuantizedTensor):
        raise NotImplementedError(
            f"Could not run '{what}' with arguments from the 'CPU' backend: it takes a quantised tensor; see "
            "torch.quantize_per_tensor"
        )
    per_tensor(x, what)


def _finished(total: Any, x: Any, weight: Any, bias: Any, axis: int, scheme: Scheme, relu: bool, kind: Any) -> Any:
    """Sums of products of the integers of `x` and `weight` (channels at `axis`), as a quantised tensor."""
    shape = [-1 if d == axis else 1 for d in range(total.dim())]
    worth = functions["tensor"](x._scheme.scale, dtype=dtypes.float32, device=total.device)
    if weight._scheme.axis is None:
        factor = worth * functions["tensor"](weight._scheme.scale, dtype=dtypes.float32, device=total.device)
    else:
        factor = (worth * weight._scheme.scale.to(dtypes.float32)).reshape(shape)
    bias = None if bias is None else bias.detach().to(dtypes.float32).reshape(shape)
    low, high = RANGES[kind.name]
    scale, zero = scheme.arrays(0, total.device)
    ints = _ops._requantised(
        total, factor, bias, scale, zero, max(low, scheme.zero) if relu else low, high, BITS[kind.name]
    )
    return make(ints, scheme, kind)


def _centred(t: Any) -> Any:
    """The integers less what stands for 0, in float64, whose sums of products are exact."""
    _, zero = t._scheme.arrays(t.dim(), t.device)
    return t._ints.to(dtypes.float64) - zero.to(dtypes.float64)


def linear(x: Any, weight: Any, bias: Any, scale: float, zero_point: int, relu: bool = False) -> Any:
    """`x @ weight.T + bias`; x (..., in_features), weight (out_features, in_features), bias float32."""
    _need(x, "quantized::linear")
    if x.shape[-1] != weight.shape[1]:
        raise RuntimeError(f"The number of features in the input must be {weight.shape[1]}, but got {x.shape[-1]}")
    total = F.linear(_centred(x), _centred(weight))
    scheme = Scheme(float(scale), int(zero_point))
    return _finished(total, x, weight, bias, total.dim() - 1, scheme, relu, x._kind)


_CONVOLUTIONS = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}


def conv(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, scale: float, zero_point: int,
    relu: bool = False, padding_mode: str = "zeros", kind: Any = None,
) -> Any:  # fmt: skip
    """A convolution; padding with zeros means values, not integers, of 0."""
    _need(x, f"quantized::conv{weight.dim() - 2}d")
    if x.dim() != weight.dim():
        raise ValueError(
            "Input shape must be `(N, C, " + "L"[: x.dim() == 3] + "H, W"[: 4 * (weight.dim() == 4)] + ")`!"
        )
    inner = _centred(x)
    if padding_mode != "zeros":
        sides = [p for n in reversed(padding) for p in (n, n)]
        inner, padding = F.pad(inner, sides, mode=padding_mode), 0
    total = _CONVOLUTIONS[weight.dim()](inner, _centred(weight), None, stride, padding, dilation, groups)
    scheme = Scheme(float(scale), int(zero_point))
    found = _finished(total, x, weight, bias, 1, scheme, relu, x._kind if kind is None else kind)
    if weight.dim() == 3:
        return found
    order = (
        constants.channels_last if weight.dim() == 4 else constants.channels_last_3d
    )  # as PyTorch's kernels leave it
    return like(found, found._ints.contiguous(memory_format=order))


def requantised(found: Any, scale: Any, zero_point: Any, kind: Any) -> Any:
    """A float32 result in integers of a scale and zero point."""
    return quantized(found, Scheme(float(scale), int(zero_point)), kind)


def through(function: Any, x: Any, scale: Any, zero_point: Any) -> Any:
    """A function of the values, such as an activation."""
    _need(x, f"quantized::{getattr(function, '__name__', 'function')}")
    return requantised(function(values(x)), scale, zero_point, x._kind)


def add(a: Any, b: Any, scale: Any, zero_point: Any, relu: bool = False) -> Any:
    """`a + b`; with `relu` what is below 0 is 0."""
    _need(a, "quantized::add")
    _need(b, "quantized::add")
    total = values(a) + values(b)
    return requantised(total.relu() if relu else total, scale, zero_point, a._kind)


def mul(a: Any, b: Any, scale: Any, zero_point: Any, relu: bool = False) -> Any:
    """`a * b`."""
    _need(a, "quantized::mul")
    _need(b, "quantized::mul")
    total = _centred(a) * _centred(b)
    worth = functions["tensor"](a._scheme.scale * b._scheme.scale, dtype=dtypes.float64, device=total.device)
    scheme = Scheme(float(scale), int(zero_point))
    low, high = RANGES[a._kind.name]
    arrays = scheme.arrays(0, total.device)
    ints = _ops._requantised(
        total, worth, None, *arrays, max(low, scheme.zero) if relu else low, high, BITS[a._kind.name]
    )
    return make(ints, scheme, a._kind)


def cat(tensors: Any, dim: int, scale: Any, zero_point: Any, relu: bool = False) -> Any:
    """Tensors one after the other, each rounded to the result's scale."""
    for t in tensors:
        _need(t, "quantized::cat")
    joined = functions["cat"]([values(t) for t in tensors], dim)
    return requantised(joined.relu() if relu else joined, scale, zero_point, tensors[0]._kind)


def matmul(a: Any, b: Any, scale: Any, zero_point: Any) -> Any:
    """`a @ b`."""
    _need(a, "quantized::matmul")
    _need(b, "quantized::matmul")
    return requantised(values(a) @ values(b), scale, zero_point, a._kind)


def add_scalar(x: Any, y: float, relu: bool = False) -> Any:
    """`x + y`: the same integers, whose zero point moves; where it cannot, integers of a wider scale."""
    _need(x, "quantized::add_scalar")
    low, high = RANGES[x._kind.name]
    scale, zero = x._scheme.scale, x._scheme.zero
    moved = zero - round(float(y) / scale)
    if low <= moved <= high:
        found = make(x._ints.clone(), Scheme(scale, moved), x._kind)
        return found.relu() if relu else found
    if moved < low:
        wider = Scheme((high - moved) / (high - low) * scale, low)
    else:
        wider = Scheme((moved - low) / (high - low) * scale, high)
    total = values(make(x._ints, Scheme(scale, moved), x._kind))
    return quantized(total.relu() if relu else total, wider, x._kind)


def mul_scalar(x: Any, y: float, relu: bool = False) -> Any:
    """`x * y`: the same integers of another scale; mirrored where y is negative."""
    _need(x, "quantized::mul_scalar")
    low, high = RANGES[x._kind.name]
    scale, zero, y = x._scheme.scale, x._scheme.zero, float(y)
    if y > 0:
        found = make(x._ints.clone(), Scheme(scale * y, zero), x._kind)
    elif y < 0:
        mirrored = (high + low - x._ints.to(dtypes.int64)).to(x._ints.dtype)
        found = make(mirrored, Scheme(-scale * y, high + low - zero), x._kind)
    else:
        found = make(functions["zeros_like"](x._ints), Scheme(1.0, 0), x._kind)
    return found.relu() if relu else found


def batch_norm(x: Any, bn: Any, scale: Any, zero_point: Any, relu: bool = False) -> Any:
    """Normalisation by running statistics, then an affine map."""
    _need(x, "quantized::batch_norm")
    found = F.batch_norm(values(x), bn.running_mean, bn.running_var, bn.weight, bn.bias, False, 0.0, bn.eps).detach()
    return requantised(found.relu() if relu else found, scale, zero_point, x._kind)


operators = {
    "add": add,
    "add_relu": lambda qa, qb, scale, zero_point: add(qa, qb, scale, zero_point, True),
    "add_scalar": add_scalar,
    "mul": mul,
    "mul_relu": lambda qa, qb, scale, zero_point: mul(qa, qb, scale, zero_point, True),
    "mul_scalar": mul_scalar,
    "matmul": matmul,
    "cat": lambda qx, dim, scale, zero_point: cat(
        qx, dim, qx[0].q_scale() if scale is None else scale, qx[0].q_zero_point() if zero_point is None else zero_point
    ),
}
"""`torch.ops.quantized`, by name: what takes no packed weights."""
