"""Sums of products by index: `einsum`, `tensordot` and `inner`, made of views and matrix products.

Their results are views where PyTorch's are, with its strides. The way there is planned once for an equation and shapes, without
views that change nothing.
"""

from __future__ import annotations

import functools
import math
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..._core.define.op import function, functions, numpy_names
from ..._core.dispatch import autocast
from ..._core.tensor import strides
from ..._core.tensor.out_tensors import refuse_parts
from ..._core.tensor.strides import wrap_dim
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..._core.types.size import need_sizes
from ..shapes.views import _view, permute, reshape, unsqueeze

_LETTERS = string.ascii_uppercase + string.ascii_lowercase
_DOTS = "..."

Shape = tuple[int, ...]
Path = tuple[tuple[int, ...], ...]

_planning: Any = None
"""The module whose `enabled` and `strategy` decide on the order of more than two operands."""


def plan_by(switches: Any) -> None:
    """Take the switches of this module (`torch.backends.opt_einsum`)."""
    global _planning
    _planning = switches


Moves = tuple[tuple[Callable[..., Tensor], Any], ...]
"""Views and sums of one tensor: functions, each with its argument."""


def _moved(t: Tensor, moves: Moves) -> Tensor:
    for move, argument in moves:
        t = move(t, argument)
    return t


def _on_diagonal(t: Tensor, dims: tuple[int, int]) -> Tensor:
    into, dim = dims
    return t.diagonal(0, into, dim).movedim(-1, into)


def _summed(t: Tensor, dims: Shape) -> Tensor:
    return t.sum(dims, True)


@dataclass(frozen=True, slots=True)
class _Held:
    """An operand while the plan is made. All of them have the same indices in the same order, size 1 where one is missing."""

    shape: Shape
    """In the common order."""
    moves: Moves
    """What comes first: diagonals, or the shape of a matrix product's result."""
    unsqueezed: Shape
    """Then dimensions of size 1 are put here, one after the other."""
    permutation: Shape
    """Then this is the common order."""

    def in_order(self) -> Moves:
        """The operand in the common order."""
        made = self.moves + tuple((unsqueeze, dim) for dim in self.unsqueezed)
        return made if _is_identity(self.permutation) else (*made, (permute, self.permutation))

    def as_matrices(self, sums: Shape, order: Shape, matrices: Shape) -> Moves:
        """The operand summed over `sums`, with its dimensions in this order, as a batch of matrices of that shape."""
        own: list[int | None] = list(range(len(self.permutation) - len(self.unsqueezed)))
        for dim in self.unsqueezed:
            own.insert(dim, None)
        places = [own[dim] for dim in self.permutation]
        made = list(self.moves)
        if sums:
            made.append((_summed, tuple(places[d] for d in sums)))
        kept = [d for d in order if places[d] is not None]
        permutation = tuple(places[d] for d in kept)
        if not _is_identity(permutation):
            made.append((permute, permutation))
        if tuple(1 if d in sums else self.shape[d] for d in kept) != matrices:
            made.append((reshape, matrices))
        return tuple(made)


def _permuted(t: Tensor, permutation: Sequence[int]) -> Tensor:
    return t if _is_identity(permutation) else permute(t, tuple(permutation))


def _shaped(t: Tensor, shape: Shape) -> Tensor:
    return t if t._value.aval.shape == shape else reshape(t, shape)


def _is_identity(permutation: Sequence[int | None]) -> bool:
    return tuple(permutation) == tuple(range(len(permutation)))


@dataclass(frozen=True, slots=True)
class _Step:
    """One product of two operands: of matrices, or else of elements."""

    pair: tuple[int, int]
    first: Moves
    second: Moves
    matrices: bool
    swapped: bool = False
    """The second operand is the left one."""

    def apply(self, a: Tensor, b: Tensor) -> Tensor:
        a, b = _moved(a, self.first), _moved(b, self.second)
        if not self.matrices:
            return a * b
        return functions["bmm"](b, a) if self.swapped else functions["bmm"](a, b)


