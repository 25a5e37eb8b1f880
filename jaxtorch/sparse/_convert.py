"""Between layouts: dense, COO, and the compressed ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor, write_out
from .._core.types import dtypes
from .._ops import sparse as _ops
from .._ops.types import constants
from ._tensor import (
    BLOCKED,
    COLUMN_COMPRESSED,
    COMPRESSED,
    COO,
    TITLES,
    SparseTensor,
    batch_dims,
    block_of,
    coo,
    flat_places,
    host,
    index_tensor,
    make,
    nnz,
)


def coalesce(t: SparseTensor) -> SparseTensor:
    """COO with values at one place added and places in order; itself where it is known to be so."""
    if t._merged:
        return t
    indices, values = t._parts
    sizes = t.shape[: t._sparse]
    at = host(indices)
    if at.shape[1] < 2:
        return coo(indices, functions["clone"](values), t.shape, True, "CoalesceBackward0")
    check_bounds(at, sizes)
    kept, first, inverse = np.unique(flat_places(at, sizes), return_index=True, return_inverse=True)
    merged = _ops._segments_added(values, index_tensor(inverse.reshape(-1), indices), len(kept))
    return coo(index_tensor(at[:, first], indices), merged, t.shape, True, "CoalesceBackward0")


def check_bounds(at: np.ndarray[Any, Any], sizes: Any) -> None:
    """RuntimeError where an index lies outside of the size."""
    if not at.shape[1]:
        return
    for dim, (row, n) in enumerate(zip(at, sizes, strict=True)):
        if row.min() < 0:
            raise RuntimeError(f"found negative index {row.min()} for dim {dim}")
        if row.max() >= n:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {n} but found index {row.max()}"
            )


def entries(t: SparseTensor) -> tuple[Tensor, Tensor]:
    """(indices, values) of any matrix without batches, not necessarily merged; nothing is read to the host."""
    if t._kind is COO:
        return t._parts[0], t._parts[1]
    compressed, plain, values = t._parts
    block = block_of(t)
    indices = _ops._spread_indices(compressed, plain, t._kind in COLUMN_COMPRESSED, block)
    return indices, values.flatten(0, 2) if block else values


def to_coo(t: Tensor, sparse: int | None = None) -> SparseTensor:
    """A dense or compressed tensor as COO, merged."""
    if not isinstance(t, SparseTensor):
        return _from_dense(t, t.dim() if sparse is None else sparse)
    if t._kind is COO:
        return t
    if batch_dims(t):
        return _from_dense(to_dense(t), batch_dims(t) + 2)
    indices, values = entries(t)
    return coo(indices, values, t.shape, t._kind is constants.sparse_csr, "ToSparseBackward0")


def _from_dense(t: Tensor, sparse: int) -> SparseTensor:
    if not 0 <= sparse <= t.dim() or (sparse == 0 and t.dim() > 0):
        raise RuntimeError(
            f"dense_to_sparse: sparse_dim argument must be in [0,{t.dim()}] range, but {sparse} is given"
        )
    content = host(t)
    filled = content != 0
    if sparse < t.dim():
        filled = filled.reshape(*content.shape[:sparse], -1).any(-1)
    indices = index_tensor(np.stack(np.nonzero(filled)) if sparse else np.zeros((0, int(filled))), t)
    values = _ops._sparse_gather(t, indices)
    return coo(indices, values, t.shape, True, "ToSparseBackward0")


def to_dense(t: Tensor, dtype: dtypes.dtype | None = None) -> Tensor:
    """The strided tensor."""
    if not isinstance(t, SparseTensor):
        return t if dtype is None else t.to(dtype)
    if batch_dims(t):
        return functions["stack"]([to_dense(m, dtype) for m in matrices(t)]).reshape(tuple(t.shape))
    indices, values = entries(t)
    if dtype is not None:
        values = values.to(dtype)
    return _ops._sparse_to_dense(indices, values, tuple(t.shape))


def matrices(t: SparseTensor) -> list[SparseTensor]:
    """The matrices of a batch, each of the same compressed layout."""
    n = batch_dims(t)
    flat = [p.flatten(0, n - 1) for p in t._parts]
    return [
        make(t._kind, (flat[0][i], flat[1][i], flat[2][i]), t.shape[n:], 2, t._merged) for i in range(flat[0].shape[0])
    ]


def _name(kind: Any) -> str:
    return kind.name.replace("sparse_", "to_sparse_")


def compress(
    t: Tensor, kind: Any, block: Any = None, dense: int | None = None, name: str | None = None
) -> SparseTensor:
    """A tensor in a compressed layout; `block`: the size of the blocks (BSR, BSC); `dense`: of the values' dimensions;
    `name`: what errors call the conversion."""
    name = name or _name(kind)
    if isinstance(t, SparseTensor):
        if t._kind is kind and (block is None or tuple(block) == block_of(t)):
            return t
        if (t._kind in COMPRESSED and (batch_dims(t) or block is not None)) or kind in BLOCKED:
            t = to_dense(t)
    where = "sparse" if isinstance(t, SparseTensor) else "dense"
    if t.dim() < 2 and where == "dense":
        raise IndexError(f"{name}(): expected a tensor of at least 2 dimensions, but got {t.dim()}")
    if isinstance(t, SparseTensor):
        if t._sparse != 2:
            raise RuntimeError(
                f"{where}_{name}: conversion from Sparse to {TITLES[kind]} for input tensors with sparse_dim()!=2 "
                "is not supported"
            )
        return _compress_matrix(coalesce(to_coo(t)), kind)
    dense = dense or 0
    if (block is not None) != (kind in BLOCKED):
        given = "with" if block is not None else "without"
        raise RuntimeError(
            f"dense_{name}: conversion from Strided to {TITLES[kind]} {given} blocksize argument given is not supported"
        )
    if not 0 <= dense <= t.dim() - 2:
        raise RuntimeError(f"dense_{name}: dense_dim argument must be in [0,{t.dim() - 2}] range, but {dense} is given")
    batch = t.dim() - 2 - dense
    if block is not None:
        block = _checked_block(t.shape[batch : batch + 2], block, name)
    if not batch:
        return _compress_blocks(t, kind, block) if block else _compress_matrix(_from_dense(t, 2), kind)
    shape = t.shape[:batch]
    flat = t.flatten(0, batch - 1)
    made = [compress(flat[i], kind, block, dense, name) for i in range(flat.shape[0])]
    if len({nnz(m) for m in made}) > 1:
        raise RuntimeError(f"dense_{name}: Expect the same number of specified elements per batch.")
    stacked = [functions["stack"]([m._parts[k] for m in made]) for k in range(3)]
    parts = [p.reshape((*shape, *p.shape[1:])) for p in stacked]
    return make(kind, (parts[0], parts[1], parts[2]), t.shape, 2, True, grad_name_of(kind))


def grad_name_of(kind: Any) -> str:
    return f"ToSparse{kind.name[-3:].capitalize()}Backward0"


def _checked_block(size: Any, block: Any, name: str) -> tuple[int, int]:
    block = (block, block) if isinstance(block, int) else tuple(block)
    rows, columns = size
    if len(block) != 2 or min(block) < 1 or rows % block[0] or columns % block[1]:
        raise RuntimeError(
            f"dense_{name}: tensor sparse size ({rows},{columns}) must be divisible by given blocksize "
            f"({','.join(map(str, block))})"
        )
    return block


def _lines(places: Any, count: int, like: Tensor) -> Tensor:
    """Where each line's entries begin, and the end."""
    return index_tensor(np.concatenate([[0], np.cumsum(np.bincount(places, minlength=count))]), like)


