"""The arithmetic of sparse tensors, on their indices and values.

Indices are (sparse dimensions, n); values are (n, *dense dimensions).
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from .._core.define.op import Array, inner_op
from .indexing.gather import flag_outside
from .reductions.sorting import sorted_with


@inner_op(grad="ToDenseBackward0")
def _sparse_to_dense(indices: Array, values: Array, size: tuple):
    """The dense tensor: values at the same place are added."""
    if not indices.shape[0]:
        return values.sum(0).reshape(size).astype(values.dtype)
    at = jnp.zeros(size, values.dtype).at[tuple(indices)]
    return at.max(values) if values.dtype == jnp.bool_ else at.add(values)


@inner_op()
def _sparse_gather(input: Array, indices: Array):
    """The elements (or slices) of a dense tensor at indices."""
    if not indices.shape[0]:
        return jnp.broadcast_to(input, (indices.shape[1], *input.shape))
    return input[tuple(indices)]


@inner_op(grad="CoalesceBackward0")
def _segments_added(values: Array, place: Array, count: int):
    """(count, ...) sums of the values whose `place` is 0, 1, ..."""
    at = jnp.zeros((count, *values.shape[1:]), values.dtype).at[place]
    return at.max(values) if values.dtype == jnp.bool_ else at.add(values)


@inner_op(differentiable=False)
def _rows_merged(index: Array, values: Array, rows: int):
    """The rows that are named, and the sums of their values, both as many as there are values: what is left over names the row
    after the last one. So the shapes do not depend on how many rows are named several times."""
    flag_outside(index, 0, rows, lambda i: RuntimeError(_bounds(i, rows)))
    order = sorted_with(index, 0)[1]
    at = index[order]
    place = jnp.cumsum(jnp.concatenate([jnp.zeros((1,), bool), at[1:] != at[:-1]]))
    merged = jnp.zeros_like(values).at[place].add(values[order])
    return jnp.full(index.shape, rows, index.dtype).at[place].set(at), merged


def _bounds(index: int, rows: int) -> str:
    if index < 0:
        return f"found negative index {index} for dim 0"
    return f"size is inconsistent with indices: for dim 0, size is {rows} but found index {index}"


@inner_op(differentiable=False)
def _rows_read(input: Array, place: Array):
    """Rows of a dense tensor; 0 where `place` is none."""
    return input.at[place].get(mode="fill", fill_value=0)


@inner_op(differentiable=False)
def _rows_added(input: Array, place: Array, values: Array):
    """A dense tensor with values added to rows, none of them named twice; nothing is added where `place` is none."""
    return input.at[place].add(values.astype(input.dtype), mode="drop", unique_indices=False)


@inner_op(grad=lambda operands, statics: statics[1])
def _sparse_matmul(indices: Array, values: Array, dense: Array, rows: int, made_by: str = "MmBackward0"):
    """(rows, m) times (m, k) -> (rows, k), with values (n,) at indices (2, n)."""
    out = jnp.zeros((rows, dense.shape[1]), dense.dtype)
    return out.at[indices[0]].add(values[:, None] * dense[indices[1]])


@inner_op(grad="BmmBackward0")
def _sparse_bmm(indices: Array, values: Array, dense: Array, rows: int):
    """(b, rows, m) times (b, m, k) -> (b, rows, k), with values (n,) at indices (3, n)."""
    out = jnp.zeros((dense.shape[0], rows, dense.shape[2]), dense.dtype)
    return out.at[indices[0], indices[1]].add(values[:, None] * dense[indices[0], indices[2]])


@inner_op(grad="SparseSampledAddmmBackward0")
def _sampled_product(indices: Array, a: Array, b: Array):
    """The elements of `a @ b` at indices: (..., n, m) and (..., m, k) give (..., count)."""
    rows = jnp.take(a, indices[0], axis=-2)
    columns = jnp.take(jnp.swapaxes(b, -1, -2), indices[1], axis=-2)
    return (rows * columns).sum(-1)


@inner_op(grad="SparseMmReduceImplBackward0")
def _sparse_extreme(values: Array, weights: Array, dense: Array, rows: Array, columns: Array, count: int, reduce: str):
    """Per row and column of `dense`, the largest or smallest (or the mean, or the sum) of value times element.

    A row without values gives 0.
    """
    terms = (values * weights)[:, None] * dense[columns]
    if reduce in ("sum", "mean"):
        total = jax.ops.segment_sum(terms, rows, count)
        if reduce == "sum":
            return total
        return total / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(rows), rows, count), 1)[:, None].astype(
            terms.dtype
        )
    best = (jax.ops.segment_max if reduce == "amax" else jax.ops.segment_min)(terms, rows, count)
    filled = jax.ops.segment_sum(jnp.ones_like(rows), rows, count) > 0
    return jnp.where(filled[:, None], best, 0)


@inner_op(grad="SparseSoftmaxBackward0")
def _segment_softmax(values: Array, place: Array, count: int, log: bool):
    """Softmax over the values of one place."""
    top = jax.lax.stop_gradient(jax.ops.segment_max(values, place, count))
    shifted = values - top[place]
    total = jax.ops.segment_sum(jnp.exp(shifted), place, count)[place]
    return shifted - jnp.log(total) if log else jnp.exp(shifted) / total


@inner_op(differentiable=False)
def _spread_indices(compressed: Array, plain: Array, by_column: bool, block: tuple):
    """(2, n) indices of a compressed matrix; with blocks, of each element of the blocks."""
    n = plain.shape[0]
    lines = jnp.repeat(jnp.arange(compressed.shape[0] - 1), jnp.diff(compressed), total_repeat_length=n)
    rows, columns = (plain, lines) if by_column else (lines, plain)
    if block:
        down, along = jnp.arange(block[0])[None, :, None], jnp.arange(block[1])[None, None, :]
        shape = (n, *block)
        rows = jnp.broadcast_to(rows[:, None, None] * block[0] + down, shape).reshape(-1)
        columns = jnp.broadcast_to(columns[:, None, None] * block[1] + along, shape).reshape(-1)
    return jnp.stack([rows, columns]).astype(jnp.int64)
