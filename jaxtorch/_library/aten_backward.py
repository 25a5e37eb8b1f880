"""The operations of `torch.ops.aten` that backward passes are made of, such as `convolution_backward`, on their own.

jaxtorch's backward passes are not made of them; modes with a `__torch_dispatch__` see them, and programs may call them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import enable_grad, no_grad
from .._ops.nn import activation
from .._ops.other_forms import torch_forms
from ..autograd._gradients import grad
from ..nn import functional

FUNCTIONS: dict[str, Callable[..., Any]] = {}


def _offer(fn: Any) -> Any:
    FUNCTIONS[fn.__name__] = fn
    return fn


def _gradients(fn: Callable[..., Any], inputs: list[Any], grads: Any, mask: Any = None) -> list[Any]:
    """The gradients of `fn(*inputs)` for those of the inputs that the mask names, None for the others."""
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and (mask is None or mask[i])]
    if not wanted:
        return [None] * len(inputs)
    with enable_grad():
        given = [x.detach().requires_grad_(i in wanted) if isinstance(x, Tensor) else x for i, x in enumerate(inputs)]
        made = fn(*given)
    found = iter(grad(made, [given[i] for i in wanted], grads, allow_unused=True))
    return [next(found) if i in wanted else None for i in range(len(inputs))]


# -- elementwise


@_offer
def threshold_backward(grad_output: Tensor, self: Tensor, threshold: Any) -> Tensor:
    """The gradient where `self` is above the threshold, 0 elsewhere."""
    return grad_output.masked_fill(self <= threshold, 0)


@_offer
def sigmoid_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """`grad * output * (1 - output)`."""
    return grad_output * (1 - output) * output


@_offer
def tanh_backward(grad_output: Tensor, output: Tensor) -> Tensor:
    """`grad * (1 - output^2)`."""
    return grad_output * (1 - output * output)


@_offer
def gelu_backward(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
    """The gradient of `gelu`."""
    return _gradients(lambda x: functional.gelu(x, approximate=approximate), [self], grad_output)[0]


def _backward_of(name: str) -> None:
    def backward(grad_output: Tensor, self: Tensor) -> Tensor:
        return _gradients(getattr(functional, name), [self], grad_output)[0]

    backward.__name__ = backward.__qualname__ = f"{name}_backward"
    backward.__doc__ = f"The gradient of `{name}`."
    _offer(backward)


for _name in ("silu", "mish", "hardswish", "hardsigmoid"):
    _backward_of(_name)


@_offer
def leaky_relu_backward(grad_output: Tensor, self: Tensor, negative_slope: Any, self_is_result: bool) -> Tensor:
    """The gradient where `self` is positive, `negative_slope` times it elsewhere."""
    return functions["where"](self > 0, grad_output, grad_output * negative_slope)


@_offer
def hardtanh_backward(grad_output: Tensor, self: Tensor, min_val: Any, max_val: Any) -> Tensor:
    """The gradient where `self` is strictly between the bounds, 0 elsewhere."""
    return grad_output.masked_fill((self <= min_val) | (self >= max_val), 0)


@_offer
def elu(self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Tensor:
    """`elu` with a scale of its result and one of its input below zero."""
    if input_scale != 1:
        raise NotImplementedError("torch.ops.aten.elu: jaxtorch has no input_scale")
    made = functional.elu(self, float(alpha))
    return made if scale == 1 else made * scale


@_offer
def elu_backward(
    grad_output: Tensor, alpha: Any, scale: Any, input_scale: Any, is_result: bool, self_or_result: Tensor
) -> Tensor:
    """The gradient of `scale * elu(x)`, at x or, with `is_result`, at the result."""
    x, e = self_or_result, functions["exp"]
    below = input_scale * (x + alpha * scale) if is_result else input_scale * alpha * scale * e(x * input_scale)
    return functions["where"](x <= 0, grad_output * below, grad_output * scale)


@_offer
def softplus_backward(grad_output: Tensor, self: Tensor, beta: Any, threshold: Any) -> Tensor:
    """The gradient of `softplus`."""
    return _gradients(lambda x: functional.softplus(x, beta, threshold), [self], grad_output)[0]


@_offer
def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient of `glu`."""
    return _gradients(lambda x: functional.glu(x, dim), [self], grad_output)[0]