@dataclass(frozen=True, slots=True)
class _Plan:
    steps: tuple[_Step, ...]
    planned: bool
    """By a path: then each result goes to the end of the operands, otherwise to their front."""
    last: Moves
    """From the last result, or the sole operand, to the output."""
    sums: Shape
    """What is still to be summed over: the dimensions of a sole operand that the output has not."""


# -- reading the equation ---


def _labels(part: str, start: int, operand: int | None) -> list[str]:
    """The labels of one operand or, without its number, of the output; an ellipsis is one of them."""
    what = "output" if operand is None else f"operand {operand}"
    labels: list[str] = []
    i = 0
    while i < len(part):
        c = part[i]
        if c == ".":
            if _DOTS in labels:
                before = "but an ellipsis (...) was" if operand is None else "for which an ellipsis was"
                raise RuntimeError(f"einsum(): found '.' for {what} {before} already found")
            if part[i : i + 3] != _DOTS:
                raise RuntimeError(
                    f"einsum(): found '.' for {what} that is not part of any ellipsis{' (...)' if operand is None else ''}"
                )
            labels.append(_DOTS)
            i += 2
        elif c in _LETTERS:
            if operand is None and c in labels:
                raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
            labels.append(c)
        elif c != " ":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {start + i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        i += 1
    return labels


def _read(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[list[str]], list[str] | None, int]:
    """The labels of the operands and, where there is an arrow, of the output; how many dimensions `...` stands for."""
    given, arrow, out = equation.partition("->")
    inputs, start = [], 0
    for k, part in enumerate(given.split(",")):
        inputs.append(_labels(part, start, k))
        start += len(part) + 1
    if len(inputs) != len(shapes):
        more = "more" if len(shapes) > len(inputs) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    covered = 0
    for k, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        n = len(labels) - (_DOTS in labels)
        if _DOTS in labels:
            if n > len(shape):
                raise RuntimeError(
                    f"einsum(): the number of subscripts in the equation ({n}) is more than the number of dimensions "
                    f"({len(shape)}) for operand {k}"
                )
            covered = max(covered, len(shape) - n)
        elif n != len(shape):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({n}) does not match the number of dimensions "
                f"({len(shape)}) for operand {k} and no ellipsis was given"
            )
    if not arrow:
        return inputs, None, covered
    wanted = _labels(out, len(given) + 2, None)
    for label in wanted:
        if label != _DOTS and not any(label in labels for labels in inputs):
            raise RuntimeError(
                f"einsum(): output subscript {label} does not appear in the equation for any input operand"
            )
    return inputs, wanted, covered


def _order(inputs: list[list[str]], out: list[str] | None, covered: int) -> tuple[list[str], int]:
    """All indices, those of the output first, and their number; an ellipsis stands for as many dots as it covers."""
    seen = Counter(label for labels in inputs for label in labels)
    if out is None:
        out = [_DOTS, *(c for c in _LETTERS if seen[c] == 1)]
    dots = [f".{k}" for k in range(covered)]
    order = [label for labels in out for label in (dots if labels == _DOTS else [labels])]
    n_out = len(order)
    if _DOTS not in out:
        order += dots
    return order + [c for c in _LETTERS if seen[c] and c not in out], n_out


# -- planning ---


def _arrange(k: int, labels: list[str], shape: Shape, order: list[str], covered: int) -> _Held:
    """Operand `k` of the equation."""
    places: dict[str, int] = {}
    sizes: list[int] = []  # of the dimensions so far
    diagonals, unsqueezed = [], []
    rest = list(shape)
    for label in labels:
        if label == _DOTS:
            own = len(shape) - (len(labels) - 1)
            unsqueezed += [len(sizes)] * (covered - own)
            for j in range(covered):
                places[f".{j}"] = len(sizes)
                sizes.append(1 if j < covered - own else rest.pop(0))
            continue
        size = rest.pop(0)
        if label not in places:
            places[label] = len(sizes)
            sizes.append(size)
        elif sizes[places[label]] == size:
            diagonals.append((places[label], len(sizes)))
        else:
            raise RuntimeError(
                f"einsum(): subscript {label} is repeated for operand {k} but the sizes don't match, {size} != "
                f"{sizes[places[label]]}"
            )
    for label in order:
        if label not in places:
            unsqueezed.append(len(sizes))
            places[label] = len(sizes)
            sizes.append(1)
    permutation = tuple(places[label] for label in order)
    moves = tuple((_on_diagonal, dims) for dims in diagonals)
    return _Held(tuple(sizes[p] for p in permutation), moves, tuple(unsqueezed), permutation)


