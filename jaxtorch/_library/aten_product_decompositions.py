"""The decompositions of `einsum`, `tensordot`, recurrent cells and written-out attention (see `aten_decompositions.py`)."""

from __future__ import annotations

import math
from typing import Any

from .._core.define.op import registry
from .._core.dispatch.torch_dispatch import Derivative, refused, rules
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._ops.linalg import einsum as _einsum
from .._ops.types.constants import strided
from ..nn import functional
from .aten_decompositions import aten, made_of, of_operation
from .aten_derivatives import of
from .aten_overloads import show

# -- einsum


@made_of("einsum")
def _products(*args: Any) -> Tensor:
    equation, operands = _einsum.equation_of(args)
    shapes = tuple(tuple(t.shape) for t in operands)
    order, n_out, held, path = _einsum.arranged(equation, shapes)
    own = [_in_order(t, h) for t, h in zip(operands, held, strict=True)]
    summed = range(n_out, len(order))
    if len(own) == 1:
        return show("sum", own[0], list(summed)) if summed else own[0]
    left = {d: sum(t.shape[d] != 1 for t in own) for d in summed}
    for k in range(len(own) - 1):
        i, j = sorted(path[k]) if path else (0, 1)
        b, a = own.pop(j), own.pop(i)
        contracted, alone = _einsum.contraction(tuple(a.shape), tuple(b.shape), summed, left)
        a, b = (show("sum", t, dims, True) if dims else t for t, dims in zip((a, b), alone, strict=True))
        own.insert(len(own) if path else 0, _pair(a, b, contracted) if contracted else show("mul", a, b))
    return show("view", own[0], list(own[0].shape[:n_out])) if summed else own[0]


def _in_order(t: Tensor, held: Any) -> Tensor:
    """An operand with all the dimensions that there are, in the common order."""
    for move, given in held.moves:
        t = move(t, given)
    own: list[int | None] = list(range(t.dim()))
    for dim in held.unsqueezed:
        own.insert(dim, None)
    places = []
    for place in (own[dim] for dim in held.permutation):
        if place is None:  # a dimension that it has not becomes the last one
            place = t.dim()
            t = show("unsqueeze", t, place)
        places.append(place)
    return show("permute", t, places)


def _pair(a: Tensor, b: Tensor, contracted: list[int]) -> Tensor:
    """The product of two operands summed over dimensions that both have, which stay with size 1."""
    every = range(a.dim())
    rest = [d for d in every if d not in contracted]
    batch = [d for d in rest if a.shape[d] != 1 and b.shape[d] != 1]
    rows = [d for d in rest if a.shape[d] != 1 and b.shape[d] == 1]
    columns = [d for d in rest if a.shape[d] == 1]
    if rows and columns and columns[-1] < rows[0]:
        a, b, rows, columns = b, a, columns, rows

    def size(t: Tensor, dims: list[int]) -> int:
        return math.prod(t.shape[d] for d in dims)

    produced = [*batch, *rows, *contracted, *columns]
    shape = [1 if d in contracted else a.shape[d] if a.shape[d] != 1 else b.shape[d] for d in produced]
    n, m = size(a, batch), size(a, contracted)
    left = show("permute", a, produced).reshape(n, size(a, rows), m)
    right = show("permute", b, [*batch, *contracted, *columns, *rows]).reshape(n, m, size(b, columns))
    made = show("view", show("bmm", left, right), shape)
    return show("permute", made, [produced.index(d) for d in every])


@made_of("tensordot")
def _tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Any = None) -> Tensor:
    if out is not None or isinstance(dims, Tensor):
        raise refused("'tensordot' with out= or dimensions in a tensor")
    if isinstance(dims, int):
        dims = list(range(-dims, 0)), list(range(dims))
    first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
    if any(a.shape[i] != b.shape[j] for i, j in zip(first, second, strict=True)) or a.dtype is not b.dtype:
        raise refused("'tensordot' of other sizes or types")
    rest = [[d for d in range(t.dim()) if d not in [i % t.dim() for i in own]] for t, own in ((a, first), (b, second))]
    n, m = (math.prod(t.shape[d] for d in own) for t, own in zip((a, b), rest, strict=True))
    inner = math.prod(a.shape[d] for d in first)
    left = show("permute", a, [*rest[0], *first]).reshape(n, inner)
    right = show("permute", b, [*second, *rest[1]]).reshape(inner, m)
    return show("mm", left, right).reshape([*(a.shape[d] for d in rest[0]), *(b.shape[d] for d in rest[1])])


# -- attention


def _added(mask: Tensor, dtype: Any) -> Tensor:
    """A mask of bools as what is added to the scores."""
    low = aten("scalar_tensor")(float("-inf"), dtype=dtype, device=mask.device)
    zero = aten("scalar_tensor")(0, dtype=dtype, layout=strided, device=mask.device)
    return aten("where.self")(mask, zero, low)


