"""Functions of `torch` whose better known form is in `torch.nn.functional`: other orders of arguments, and reductions as numbers
(0 none, 1 mean, 2 sum). Without one these losses are not reduced, unlike those of `nn.functional`.
"""

from __future__ import annotations

from typing import Any

from ..._core.define.op import Ints, Sizes, function, method
from ..._core.define.op import functions as _f
from ..._core.define.signature import MISSING, checked, need_kind
from ..._core.run.runner import concrete_array
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.tensor.views import detached
from ..._core.types import dtypes
from ..._core.types.size import need_sizes
from ..creation.from_data import pack
from ..losses import classification as _loss
from ..losses import ctc as _ctc
from ..losses import regression as _distance
from ..nn import convolution as _conv
from ..nn import normalization as _norm
from ..nn.activation import gelu as _gelu

_REDUCTIONS = {1: "mean", 2: "sum"}


def word(name: str, reduction: int) -> str:
    """The reduction that a number stands for; any but 1 and 2 for none, as in PyTorch."""
    need_kind(name, "reduction", "int", reduction)
    return _REDUCTIONS.get(int(reduction), "none")


@function("kl_div")
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div`, the reduction as a number."""
    return _distance._kl_div(input, target, None, None, word("kl_div", reduction), log_target)


@function("poisson_nll_loss")
@checked
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss`, the reduction as a number."""
    return _distance.poisson_nll_loss(
        input, target, log_input, full, eps=eps, reduction=word("poisson_nll_loss", reduction)
    )


@function("cosine_embedding_loss")
@checked
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss`, the reduction as a number."""
    return _distance.cosine_embedding_loss(
        input1, input2, target, margin, reduction=word("cosine_embedding_loss", reduction)
    )


@function("hinge_embedding_loss")
@checked
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`nn.functional.hinge_embedding_loss`, the reduction as a number."""
    return _distance.hinge_embedding_loss(input, target, margin, reduction=word("hinge_embedding_loss", reduction))


@function("margin_ranking_loss")
@checked
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss`, the reduction as a number."""
    if not input1.dim() == input2.dim() == target.dim():
        input1, input2, target = _f["broadcast_tensors"](input1, input2, target)
    return _distance.margin_ranking_loss(
        input1, input2, target, margin, reduction=word("margin_ranking_loss", reduction)
    )


@function("triplet_margin_loss")
@checked
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-06,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss`, the reduction as a number."""
    reduced = word("triplet_margin_loss", reduction)
    return _distance.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=reduced)


@function("binary_cross_entropy_with_logits")
@checked
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits`, the reduction as a number; the input is broadcast to the target."""
    if input.shape != target.shape:
        if pos_weight is not None:
            target.expand_as(input)  # which it cannot be as well
        input = input.expand_as(target)
    return _loss.binary_cross_entropy_with_logits(
        input, target, weight, reduction=word("binary_cross_entropy_with_logits", reduction), pos_weight=pos_weight
    )


@function("ctc_loss")
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss`, the reduction as a number."""
    return _ctc.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, word("ctc_loss", reduction), zero_infinity
    )


@function("batch_norm")
@checked
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm`, the parameters before the running moments."""
    return _norm.batch_normed(input, running_mean, running_var, weight, bias, training, momentum, eps)


@function("instance_norm")
@checked
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm`, the parameters before the running moments."""
    return _norm.instance_normed(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@function("convolution")
@checked
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes, transposed: bool,
    output_padding: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    """The convolution of 1, 2 or 3 dimensions, or its adjoint, that fits the weight."""
    n = weight.ndim - 2
    if n not in (1, 2, 3):
        raise RuntimeError(f"convolution: expected a weight of 3 to 5 dimensions, but got {weight.ndim}")
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {list(weight.shape)}, but got "
            f"{input.ndim}-dimensional input of size {list(input.shape)} instead"
        )
    if min(output_padding, default=0) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if transposed:
        adjoint = getattr(_conv, f"conv_transpose{n}d")
        return adjoint(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(_conv, f"conv{n}d")(input, weight, bias, stride, padding, dilation, groups)


@function("nuclear_norm")
def nuclear_norm(input: Tensor, dim: Any = MISSING, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of matrices in two dimensions, the last ones where none are given."""
    if isinstance(dim, bool):
        dim, keepdim = MISSING, dim
    if dim is MISSING:
        dim = (-2, -1) if need_tensor(input, "nuclear_norm").dim() > 1 else None
    else:
        need_sizes("nuclear_norm", "dim", dim, 2, alone=True)
        dim = tuple(dim) if isinstance(dim, (tuple, list)) else (int(dim), int(dim))  # one stands for both
    need_kind("nuclear_norm", "keepdim", "bool", keepdim)
    return _f["norm"](input, "nuc", dim, keepdim, out=out)