def _compress_matrix(t: SparseTensor, kind: Any) -> SparseTensor:
    """A merged COO matrix in CSR or CSC."""
    at, values = host(t._parts[0]), t._parts[1]
    by_column = kind in COLUMN_COMPRESSED
    if by_column:
        order = np.lexsort((at[0], at[1]))
        at = at[:, order]
        values = functions["index_select"](values, 0, index_tensor(order, values))
    line, plain = (at[1], at[0]) if by_column else (at[0], at[1])
    starts = _lines(line, t.shape[1 if by_column else 0], values)
    made = (starts, index_tensor(plain, values), functions["clone"](values) if values is t._parts[1] else values)
    return make(kind, made, t.shape, 2, True, grad_name_of(kind))


def _compress_blocks(t: Tensor, kind: Any, block: tuple[int, int]) -> SparseTensor:
    """A dense matrix in BSR or BSC."""
    rows, columns = t.shape[0] // block[0], t.shape[1] // block[1]
    rest = tuple(t.shape[2:])
    blocks = t.reshape(rows, block[0], columns, block[1], *rest).transpose(1, 2)
    content = host(blocks)
    filled = (content != 0).reshape(rows, columns, math.prod((*block, *rest))).any(-1)
    by_column = kind in COLUMN_COMPRESSED
    line, plain = np.nonzero(filled.T if by_column else filled)
    at = np.stack([plain, line] if by_column else [line, plain])
    values = _ops._sparse_gather(blocks, index_tensor(at, t))
    parts = (_lines(line, columns if by_column else rows, t), index_tensor(plain, t), values)
    return make(kind, parts, t.shape, 2, True, grad_name_of(kind))


def _need_integers(indices: Tensor, name: str) -> None:
    if indices.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{dtypes.scalar_name(indices.dtype)}'")


def coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False, out: Tensor | None = None) -> Tensor:
    """(size + 1,) where each of `size` rows begins, from (n,) row numbers in order. RuntimeError for other than one dimension."""
    if self.dim() > 1:
        raise RuntimeError(f"Input is supposed to be a vector, but got {self.dim()} dimensional tensor.")
    _need_integers(self, "convert_indices_from_coo_to_csr")
    rows = functions["arange"](size + 1, dtype=self.dtype, device=self.device)
    starts = functions["searchsorted"](self.reshape(-1), rows, out_int32=out_int32)
    return starts if out is None else write_out(out, starts, "_convert_indices_from_coo_to_csr")


def csr_to_coo(
    crow_indices: Tensor,
    col_indices: Tensor,
    *,
    out_int32: bool = False,
    transpose: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """(batch dimensions + 2, all values) places, from (*batch, rows + 1) beginnings of rows and (*batch, n) columns.

    transpose: the columns come before the rows.
    """
    _need_integers(crow_indices, "convert_indices_from_csr_to_coo")
    batch, n = tuple(col_indices.shape[:-1]), col_indices.shape[-1]
    at = functions["arange"](n, dtype=crow_indices.dtype, device=crow_indices.device).expand(*batch, n).contiguous()
    row = functions["searchsorted"](crow_indices.contiguous(), at, right=True) - 1
    pair = (col_indices, row) if transpose else (row, col_indices)
    within = [
        functions["arange"](k, device=row.device).reshape(-1, *[1] * (len(batch) - i)) for i, k in enumerate(batch)
    ]
    places = [p.expand(*batch, n).reshape(-1) for p in (*within, *pair)]
    found = functions["stack"](places).to(dtypes.int32 if out_int32 else dtypes.int64)
    return found if out is None else write_out(out, found, "_convert_indices_from_csr_to_coo")
