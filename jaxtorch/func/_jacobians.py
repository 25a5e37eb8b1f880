"""`jacrev`, `jacfwd` and `hessian`: recorded (`_by_recording.py`), or by JAX's transformations."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._core.random import jax_draws
from .._core.run import traced_kernels
from .._core.tensor.sparse_value import refuse_compressed
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import RestartUntaped, state
from ..utils._pytree import TreeSpec, treespec_leaf
from ..utils._pytree import tree_flatten as flatten
from ..utils._pytree import tree_unflatten as unflatten
from . import _by_recording
from ._derivatives import Argnums, Problem, as_cotangents, no_saved_hooks, tangent_of, with_aux
from ._jax_calls import (
    array_of,
    aux_tensors,
    check_real,
    check_smooth,
    conj,
    differentiable,
    out_tensors,
    refuse_nested,
)


def _check_chunk(chunk_size: Any) -> None:
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")


def _mapped(fn: Callable[[Any], Any], rows: list[Any], randomness: str = "error") -> Any:
    """`fn` for each row, as `torch.func.vmap` would; what it returns as second is the same for all rows."""

    def of_row(index: Any, row: list[Any]) -> Any:
        state.transforms += 1
        try:
            with jax_draws.mapping(randomness, rows[0].shape[0], index):
                return fn(row)
        finally:
            state.transforms -= 1

    return jax.vmap(of_row, out_axes=(0, None))(jnp.arange(rows[0].shape[0]), rows)


def _rows(fn: Callable[[Any], list[Any]], basis: list[Any], chunk: int | None) -> list[Any]:
    """`fn` for each row of a basis, at once or in chunks."""
    n = basis[0].shape[0]
    if chunk == 1:
        parts = [fn([b[i] for b in basis]) for i in range(n)]
        return [jnp.stack(p) for p in zip(*parts, strict=True)]
    step = max(n if chunk is None else chunk, 1)
    begins = range(0, n, step) or (0,)
    parts = [_mapped(lambda row: (fn(row), ()), [b[i : i + step] for b in basis])[0] for i in begins]
    return [jnp.concatenate(p) for p in zip(*parts, strict=True)] if len(parts) > 1 else parts[0]


def _basis(values: list[Any]) -> list[Any]:
    """For each value, the part of the identity matrix over all elements of all values that belongs to it."""
    sizes = [v.size for v in values]
    total, begin, found = sum(sizes), 0, []
    for v, size in zip(values, sizes, strict=True):
        found.append(jnp.eye(total, size, -begin, v.dtype).reshape(total, *v.shape))
        begin += size
    return found


def _jacobian(
    func: Any, argnums: Any, has_aux: bool, make: Any, name: str, forward: bool, chunk: Any, randomness: str | None
) -> Callable[..., Any]:
    """randomness: None for reverse mode, else how forward mode maps over tangents. make: what does it with JAX, if anything."""
    own = "jacfwd" if forward else "jacrev"

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        with contextlib.nullcontext() if forward else no_saved_hooks():
            if forward:
                refuse_nested()
            problem = Problem(func, args, kwargs, argnums, forward)
            check_real(flatten(args)[0], own, "inputs")
            refuse_compressed(flatten(args)[0])
            return _by_recording.by_tape(lambda: recorded(problem), lambda: traced_by_jax(problem))

    def checked(out: Any) -> tuple[list[Tensor], TreeSpec]:
        found, spec = out_tensors(out, name)
        refuse_compressed(found)
        if not forward:
            check_smooth(found)
        check_real(found, own, "outputs")
        return found, spec

    def recorded(problem: Problem) -> Any:
        specs = [treespec_leaf()] * 2

        def run(tensors: list[Tensor]) -> Any:
            out, aux = with_aux(problem.call.of(tensors), has_aux, name)
            found, specs[0] = checked(out)
            more, specs[1] = aux_tensors(aux)
            return found, more

        tensors = problem.call.tensors
        if randomness is None:
            blocks, rest = _by_recording.jacobian(_by_recording.Problem(tensors, problem.moving), run, chunk)
        else:

            def of_moving(moving: list[Tensor]) -> Any:
                return run(problem.full(tensors, moving))

            blocks, rest = _by_recording.columns(of_moving, [tensors[i] for i in problem.moving], randomness)
        k = len(problem.moving)
        rows = [unflatten(blocks[i * k : (i + 1) * k], problem.spec) for i in range(specs[0].num_leaves)]
        found = unflatten(rows, specs[0])
        return (found, unflatten(rest, specs[1])) if has_aux else found

    def traced_by_jax(problem: Problem) -> Any:
        call = problem.call
        specs = [treespec_leaf()] * 2

        def run(arrays: list[Any]) -> list[Any]:
            def outputs(*moving: Any) -> Any:
                out, written = call.run(problem.full(arrays, moving))
                out, aux = with_aux(out, has_aux, name)
                found, specs[0] = checked(out)
                more, specs[1] = aux_tensors(aux)
                return [array_of(t) for t in found], [*map(array_of, more), *written]

            if make is None:  # the caller knows another way
                raise RestartUntaped
            blocks, rest = make(outputs, [arrays[i] for i in problem.moving])
            return [*blocks, *rest]

        made = differentiable(run, call.tensors)
        n, k, m = specs[0].num_leaves, len(problem.moving), specs[1].num_leaves
        call.finish(made[n * k + m :])
        rows = [unflatten(made[i * k : (i + 1) * k], problem.spec) for i in range(n)]
        found = unflatten(rows, specs[0])
        return (found, unflatten(made[n * k : n * k + m], specs[1])) if has_aux else found

    return wrapper


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of `func`, by reverse mode: for each output, one block for each input.

    chunk_size: how many rows are computed at once.
    """
    _check_chunk(chunk_size)

    def make(outputs: Any, inputs: list[Any]) -> Any:
        values, back, rest = jax.vjp(outputs, *inputs, has_aux=True)
        smooth = [i for i, v in enumerate(values) if jnp.issubdtype(v.dtype, jnp.inexact)]

        def pull(rows: Any) -> list[Any]:
            full = list(values)
            for i, r in zip(smooth, rows, strict=True):
                full[i] = r
            return [conj(g) for g in back(as_cotangents(values, full))]

        rows = _rows(pull, _basis([values[i] for i in smooth]), chunk_size) if smooth else []
        blocks, begin = [], 0
        for i, v in enumerate(values):
            size = v.size if i in smooth else 0
            for j, x in enumerate(inputs):
                block = rows[j][begin : begin + size] if size or i in smooth else jnp.zeros((v.size, *x.shape), x.dtype)
                blocks.append(block.reshape(*v.shape, *x.shape))
            begin += size
        return blocks, rest

    return _jacobian(func, argnums, has_aux, make, "vjp(f, *primals)", False, chunk_size, None)


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by forward mode."""

    def make(outputs: Any, inputs: list[Any]) -> Any:
        different = randomness == "different" and any(x.size for x in inputs)

        def followed(*xs: Any) -> Any:
            with traced_kernels.following_tangents():
                return outputs(*xs)

        def along(tangents: list[Any]) -> Any:
            values, moves, rest = jax.jvp(followed, tuple(inputs), tuple(tangents), has_aux=True)
            found = [tangent_of(v, t) for v, t in zip(values, moves, strict=True)]
            return ((found, values, rest), ()) if different else (found, (values, rest))

        columns, others = _mapped(along, _basis(inputs), randomness)
        if different:  # the values differ from column to column; those of the first are the function's
            columns, *several = columns
            others = jax.tree.map(lambda x: x[0], several)
        values, rest = others
        blocks = []
        for v, column in zip(values, columns, strict=True):
            begin = 0
            for x in inputs:
                part = jnp.moveaxis(column[begin : begin + x.size], 0, -1)
                blocks.append(part.reshape(*v.shape, *x.shape))
                begin += x.size
        return blocks, rest

    return _jacobian(func, argnums, has_aux, make, "jvp(f, primals, tangents)", True, None, randomness)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the second derivatives of `func`: forward over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
