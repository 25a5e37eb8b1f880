"""What sparse tensors do beside the operations in the tables: their parts, and the conversions of `Tensor.to`."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._ops.types import casting
from .._ops.types.constants import strided
from . import _likes, _operations, _products  # noqa: F401  (registers what it has)
from ._convert import coalesce as _coalesce
from ._convert import compress, index_tensor, to_coo, to_dense
from ._create import empty
from ._tensor import (
    COLUMN_COMPRESSED,
    COO,
    ROW_COMPRESSED,
    TITLES,
    SparseTensor,
    alias,
    become,
    coo,
    dense_dims,
    make,
    method,
    nnz,
    with_values,
)


def _expect(t: SparseTensor, name: str, kinds: Any, what: str) -> None:
    if t._kind not in kinds:
        raise RuntimeError(f"{name} expected sparse {what} tensor layout but got {TITLES[t._kind]}")


@method
def coalesce(self: SparseTensor) -> SparseTensor:
    """COO with its indices in order and each place once, values at one place added."""
    _expect(self, "coalesce", (COO,), "coordinate")
    return _coalesce(self)


@method
def is_coalesced(self: SparseTensor) -> bool:
    """Is it known that each place is there once?"""
    _expect(self, "is_coalesced", (COO,), "coordinate")
    return self._merged


@method
def _coalesced_(self: SparseTensor, coalesced: bool) -> SparseTensor:
    """Say whether each place is there once."""
    self._merged = coalesced
    return self


@method
def indices(self: SparseTensor) -> Tensor:
    """(sparse dimensions, n) indices of a coalesced COO tensor."""
    _expect(self, "indices", (COO,), "coordinate")
    if not self._merged:
        raise RuntimeError("Cannot get indices on an uncoalesced tensor, please call .coalesce() first")
    return self._parts[0].detach()


@method
def values(self: SparseTensor) -> Tensor:
    """The values, (n, *dense dimensions) for a COO tensor, which has to be coalesced."""
    if self._kind is COO and not self._merged:
        raise RuntimeError("Cannot get values on an uncoalesced tensor, please call .coalesce() first")
    return alias(self._parts[-1])


@method
def _indices(self: SparseTensor) -> Tensor:
    """The indices of a COO tensor, coalesced or not."""
    if self._kind is not COO:
        _operations.unsupported("_indices", (self,), True)
    return self._parts[0].detach()


@method
def _values(self: SparseTensor) -> Tensor:
    """The values without history, coalesced or not."""
    return self._parts[-1].detach()


@method
def _nnz(self: SparseTensor) -> int:
    """How many values (or blocks) there are."""
    return nnz(self)


@method
def crow_indices(self: SparseTensor) -> Tensor:
    """Where each row's values begin, and the end (CSR, BSR)."""
    _expect(self, "crow_indices", ROW_COMPRESSED, "row compressed")
    return self._parts[0].detach()


@method
def col_indices(self: SparseTensor) -> Tensor:
    """The columns of the values (CSR, BSR)."""
    _expect(self, "col_indices", ROW_COMPRESSED, "row compressed")
    return self._parts[1].detach()


@method
def ccol_indices(self: SparseTensor) -> Tensor:
    """Where each column's values begin, and the end (CSC, BSC)."""
    _expect(self, "ccol_indices", COLUMN_COMPRESSED, "column compressed")
    return self._parts[0].detach()


@method
def row_indices(self: SparseTensor) -> Tensor:
    """The rows of the values (CSC, BSC)."""
    _expect(self, "row_indices", COLUMN_COMPRESSED, "column compressed")
    return self._parts[1].detach()


@method
def sparse_dim(self: SparseTensor) -> int:
    """How many dimensions are sparse."""
    return self._sparse


@method
def dense_dim(self: SparseTensor) -> int:
    """How many of the last dimensions the values have."""
    return dense_dims(self)


SparseTensor._dimI, SparseTensor._dimV = sparse_dim, dense_dim


# -- conversions