@of_operation("scaled_dot_product_attention", of=functional.scaled_dot_product_attention)
def _attention(a: Any) -> Tensor:
    own = a.query, a.key, a.value
    kinds = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
    if any(x.dim() < 3 or x.dtype not in kinds or x.dtype is not a.query.dtype for x in own):
        raise refused("'scaled_dot_product_attention' of other than numbers of one type in 3 or more dimensions")
    if (a.attn_mask is not None and a.is_causal) or (a.scale is not None and a.scale <= 0):
        raise refused("'scaled_dot_product_attention' with a mask and is_causal=True, or a scale that is not positive")
    if a.attn_mask is not None and a.attn_mask.dtype is dtypes.bool_:
        a.attn_mask = _added(a.attn_mask, a.query.dtype)
    graded = isinstance(a.attn_mask, Tensor) and a.attn_mask.requires_grad
    fused = not (a.dropout_p or graded) and all(x.dim() == 4 and x.shape[-1] == a.query.shape[-1] for x in own)
    if fused and (a.attn_mask is None or a.attn_mask.dim() in (2, 4)):
        given = {} if a.attn_mask is None else {"attn_mask": a.attn_mask}
        given |= {} if a.scale is None else {"scale": a.scale}
        flash = aten("_scaled_dot_product_flash_attention_for_cpu")
        return flash(a.query, a.key, a.value, *[0.0, True] * a.is_causal, **given)[0]
    if a.enable_gqa and a.query.shape[-3] != a.key.shape[-3]:
        raise refused("'scaled_dot_product_attention' with enable_gqa, and dropout or a mask that requires a gradient")
    if a.query.dtype in (dtypes.bfloat16, dtypes.float16):
        raise refused("'scaled_dot_product_attention' of half precision, with dropout or other than four dimensions")
    return _attention_written_out(a.query, a.key, a.value, a.attn_mask, a.dropout_p, a.is_causal, a.scale)


def _attention_written_out(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, dropout_p: float, is_causal: bool, scale: Any
) -> Tensor:
    half = (1 / math.sqrt(query.shape[-1]) if scale is None else scale) ** 0.5
    query = aten("mul.Scalar")(query, half)
    if is_causal:
        made = {"dtype": dtypes.bool_, "layout": strided, "device": query.device}
        below = show("tril", aten("ones")([query.shape[-2], key.shape[-2]], **made))
        mask = _added(below, query.dtype)
    scores = rules["matmul"](query, aten("mul.Scalar")(show("transpose", key, -2, -1), half))
    if mask is not None:
        scores = show("add", scores, mask)
    weights = aten("_safe_softmax")(scores, -1)
    if dropout_p:
        weights = rules["_drop"](weights, dropout_p, False, False)
    return rules["matmul"](weights, value)


@of("baddbmm")
def _baddbmm(c: Derivative, self: Tensor, batch1: Tensor, batch2: Tensor, beta: Any = 1, alpha: Any = 1) -> Any:
    def times(g: Tensor, number: Any) -> Tensor:
        return g if number == 1 else show("mul", g, number)

    first = times(c.grad.bmm(batch2.transpose(1, 2)), alpha) if c.wants(batch1) else None
    second = times(batch1.transpose(1, 2).bmm(c.grad), alpha) if c.wants(batch2) else None
    return [times(c.grad, beta) if c.wants(self) else None, first, second]


# -- recurrent cells


def _affine(input: Tensor, weight: Tensor, bias: Any) -> Tensor:
    return registry["linear"].public(input, weight, bias)


@made_of("_lstm_cell")
def _lstm_cell(
    input: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None
) -> tuple[Tensor, Tensor]:
    gates = show("add_", _affine(h, w_hh, b_hh), _affine(input, w_ih, b_ih))
    i, f, g, o = aten("unsafe_split.Tensor")(gates, h.shape[1], 1)
    i, f, g, o = show("sigmoid_", i), show("sigmoid_", f), show("tanh_", g), show("sigmoid_", o)
    cell = show("add_", show("mul", f, c), show("mul", i, g))
    return show("mul", o, show("tanh", cell)), cell


@made_of("gru_cell")
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Tensor:
    """`torch.gru_cell`."""
    return _gru_step(_affine(input, w_ih, b_ih), hx, w_hh, b_hh)


def _gru_step(given: Tensor, hx: Tensor, w_hh: Tensor, b_hh: Any) -> Tensor:
    size = hx.shape[1]
    own = aten("unsafe_split.Tensor")(given, size, 1)
    past = aten("unsafe_split.Tensor")(_affine(hx, w_hh, b_hh), size, 1)
    reset = show("sigmoid_", show("add_", past[0], own[0]))
    update = show("sigmoid_", show("add_", past[1], own[1]))
    new = show("tanh_", show("add", own[2], rules["mul_"](past[2], reset)))
    return show("add_", rules["mul_"](show("sub", hx, new), update), new)


def _plain_cell(name: str) -> None:
    @made_of(f"rnn_{name}_cell")
    def rule(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Any = None, b_hh: Any = None) -> Tensor:
        return show(name, show("add_", _affine(hx, w_hh, b_hh), _affine(input, w_ih, b_ih)))


_plain_cell("tanh")
_plain_cell("relu")


@of("unsafe_split.Tensor")
def _unsafe_split(c: Derivative, self: Tensor, size: int, dim: int = 0) -> Any:
    parts = []
    for g, out in zip(c.grads, c.outs, strict=True):
        made = {"dtype": self.dtype, "layout": strided, "device": self.device}
        parts.append(aten("zeros")(list(out.shape), **made) if g is None else g)
    return show("cat", parts, dim)


@of("sigmoid_")
def _sigmoid(c: Derivative, self: Tensor) -> Any:
    return aten("sigmoid_backward")(c.grad, c.out)


@of("tanh_")
def _tanh(c: Derivative, self: Tensor) -> Any:
    return aten("tanh_backward")(c.grad, c.out)


@of("_safe_softmax")
def _safe_softmax(c: Derivative, self: Tensor, dim: int, dtype: Any = None) -> Any:
    return aten("_softmax_backward_data")(c.grad, c.out, dim, self.dtype)


@of("mul.Scalar")
def _times_number(c: Derivative, self: Tensor, other: Any) -> Any:
    return aten("mul.Scalar")(c.grad, other)


@of("div.Scalar")
def _by_number(c: Derivative, self: Tensor, other: Any) -> Any:
    return aten("div.Scalar")(c.grad, other)
