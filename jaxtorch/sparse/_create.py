"""Making sparse tensors from indices and values."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.define.overloads import signed
from .._core.define.signature import MISSING, need_kind
from .._core.tensor.strides import wrap_dim
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.grad_mode import state
from .._core.types.size import need_sizes
from .._core.types.warn_once import once
from .._ops.types import constants
from .._ops.types.casting import as_dtype
from ._convert import check_bounds
from ._tensor import (
    BLOCKED,
    COLUMN_COMPRESSED,
    COMPRESSED,
    COO,
    ROW_COMPRESSED,
    TITLES,
    SparseTensor,
    alias,
    coo,
    host,
    make,
    method,
    rebuild_parts,
)


class check_sparse_tensor_invariants:
    """Switch, context and decorator: have the functions that make sparse tensors check their indices."""

    __module__ = "jaxtorch.sparse"

    _on = False
    _told = False  # has the program said which?

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Are indices checked?"""
        return check_sparse_tensor_invariants._on

    @staticmethod
    def enable() -> None:
        """Check indices from now on."""
        check_sparse_tensor_invariants._on = check_sparse_tensor_invariants._told = True

    @staticmethod
    def disable() -> None:
        """Check them no more."""
        check_sparse_tensor_invariants._on, check_sparse_tensor_invariants._told = False, True

    def __enter__(self) -> None:
        if self.saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context "
                "nesting."
            )
        self.saved, check_sparse_tensor_invariants._on = self._on, self.state
        check_sparse_tensor_invariants._told = True

    def __exit__(self, *exc: Any) -> None:
        check_sparse_tensor_invariants._on, self.saved = bool(self.saved), None

    def __call__(self, mth: Callable[..., Any]) -> Callable[..., Any]:
        import functools

        @functools.wraps(mth)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return checked


def _checks(asked: bool | None) -> bool:
    if asked is None and not check_sparse_tensor_invariants._told:
        once(
            "Sparse invariant checks are implicitly disabled. Memory errors (e.g. SEGFAULT) will occur in PyTorch when operating on "
            "a sparse tensor which violates the invariants. To opt in or out: torch.sparse.check_sparse_tensor_invariants"
        )
    return check_sparse_tensor_invariants._on if asked is None else asked