@_offer
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `softmax`, from its result."""
    product = grad_output * output
    return (product - output * product.sum(dim, True)).to(input_dtype)


@_offer
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any) -> Tensor:
    """The gradient of `log_softmax`, from its result."""
    return (grad_output - output.exp() * grad_output.sum(dim, True)).to(input_dtype)


# -- shapes


@_offer
def _safe_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """`softmax`, with zeros where there is nothing but -inf."""
    return activation._safe_softmax(self, dim, dtype)


@_offer
def select_backward(grad_output: Tensor, input_sizes: Any, dim: int, index: int) -> Tensor:
    """Zeros of the sizes with the gradient at one index of a dimension."""
    made = grad_output.new_zeros(input_sizes)
    made.select(dim, index).copy_(grad_output)
    return made


@_offer
def slice_backward(grad_output: Tensor, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Tensor:
    """Zeros of the sizes with the gradient at a slice of a dimension."""
    made = grad_output.new_zeros(input_sizes)
    made[(slice(None),) * (dim % len(input_sizes)) + (slice(start, end, step),)] = grad_output
    return made


@_offer
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradients of each row of a table, added up; none for the row `padding_idx`."""
    if scale_grad_by_freq:
        raise NotImplementedError("torch.ops.aten.embedding_dense_backward: jaxtorch has no scale_grad_by_freq there")
    flat, rows = indices.reshape(-1), grad_output.reshape(-1, grad_output.shape[-1])
    if padding_idx >= 0:
        rows = rows.masked_fill((flat == padding_idx)[:, None], 0)
    return grad_output.new_zeros(num_weights, grad_output.shape[-1]).index_add(0, flat, rows)


# -- layers


@_offer
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of a convolution's input, weight and bias, as far as the mask names them."""

    def run(x: Tensor, w: Tensor) -> Tensor:
        return functions["convolution"](x, w, None, stride, padding, dilation, transposed, output_padding, groups)

    found = _gradients(run, [input, weight], grad_output, output_mask)
    others = [0, *range(2, grad_output.dim())]
    return found[0], found[1], grad_output.sum(others) if output_mask[2] else None


@_offer
def native_layer_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Any,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    bias: Any,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of a layer normalisation's input, weight and bias, as far as the mask names them."""
    n = len(normalized_shape)
    normal = (input - mean) * rstd
    inner, outer = list(range(input.dim() - n, input.dim())), list(range(input.dim() - n))
    g = grad_out if weight is None else grad_out * weight
    whole = g - g.mean(inner, True) - normal * (g * normal).mean(inner, True)
    own = (grad_out * normal, grad_out)
    sums = [(x.sum(outer) if outer else x) if wanted else None for x, wanted in zip(own, output_mask[1:], strict=True)]
    return whole * rstd if output_mask[0] else None, *sums


@_offer
def native_group_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    weight: Any,
    N: int,
    C: int,
    HxW: int,
    group: int,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of a group normalisation's input, weight and bias, as far as the mask names them."""
    parts = (N, group, C // group, HxW)
    x, g = input.reshape(parts), grad_out.reshape(parts)
    normal = (x - mean.reshape(N, group, 1, 1)) * rstd.reshape(N, group, 1, 1)
    scaled = g if weight is None else g * weight.reshape(1, group, C // group, 1)
    whole = scaled - scaled.mean((2, 3), True) - normal * (scaled * normal).mean((2, 3), True)
    whole = (whole * rstd.reshape(N, group, 1, 1)).reshape(input.shape)
    own = [
        (y.sum((0, 3)).reshape(C) if wanted else None)
        for y, wanted in zip((g * normal, g), output_mask[1:], strict=True)
    ]
    return whole if output_mask[0] else None, *own


@_offer
def native_batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Any,
    running_mean: Any,
    running_var: Any,
    save_mean: Any,
    save_invstd: Any,
    train: bool,
    eps: float,
    output_mask: Any,
) -> tuple[Any, ...]:
    """The gradients of a batch normalisation's input, weight and bias, as far as the mask names them."""
    axes, shape = [0, *range(2, input.dim())], [1, -1, *[1] * (input.dim() - 2)]
    mean = (save_mean if train else running_mean).reshape(shape)
    scale = save_invstd.reshape(shape) if train else (running_var.reshape(shape) + eps).rsqrt()
    normal = (input - mean) * scale
    g = grad_out if weight is None else grad_out * weight.reshape(shape)
    whole = g - g.mean(axes, True) - normal * (g * normal).mean(axes, True) if train else g
    own = [
        (y.sum(axes) if wanted else None)
        for y, wanted in zip((grad_out * normal, grad_out), output_mask[1:], strict=True)
    ]
    return whole * scale if output_mask[0] else None, *own


@_offer
def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """The gradients at the places of the maxima, added up."""
    flat = self.new_zeros(*self.shape[:-2], self.shape[-2] * self.shape[-1])
    return flat.scatter_add(-1, indices.flatten(-2), grad_output.flatten(-2)).view(self.shape)


@_offer
def avg_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Any,
) -> Tensor:
    """The gradient of `avg_pool2d`."""

    def run(x: Tensor) -> Tensor:
        return functional.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    return _gradients(run, [self], grad_output)[0]


@_offer
def _adaptive_avg_pool2d(self: Tensor, output_size: Any) -> Tensor:
    """`adaptive_avg_pool2d`."""
    return functional.adaptive_avg_pool2d(self, output_size)


@_offer
def _adaptive_avg_pool2d_backward(grad_output: Tensor, self: Tensor) -> Tensor:
    """The gradient of `adaptive_avg_pool2d`."""
    size = grad_output.shape[-2:]
    return _gradients(lambda x: functional.adaptive_avg_pool2d(x, size), [self], grad_output)[0]


# -- attention