def _check_sizes(order: list[str], arranged: list[Shape]) -> None:
    for d, label in enumerate(order):
        common = 1
        for k, shape in enumerate(arranged):
            if common == 1:
                common = shape[d]
            elif shape[d] not in (1, common):
                if label[0] == ".":
                    raise RuntimeError(
                        f"einsum(): dimension {label[1:]} covered by ellipsis in operand {k}has size {shape[d]} which does "
                        f"not broadcast with previously seen ellipsis with size {common} for the respective dimension"
                    )
                raise RuntimeError(
                    f"einsum(): subscript {label} has size {shape[d]} for operand {k} which does not broadcast with "
                    f"previously seen size {common}"
                )


def _step(
    pair: tuple[int, int], held: tuple[_Held, _Held], sums: tuple[Shape, Shape], contracted: Shape
) -> tuple[_Step, _Held]:
    """The product of two operands, summed over `sums`, which one of them has, and `contracted`, which both have; its result."""
    a, b = (tuple(1 if d in dims else n for d, n in enumerate(h.shape)) for h, dims in zip(held, sums, strict=True))
    every = tuple(range(len(a)))
    shape = tuple(1 if d in contracted else max(a[d], b[d]) if a[d] * b[d] else 0 for d in every)
    if not contracted:
        first, second = (
            (*h.in_order(), (_summed, dims)) if dims else h.in_order() for h, dims in zip(held, sums, strict=True)
        )
        return _Step(pair, first, second, False), _Held(shape, (), (), every)
    rest = [d for d in every if d not in contracted]
    batch = [d for d in rest if a[d] != 1 and b[d] != 1]
    rows = [d for d in rest if a[d] != 1 and b[d] == 1]
    columns = [d for d in rest if a[d] == 1]
    swapped = bool(rows and columns) and columns[-1] < rows[0]  # the result is in order this way
    if swapped:
        a, b, rows, columns = b, a, columns, rows

    def size(of: Shape, dims: Iterable[int]) -> int:
        return math.prod(of[d] for d in dims)

    produced = (*batch, *rows, *contracted, *columns)
    sides = [
        (produced, (size(a, batch), size(a, rows), size(a, contracted))),
        ((*batch, *contracted, *columns, *rows), (size(b, batch), size(b, contracted), size(b, columns))),
    ]
    if swapped:
        sides.reverse()
    first, second = (h.as_matrices(dims, *side) for h, dims, side in zip(held, sums, sides, strict=True))
    view = (_view, tuple(shape[d] for d in produced))
    result = _Held(shape, (view,), (), tuple(produced.index(d) for d in every))
    return _Step(pair, first, second, True, swapped), result


def _last(result: _Held, n_out: int) -> Moves:
    """The way to the output, which has the first `n_out` dimensions; one view where that gives the same strides."""
    if n_out == len(result.shape):
        return result.in_order()
    shape = result.shape[:n_out]
    view = (_view, shape)
    if result.moves:
        of_product = strides.contiguous(result.moves[0][1])
        in_order = [of_product[dim] for dim in result.permutation]
        if strides.view_strides(result.shape, in_order, shape) == strides.contiguous(shape):
            return (view,)
    return (*result.in_order(), view)


def _read_and_arranged(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[str], int, list[_Held]]:
    inputs, out, covered = _read(equation, shapes)
    order, n_out = _order(inputs, out, covered)
    held = [_arrange(k, labels, s, order, covered) for k, (labels, s) in enumerate(zip(inputs, shapes, strict=True))]
    _check_sizes(order, [h.shape for h in held])
    return order, n_out, held


