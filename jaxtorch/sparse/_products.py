"""Products with sparse matrices, sums, and softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor import strides
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types import dtypes
from .._ops import sparse as _ops
from .._ops.types import constants
from .._ops.types.casting import as_dtype
from ._convert import coalesce, compress, entries, flat_places, index_tensor, to_coo, to_dense
from ._operations import add, mul, on, t_, unsupported
from ._tensor import COO, SparseTensor, coo, host, make, warn_of_beta, with_values


def _check(name: str, a: Tensor, b: Tensor) -> None:
    need_tensor(a, name, "mat1")
    need_tensor(b, name, "mat2", 2)
    if a.dim() != 2 or b.dim() != 2:
        raise RuntimeError(f"{name}: expected matrices, but got tensors of {a.dim()} and {b.dim()} dimensions")
    if a.shape[1] != b.shape[0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({a.shape[0]}x{a.shape[1]} and {b.shape[0]}x{b.shape[1]})"
        )
    if a.dtype is not b.dtype:
        x, y = dtypes.scalar_name(a.dtype), dtypes.scalar_name(b.dtype)
        raise RuntimeError(f"{name}: expected scalar type {x} but found {y}")


def _flat(t: SparseTensor) -> tuple[Tensor, Tensor]:
    """(indices, values) of a matrix whose dimensions are both sparse."""
    if t._kind is COO and t._sparse != 2:
        raise RuntimeError(f"mm: expected a matrix of 2 sparse dimensions, but got {t._sparse}")
    return entries(t)


@on("mm")
def mm(input: Any, mat2: Any, made_by: str = "MmBackward0") -> Tensor:
    """The product of two matrices, one of them sparse: dense; or both: sparse."""
    _check("mm", input, mat2)
    if not isinstance(mat2, SparseTensor):
        indices, values = _flat(input)
        return _ops._sparse_matmul(indices, values, mat2, input.shape[0], made_by)
    if not isinstance(input, SparseTensor):
        indices, values = _flat(mat2)
        return _ops._sparse_matmul(indices.flip(0), values, input.t(), mat2.shape[1]).t()
    out = _both_sparse(coalesce(to_coo(input)), coalesce(to_coo(mat2)))
    return out if input._kind is COO else compress(out, constants.sparse_csr)


def _both_sparse(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Every value of `a` meets those of the row of `b` that its column names; equal places are added."""
    warn_of_beta("CSR")  # PyTorch multiplies two COO tensors as CSR ones
    at, bt = host(a._parts[0]), host(b._parts[0])
    starts = np.searchsorted(bt[0], at[1], "left")
    counts = np.searchsorted(bt[0], at[1], "right") - starts
    left = np.repeat(np.arange(at.shape[1]), counts)
    right = np.arange(counts.sum()) + np.repeat(starts - np.concatenate([[0], np.cumsum(counts)])[:-1], counts)
    size = (a.shape[0], b.shape[1])
    place = flat_places(np.stack([at[0][left], bt[1][right]]), size)
    kept, inverse = np.unique(place, return_inverse=True)
    pick = functions["index_select"]
    terms = pick(a._parts[1], 0, index_tensor(left, a)) * pick(b._parts[1], 0, index_tensor(right, b))
    values = _ops._segments_added(terms, index_tensor(inverse.reshape(-1), a), len(kept))
    indices = np.stack(np.divmod(kept, max(size[1], 1)))
    return coo(index_tensor(indices, a), values, size, True, "SparseSparseMatmulBackward0")


@on("mv")
def mv(input: Any, vec: Any) -> Tensor:
    """A sparse matrix times a dense vector."""
    if not isinstance(input, SparseTensor) or isinstance(vec, SparseTensor):
        unsupported("mv", (input, vec))
    if input.dim() != 2 or vec.dim() != 1 or input.shape[1] != vec.shape[0]:
        raise RuntimeError("mv: expected self.size(-1) == vec.size(-1)")
    return mm(input, vec[:, None])[:, 0]


