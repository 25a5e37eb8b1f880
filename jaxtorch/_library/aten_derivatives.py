"""The derivatives of ATen operations in terms of others: what modes with a `__torch_dispatch__` see of a backward pass.

Each takes what it works with (`Derivative`) and the operation's arguments, and gives one gradient for each tensor among these, None
for one that wants none, in the order in which PyTorch computes them. `Shown.run` sums those of arguments that were broadcast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .._core.dispatch.torch_dispatch import Derivative, derivatives, saved_results
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import default_device
from .._ops.types.constants import strided
from .aten_decompositions import _END, aten
from .aten_overloads import show


def of(*names: str) -> Callable[[Any], Any]:
    """The derivative of these operations ('default' where no overload is named), of their in-place forms too where named."""

    def define(fn: Any) -> Any:
        for name in names:
            derivatives[name if "." in name else name + ".default"] = fn
        return fn

    return define


# -- arithmetic


def _times(g: Tensor, number: Any) -> Tensor:
    return g if number == 1 else show("mul", g, number)


@of("add.Tensor", "add_.Tensor")
def _add(c: Derivative, self: Tensor, other: Any, alpha: Any = 1) -> Any:
    return [c.grad if c.wants(self) else None, _times(c.grad, alpha) if c.wants(other) else None]


@of("sub.Tensor", "sub_.Tensor")
def _sub(c: Derivative, self: Tensor, other: Any, alpha: Any = 1) -> Any:
    return [c.grad if c.wants(self) else None, _times(-c.grad, alpha) if c.wants(other) else None]


@of("rsub.Scalar")
def _rsub(c: Derivative, self: Tensor, other: Any, alpha: Any = 1) -> Any:
    return _times(-c.grad, alpha)


@of("mul.Tensor", "mul_.Tensor")
def _mul(c: Derivative, self: Tensor, other: Any) -> Any:
    second = c.grad * self if c.wants(other) else None  # in PyTorch's order, as below
    return [show("mul", c.grad, other) if c.wants(self) else None, second]


def _divided(c: Derivative, self: Tensor, other: Tensor) -> Tensor:
    quotient = (self / other) / other
    return -c.grad * quotient


@of("div.Tensor", "div_.Tensor")
def _div(c: Derivative, self: Tensor, other: Any) -> Any:
    second = _divided(c, self, other) if c.wants(other) else None
    return [show("div", c.grad, other) if c.wants(self) else None, second]


@of("pow.Tensor_Scalar")
def _pow(c: Derivative, self: Tensor, exponent: Any) -> Any:
    if exponent == 0:
        return aten("zeros_like")(self)
    return c.grad * aten("mul.Scalar")(show("pow", self, exponent - 1), exponent)


for (
    _name
) in """exp exp2 expm1 reciprocal relu rsqrt sigmoid sqrt tan tanh amax amin max min prod logsumexp linalg_vector_norm
    _softmax _safe_softmax _log_softmax _scaled_dot_product_flash_attention_for_cpu""".split():
    saved_results[_name + ".default"] = saved_results[_name + "_.default"] = (0,)
saved_results |= {"prod.dim_int": (0,), "std.correction": (0,), "pow.Tensor_Tensor": (0,), "pow.Scalar": (0,)}
saved_results["native_group_norm.default"] = (1, 2)

_OF_ONE: dict[str, Callable[[Derivative, Tensor], Any]] = {
    "neg": lambda c, x: -c.grad,
    "abs": lambda c, x: c.grad * x.sgn(),
    "exp": lambda c, x: c.grad * c.out,
    "expm1": lambda c, x: c.grad * aten("add.Scalar")(c.out, 1),
    "log": lambda c, x: c.grad.div(x),
    "log1p": lambda c, x: c.grad / aten("add.Scalar")(x, 1),
    "sqrt": lambda c, x: c.grad / aten("mul.Scalar")(c.out, 2),
    "rsqrt": lambda c, x: aten("mul.Scalar")(c.out.pow(3), -0.5) * c.grad,
    "reciprocal": lambda c, x: -(c.out * c.out) * c.grad,
    "sin": lambda c, x: c.grad * x.cos(),
    "cos": lambda c, x: c.grad * -x.sin(),
    "tanh": lambda c, x: aten("tanh_backward")(c.grad, c.out),
    "sigmoid": lambda c, x: aten("sigmoid_backward")(c.grad, c.out),
    "relu": lambda c, x: aten("threshold_backward")(c.grad, c.out, 0),
    "relu_": lambda c, x: aten("threshold_backward")(c.grad, c.out, 0),
    "silu": lambda c, x: aten("silu_backward")(c.grad, x),
    "mish": lambda c, x: aten("mish_backward")(c.grad, x),
    "hardswish": lambda c, x: aten("hardswish_backward")(c.grad, x),
    "hardsigmoid": lambda c, x: aten("hardsigmoid_backward")(c.grad, x),
    "clone": lambda c, x: c.grad,
    "alias": lambda c, x: c.grad,
    "t": lambda c, x: c.grad.t(),
}
for _name, _rule in _OF_ONE.items():
    derivatives[_name + ".default"] = lambda c, x, _rule=_rule, **kwargs: _rule(c, x)


@of("gelu")
def _gelu(c: Derivative, self: Tensor, approximate: str = "none") -> Any:
    return aten("gelu_backward")(c.grad, self, **({} if approximate == "none" else {"approximate": approximate}))


@of("leaky_relu")
def _leaky_relu(c: Derivative, self: Tensor, negative_slope: Any = 0.01) -> Any:
    return aten("leaky_relu_backward")(c.grad, self, negative_slope, False)


@of("hardtanh")
def _hardtanh(c: Derivative, self: Tensor, min_val: Any = -1, max_val: Any = 1) -> Any:
    return aten("hardtanh_backward")(c.grad, self, min_val, max_val)


@of("elu")
def _elu(c: Derivative, self: Tensor, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    return aten("elu_backward")(c.grad, alpha, scale, input_scale, False, self)


@of("softplus")
def _softplus(c: Derivative, self: Tensor, beta: Any = 1, threshold: Any = 20) -> Any:
    return aten("softplus_backward")(c.grad, self, beta, threshold)


@of("glu")
def _glu(c: Derivative, self: Tensor, dim: int = -1) -> Any:
    return aten("glu_backward")(c.grad, self, dim)


@of("_softmax")
def _softmax(c: Derivative, self: Tensor, dim: int, half_to_float: bool) -> Any:
    return aten("_softmax_backward_data")(c.grad, c.out, dim, self.dtype)


@of("_log_softmax")
def _log_softmax(c: Derivative, self: Tensor, dim: int, half_to_float: bool) -> Any:
    return aten("_log_softmax_backward_data")(c.grad, c.out, dim, self.dtype)


@of("masked_fill.Scalar", "masked_fill_.Scalar")
def _masked_fill(c: Derivative, self: Tensor, mask: Tensor, value: Any) -> Any:
    return [c.grad.masked_fill(mask, 0), None]


# -- reductions


def _spread(g: Tensor, dims: Any, keepdim: bool, shape: Any) -> Tensor:
    if not keepdim:
        for d in sorted(d % len(shape) for d in dims):
            g = g.unsqueeze(d)
    return g.expand(shape)


@of("sum")
def _sum(c: Derivative, self: Tensor, dtype: Any = None) -> Any:
    return c.grad.expand(self.shape)


@of("sum.dim_IntList")
def _sum_along(c: Derivative, self: Tensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    return _spread(c.grad, dim, keepdim, self.shape)


@of("mean")
def _mean(c: Derivative, self: Tensor, dtype: Any = None) -> Any:
    return aten("div.Scalar")(c.grad.expand(self.shape), self.numel())


@of("mean.dim")
def _mean_along(c: Derivative, self: Tensor, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    spread = _spread(c.grad, dim, keepdim, self.shape)
    return aten("div.Scalar")(spread, math.prod([self.shape[d] for d in dim]))


# -- products


def _left(c: Derivative, g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    if _turned(c, a):
        return b.mm(g.t()).t()
    return g.mm(b.t())


def _right(c: Derivative, g: Tensor, a: Tensor, b: Tensor) -> Tensor:
    if _turned(c, b):
        return g.t().mm(a).t()
    return a.t().mm(g)


def _turned(c: Derivative, x: Tensor) -> bool:
    """Does it lie in memory column by column?"""
    stride = c.strides(x)
    return stride[0] == 1 and stride[1] == x.shape[0]


@of("mm")
def _mm(c: Derivative, self: Tensor, mat2: Tensor) -> Any:
    right = _right(c, c.grad, self, mat2) if c.wants(mat2) else None
    return [_left(c, c.grad, self, mat2) if c.wants(self) else None, right]


@of("mv")
def _mv(c: Derivative, self: Tensor, vec: Tensor) -> Any:
    left = c.grad.view(c.grad.shape[0], 1) * vec if c.wants(self) else None
    return [left, self.t().mv(c.grad) if c.wants(vec) else None]


@of("addmm")
def _addmm(c: Derivative, self: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> Any:
    left = _times(_left(c, c.grad, mat1, mat2), alpha) if c.wants(mat1) else None
    right = _times(_right(c, c.grad, mat1, mat2), alpha) if c.wants(mat2) else None
    return [_times(c.grad, beta) if c.wants(self) else None, left, right]


@of("bmm")
def _bmm(c: Derivative, self: Tensor, mat2: Tensor) -> Any:
    right = self.transpose(1, 2).bmm(c.grad) if c.wants(mat2) else None
    return [c.grad.bmm(mat2.transpose(1, 2)) if c.wants(self) else None, right]


# -- shapes


@of("transpose.int")
def _transpose(c: Derivative, self: Tensor, dim0: int, dim1: int) -> Any:
    return c.grad.transpose(dim0, dim1)


@of("permute")
def _permute(c: Derivative, self: Tensor, dims: Any) -> Any:
    places = [d % self.dim() for d in dims]
    return c.grad.permute([places.index(d) for d in range(len(places))])


@of("view", "_unsafe_view")
def _view(c: Derivative, self: Tensor, size: Any) -> Any:
    return c.grad.reshape(self.shape)


@of("expand")
def _expand(c: Derivative, self: Tensor, size: Any, implicit: bool = False) -> Any:
    return c.grad  # summed by `_fitted`


@of("unsqueeze")
def _unsqueeze(c: Derivative, self: Tensor, dim: int) -> Any:
    return c.grad.squeeze(dim)


@of("squeeze.dim")
def _squeeze(c: Derivative, self: Tensor, dim: int) -> Any:
    return c.grad.unsqueeze(dim % self.dim()) if self.shape[dim] == 1 else c.grad


@of("select.int")
def _select(c: Derivative, self: Tensor, dim: int, index: int) -> Any:
    return aten("select_backward")(c.grad, list(self.shape), dim, index)


@of("slice.Tensor")
def _slice(c: Derivative, self: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    bounds = 0 if start is None else start, _END if end is None else end
    return aten("slice_backward")(c.grad, list(self.shape), dim, *bounds, step)


@of("cat")
def _cat(c: Derivative, tensors: Any, dim: int = 0) -> Any:
    found, start = [], 0
    for t in tensors:
        end = start + t.shape[dim]
        found.append(aten("slice.Tensor")(c.grad, dim, start, end) if c.wants(t) else None)
        start = end
    return found


@of("stack")
def _stack(c: Derivative, tensors: Any, dim: int = 0) -> Any:
    return [aten("select.int")(c.grad, dim, i) if c.wants(t) else None for i, t in enumerate(tensors)]


@of("_to_copy")
def _to_copy(c: Derivative, self: Tensor, **kwargs: Any) -> Any:
    return aten("_to_copy")(c.grad, dtype=self.dtype, layout=strided, device=self.device)


def _zeros(g: Tensor, shape: Any) -> Tensor:
    return aten("new_zeros")(g, list(shape), dtype=g.dtype, layout=strided, device=g.device)


@of("index.Tensor")
def _index(c: Derivative, self: Tensor, indices: Any) -> Any:
    zeros = _zeros(c.grad, self.shape)
    return [aten("index_put")(zeros, indices, c.grad, True), *[None for i in indices if i is not None]]


@of("gather")
def _gather(c: Derivative, self: Tensor, dim: int, index: Tensor) -> Any:
    return [show("scatter_add", aten("new_zeros")(c.grad, list(self.shape)), dim, index, c.grad), None]


@of("index_select")
def _index_select(c: Derivative, self: Tensor, dim: int, index: Tensor) -> Any:
    return [show("index_add", _zeros(c.grad, self.shape), dim, index, c.grad), None]


def nothing() -> Tensor:
    """A zero, for `where`."""
    return aten("scalar_tensor")(0, dtype=dtypes.float32, layout=strided, device=default_device())


@of("where.self")
def _where(c: Derivative, condition: Tensor, self: Tensor, other: Tensor) -> Any:
    first = second = None
    if c.wants(other):
        second = aten("where.self")(condition, nothing(), c.grad)
    if c.wants(self):
        first = aten("where.self")(condition, c.grad, nothing())
    return [None, first, second]


@of("split.Tensor")
def _split(c: Derivative, self: Tensor, size: int, dim: int = 0) -> Any:
    parts = []
    for g, out in zip(c.grads, c.outs, strict=True):
        shape, made = list(out.shape), {"dtype": self.dtype, "layout": strided, "device": self.device}
        parts.append(aten("zeros")(shape, **made) if g is None else g)
    return show("cat", parts, dim)


@of("split_with_sizes")
def _split_with_sizes(c: Derivative, self: Tensor, sizes: Any, dim: int = 0) -> Any:
    return _split(c, self, 0, dim)


@of("max.dim", "min.dim")
def _extreme(c: Derivative, self: Tensor, dim: int, keepdim: bool = False) -> Any:
    g, index = c.grad, c.outs[1]
    if not keepdim:
        g, index = g.unsqueeze(dim), index.unsqueeze(dim)
    return aten("scatter.src")(aten("new_zeros")(g, list(self.shape)), dim, index, g)
