"""Names of `torch.ops.aten` below the public functions.

Libraries use such names as keys of their tables when they are imported, and modes are shown calls of them. Those that mean
something without PyTorch's dispatcher work; the others raise NotImplementedError when called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _foreach
from .._core.tensor.aliasing import check_fillable
from .._core.tensor.tensor import Tensor
from .._ops.indexing.setitem import put_given, taken
from ..linalg import vector_norm
from ..nn import functional
from ..nn.functional import grouped_mm
from . import aten_backward, aten_resampling  # noqa: F401 - both fill FUNCTIONS


def _to_copy(self: Tensor, *, dtype: Any = None, device: Any = None, **rest: Any) -> Tensor:
    """A copy, perhaps of another type or on another device."""
    return self.to(device or self.device, dtype or self.dtype, copy=True)


def alias(self: Tensor) -> Tensor:
    """A view of all of it."""
    return self.view(self.shape)


def slice(self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """`self[start:end:step]` along one dimension."""
    import builtins

    return self[(builtins.slice(None),) * (dim % self.dim()) + (builtins.slice(start, end, step),)]


def index(self: Tensor, indices: Any) -> Tensor:
    """The elements at index tensors, of any shape; None stands for all of a dimension."""
    return taken(self, indices)


def index_put(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with `values` at index tensors, of any shape; None stands for all of a dimension."""
    return put_given(self.clone(), indices, values, accumulate)


def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Write `values` at index tensors, of any shape; None stands for all of a dimension."""
    check_fillable(self)
    return put_given(self, indices, values, accumulate)


def _unsafe_index(self: Tensor, indices: Any) -> Tensor:
    """`self[indices]`."""
    return index(self, indices)


def _to_dense(self: Tensor, dtype: Any = None, masked_grad: bool | None = None) -> Tensor:
    """`self.to_dense()`."""
    return self.to_dense(dtype, masked_grad=masked_grad)


def _conj(self: Tensor) -> Tensor:
    """The complex conjugate."""
    return self.conj()


def scaled_dot_product_attention(*args: Any, **kwargs: Any) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention`."""
    return functional.scaled_dot_product_attention(*args, **kwargs)


def sym_size(self: Tensor, dim: int) -> int:
    """The size of a dimension."""
    return self.size(dim)


def sym_numel(self: Tensor) -> int:
    """The number of elements."""
    return self.numel()


def _unsafe_view(self: Tensor, size: Any) -> Tensor:
    """The elements in another shape."""
    return self.reshape(size)


def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`softmax`, of half precision in float32 with `half_to_float`."""
    return (self.float() if half_to_float else self).softmax(dim)


def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`log_softmax`, likewise."""
    return (self.float() if half_to_float else self).log_softmax(dim)


def _local_scalar_dense(self: Tensor) -> Any:
    """The one element, as a number."""
    return self.item()


def lift_fresh(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


def _grouped_mm(self: Tensor, mat2: Tensor, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Tensor:
    """`torch.nn.functional.grouped_mm`."""
    return grouped_mm(self, mat2, offs=offs, bias=bias, out_dtype=out_dtype)


def linalg_vector_norm(
    self: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """`torch.linalg.vector_norm`."""
    return vector_norm(self, ord, dim, keepdim, dtype=dtype)


_OF_TENSOR = frozenset(
    """
    _indices _nnz _values _version ccol_indices col_indices crow_indices data dense_dim dim get_device indices is_coalesced
    is_contiguous is_inference is_leaf is_pinned is_set_to item mH mT output_nr requires_grad_ retains_grad
    row_indices size sparse_dim storage_offset stride to_dense to_sparse to_sparse_csr to_sparse_csc values
    """.split()
)
"""Operations that are methods or attributes of tensors, and no functions of `torch`."""


def _of_tensor(name: str) -> Callable[..., Any]:
    def ask(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = getattr(self, name)
        if not callable(found) or isinstance(found, Tensor):
            return found
        found = found(*args, **kwargs)
        return list(found) if name in ("size", "stride") and isinstance(found, tuple) else found

    ask.__name__ = ask.__qualname__ = name
    return ask


def numpy_T(self: Tensor) -> Tensor:
    """`self.T`."""
    return self.T


def matrix_H(self: Tensor) -> Tensor:
    """`self.H`."""
    return self.H


def lift(self: Tensor) -> Tensor:
    """The tensor itself."""
    return self


_OURS = (
    _conj,
    _to_copy,
    _to_dense,
    _unsafe_index,
    alias,
    index,
    index_put,
    index_put_,
    scaled_dot_product_attention,
    slice,
    sym_size,
    sym_numel,
    _unsafe_view,
    _softmax,
    _log_softmax,
    _local_scalar_dense,
    lift,
    lift_fresh,
    matrix_H,
    numpy_T,
    linalg_vector_norm,
    _grouped_mm,
)
FUNCTIONS: dict[str, Callable[..., Any]] = aten_backward.FUNCTIONS
for _fn in _OURS:
    FUNCTIONS.setdefault(_fn.__name__, _fn)


def find(name: str) -> Callable[..., Any] | None:
    """The function behind a name; None where there is no such name."""
    if name.startswith("_foreach_"):
        return _foreach.FUNCTIONS.get(name)
    found = FUNCTIONS.get(name)
    if found is None:
        found = getattr(functional, name, None) if name in functional.__all__ else None
    if found is None and name in _OF_TENSOR:
        return _of_tensor(name)
    return found