def arranged(equation: str, shapes: tuple[Shape, ...]) -> tuple[list[str], int, list[_Held], Path | None]:
    """All indices, how many the output has, how each operand gets them in this order, and the order of the products."""
    return *_read_and_arranged(equation, shapes), _optimised(equation, shapes)


def contraction(
    a: Shape, b: Shape, summed: Sequence[int], left: dict[int, int]
) -> tuple[list[int], tuple[list[int], list[int]]]:
    """The dimensions that the product of two operands is summed over, and those that one of them is summed over alone.

    left: how many operands still to come have each of the dimensions `summed`; is brought up to date.
    """
    contracted: list[int] = []
    alone: tuple[list[int], list[int]] = [], []
    for d in summed:
        m, n = a[d], b[d]
        if m != 1 and n != 1:
            left[d] -= 1
            if left[d] == 1:
                contracted.append(d)
        elif left[d] == 1 and (m != 1 or n != 1):
            alone[m == 1].append(d)
        else:
            continue
        if left[d] == 1:
            left[d] = 0
    return contracted, alone


@functools.lru_cache(maxsize=1024)
def _plan(equation: str, shapes: tuple[Shape, ...], path: Path | None) -> _Plan:
    order, n_out, held = _read_and_arranged(equation, shapes)
    summed = range(n_out, len(order))
    if len(held) == 1:
        sole = held[0]
        views = sole.in_order()
        if not summed and _is_identity(sole.permutation):
            views += ((permute, sole.permutation),)  # another tensor than the operand
        return _Plan((), False, views, tuple(summed))
    left = {d: sum(h.shape[d] != 1 for h in held) for d in summed}  # operands still to come that have the dimension
    steps = []
    for k in range(len(held) - 1):
        i, j = sorted(path[k]) if path else (0, 1)
        b, a = held.pop(j), held.pop(i)
        contracted, alone = contraction(a.shape, b.shape, summed, left)
        step, result = _step((i, j), (a, b), (tuple(alone[0]), tuple(alone[1])), tuple(contracted))
        steps.append(step)
        held.insert(len(held) if path else 0, result)
    return _Plan(tuple(steps), path is not None, _last(held[0], n_out), ())


def _optimised(equation: str, shapes: tuple[Shape, ...]) -> Path | None:
    """The order of contractions that opt_einsum proposes."""
    if _planning is None or not _planning.enabled or len(shapes) < 3:
        return None
    import opt_einsum

    return tuple(opt_einsum.contract_path(equation, *shapes, shapes=True, optimize=_planning.strategy)[0])


# -- the operations ---


