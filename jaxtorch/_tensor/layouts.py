"""Sparse layouts: conversions from dense tensors, and what dense tensors say when they are asked for sparse parts.

`jaxtorch.sparse` is imported when something is made sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import Ints, Sizes
from .._core.define.signature import checked, refusal
from .._core.tensor.sparse_value import is_sparse, makers
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.size import kind_name
from .._ops.types import constants
from ._members import Members

MEMBERS = Members()
member = MEMBERS.member


def _sparse() -> Any:
    """The package of sparse tensors."""
    from .. import sparse  # heavy, and few programs use it

    return sparse


@member
def to_sparse(
    self: Tensor, *args: Any, sparse_dim: int | None = None, layout: Any = None, blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:  # fmt: skip
    """The elements that are not zero as a sparse tensor of a layout, COO by default.

    to_sparse(sparse_dim): only the first dimensions are sparse, the values have the others.
    """
    if args or sparse_dim is not None:
        numbers = [*args] if sparse_dim is None else [*args, sparse_dim]
        others = [x for x in (layout, blocksize, dense_dim) if x is not None]
        if len(numbers) > 1 or others or not isinstance(numbers[0], int) or isinstance(numbers[0], bool):
            kinds = ", ".join([kind_name(x) for x in (*numbers, *others)])
            raise TypeError(
                f"to_sparse() received an invalid combination of arguments - got ({kinds}), but expected one of:\n * (int "
                "sparse_dim)\n * (*, torch.layout layout, tuple of ints blocksize, int dense_dim)\n"
            )
    return _converted(self, args if sparse_dim is None else (*args, sparse_dim), layout, blocksize, dense_dim)


def _converted(
    t: Tensor,
    args: Any = (),
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
    name: str = "to_sparse",
) -> Tensor:
    if layout is not None and not isinstance(layout, constants.layout):
        raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {kind_name(layout)}")
    return _sparse()._methods.convert_to_sparse(t, args, layout, blocksize, dense_dim, name)


@member
def to_sparse_coo(self: Tensor) -> Tensor:
    """As a COO tensor."""
    return to_sparse(self)


@member
@checked
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """As a CSR tensor: compressed rows."""
    return _converted(self, (), constants.sparse_csr, None, dense_dim, "to_sparse_csr")


@member
@checked
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """As a CSC tensor: compressed columns."""
    return _converted(self, (), constants.sparse_csc, None, dense_dim, "to_sparse_csc")


@member
@checked
def to_sparse_bsr(self: Tensor, blocksize: Ints, dense_dim: int | None = None) -> Tensor:
    """As a BSR tensor: compressed rows of blocks of the size `blocksize`."""
    return _converted(self, (), constants.sparse_bsr, blocksize, dense_dim, "to_sparse_bsr")


@member
@checked
def to_sparse_bsc(self: Tensor, blocksize: Ints, dense_dim: int | None = None) -> Tensor:
    """As a BSC tensor: compressed columns of blocks of the size `blocksize`."""
    return _converted(self, (), constants.sparse_bsc, blocksize, dense_dim, "to_sparse_bsc")


@member
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The strided tensor; itself if it is one. A sparse tensor's gradient is always at its own places (`masked_grad`)."""
    if dtype is not None and not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"to_dense(): argument 'dtype' (position 1) must be torch.dtype, not {kind_name(dtype)}")
    if self.layout is constants.strided:
        return self if dtype is None else self.to(dtype)
    return _sparse()._convert.to_dense(self, dtype)


@member
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places of a sparse tensor, as a tensor of its layout."""
    return _sparse()._methods.sparse_mask(self, mask)


@member
def smm(self: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix times a dense one, as a COO tensor."""
    return _sparse()._methods.smm(self, mat2)


@member
def sspaddmm(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta self + alpha mat1 @ mat2 as a COO tensor."""
    return _sparse()._methods.sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)


def _own(t: Any, name: str) -> Any:
    """The method of a tensor's class where that has one of its own, of which `Tensor.values(t)` knows nothing; or None."""
    found = getattr(type(t), name, None) if isinstance(t, Tensor) else None
    return None if found is vars(Tensor).get(name) else found


@member
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse: 0."""
    own = _own(self, "sparse_dim")
    return 0 if own is None else own(self)


@member
def dense_dim(self: Tensor) -> int:
    """How many dimensions are dense: all."""
    own = _own(self, "dense_dim")
    return self.dim() if own is None else own(self)


def _refuse(name: str, what: str) -> None:
    def ask(self: Tensor) -> Any:
        own = _own(self, name)
        if own is not None:
            return own(self)
        raise RuntimeError(f"{name} expected sparse {what}tensor layout but got Strided")

    ask.__name__ = name
    ask.__doc__ = f"A part of a sparse {what}tensor; RuntimeError for a dense one."
    MEMBERS[name] = ask


for _name, _what in (("coalesce", "coordinate "), ("is_coalesced", "coordinate "), ("indices", "coordinate "), ("values", ""),
                     ("crow_indices", "row compressed "), ("col_indices", "row compressed "),
                     ("ccol_indices", "column compressed "), ("row_indices", "column compressed ")):  # fmt: skip
    _refuse(_name, _what)


def _refuse_private(name: str, takes: Callable[..., None]) -> None:
    """A method of sparse tensors alone; takes: a function with its parameters, which are looked at first."""
    refuse = refusal(
        name,
        NotImplementedError,
        f"Could not run 'aten::{name}' with arguments from the 'CPU' backend: the tensor is dense",
        takes,
    )

    def ask(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        return (getattr(type(self), name) if is_sparse(self) else refuse)(self, *args, **kwargs)

    ask.__name__ = name
    ask.__doc__ = "Of sparse tensors; NotImplementedError for a dense one."
    MEMBERS[name] = ask


def _flag(self: Tensor, coalesced: bool) -> None:
    """The parameters of `_coalesced_`."""


def _sizes(self: Tensor, size: Sizes, sparse_dim: int, dense_dim: int) -> None:
    """The parameters of `sparse_resize_`."""


def _sizes_again(self: Tensor, size: Sizes, sparse_dim: int, dense_dim: int) -> None:
    """The parameters of `sparse_resize_and_clear_`."""


def _template(self: Tensor, the_template: Tensor) -> None:
    """The parameters of `resize_as_sparse_`."""


for _name in ("_nnz", "_indices", "_values"):
    _refuse_private(_name, lambda self: None)
_refuse_private("_coalesced_", _flag)
_refuse_private("sparse_resize_", _sizes)
_refuse_private("sparse_resize_and_clear_", _sizes_again)
_refuse_private("resize_as_sparse_", _template)
MEMBERS["_dimI"], MEMBERS["_dimV"] = sparse_dim, dense_dim
MEMBERS["_to_dense"], MEMBERS["_to_sparse"] = to_dense, to_sparse


def _make_embedding(*args: Any) -> Tensor:
    return _sparse()._embedding.embedding(*args)


def _make_empty(*args: Any) -> Tensor:
    return _sparse()._create.empty(*args)


makers["embedding"], makers["empty"] = _make_embedding, _make_empty
