"""The derivatives of the ATen operations of layers and losses, and of rarer ones (see `aten_derivatives.py`)."""

from __future__ import annotations

import math
from typing import Any

from .._core.dispatch.torch_dispatch import Derivative, refused
from .._core.tensor.tensor import Tensor
from .._ops.types.constants import strided
from .aten_decompositions import aten
from .aten_derivatives import nothing, of
from .aten_overloads import show


@of("constant_pad_nd")
def _pad(c: Derivative, self: Tensor, pad: Any, value: Any = 0) -> Any:
    return aten("constant_pad_nd")(c.grad, [-n for n in pad])


@of("_scaled_dot_product_flash_attention_for_cpu")
def _attention(
    c: Derivative,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    **scale: Any,
) -> Any:
    back = aten("_scaled_dot_product_flash_attention_for_cpu_backward")
    return back(c.grad, query, key, value, *c.outs, dropout_p, is_causal, attn_mask=attn_mask, **scale)


def _of_distance(name: str, *usual: float) -> None:
    @of(name)
    def rule(c: Derivative, self: Tensor, target: Tensor, reduction: int = 1, *bound: float) -> Any:
        back, given = aten(f"{name}_backward"), (reduction, *(bound or usual))
        return [
            back(c.grad, self, target, *given) if c.wants(self) else None,
            back(c.grad, target, self, *given) if c.wants(target) else None,
        ]


_of_distance("mse_loss")
_of_distance("smooth_l1_loss", 1.0)
_of_distance("huber_loss", 1.0)


@of("binary_cross_entropy")
def _binary_cross_entropy(c: Derivative, self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1) -> Any:
    if c.wants(target):
        raise refused("the derivative of 'binary_cross_entropy' by its target")
    rest = () if reduction == 1 else (reduction,)
    found = aten("binary_cross_entropy_backward")(c.grad, self, target, weight, *rest)
    return [found, None, *[None] * (weight is not None)]