@method
def to(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
    """With another element type or on another device; itself where nothing changes (unless `copy`)."""
    slot, dtype, copy, layout = casting.to_arguments(args, kwargs)
    if getattr(layout, "name", "preserve_format") != "preserve_format":
        _operations.unsupported("to(memory_format=...)", (self,))
    out = self
    if slot is not None and slot is not self._value.aval.slot:
        parts = tuple([p.to(slot.device) for p in self._parts])
        out = make(self._kind, parts, self.shape, self._sparse, self._merged, "ToCopyBackward0")
    if dtype is not None and dtype is not out.dtype:
        out = with_values(out, out._parts[-1].to(dtype), made_by="ToCopyBackward0")
    return _operations._clone(out) if copy and out is self else out


@method
def cpu(self: SparseTensor, memory_format: Any = None) -> SparseTensor:
    """On the CPU."""
    return to(self, "cpu")


@method
def cuda(self: SparseTensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> SparseTensor:
    """On a GPU."""
    return to(self, "cuda" if device is None else device)


@method
def type_as(self: SparseTensor, other: Tensor) -> SparseTensor:
    """With the element type (and device) of another tensor."""
    return to(self, other.device, other.dtype)


_dense_type = Tensor.type


@method
def type(self: SparseTensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The name of the tensor's legacy type, or the tensor converted to one."""
    if dtype is not None:
        return _dense_type(self, dtype, non_blocking, **kwargs)
    if self._kind is not COO:
        raise RuntimeError(f"Unimplemented backend SparseCsr{'CUDA' if self.is_cuda else 'CPU'}")
    return _dense_type(self).replace("torch.", "torch.sparse.")


@method
def resize_as_sparse_(self: SparseTensor, other: Any) -> SparseTensor:
    """Give this tensor the size of another sparse one; one with compressed indices must have it already."""
    if self._kind is not COO:
        if getattr(other, "_kind", None) is not self._kind:
            raise RuntimeError("resize_as_sparse_compressed_tensor_: self and src must have the same layout")
        if other.shape != self.shape or nnz(other) != nnz(self):
            raise NotImplementedError("resize_as_sparse_: compressed tensors of another size or with other places")
        return self
    return sparse_resize_(self, other.shape, other.sparse_dim(), other.dense_dim())


@method
def resize_as_(self: SparseTensor, the_template: Any, *, memory_format: Any = None) -> SparseTensor:
    """`resize_as_sparse_`, which it is for two sparse tensors; NotImplementedError for a dense one or compressed ones."""
    if self._kind is not COO or getattr(the_template, "_kind", None) is not COO:
        raise NotImplementedError(
            "Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend: both must be COO"
        )
    return resize_as_sparse_(self, the_template)


@method
def sparse_resize_(self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Change the size, keeping the values; sparse dimensions may only grow while there are values."""
    size = tuple(size)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
            f"dense_dim = {dense_dim}"
        )
    if nnz(self) == 0:
        return sparse_resize_and_clear_(self, size, sparse_dim, dense_dim)
    if (sparse_dim, dense_dim) != (self._sparse, dense_dims(self)) or tuple(size[sparse_dim:]) != tuple(
        self.shape[self._sparse :]
    ):
        raise RuntimeError(
            "sparse_resize_: changing the number of dimensions, or the dense sizes, of a tensor with values is not supported"
        )
    if any(n < m for n, m in zip(size, self.shape[: self._sparse], strict=False)):
        raise RuntimeError(
            "sparse_resize_: shrinking the size of sparse dimensions of a tensor with values is not supported"
        )
    return become(self, coo(self._parts[0], self._parts[1], size, self._merged))


@method
def sparse_resize_and_clear_(self: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> SparseTensor:
    """Change the size and drop all values."""
    size = tuple(size)
    indices, held = (p.detach() for p in self._parts[-2:])
    empty = held.new_zeros((0, *size[sparse_dim:]))
    return become(self, coo(indices.new_zeros((sparse_dim, 0)), empty, size, True))


@method
def zero_(self: SparseTensor) -> SparseTensor:
    """Remove all values."""
    return _operations.zero_(self)


@method
def fill_(self: SparseTensor, value: Any) -> Any:
    """Of compressed tensors the values that are there; NotImplementedError for others, whose result would be dense."""
    if self._kind is COO:
        _operations.unsupported("fill_.Scalar", (self,), True)
    self._parts[-1].fill_(value)
    return self


@method
def copy_(self: SparseTensor, src: Any, non_blocking: bool = False) -> Any:
    """Make this tensor hold what another sparse one does."""
    return _operations.copy_(self, src)


# -- indexing and shape


@method
def __getitem__(self: SparseTensor, index: Any) -> Tensor:
    given = list(index) if isinstance(index, tuple) else [index]
    named = sum(1 for i in given if i is not None and i is not Ellipsis)
    if Ellipsis in [i for i in given if not isinstance(i, Tensor)]:
        k = next(k for k, i in enumerate(given) if i is Ellipsis)
        given[k : k + 1] = [slice(None)] * (self.dim() - named)
    if named > self.dim():
        raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
    out: Any = self
    dim = 0
    for i in given:
        if i is None:
            out, dim = out.unsqueeze(dim), dim + 1
        elif isinstance(i, slice):
            start, stop, step = i.indices(out.shape[dim])
            if (start, stop, step) != (0, out.shape[dim], 1):
                import numpy as np

                out = out.index_select(dim, index_tensor(np.arange(start, stop, step), self))
            dim += 1
        elif isinstance(i, Tensor) and i.dim() == 1 and i.dtype.name in ("int64", "int32"):
            if any(isinstance(j, Tensor) and j.dim() for j in given if j is not i):
                _operations.unsupported("index", (self,), True)
            out, dim = out.index_select(dim, i), dim + 1
        elif isinstance(i, bool) or (isinstance(i, Tensor) and i.dim()) or not hasattr(i, "__index__"):
            _operations.unsupported("index", (self,), True)
        else:
            out = out.select(dim, i.__index__())
    return out


@method
def __setitem__(self: SparseTensor, index: Any, value: Any) -> None:
    _operations.unsupported("__setitem__", (self,), True)


@method
def __iter__(self: SparseTensor) -> Any:
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter([_operations.select(self, 0, i) for i in range(self.shape[0])])


@method
def t_(self: SparseTensor) -> SparseTensor:
    """In-place form of `t`."""
    return become(self, _operations.t_(self))


@method
def transpose_(self: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """In-place form of `transpose`."""
    return become(self, _operations.transpose(self, dim0, dim1))


@method
def abs_(self: SparseTensor) -> SparseTensor:
    """In-place form of `abs`."""
    return _operations.TABLE["abs_"](self)


SparseTensor.absolute_ = abs_


def _no(name: str, message: str) -> None:
    def refuse(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(message)

    refuse.__name__ = name
    refuse.__doc__ = f"RuntimeError: {message}."
    method(refuse)


for _name in ("reshape", "flatten", "ravel", "unflatten", "reshape_as"):
    _no(_name, "reshape is not implemented for sparse tensors")
for _name in ("expand", "expand_as", "broadcast_to"):
    _no(_name, "expand is unsupported for Sparse tensors")
_no("contiguous", "unsupported memory format option Contiguous")
_no("__array_wrap__", "a sparse tensor cannot be wrapped around a NumPy array")


def _turned(self: SparseTensor) -> Tensor:
    return self.permute(*range(self.dim() - 1, -1, -1))


SparseTensor.T = property(_turned, doc="The dimensions in reverse order.")  # pyright: ignore[reportAttributeAccessIssue]
SparseTensor.mT = property(lambda self: self.transpose(-2, -1), doc="The last two dimensions swapped.")  # pyright: ignore[reportAttributeAccessIssue]


@method
def is_conj(self: SparseTensor) -> bool:
    """False: conjugates have values of their own."""
    return False


@method
def is_neg(self: SparseTensor) -> bool:
    """False: no sparse tensor is a negating view."""
    return False


@method
def resolve_conj(self: SparseTensor) -> SparseTensor:
    """The tensor itself."""
    return self


SparseTensor.resolve_neg = resolve_conj


def _part(name: str) -> property:
    def of_values(self: SparseTensor) -> SparseTensor:
        return (
            with_values(self, getattr(self._parts[-1], name)) if self.is_complex() else getattr(Tensor, name).fget(self)
        )

    return property(of_values, doc=f"The {name} part of the values.")


SparseTensor.real, SparseTensor.imag = _part("real"), _part("imag")  # pyright: ignore[reportAttributeAccessIssue]


@method
def new_tensor(self: SparseTensor, data: Any, **kwargs: Any) -> Tensor:
    """A dense tensor of the same element type."""
    if self._kind is not COO:
        _operations.unsupported("new_tensor", (self,), True)
    return Tensor.new_tensor(functions["empty"](0, dtype=self.dtype, device=self.device), data, **kwargs)


@method
def new_zeros(
    self: SparseTensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A sparse tensor without values of the same element type."""
    if self._kind is not COO:
        _operations.unsupported("new_zeros", (self,), True)
    if not size:
        raise TypeError('new_zeros() missing 1 required positional arguments: "size"')
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    device = self.device if device is None else device
    return empty(shape, COO, self.dtype if dtype is None else dtype, device, requires_grad)


@method
def new_empty(self: SparseTensor, *size: Any, **options: Any) -> Tensor:
    """`new_zeros`: there are no values."""
    return new_zeros(self, *size, **options)


def _unsupported_method(name: str) -> None:
    def refuse(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        _operations.unsupported(name, (self,), True)

    refuse.__name__ = name
    refuse.__doc__ = "NotImplementedError: not of sparse tensors."
    method(refuse)


for _name in """view view_as resize_ set_ jax __jax_array__ __dlpack__ __dlpack_device__ apply_ map_ map2_
as_strided as_subclass uniform_ normal_ random_ exponential_ geometric_ cauchy_ log_normal_ bernoulli_ new_ones new_full
new_empty_strided split split_with_sizes chunk tensor_split""".split():
    _unsupported_method(_name)


# -- what `Tensor`'s methods of the same names ask for


def convert_to_sparse(t: Tensor, args: Any, layout: Any, blocksize: Any, dense_dim: Any, name: str) -> Tensor:
    """`Tensor.to_sparse`."""
    sparse = args[0] if args else None
    if layout is None or layout is COO:
        if blocksize is not None:
            raise RuntimeError(
                f"dense_{name}: conversion from {TITLES[t.layout]} to Sparse with blocksize argument given is not supported"
            )
        return to_coo(t, sparse)
    if layout is strided:
        return to_dense(t)
    return compress(t, layout, blocksize, dense_dim, name)


smm, sspaddmm, sparse_mask = _products.smm, _products.sspaddmm, _products.sparse_mask
