"""The decompositions of layers' functions (see `aten_decompositions.py`)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.dispatch.torch_dispatch import refused, rules
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._ops.types.constants import strided
from .._ops.types.typeinfo import finfo
from ..nn import functional
from .aten_creation_decompositions import bernoulli
from .aten_decompositions import aten, made_of, of_operation
from .aten_overloads import show

# -- activations


def _softmax(name: str) -> Callable[..., Any]:
    def rule(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
        if dim is None:
            raise refused(f"'{name}' without a dimension")
        if isinstance(_stacklevel, dtypes.dtype):
            dtype = _stacklevel
        given = input if dtype is None else input.to(dtype)
        return aten("_" + name)(given, dim, False)

    return rule


rules["softmax"], rules["log_softmax"] = _softmax("softmax"), _softmax("log_softmax")


@made_of("softmin")
def _softmin(input: Tensor, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    return rules["softmax"](-input, dim, 3, dtype)


_SELU = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@made_of("selu")
def _selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        raise refused("'selu' in place")
    return show("elu", input, *_SELU)


@made_of("tanhshrink")
def _tanhshrink(input: Tensor) -> Tensor:
    return input - input.tanh()


@made_of("softsign")
def _softsign(input: Tensor) -> Tensor:
    return input / (input.abs() + 1)


@made_of("logsigmoid")
def _logsigmoid(input: Tensor) -> Tensor:
    return aten("log_sigmoid_forward")(input)[0]


@made_of("_drop")
def _drop(input: Tensor, p: float, inplace: bool, feature: bool) -> Tensor:
    """What all dropout but alpha dropout ends in (`_ops/nn/dropout.py`), where there is something to drop."""
    if p == 1:
        noise = aten("zeros")([], dtype=input.dtype, layout=strided, device=input.device)
    else:
        if feature:
            noise = aten("new_empty")(input, [*input.shape[:2], *[1] * (input.dim() - 2)])
        else:
            noise = aten("empty_like")(input)
        noise = aten("div_.Scalar")(bernoulli(noise, 1 - p), 1 - p)
    return show("mul_" if inplace else "mul", input, noise)


@of_operation("embedding", of=functional.embedding)
def _embedding(a: Any) -> Tensor:
    if isinstance(a.input, Tensor) and a.input.dtype.is_floating_point:
        a.input, a.weight = a.weight, a.input  # torch.embedding
    if a.max_norm is not None:
        raise refused("'embedding' with max_norm")
    rest = [-1 if a.padding_idx is None else a.padding_idx % a.weight.shape[0], a.scale_grad_by_freq, a.sparse]
    for default in (False, False, -1):
        if rest and rest[-1] == default and type(rest[-1]) is type(default):
            rest.pop()
        else:
            break
    return aten("embedding")(a.weight, a.input, *rest)


# -- convolutions and pooling


def _pair(x: Any, n: int) -> list[int]:
    return [x] * n if isinstance(x, int) else list(x) * (n if len(x) == 1 else 1)


def _convolution(n: int) -> Callable[..., Any]:
    def rule(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        if isinstance(padding, str) or input.dim() != n + 2:
            raise refused(f"'conv{n}d' with padding in words or without a batch")
        rest = [_pair(stride, n), _pair(padding, n), _pair(dilation, n), False, [0] * n, groups]
        return aten("convolution")(input, weight, bias, *rest)

    return rule


def _transposed(n: int) -> Callable[..., Any]:
    def rule(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        if input.dim() != n + 2:
            raise refused(f"'conv_transpose{n}d' without a batch")
        rest = [_pair(stride, n), _pair(padding, n), _pair(dilation, n), True, _pair(output_padding, n), groups]
        return aten("convolution")(input, weight, bias, *rest)

    return rule


for _n in (1, 2, 3):
    rules[f"conv{_n}d"], rules[f"conv_transpose{_n}d"] = _convolution(_n), _transposed(_n)


@of_operation("max_pool2d", "max_pool2d_with_indices", of=functional.max_pool2d)
def _max_pool2d(a: Any) -> Any:
    if a.input.dim() != 4:
        raise refused("'max_pool2d' without a batch")
    kernel = _pair(a.kernel_size, 2)
    step = [] if a.stride is None or a.stride == [] else _pair(a.stride, 2)
    rest = [step, _pair(a.padding, 2), _pair(a.dilation, 2), a.ceil_mode]
    for default in (False, [1, 1], [0, 0], []):
        if rest[-1] != default:
            break
        rest.pop()
    found = aten("max_pool2d_with_indices")(a.input, kernel, *rest)
    return found if a.return_indices else found[0]


@of_operation("avg_pool2d")
def _avg_pool2d(a: Any) -> Tensor:
    kernel = _pair(a.kernel_size, 2)
    step = [] if a.stride is None or a.stride == [] else _pair(a.stride, 2)
    rest = [step, _pair(a.padding, 2), a.ceil_mode, a.count_include_pad, a.divisor_override]
    for default in (None, True, False, [0, 0], []):
        if rest[-1] != default:
            break
        rest.pop()
    return aten("avg_pool2d")(a.input, kernel, *rest)


@made_of("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    size = _pair(output_size, 2)
    if size == [1, 1]:
        return show("mean", input, [-1, -2], True)
    return aten("_adaptive_avg_pool2d")(
        input, [n if s is None else s for s, n in zip(size, input.shape[-2:], strict=True)]
    )


def _flat_pool(name: str) -> Callable[..., Any]:
    def rule(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *rest: Any, **named: Any) -> Any:
        if rest or any(named.values()) or padding not in (0, (0,), [0]):
            raise refused(f"'{name}1d' with padding and more")
        kernel = [1, *_pair(kernel_size, 1)]
        step = kernel if stride is None or stride == [] else [1, *_pair(stride, 1)]
        found = aten("max_pool2d_with_indices" if name == "max_pool" else "avg_pool2d")(
            input.unsqueeze(-2), kernel, step
        )
        if name == "avg_pool":
            return found.squeeze(-2)
        values, _ = [x.squeeze(-2) for x in found]
        return values

    return rule


rules["max_pool1d"], rules["avg_pool1d"] = _flat_pool("max_pool"), _flat_pool("avg_pool")


@made_of("pad")
def _pad(input: Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    if mode != "constant":
        raise refused(f"'pad' with mode='{mode}'")
    return aten("constant_pad_nd")(input, list(pad), 0.0 if value is None else value)


# -- normalisation


@made_of("rms_norm")
def _rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: Any = None) -> Tensor:
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise refused("'rms_norm' of half precision")
    dims = [input.dim() - 1 - i for i in reversed(range(len(normalized_shape)))]
    mean = show("pow", input, 2).mean(dims, True)
    scale = aten("add_.Scalar")(mean, finfo(input.dtype).eps if eps is None else eps).rsqrt()
    out = input * scale
    return out if weight is None else out * weight


@made_of("normalize")
def _normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    norm = rules["norm"](input, p, dim, True)
    return input / norm.clamp_min(eps).expand_as(input)


@of_operation("instance_norm", of=functional.instance_norm)
def _instance_norm(a: Any) -> Tensor:
    if (
        a.running_mean is not None
        or a.running_var is not None
        or not a.use_input_stats
        or a.weight is not None
        or a.bias is not None
    ):
        raise refused("'instance_norm' with running statistics or weights")
    n, c = a.input.shape[:2]
    flat = show("view", a.input.contiguous(), [1, n * c, *a.input.shape[2:]])
    return show("view", _batch_norm(flat, None, None, None, None, True, a.momentum, a.eps), list(a.input.shape))


@made_of("layer_norm")
def _layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, *rest: Any
) -> Tensor:
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    return aten("native_layer_norm")(input, shape, weight, bias, eps)[0]


@made_of("group_norm")
def _group_norm(input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    n, c = input.shape[:2]
    return aten("native_group_norm")(input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, eps)[0]


@of_operation("batch_norm", of=functional.batch_norm)
def _batch_norm(a: Any) -> Tensor:
    aten("empty.memory_format")([0], dtype=dtypes.uint8, layout=strided, device=a.input.device)  # as in PyTorch
    return aten("native_batch_norm")(
        a.input, a.weight, a.bias, a.running_mean, a.running_var, a.training, a.momentum, a.eps
    )[0]