@of("binary_cross_entropy_with_logits")
def _with_logits(
    c: Derivative, self: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    if c.wants(target):
        raise refused("the derivative of 'binary_cross_entropy_with_logits' by its target")
    if pos_weight is not None:
        positive = show("mul", pos_weight, target)
        factor = show("sub", aten("add.Scalar")(positive, 1), target)
        found = show("sub", show("mul", factor, self.sigmoid()), positive) * c.grad
        found = aten("div_.Scalar")(found, self.numel()) if reduction == 1 else found
        return [found, None, None]
    found = (self.sigmoid() - target) * c.grad
    return [aten("div_.Scalar")(found, self.numel()) if reduction == 1 else found, None]


@of("log_sigmoid_forward")
def _log_sigmoid(c: Derivative, self: Tensor) -> Any:
    return aten("log_sigmoid_backward")(c.grad, self, c.outs[1])


@of("celu")
def _celu(c: Derivative, self: Tensor, alpha: Any = 1.0) -> Any:
    return aten("elu_backward")(c.grad, alpha, 1, 1 / alpha, False, self)


@of("erf")
def _erf(c: Derivative, self: Tensor) -> Any:
    return aten("mul.Scalar")((-show("pow", self, 2)).exp(), 2 / math.sqrt(math.pi)) * c.grad


@of("linalg_vector_norm")
def _norm(c: Derivative, self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if ord != 2 or dtype is not None:
        raise refused("the derivative of a norm other than 2, or of another type")
    g, out = c.grad, c.out
    if not keepdim and dim is not None:
        for d in sorted(d % self.dim() for d in dim):
            g, out = g.unsqueeze(d), out.unsqueeze(d)
    return g * show("masked_fill_", self / out, show("eq", out, 0), 0)


@of("clamp_min", "clamp_min_")
def _clamp_min(c: Derivative, self: Tensor, min: Any) -> Any:
    rest = nothing()
    return aten("where.self")(show("ge", self, min), c.grad, rest)


@of("clamp")
def _clamp(c: Derivative, self: Tensor, min: Any = None, max: Any = None) -> Any:
    rest = nothing()
    if min is not None and max is not None:
        inside = show("logical_and_", show("ge", self, min), show("le", self, max))
    else:
        inside = show("ge", self, min) if min is not None else show("le", self, max)
    return aten("where.self")(inside, c.grad, rest)


@of("add_.Scalar", "add.Scalar")
def _add_number(c: Derivative, self: Tensor, other: Any) -> Any:
    return c.grad


@of("sign", "floor", "ceil", "round", "trunc")
def _flat(c: Derivative, self: Tensor) -> Any:
    return aten("zeros_like")(c.grad)


@of("flip")
def _flip(c: Derivative, self: Tensor, dims: Any) -> Any:
    return c.grad.flip(dims)


@of("pixel_shuffle")
def _pixel_shuffle(c: Derivative, self: Tensor, factor: int) -> Any:
    return show("pixel_unshuffle", c.grad, factor)


@of("cumsum")
def _cumsum(c: Derivative, self: Tensor, dim: int) -> Any:
    return show("cumsum", c.grad.flip([dim]), dim).flip([dim])


@of("unbind.int")
def _unbind(c: Derivative, self: Tensor, dim: int = 0) -> Any:
    parts = []
    for g, out in zip(c.grads, c.outs, strict=True):
        if g is None:
            made = aten("zeros")([], dtype=self.dtype, layout=strided, device=self.device)
            g = made.expand(out.shape)
        parts.append(g)
    return show("stack", parts, dim)


@of("embedding")
def _embedding(
    c: Derivative,
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    if sparse:
        raise refused("the backward pass of 'embedding' with sparse=True")
    given = weight.shape[0], padding_idx, scale_grad_by_freq
    return [aten("embedding_dense_backward")(c.grad, indices, *given), None]


@of("convolution")
def _convolution(c: Derivative, input: Tensor, weight: Tensor, bias: Any, *rest: Any) -> Any:
    sizes = [0] if bias is None else list(bias.shape)
    found = aten("convolution_backward")(c.grad, input, weight, sizes, *rest, c.mask(input, weight, bias))
    return found if bias is not None else found[:2]


def _given(found: Any, tensors: Any) -> list[Any]:
    return [g for g, t in zip(found, tensors, strict=True) if t is not None]


@of("native_layer_norm")
def _layer_norm(c: Derivative, input: Tensor, shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    own = input, weight, bias
    found = aten("native_layer_norm_backward")(c.grad, input, shape, *c.outs[1:], weight, bias, c.mask(*own))
    return _given(found, own)


@of("native_group_norm")
def _group_norm(
    c: Derivative, input: Tensor, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float
) -> Any:
    own = input, weight, bias
    found = aten("native_group_norm_backward")(
        c.grad.contiguous(), input, *c.outs[1:], weight, N, C, HxW, group, c.mask(*own)
    )
    return _given(found, own)


@of("native_batch_norm")
def _batch_norm(
    c: Derivative,
    input: Tensor,
    weight: Any,
    bias: Any,
    mean: Any,
    var: Any,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    own = input, weight, bias
    found = aten("native_batch_norm_backward")(
        c.grad, input, weight, mean, var, c.outs[1], c.outs[2], training, eps, c.mask(*own)
    )
    return [*_given(found, own), *[None for t in (mean, var) if t is not None]]


@of("max_pool2d_with_indices")
def _max_pool2d(
    c: Derivative,
    self: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    ceil: bool = False,
) -> Any:
    given = [kernel, list(stride), list(padding), list(dilation), ceil]
    return aten("max_pool2d_with_indices_backward")(c.grad, self, *given, c.outs[1])


@of("avg_pool2d")
def _avg_pool2d(
    c: Derivative,
    self: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = (0, 0),
    ceil: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    given = [kernel, list(stride), list(padding), ceil, count_include_pad, divisor_override]
    return aten("avg_pool2d_backward")(c.grad, self, *given)


@of("_adaptive_avg_pool2d")
def _adaptive_avg_pool2d(c: Derivative, self: Tensor, output_size: Any) -> Any:
    return aten("_adaptive_avg_pool2d_backward")(c.grad, self)


def _nll(name: str) -> None:
    @of(f"{name}_forward")
    def rule(c: Derivative, self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> Any:
        found = aten(f"{name}_backward")(c.grad, self, target, weight, reduction, ignore_index, c.outs[1])
        return [found, None, *[None] * (weight is not None)]


_nll("nll_loss")
_nll("nll_loss2d")