@_offer
def _scaled_dot_product_flash_attention_for_cpu(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: Any = None,
) -> tuple[Tensor, Tensor]:
    """`scaled_dot_product_attention`, and the logarithm of each query's sum of exponentials."""
    grouped = query.shape[1] != key.shape[1]
    out = functional.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=grouped
    )
    with no_grad():
        if grouped:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
        if attn_mask is not None:
            scores = scores + attn_mask
        if is_causal:
            above = functions["ones_like"](scores[0, 0]).triu(1).bool()
            scores = scores.masked_fill(above, float("-inf"))
        return out, scores.logsumexp(-1).float()


@_offer
def _scaled_dot_product_flash_attention_for_cpu_backward(
    grad_out: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logsumexp: Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: Any = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of attention's query, key and value."""

    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(
            q, k, v, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=q.shape[1] != k.shape[1]
        )

    found = _gradients(run, [query, key, value], grad_out)
    first, second, third = [g.transpose(1, 2).contiguous().transpose(1, 2) for g in found]  # as they lie in PyTorch
    return first, second, third


# -- losses


_REDUCTIONS = ("none", "mean", "sum")


def _loss_backward(name: str, **fixed: Any) -> None:
    """Offer the gradient of a loss of two tensors with one more number."""

    def backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, bound: float) -> Tensor:
        loss, more = getattr(functional, name), {fixed["bound"]: bound, "reduction": _REDUCTIONS[reduction]}
        return _gradients(lambda x: loss(x, target, **more), [self], grad_output)[0]

    def forward(self: Tensor, target: Tensor, reduction: int = 1, bound: float = 1.0) -> Tensor:
        return getattr(functional, name)(self, target, **{fixed["bound"]: bound, "reduction": _REDUCTIONS[reduction]})

    backward.__doc__, forward.__doc__ = f"The gradient of `{name}`.", f"`{name}` with its reduction as a number."
    FUNCTIONS[name + "_backward"], FUNCTIONS[name] = backward, forward


def _with_mean(loss: Callable[..., Tensor], place: int) -> Callable[..., Tensor]:
    """A loss of `torch` as ATen has it: its mean where no reduction is given, at this place or by its name."""

    @functools.wraps(loss)
    def reduced(*args: Any, **kwargs: Any) -> Tensor:
        return loss(*args, **kwargs if len(args) > place else {"reduction": 1, **kwargs})

    return reduced


for _name, _place in (
    ("kl_div", 2), ("cosine_embedding_loss", 4), ("hinge_embedding_loss", 3), ("margin_ranking_loss", 4),
    ("triplet_margin_loss", 7), ("binary_cross_entropy_with_logits", 4), ("ctc_loss", 5),
):  # fmt: skip
    FUNCTIONS[_name] = _with_mean(getattr(torch_forms, _name), _place)

_loss_backward("smooth_l1_loss", bound="beta")
_loss_backward("huber_loss", bound="delta")


@_offer
def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    """`mse_loss` with its reduction as a number."""
    return functional.mse_loss(self, target, reduction=_REDUCTIONS[reduction])


@_offer
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1) -> Tensor:
    """`binary_cross_entropy` with its reduction as a number."""
    return functional.binary_cross_entropy(self, target, weight, reduction=_REDUCTIONS[reduction])


@_offer
def binary_cross_entropy_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1
) -> Tensor:
    """The gradient of `binary_cross_entropy`."""
    return _gradients(lambda x: binary_cross_entropy(x, target, weight, reduction), [self], grad_output)[0]


@_offer
def log_sigmoid_forward(self: Tensor) -> tuple[Tensor, Tensor]:
    """`logsigmoid`, and an empty buffer."""
    return functional.logsigmoid(self), self.detach().new_zeros(self.shape)


@_offer
def log_sigmoid_backward(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
    """The gradient of `logsigmoid`."""
    return _gradients(functional.logsigmoid, [self], grad_output)[0]


@_offer
def mse_loss_backward(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of the squared error. reduction: 0 none, 1 the mean, 2 the sum."""
    return (self - target) * (2.0 / self.numel() if reduction == 1 else 2.0) * grad_output


def _nll_forward(self: Tensor, target: Tensor, weight: Any, reduction: int, ignore_index: int) -> tuple[Tensor, Tensor]:
    loss = functional.nll_loss(
        self, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction]
    )
    counted = target != ignore_index
    if reduction == 0:
        return loss, self.new_zeros(())
    if weight is None:
        return loss, counted.sum().to(self.dtype)
    return loss, (weight[target.masked_fill(~counted, 0)] * counted).sum()


def _nll_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    def run(x: Tensor) -> Tensor:
        return _nll_forward(x, target, weight, reduction, ignore_index)[0]

    return _gradients(run, [self], grad_output)[0]


for _name, _fn, _doc in (
    ("forward", _nll_forward, "`nll_loss` and the sum of the weights that it counted."),
    ("backward", _nll_backward, "The gradient of `nll_loss`."),
):
    for _kind in ("nll_loss_", "nll_loss2d_"):
        FUNCTIONS[_kind + _name] = _fn