@function("detach")
def detach(input: Tensor) -> Tensor:
    """The same memory without its history."""
    return detached(need_tensor(input, "detach"))


@function("detach_")
def detach_(input: Tensor) -> Tensor:
    """Forget a tensor's history, in place."""
    return input.detach_()


@function("resize_as_")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give the tensor the shape of another, in place."""
    return input.resize_as_(the_template, memory_format=memory_format)


@function("frobenius_norm")
@checked
def frobenius_norm(input: Tensor, dim: Ints, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The root of the sum of the squared magnitudes over one or two dimensions."""
    if isinstance(dim, (tuple, list)) and len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return _f["norm"](input, "fro", dim, keepdim, out=out)


def _each(self: Tensor, fn: Any, others: tuple[Tensor, ...], name: str) -> Tensor:
    """Write what a Python function of the elements gives, one element after the other."""
    for given in others:
        if given.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {self.type()} for 'other' (got {given.type()})")
    if any(t.requires_grad for t in (self, *others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    size = self._value.aval.shape
    arrays = [concrete_array(t.detach().expand(size)._array()) for t in (self, *others)]
    values = [fn(*items) for items in zip(*[a.reshape(-1).tolist() for a in arrays], strict=True)]
    return self.copy_(from_host(pack(values, self._value.aval.dtype, size), self.device))


@method("apply_")
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Replace each element by what a Python function gives for it; slow, and for the CPU."""
    return _each(self, callable, (), "apply_")


@method("map_")
def map_(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replace each element by `callable(element, other)`, the other from a tensor that broadcasts to this one."""
    return _each(self, callable, (need_tensor(tensor, "map_", "other"),), "map_")


@method("map2_")
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replace each element by `callable(element, other, third)`."""
    return _each(self, callable, (need_tensor(x, "map2_", "x"), need_tensor(y, "map2_", "y", 2)), "map2_")


def _need_bools(input: Tensor, name: str) -> None:
    if need_tensor(input, name, "input").dtype is not dtypes.bool_:
        raise RuntimeError(f"Expected a boolean tensor for {name}, but got {input.dtype}")


@function("_is_all_true", method=True)
def _is_all_true(input: Tensor) -> Tensor:
    """`all` of bools."""
    _need_bools(input, "_is_all_true")
    return input.all()


@function("_is_any_true", method=True)
def _is_any_true(input: Tensor) -> Tensor:
    """`any` of bools."""
    _need_bools(input, "_is_any_true")
    return input.any()


@function("_is_zerotensor", method=True)
def _is_zerotensor(input: Tensor) -> bool:
    """False: there are no tensors of zeros without memory."""
    need_tensor(input, "_is_zerotensor", "input")
    return False


@function("_addmm_activation", method=True)
def _addmm_activation(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, use_gelu: bool = False
) -> Tensor:
    """The ReLU, or the GELU, of `addmm`."""
    found = _f["addmm"](input, mat1, mat2, beta=beta, alpha=alpha)
    return _gelu(found) if use_gelu else _f["relu"](found)


def _compressing(kind: str) -> None:
    def convert(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(self, f"to_sparse_{kind}")(*args, **kwargs)

    convert.__name__ = convert.__qualname__ = f"_to_sparse_{kind}"
    convert.__doc__ = f"`to_sparse_{kind}`."
    method(f"_to_sparse_{kind}")(convert)


for _kind in ("csr", "csc", "bsr", "bsc"):
    _compressing(_kind)