@on("bmm")
def bmm(input: Any, mat2: Any) -> Tensor:
    """The products of a sparse batch of matrices (b, n, m) and a dense one (b, m, p)."""
    if not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        unsupported("bmm", (input, mat2))
    if input.dim() != 3 or mat2.dim() != 3:
        raise RuntimeError("bmm_sparse: Tensor 'mat2' and 'self' must be 3D")
    if input.shape[0] != mat2.shape[0] or input.shape[2] != mat2.shape[1]:
        raise RuntimeError(
            f"bmm: expected mat2 of size [{input.shape[0]}, {input.shape[2]}, *], but got {list(mat2.shape)}"
        )
    indices, values = to_coo(input)._parts
    return _ops._sparse_bmm(indices, values, mat2, input.shape[1])


@on("matmul")
def matmul(input: Any, other: Any) -> Tensor:
    """The matrix product, as `@` gives it."""
    a, b = input.dim(), other.dim()
    if (a, b) == (2, 2):
        return mm(input, other)
    if (a, b) == (2, 1):
        return mv(input, other)
    if (a, b) == (1, 2) and isinstance(other, SparseTensor) and not isinstance(input, SparseTensor):
        return mm(input[None], other)[0]
    if (a, b) == (3, 3):
        return bmm(input, other)
    raise RuntimeError("expand is unsupported for Sparse tensors")