def equation_of(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and the operands among the arguments of `einsum`."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        rest = list(args)
        operands, parts = [], []
        while len(rest) >= 2:
            operands.append(rest.pop(0))
            parts.append(_written(rest.pop(0)))
        equation = ",".join(parts) + ("->" + _written(rest[0]) if rest else "")
    else:
        equation, *operands = _unpacked(args, {})[0]
    if not isinstance(equation, str):
        kind = type(equation).__name__
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {kind}")
    for k, t in enumerate(operands):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {k} in argument 1, but got {type(t).__name__}")
    return equation, operands


@function("einsum")
def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: `einsum('ij,jk->ik', a, b)`, or operands with lists of indices.

    An index that the output has not is summed over; `...` stands for the dimensions without a letter. RuntimeError for an equation
    that does not fit the operands.

        >>> a = torch.arange(6.0).reshape(2, 3)
        >>> torch.einsum("ij,kj->ik", a, a)
        tensor([[ 5., 14.],
                [14., 50.]])
        >>> torch.einsum("ii->i", torch.eye(2)), torch.einsum(a, [0, 1], [1])
        (tensor([1., 1.]), tensor([3., 5., 7.]))
    """
    equation, operands = equation_of(args)
    shapes = tuple(tuple(t.shape) for t in operands)
    plan = _plan(equation, shapes, _optimised(equation, shapes))
    for step in plan.steps:
        b, a = operands.pop(step.pair[1]), operands.pop(step.pair[0])
        operands.insert(len(operands) if plan.planned else 0, step.apply(a, b))
    made = _moved(operands[0], plan.last)
    return made.sum(plan.sums) if plan.sums else made


def _unpacked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands in one list, as single arguments."""
    packed = len(args) == 2 and not isinstance(args[0], Tensor) and isinstance(args[1], (list, tuple))
    return (args[0], *args[1]) if packed else args, kwargs


einsum.told = _unpacked  # pyright: ignore[reportFunctionMemberAccess]


def _written(subscripts: Any) -> str:
    """A list of subscripts as part of an equation."""
    parts = []
    for s in subscripts:
        if s is Ellipsis:
            parts.append(_DOTS)
        elif 0 <= s < len(_LETTERS):
            parts.append(_LETTERS[s])
        else:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(parts)


@function("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The product of two tensors summed over `dims`: a number of dimensions, or two lists of them."""
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims.numel() > 1 else int(dims.item())
        for argument, given in zip(("dims_self", "dims_other"), () if isinstance(dims, int) else dims, strict=False):
            need_sizes("tensordot", argument, given, 3)
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (tuple(range(-dims, 0)), tuple(range(dims)))
    elif isinstance(dims, (tuple, list)):
        _, _ = dims  # else ValueError
    else:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    need_tensor(a, "tensordot")
    need_tensor(b, "tensordot", "other", 2)
    result = autocast.in_widest(_contract, a, b, *dims)
    return result if out is None else write_out(out, result, "tensordot")


def _contract(a: Tensor, b: Tensor, dims_a: Any, dims_b: Any) -> Tensor:
    lists = tuple(tuple(d) if isinstance(d, (list, tuple)) else (d,) for d in (dims_a, dims_b))
    if len(lists[0]) != len(lists[1]):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    dims_a, dims_b = (_wrapped(dims, t.ndim) for dims, t in zip(lists, (a, b), strict=True))
    for i, j in zip(dims_a, dims_b, strict=True):
        if b.shape[j] == 1:
            a = a.sum(i, True, dtype=a.dtype)
        elif a.shape[i] == 1:
            b = b.sum(j, True, dtype=b.dtype)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    kept_a, kept_b = ([d for d in range(t.ndim) if d not in dims] for t, dims in ((a, dims_a), (b, dims_b)))
    shape_a, shape_b = [a.shape[d] for d in kept_a], [b.shape[d] for d in kept_b]
    left, right = _permuted(a, (*kept_a, *dims_a)), _permuted(b, (*dims_b, *kept_b))
    rows, columns, inner = math.prod(shape_a), math.prod(shape_b), math.prod(a.shape[d] for d in dims_a)
    if rows != 1 or columns != 1:
        made = functions["mm"](_shaped(left, (rows, inner)), _shaped(right, (inner, columns)))
    elif left.is_contiguous() and right.is_contiguous():
        made = functions["dot"](left.flatten(), right.flatten())
    else:
        made = (left.squeeze() * right.squeeze()).sum(dtype=a.dtype)
    return reshape(made, (*shape_a, *shape_b))


def _wrapped(dims: Shape, ndim: int) -> Shape:
    wrapped = tuple(wrap_dim(d, ndim) for d in dims)
    for d in wrapped:
        if wrapped.count(d) > 1:
            raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    return wrapped


@function("inner", method=True)
@numpy_names
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product over the last dimension of both; the plain product where one is a scalar."""
    need_tensor(input, "inner")
    need_tensor(other, "inner", "other", 2)
    if input.ndim and other.ndim:
        if input.shape[-1] != other.shape[-1]:
            raise RuntimeError(
                f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
                f"{list(other.shape)}"
            )
        result = tensordot(input, other, ((-1,), (-1,)))
    else:
        result = input * other
    return result if out is None else write_out(out, result, "tensordot" if input.ndim and other.ndim else "mul")


@function("outer", method=True, aliases=("ger",))
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The outer product of two vectors."""
    need_tensor(input, "outer")
    need_tensor(vec2, "outer", "vec2", 2)
    if out is not None:
        need_tensor(out, "outer", "out", 0)
    if input.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    result = input.reshape((input.shape[0], 1)) * vec2
    if out is None:
        return result
    refuse_parts(out, (input, vec2))
    return write_out(out, result, "outer")