def _values(values: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """The values as a tensor that shares the given memory."""
    if dtype is not None:
        dtype = as_dtype(dtype)
    if isinstance(values, Tensor):
        t = values.to(device=device or values.device, dtype=dtype or values.dtype)
    else:
        t = functions["tensor"](values, dtype=dtype, device=device)
    if requires_grad or not state.grad or not t.requires_grad:
        return t.detach().requires_grad_(requires_grad)
    return alias(t)


def _index(given: Any, device: Any) -> Tensor:
    t = given.detach() if isinstance(given, Tensor) else functions["tensor"](given)
    if not isinstance(given, Tensor) and t.numel() == 0:
        t = t.to(dtypes.int64)
    return t.to(device)


def sparse_coo_tensor(
    indices: Any = MISSING, values: Any = MISSING, size: Any = MISSING, *, dtype: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A COO tensor: `values` (n, *dense) at `indices` (sparse dimensions, n); values at one place add up.

    Without values, `sparse_coo_tensor(size)` is an empty one. `size` is read off the indices where it is not given.
    Gradients flow to `values`.
    """
    for name, flag in (("check_invariants", check_invariants), ("is_coalesced", is_coalesced)):
        if flag is not None:
            need_kind("sparse_coo_tensor", name, "bool", flag)
    need_kind("sparse_coo_tensor", "pin_memory", "bool", pin_memory)
    if values is MISSING:
        size = _size(indices if size is MISSING else size, 1, alone=True)
        _checks(check_invariants)
        return empty(size, COO, dtype, device, requires_grad)
    if size is not MISSING:
        size = _size(size, 3, alone=False)
    held = _values(values, dtype, device, requires_grad)
    if indices is None:
        raise TypeError("'NoneType' object cannot be interpreted as an integer")
    at = _index(indices, held.device)
    if size is not MISSING:
        wrap_dim(0, at.dim(), scalar=False)
    if at.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(at.shape)}")
    at = at.to(dtypes.int64)
    if not held.dim():
        held = held.expand(at.shape[1]) if at.shape[1] == 1 else held
    count = held.shape[0] if held.dim() else 1
    sparse, dense = at.shape[0], max(held.dim() - 1, 0)
    checked = _checks(check_invariants)
    if size is MISSING:
        found = host(at)
        check_bounds(found, [np.iinfo(np.int64).max] * sparse)
        size = (*(found.max(1) + 1 if found.shape[1] else [0] * sparse), *held.shape[1:])
    else:
        if len(size) != sparse + dense:
            raise RuntimeError(
                f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse}, "
                f"dense_dim = {dense}"
            )
        if tuple(size[sparse:]) != tuple(held.shape[1:]):
            raise RuntimeError(f"values has incorrect size, expected {[count, *size[sparse:]]}, got {list(held.shape)}")
        if checked:
            check_bounds(host(at), size[:sparse])
    if count != at.shape[1]:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {at.shape[1]}, nnz from values: {count}"
        )
    if is_coalesced and checked:
        _check_merged(host(at))
    return coo(at, held, size, bool(is_coalesced), "SparseCooTensorWithDimsAndTensorsBackward0")


def _size(given: Any, position: int, alone: bool) -> tuple[int, ...]:
    """A size that no tensor has may be negative nowhere."""
    need_sizes("sparse_coo_tensor", "size", given, position, alone)
    size = tuple(map(int, given)) if isinstance(given, (tuple, list)) else (int(given),)
    if any(n < 0 for n in size):
        raise RuntimeError("numel: integer multiplication overflow")
    return size


def _check_merged(at: np.ndarray[Any, Any]) -> None:
    order = np.lexsort(at[::-1])
    if at.shape[1] > 1 and ((order != np.arange(at.shape[1])).any() or not np.diff(at).any(0).all()):
        raise RuntimeError("cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor")


def empty(size: tuple[int, ...], kind: Any, dtype: Any, device: Any, requires_grad: bool = False) -> SparseTensor:
    """A tensor without values."""
    zeros = functions["zeros"]
    longs = {"dtype": dtypes.int64, "device": device}
    if kind is COO:
        values = zeros((0,), dtype=dtype, device=device)
        out = coo(zeros((len(size), 0), **longs), values, size, len(size) > 0)
    else:
        if kind in BLOCKED:
            raise NotImplementedError(f"empty(): jaxtorch has no empty tensors of layout {kind}")
        if len(size) < 2:
            raise RuntimeError(
                f"torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size {list(size)}"
            )
        batch, lines = size[:-2], size[-1 if kind in COLUMN_COMPRESSED else -2]
        parts = (
            zeros((*batch, lines + 1), **longs),
            zeros((*batch, 0), **longs),
            zeros((*batch, 0), dtype=dtype, device=device),
        )
        out = make(kind, parts, size, 2, True)
    return out.requires_grad_(True) if requires_grad else out


def _compressed(
    compressed_indices: Any, plain_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None,
) -> SparseTensor:  # fmt: skip
    """A tensor of a compressed layout (CSR, CSC, BSR, BSC), or a batch of them.

    compressed_indices: (*batch, lines + 1), where each line's entries begin, and the end. plain_indices: (*batch, n).
    values: (*batch, n, *block, *dense).
    """
    if layout not in COMPRESSED:
        shown = "none" if layout is None else TITLES.get(layout, str(layout))
        raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {shown}")
    held = _values(values, dtype, device, requires_grad)
    starts, plain = _index(compressed_indices, held.device), _index(plain_indices, held.device)
    by_column = layout in COLUMN_COMPRESSED
    for name, part in zip(_PARTS[by_column], (starts, plain)):
        if not part.dim():
            raise RuntimeError(f"{name} must have dimensionality >= 1 but got 0")
    batch, within = starts.dim() - 1, 2 * (layout in BLOCKED)
    if held.dim() < batch + within + 1:
        raise RuntimeError(
            f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + {within}) but got {held.dim()}"
        )
    block = tuple(held.shape[batch + 1 : batch + 3]) if layout in BLOCKED else (1, 1)
    if size is not None:
        need_sizes("sparse_compressed_tensor", "size", size)
        if any(n < 0 for n in size):
            raise RuntimeError("numel: integer multiplication overflow")
    else:
        found = host(plain)
        lines = starts.shape[-1] - 1
        across = int(found.max()) + 1 if found.size else 0
        sides = (across * block[0], lines * block[1]) if by_column else (lines * block[0], across * block[1])
        dense = held.shape[batch + (3 if layout in BLOCKED else 1) :]
        size = (*starts.shape[:-1], *sides, *dense)
    if _checks(check_invariants):
        _check_compressed(host(starts), host(plain), held, tuple(size), layout, block)
    return make(layout, (starts, plain, held), tuple(size), 2, True, "SparseCompressedTensorBackward0")


@signed("sparse_compressed_tensor")
@functools.wraps(_compressed)
def sparse_compressed_tensor(*args: Any, **kwargs: Any) -> SparseTensor:
    return _compressed(*args, **kwargs)


sparse_compressed_tensor.__name__ = sparse_compressed_tensor.__qualname__ = "sparse_compressed_tensor"


_PARTS = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")


def _check_compressed(starts: Any, plain: Any, values: Tensor, size: Any, kind: Any, block: Any) -> None:
    rows = kind in ROW_COMPRESSED
    name, other = _PARTS[not rows]
    batch = starts.ndim - 1
    sides = [n // b for n, b in zip(size[batch : batch + 2], block, strict=True)]
    lines, across = sides if rows else sides[::-1]
    if starts.shape[-1] != lines + 1:
        raise RuntimeError(
            f"{name}.shape[-1] must be equal to the number of lines + 1 ({lines + 1}), but got {starts.shape[-1]}"
        )
    if plain.shape[-1] != values.shape[batch]:
        raise RuntimeError(f"{other}.shape[-1] must be equal to nnz ({values.shape[batch]}), but got {plain.shape[-1]}")
    if (starts[..., 0] != 0).any():
        raise RuntimeError(f"`{name}[..., 0] == 0` is not satisfied.")
    if (starts[..., -1] != plain.shape[-1]).any():
        raise RuntimeError(f"`{name}[..., -1] == nnz` is not satisfied.")
    counts = np.diff(starts, axis=-1)
    if (counts < 0).any() or (counts > across).any():
        raise RuntimeError(
            f"`0 <= {name}[..., 1:] - {name}[..., :-1] <= {'ncols' if rows else 'nrows'}` is not satisfied."
        )
    if plain.size and (plain.min() < 0 or plain.max() >= across):
        raise RuntimeError(f"`0 <= {other} < {'ncols' if rows else 'nrows'}` is not satisfied.")


def _of_layout(kind: Any, first: str, second: str) -> Callable[..., SparseTensor]:
    def make_one(
        compressed: Any, plain: Any, values: Any, size: Any = MISSING, *, dtype: Any = None, device: Any = None,
        pin_memory: bool = False, requires_grad: bool = False, check_invariants: bool | None = None, layout: Any = None,
    ) -> SparseTensor:  # fmt: skip
        if layout is not None and layout is not kind:
            raise RuntimeError(f"{make_one.__name__}: layout must be {kind}, but got {layout}")
        if size is None:
            raise TypeError(
                f"{make_one.__name__}() received an invalid combination of arguments: size must be sizes, not None"
            )
        return _compressed(
            compressed, plain, values, None if size is MISSING else size, dtype=dtype, layout=kind, device=device,
            requires_grad=requires_grad, check_invariants=check_invariants,
        )  # fmt: skip

    def named(*args: Any, **kwargs: Any) -> SparseTensor:
        given = list(args)
        for position, name in enumerate((first, second)):
            if name in kwargs:
                given.insert(position, kwargs.pop(name))
        return make_one(*given, **kwargs)

    make_one.__name__ = named.__name__ = named.__qualname__ = f"{kind.name}_tensor"
    named.__doc__ = f"A tensor of layout {kind}: ({first}, {second}, values, size); see `sparse_compressed_tensor`."
    return named


sparse_csr_tensor = _of_layout(constants.sparse_csr, "crow_indices", "col_indices")
sparse_bsr_tensor = _of_layout(constants.sparse_bsr, "crow_indices", "col_indices")
sparse_csc_tensor = _of_layout(constants.sparse_csc, "ccol_indices", "row_indices")
sparse_bsc_tensor = _of_layout(constants.sparse_bsc, "ccol_indices", "row_indices")


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Tensor:
    """A sparse tensor from its layout and its pickled parts."""
    if layout.name == "sparse_coo":
        indices, values, size, *merged = data
        return sparse_coo_tensor(indices, values, size, is_coalesced=bool(merged and merged[0]), check_invariants=True)
    compressed, plain, values, size = data
    return sparse_compressed_tensor(compressed, plain, values, size, layout=layout, check_invariants=True)


_rebuild_sparse_tensor.__module__ = "jaxtorch._utils"  # where pickles look for it


@method
def __reduce_ex__(self: SparseTensor, protocol: Any) -> Any:
    return _rebuild_sparse_tensor, rebuild_parts(self)