@on("addmm", "_addmm")
def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta input + alpha mat1 @ mat2."""
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        unsupported("addmm", (input,))
    product: Tensor = mm(mat1, mat2)
    product = product if alpha == 1 else mul(product, alpha) if isinstance(product, SparseTensor) else product * alpha
    if isinstance(input, SparseTensor):
        input = input if beta == 1 else mul(input, beta)
        return add(input, product) if isinstance(product, SparseTensor) else functions["add"](product, input)
    if beta == 0:
        return product
    input = input if beta == 1 else input * beta
    return input + product


@on("linear", "_linear")
def linear(input: Any, weight: Any, bias: Any = None) -> Tensor:
    """input @ weight.T + bias, with a sparse weight or input."""
    if isinstance(weight, SparseTensor):
        if isinstance(input, SparseTensor):
            unsupported("linear", (input, weight))
        flat = input.reshape(-1, input.shape[-1])
        out = mm(flat, t_(weight)).reshape((*input.shape[:-1], weight.shape[0]))
    else:
        out = mm(input, weight.t())
    return out if bias is None else out + bias


def hspmm(mat1: Any, mat2: Any) -> Tensor:
    """Sparse times dense, as a COO tensor of one sparse and one dense dimension: the rows that are not empty."""
    need_tensor(mat1, "hspmm", "mat1")
    need_tensor(mat2, "hspmm", "mat2", 2)
    if not isinstance(mat1, SparseTensor):
        raise NotImplementedError(
            "Could not run 'aten::hspmm' with arguments from the 'CPU' backend: the first matrix is dense"
        )
    _check("hspmm", mat1, mat2)
    a = coalesce(to_coo(mat1))
    rows, inverse = np.unique(host(a._parts[0])[0], return_inverse=True)
    terms = a._parts[1][:, None] * mat2[a._parts[0][1]]
    values = _ops._segments_added(terms, index_tensor(inverse, a), len(rows))
    return coo(index_tensor(rows[None], a), values, (a.shape[0], mat2.shape[1]), True, "HspmmBackward0")


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta input + alpha mat1 @ mat2 as a COO tensor, for a COO `input` and a dense `mat2`; not merged."""
    need_tensor(mat1, "sspaddmm", "mat1")
    need_tensor(mat2, "sspaddmm", "mat2", 2)
    if not isinstance(input, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    rows: Any = hspmm(mat1, mat2)
    n, k = rows._parts[1].shape
    at = host(rows._parts[0])[0]
    indices = np.stack([np.repeat(at, k), np.tile(np.arange(k), n)])
    values = (rows._parts[1] * alpha).reshape(-1)
    held = input._parts
    both = functions["cat"]([held[1] * beta, values])
    return coo(functions["cat"]([held[0], index_tensor(indices, input)], 1), both, input.shape)


def smm(input: Any, mat2: Any) -> Tensor:
    """Sparse times dense, as a COO tensor."""
    need_tensor(mat2, "smm", "mat2")
    if not isinstance(input, SparseTensor):
        raise RuntimeError("tensor.sspaddmm(...) can only be called on sparse tensors")
    zeros, device = functions["zeros"], input.device
    size = (input.shape[0], mat2.shape[1])
    empty = coo(
        zeros((2, 0), dtype=dtypes.int64, device=device), zeros((0,), dtype=input.dtype, device=device), size, True
    )
    return sspaddmm(empty, input, mat2)


def sampled_addmm(input: Any, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Tensor:
    """beta input + alpha (mat1 @ mat2) at the places of `input`, a CSR tensor; mat1: (n, m), mat2: (m, k)."""
    if not isinstance(input, SparseTensor) or input._kind is not constants.sparse_csr:
        kind = input.layout
        raise RuntimeError(f"sampled_addmm: Expected self to have CSR layout, but got {kind}")
    for name, t in (("mat1", mat1), ("mat2", mat2)):
        if isinstance(t, SparseTensor):
            raise RuntimeError(f"sampled_addmm: Expected {name} to have strided layout, but got {t.layout}")
    if mat1.shape[-1] != mat2.shape[-2]:
        raise RuntimeError(
            f"sampled_addmm: mat1 and mat2 shapes cannot be multiplied ({mat1.shape[-2]}x{mat1.shape[-1]} and "
            f"{mat2.shape[-2]}x{mat2.shape[-1]})"
        )
    if input.dim() > 2:
        raise NotImplementedError("sampled_addmm: jaxtorch has no batches of it")
    if tuple(input.shape) != (mat1.shape[-2], mat2.shape[-1]):
        raise RuntimeError(
            f"sampled_addmm: self.shape {list(input.shape)} must match the product's {[mat1.shape[-2], mat2.shape[-1]]}"
        )
    found = _ops._sampled_product(entries(input)[0], mat1, mat2)
    found = found if alpha == 1 else found * alpha
    if beta != 0:
        found = found + (input._parts[2] if beta == 1 else input._parts[2] * beta)
    made = with_values(input, found, made_by="SparseSampledAddmmBackward0")
    if out is None:
        return made
    return out.copy_(made)


def spmm_reduce(mat1: Any, mat2: Tensor, reduce: str) -> Tensor:
    """For each row of the CSR tensor `mat1`, 'sum', 'mean', 'amax' ('max') or 'amin' ('min') of values times rows of `mat2`."""
    if not isinstance(mat1, SparseTensor) or mat1._kind is not constants.sparse_csr:
        raise RuntimeError(f"sparse.mm with reduce: expected a CSR tensor, but got layout {mat1.layout}")
    reduce = {"max": "amax", "min": "amin"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", "amax", "amin", "prod"):
        raise RuntimeError(f"sparse.mm: reduce argument must be either sum, mean, amax or amin, got {reduce}")
    if reduce == "prod":
        raise NotImplementedError("sparse.mm: jaxtorch has no reduce='prod'")
    _check("sparse.mm", mat1, mat2)
    indices, values = entries(mat1)
    ones = functions["ones_like"](values.detach())
    return _ops._sparse_extreme(values, ones, mat2, indices[0], indices[1], mat1.shape[0], reduce)


# -- sums


def sum(input: Any, dim: Any = None, dtype: Any = None) -> Tensor:
    """The sum over dimensions: sparse as long as sparse dimensions are left."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("coalesce expected sparse coordinate tensor layout but got Strided")
    if dtype is not None:
        input = with_values(input, input._parts[-1].to(as_dtype(dtype)))
    if dim is None:
        return input._parts[-1].sum()
    if input._kind is not COO:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")
    dims = {strides.wrap_dim(d, input.dim()) for d in ((dim,) if isinstance(dim, int) else tuple(dim))}
    n = input._sparse
    indices, values = input._parts
    dense = [d - n + 1 for d in dims if d >= n]
    if dense:
        values = values.sum(dense)
    elif not values.dtype.is_floating_point and not values.dtype.is_complex:
        values = values.to(dtypes.int64)
    size = [m for d, m in enumerate(input.shape) if d not in dims]
    kept = [d for d in range(n) if d not in dims]
    if not kept:
        return values.sum(0)
    out = coo(indices[kept], values, size, input._merged and len(kept) == n, "SparseSumBackward0")
    if len(kept) < n:
        out = coalesce(out)
        out._made_by = "SparseSumBackward0"
    return out


@on("sum")
def _sum(input: SparseTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return sum(input, None, dtype)
    if keepdim:
        if input._kind is not COO:
            out: Any = sum(to_coo(input), dim, dtype)
        else:
            out = sum(input, dim, dtype)
        for d in sorted({strides.wrap_dim(d, input.dim()) for d in ((dim,) if isinstance(dim, int) else dim)}):
            out = out.unsqueeze(d)
        return compress(to_coo(out), input._kind) if input._kind is not COO else out
    return sum(input, dim, dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None, log: bool = False) -> Tensor:
    """Softmax along a dimension over the values there are; others count as minus infinity."""
    name = "_sparse_log_softmax" if log else "_sparse_softmax"
    if not isinstance(input, SparseTensor) or input._kind is not COO:
        raise NotImplementedError(f"Could not run 'aten::{name}' with arguments of layout {input.layout}")
    if dtype is not None:
        input = with_values(input, input._parts[-1].to(as_dtype(dtype)))
    dim = strides.wrap_dim(dim, input.dim())
    made_by = "SparseLogSoftmaxBackward0" if log else "SparseSoftmaxBackward0"
    t = coalesce(input)
    indices, values = t._parts
    if dim >= t._sparse:
        along = functions["log_softmax" if log else "softmax"]
        return coo(indices, along(values, dim - t._sparse + 1), t.shape, True, made_by)
    at = np.delete(host(indices), dim, 0)
    place = flat_places(at, [m for d, m in enumerate(t.shape[: t._sparse]) if d != dim])
    kept, inverse = np.unique(place, return_inverse=True)
    found = _ops._segment_softmax(values, index_tensor(inverse.reshape(-1), t), len(kept), log)
    return coo(indices, found, t.shape, True, made_by)


def sparse_mask(t: Tensor, mask: Any) -> Tensor:
    """The elements of `t` at the places of `mask`, in the mask's layout."""
    need_tensor(mask, "sparse_mask", "mask")
    if not isinstance(mask, SparseTensor):
        raise NotImplementedError(f"sparse_mask(): expected mask to have a sparse layout, but got {mask.layout}")
    if t.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(t.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    if mask._kind is not COO:
        dense = to_dense(t)
        values = _ops._sparse_gather(dense, entries(mask)[0])
        return make(mask._kind, (*mask._parts[:-1], values.reshape(mask._parts[-1].shape)), mask.shape, 2, mask._merged)
    if not isinstance(t, SparseTensor):
        return with_values(mask, _ops._sparse_gather(t, mask._parts[0]), made_by="SparseMaskBackward0")
    own = coalesce(to_coo(t))
    sizes = mask.shape[: mask._sparse]
    have, want = flat_places(host(own._parts[0]), sizes), flat_places(host(mask._parts[0]), sizes)
    found = np.searchsorted(have, want)
    there = found < len(have)
    there[there] = have[found[there]] == want[there]
    nothing = functions["zeros"]((1, *own._parts[1].shape[1:]), dtype=own.dtype, device=own.device)
    held = functions["cat"]([own._parts[1], nothing])
    values = functions["index_select"](held, 0, index_tensor(np.where(there, found, len(have)), own))
    return with_values(mask, values, made_by="SparseMaskBackward0")


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Any, layout: Any = None) -> Tensor:
    """A matrix with the rows of `diagonals` on the diagonals numbered by `offsets`; element j of a row goes to column j."""
    rows = diagonals if diagonals.dim() == 2 else diagonals[None]
    at = np.atleast_1d(host(offsets))
    if len(at) != rows.shape[0]:
        raise RuntimeError(f"Number of diagonals ({rows.shape[0]}) does not match the number of offsets ({len(at)})")
    if len(set(at.tolist())) != len(at):
        raise RuntimeError("Offset tensor contains duplicate values")
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    n, m = shape
    found, source = [], []
    for k, offset in enumerate(at.tolist()):
        columns = np.arange(max(offset, 0), min(m, n + offset, rows.shape[1]))
        found.append(np.stack([columns - offset, columns]))
        source.append(columns + k * rows.shape[1])
    indices = np.concatenate(found, 1) if found else np.zeros((2, 0))
    places = np.concatenate(source) if source else np.zeros(0)
    values = functions["index_select"](rows.reshape(-1), 0, index_tensor(places, rows))
    out = coo(index_tensor(indices, rows), values, (n, m))
    if layout is None or layout is COO:
        return out
    if layout not in (constants.sparse_csr, constants.sparse_csc):
        raise RuntimeError("Only output layouts (Sparse, SparseCsr, SparseCsc) are supported, got " + str(layout))
    return compress(out, layout)
