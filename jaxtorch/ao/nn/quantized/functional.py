"""`torch.ao.nn.quantized.functional`: functions of quantised tensors."""

from __future__ import annotations

from typing import Any

from ...._core.types import dtypes
from ...._quantized import layers as _layers
from ....nn import functional as _F
from ....nn.modules.utils import _pair, _single, _triple

__all__ = ["adaptive_avg_pool2d", "avg_pool2d", "clamp", "conv1d", "conv2d", "conv3d", "elu", "hardsigmoid", "hardswish",
           "hardtanh", "leaky_relu", "linear", "max_pool1d", "max_pool2d"]  # fmt: skip


def _quantised(input: Any, name: str) -> None:
    if not input.is_quantized:
        raise ValueError(f"Input to 'quantized.{name}' must be quantized!")


def linear(input: Any, weight: Any, bias: Any = None, scale: Any = None, zero_point: Any = None) -> Any:
    """`input @ weight.T + bias`, with the input's own scale and zero point unless others are given."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    return _layers.linear(input, weight, bias, scale, zero_point)


def _conv(
    sizes: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int, mode: str,
    scale: Any, zero_point: Any, dtype: Any,
) -> Any:  # fmt: skip
    if mode != "zeros":
        raise NotImplementedError("Only zero-padding is supported!")
    if input.dtype is not dtypes.quint8:
        raise NotImplementedError("Only torch.quint8 is supported for activation tensor!")
    if weight.dtype is not dtypes.qint8:
        raise NotImplementedError("Only torch.qint8 is supported for weight tensor!")
    return _layers.conv(
        input, weight, bias, sizes(stride), sizes(padding), sizes(dilation), groups, scale, zero_point, kind=dtype
    )


def conv1d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = dtypes.quint8,
) -> Any:  # fmt: skip
    """A convolution of quantised tensors (N, C, L)."""
    given = input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    return _conv(_single, *given)


def conv2d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = dtypes.quint8,
) -> Any:  # fmt: skip
    """A convolution of quantised tensors (N, C, H, W)."""
    given = input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    return _conv(_pair, *given)


def conv3d(
    input: Any, weight: Any, bias: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
    padding_mode: str = "zeros", scale: float = 1.0, zero_point: int = 0, dtype: Any = dtypes.quint8,
) -> Any:  # fmt: skip
    """A convolution of quantised tensors (N, C, D, H, W)."""
    given = input, weight, bias, stride, padding, dilation, groups, padding_mode, scale, zero_point, dtype
    return _conv(_triple, *given)


def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """The means of windows, in the input's own scale."""
    _quantised(input, "avg_pool2d")
    return _F.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means of windows that cover the input, in its own scale."""
    _quantised(input, "adaptive_avg_pool2d")
    return _F.adaptive_avg_pool2d(input, output_size)


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window."""
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return _F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest of each window."""
    if return_indices:
        raise NotImplementedError("return_indices is not yet implemented!")
    return _F.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def hardswish(input: Any, scale: float, zero_point: int) -> Any:
    """`hardswish` of the values, in the scale given."""
    _quantised(input, "hardswish")
    return _layers.through(_F.hardswish, input, scale, zero_point)


def elu(input: Any, scale: float, zero_point: int, alpha: float = 1.0) -> Any:
    """`elu` of the values, in the scale given."""
    _quantised(input, "elu")
    return _layers.through(lambda x: _F.elu(x, alpha), input, scale, zero_point)


def leaky_relu(
    input: Any, negative_slope: float = 0.01, inplace: bool = False, scale: Any = None, zero_point: Any = None
) -> Any:
    """`leaky_relu` of the values, with the input's own scale and zero point unless others are given."""
    scale = input.q_scale() if scale is None else scale
    zero_point = input.q_zero_point() if zero_point is None else zero_point
    found = _layers.through(lambda x: _F.leaky_relu(x, negative_slope), input, scale, zero_point)
    return input.copy_(found) if inplace else found


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """Values within [min_val, max_val]."""
    _quantised(input, "hardtanh")
    return _F.hardtanh(input, min_val, max_val, inplace)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """`hardsigmoid` of the values."""
    _quantised(input, "hardsigmoid")
    return _F.hardsigmoid(input, inplace)


def clamp(input: Any, min_: float, max_: float) -> Any:
    """Values within [min_, max_]."""
    _quantised(input, "clamp")
    return input.clamp(min_, max_)
