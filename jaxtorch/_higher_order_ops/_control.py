"""Loops as functions: `scan`, `associative_scan`, `map` and `while_loop_stack_output`. They run the given function as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._namespace.rare import while_loop as while_loop
from ..func import vmap
from ..utils._pytree import tree_flatten, tree_unflatten


def _leaves(name: str, xs: Any, dim: int) -> tuple[list[Tensor], Any, int]:
    """The tensors of `xs`, their structure, and the dimension they are gone through in."""
    leaves, spec = tree_flatten(xs)
    if not leaves:
        raise RuntimeError(f"{name}() operator requires xs leaves.")
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{name}: all xs leaves must be tensors, but got {x!r}")
    axis = dim if dim >= 0 else dim + leaves[0].dim()
    if not 0 <= axis < leaves[0].dim():
        low, high = -leaves[0].dim(), leaves[0].dim() - 1
        raise IndexError(f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})")
    if any(x.dim() <= axis or not x.shape[axis] for x in leaves):
        raise RuntimeError(f"All xs leaves must at least have '{dim}' number of dimensions and {name} dimension > 0")
    if len({x.shape[axis] for x in leaves}) > 1:
        raise RuntimeError(f"{name}: all xs leaves must have the same size in dimension {dim}")
    return leaves, spec, axis


def scan(
    combine_fn: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False
) -> tuple[Any, Any]:
    """`carry, y = combine_fn(carry, x)` for each slice `x` of `xs`; the last `carry`, and the `y` stacked in dimension `dim`.

    init, xs: tensors, or nested containers of them. dim: what is gone through. reverse: from the last slice to the first; the `y`
    stand where their `x` stood.
    """
    if not callable(combine_fn):
        raise RuntimeError(f"Combine_fn must be a callable, but got {combine_fn}")
    carried, spec = tree_flatten(init)
    if not carried:
        raise RuntimeError("scan() operator requires init leaves.")
    if not tree_flatten(xs)[0]:
        return init, []
    leaves, form, axis = _leaves("scan", xs, dim)
    carry, rows = init, []
    made: Any = None
    order = range(leaves[0].shape[axis])
    for i in reversed(order) if reverse else order:
        result = combine_fn(carry, tree_unflatten([x.select(axis, i) for x in leaves], form))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise RuntimeError(f"scan: combine_fn must return a carry and a result, but returned {result!r}")
        carry, y = result
        new, found = tree_flatten(carry)
        if found != spec or any(a.shape != b.shape or a.dtype != b.dtype for a, b in zip(new, carried, strict=True)):
            raise RuntimeError("scan: combine_fn must return a carry of the structure, shapes and types of init")
        parts, made = tree_flatten(y)
        rows.append(parts)
    if reverse:
        rows.reverse()
    return carry, tree_unflatten([functions["stack"](list(column), axis) for column in zip(*rows, strict=True)], made)


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All partial combinations of the slices of `xs` by an associative function: a running sum, for `combine_fn` an addition.

    combine_fn: of two slices. combine_mode: 'generic' on the CPU, as PyTorch demands.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec, axis = _leaves("associative_scan", xs, dim)
    if combine_mode == "pointwise" and any(x.device.type == "cpu" for x in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")

    def one(a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
        found = tree_flatten(combine_fn(tree_unflatten(a, spec), tree_unflatten(b, spec)))[0]
        if [f.shape for f in found] != [x.shape for x in a]:
            raise RuntimeError("associative_scan: combine_fn must return tensors of the shapes of its arguments")
        return found

    combine = vmap(one, in_dims=axis, out_dims=axis)
    leaves = [x.flip(axis) for x in leaves] if reverse else leaves
    made = _partial(combine, leaves, axis)
    return tree_unflatten([x.flip(axis) for x in made] if reverse else made, spec)


def _partial(combine: Any, xs: list[Tensor], axis: int) -> list[Tensor]:
    """Neighbours are combined, the half as many results scanned, and the slices between them computed from those."""
    n = xs[0].shape[axis]
    if n < 2:
        return xs

    def part(rows: list[Tensor], start: int, stop: int, step: int = 1) -> list[Tensor]:
        return [functions["index_select"](x, axis, x.new_tensor(list(range(start, stop, step))).long()) for x in rows]

    odd = _partial(combine, combine(part(xs, 0, n - 1, 2), part(xs, 1, n, 2)), axis)
    between = [combine(part(odd, 0, (n - 1) // 2), part(xs, 2, n, 2))] if n > 2 else []
    even = [functions["cat"]([x, *rest], axis) for x, *rest in zip(part(xs, 0, 1), *between, strict=True)]
    order = xs[0].new_tensor([i // 2 + (i % 2) * ((n + 1) // 2) for i in range(n)]).long()
    both = [functions["cat"]([e, o], axis) for e, o in zip(even, odd, strict=True)]
    return [functions["index_select"](x, axis, order) for x in both]


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """`f(x, *args)` for each slice `x` of `xs` in dimension 0, stacked."""
    leaves, spec = tree_flatten(xs)
    if not leaves or any(not isinstance(x, Tensor) for x in leaves):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {leaves}.")
    sizes = {x.shape[0] for x in leaves}
    if 0 in sizes:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if len(sizes) > 1:
        raise RuntimeError(f"Leading dimensions of mapped xs must be consistent. Got {[x.shape for x in leaves]}.")
    rows: list[Any] = []
    made: Any = None
    for i in range(sizes.pop()):
        parts, made = tree_flatten(f(tree_unflatten([x[i] for x in leaves], spec), *args))
        rows.append(parts)
    return tree_unflatten([functions["stack"](list(column)) for column in zip(*rows, strict=True)], made)


def while_loop_stack_output(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any, additional_inputs: Any = ()
) -> tuple[Any, ...]:
    """As `while_loop`, but everything that was carried, stacked; the inputs where the body never ran."""
    seen: list[list[Tensor]] = []

    def noted(*carried: Any) -> Any:
        found = body_fn(*carried, *additional_inputs)
        seen.append(list(found))
        return found

    last = while_loop(lambda *carried: cond_fn(*carried, *additional_inputs), noted, tuple(carried_inputs))
    return tuple([functions["stack"](list(column)) for column in zip(*(seen or [list(last)]), strict=True)])
