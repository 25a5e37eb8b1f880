"""`SparseTensor`: a tensor that is its indices and its values, which are ordinary tensors.

Everything is computed on those two, so recording and gradients are those of the dense operations. `values` carries the history;
a leaf's gradient is the gradient of its values, at its own indices.
"""

from __future__ import annotations

from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

import numpy as np

from .._core.define.op import camel, functions
from .._core.dispatch.torch_function import disabled_torch_function
from .._core.graph.nodes import shown
from .._core.run import capture
from .._core.tensor import printing
from .._core.tensor.sparse_value import NO_MEMORY, NO_PROGRAM
from .._core.tensor.tensor import Tensor, from_host
from .._core.types import dtypes
from .._core.types.device import cpu, default_device
from .._core.types.grad_mode import state
from .._core.types.size import Size
from .._core.types.value import Value, aval_of
from .._core.types.warn_once import once
from .._ops.types import constants
from .._tensor.conversion import to_numpy
from .._tensor.sharing import reduced
from .._tensor.sparse_gradients import to_values

TITLES = {
    constants.strided: "Strided", constants.sparse_coo: "Sparse", constants.sparse_csr: "SparseCsr",
    constants.sparse_csc: "SparseCsc", constants.sparse_bsr: "SparseBsr", constants.sparse_bsc: "SparseBsc",
}  # fmt: skip
COO = constants.sparse_coo
ROW_COMPRESSED = (constants.sparse_csr, constants.sparse_bsr)
COLUMN_COMPRESSED = (constants.sparse_csc, constants.sparse_bsc)
COMPRESSED = (*ROW_COMPRESSED, *COLUMN_COMPRESSED)
BLOCKED = (constants.sparse_bsr, constants.sparse_bsc)


class SparseTensor(Tensor):
    """A sparse tensor of one of PyTorch's layouts.

    _kind:    the layout.
    _parts:   (indices, values), or (compressed indices, plain indices, values).
    _sparse:  how many dimensions are sparse.
    _merged:  is it known that no two values are at one place (COO)?
    _made_by: the operation that made it, as its grad_fn is called.
    _grad_of: the gradient of the values that `_grad` shows.
    """

    __slots__ = ("_kind", "_parts", "_sparse", "_merged", "_made_by", "_grad_of")

    _kind: Any
    _parts: tuple[Tensor, ...]
    _sparse: int
    _merged: bool
    _made_by: str
    _grad_of: Any

    __torch_function__ = disabled_torch_function  # pyright: ignore[reportAssignmentType]

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("SparseTensor: use torch.sparse_coo_tensor or torch.sparse_csr_tensor")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __bool__(self) -> bool:
        count = self.numel()
        if count != 1:
            kind = "more than one value" if count else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        return bool(self.to_dense().item())

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError("unsupported format string passed to Tensor.__format__")
        return repr(self)

    @property
    def _values_part(self) -> Tensor:
        return self._parts[-1]


def warn_of_beta(kind: str) -> None:
    """PyTorch's warning at the first compressed tensor that is made, also within an operation."""
    once(
        f"Sparse {kind} tensor support is in beta state. If you miss a functionality in the sparse tensor support, say so to "
        "the project.",
        key="compressed sparse tensors",
    )


def make(
    kind: Any, parts: tuple[Tensor, ...], size: Any, sparse: int = 2, merged: bool = False, made_by: str = ""
) -> SparseTensor:
    """A sparse tensor of these parts, which it shares."""
    capture.break_capture("a sparse tensor is made")
    if kind is not COO:
        warn_of_beta(str(kind)[-3:].upper())
    t = object.__new__(SparseTensor)
    found = parts[-1]._value.aval
    t._value = Value(aval_of(tuple([int(n) for n in size]), found.dtype, found.slot))
    t._value.program = NO_PROGRAM
    t._alias = NO_MEMORY
    t._node = t._grad = t._grad_of = t._layout = t._hooks = t._post_hooks = None
    t._index = t._ver = 0
    t._rg = False
    t._kind, t._parts, t._sparse, t._merged, t._made_by = kind, parts, sparse, merged, made_by
    return t


def coo(indices: Tensor, values: Tensor, size: Any, merged: bool = False, made_by: str = "") -> SparseTensor:
    """A COO tensor of indices (sparse dimensions, n) and values (n, *dense dimensions)."""
    return make(COO, (indices, values), size, indices.shape[0], merged or indices.shape[1] < 2, made_by)


def with_values(t: SparseTensor, values: Tensor, merged: bool | None = None, made_by: str = "") -> SparseTensor:
    """The same places with other values."""
    merged = t._merged if merged is None else merged
    return make(t._kind, (*t._parts[:-1], values), t.shape, t._sparse, merged, made_by)


def index_tensor(array: Any, like: Tensor) -> Tensor:
    """Host indices as an int64 tensor where `like` is."""
    t = from_host(np.ascontiguousarray(array, np.int64))
    return t if like.device.type == "cpu" else t.to(like.device)


def flat_places(indices: np.ndarray[Any, Any], sizes: Any) -> np.ndarray[Any, Any]:
    """(sparse dimensions, n) indices as places in row-major order."""
    place = np.zeros(indices.shape[1], np.int64)
    for row, n in zip(indices, sizes, strict=True):
        place = place * n + row
    return place


def gradient(t: SparseTensor, values: Tensor) -> SparseTensor:
    """The gradient of a sparse tensor from that of its values: once at each place, however many of its values are there, because
    each of them has the gradient of their sum."""
    if t._kind is not COO or t._merged or nnz(t) < 2:
        return with_values(t, values, True)
    indices = t._parts[0]
    places = flat_places(host(indices), t.shape[: t._sparse])
    first = index_tensor(np.unique(places, return_index=True)[1], indices)
    return coo(indices.index_select(1, first), values.index_select(0, first), t.shape, True)


def become(t: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Make `t` be `other`: the effect of an operation in place."""
    if t.requires_grad and t.is_leaf and state.grad:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
    t._value, t._kind, t._parts, t._sparse = other._value, other._kind, other._parts, other._sparse
    t._merged, t._made_by = other._merged, other._made_by
    t._ver += 1
    return t


def alias(t: Tensor) -> Tensor:
    """The same memory and history under another handle."""
    return t.view_as(t)


def host(t: Tensor) -> np.ndarray[Any, Any]:
    """Indices as a NumPy array, which nobody writes."""
    return to_numpy(t.detach() if t.requires_grad else t)


def nnz(t: SparseTensor) -> int:
    """How many values (or blocks) there are; in each matrix of a batch."""
    return t._parts[0].shape[1] if t._kind is COO else t._parts[1].shape[-1]


def dense_dims(t: SparseTensor) -> int:
    """How many of the last dimensions the values have."""
    return t.dim() - t._sparse - batch_dims(t)


def batch_dims(t: SparseTensor) -> int:
    """How many of the first dimensions number matrices of their own."""
    return 0 if t._kind is COO else t._parts[0].dim() - 1


def block_of(t: SparseTensor) -> tuple[int, ...]:
    """The size of the blocks; () without blocks."""
    if t._kind not in BLOCKED:
        return ()
    start = t._parts[1].dim()
    return tuple(t._parts[2].shape[start : start + 2])


SparseTensor._with_values = with_values  # pyright: ignore[reportAttributeAccessIssue]
SparseTensor._gradient = gradient  # pyright: ignore[reportAttributeAccessIssue]


# -- text


def describe(t: SparseTensor) -> str:
    """The text PyTorch prints."""
    device, name = t.device, None if t.grad_fn is None else t._made_by or type(t.grad_fn).__name__
    default = default_device()
    elsewhere = (device.type, device.index or 0) != (default.type, default.index or 0) and device != cpu
    names = {COO: ("indices",), **dict.fromkeys(ROW_COMPRESSED, ("crow_indices", "col_indices")),
             **dict.fromkeys(COLUMN_COMPRESSED, ("ccol_indices", "row_indices"))}[t._kind]  # fmt: skip
    usual = (dtypes.default(), dtypes.default().to_complex(), dtypes.int64, dtypes.bool_)
    facts = [f"device='{device}'"] if elsewhere else []
    facts += [f"size={tuple(t.shape)}", f"nnz={nnz(t)}"]
    facts += [] if t.dtype in usual else [f"dtype={t.dtype}"]
    facts += [f"layout={t.layout}"]
    facts += [f"grad_fn=<{name}>"] if name else ["requires_grad=True"] if t.requires_grad else []
    parts = [(n, host(p), tuple(p.shape)) for n, p in zip((*names, "values"), t._parts, strict=True)]
    return printing.format_sparse(parts, facts, t._kind is COO)


# -- what a tensor is


def _property(fn: Any) -> Any:
    setattr(SparseTensor, fn.__name__, property(fn, doc=fn.__doc__))
    return fn


def method(fn: Any) -> Any:
    setattr(SparseTensor, fn.__name__, fn)
    return fn


@_property
def layout(self: SparseTensor) -> Any:
    """The layout."""
    return self._kind


@_property
def is_sparse(self: SparseTensor) -> bool:
    """Is the layout COO?"""
    return self._kind is COO


@_property
def is_sparse_csr(self: SparseTensor) -> bool:
    """Is the layout CSR?"""
    return self._kind is constants.sparse_csr


@method
def requires_grad_(self: SparseTensor, requires_grad: bool = True) -> SparseTensor:
    """Ask for a gradient of the values, or stop asking; leaves only."""
    self._parts[-1].requires_grad_(requires_grad)
    return self


SparseTensor.requires_grad = property(
    lambda self: self._parts[-1].requires_grad, requires_grad_, doc="Is a gradient to be computed for the values?"
)


@_property
def _version(self: SparseTensor) -> int:
    """How often it has been written in place."""
    return self._ver


@_property
def grad_fn(self: SparseTensor) -> Any:
    """The node that made the values."""
    return shown(self._parts[-1]._node)


@method
def _is_view(self: SparseTensor) -> bool:
    """Sparse tensors are no views."""
    return False


@_property
def is_leaf(self: SparseTensor) -> bool:
    """Does no autograd node stand behind this tensor?"""
    return self.grad_fn is None


def _get_grad(self: SparseTensor) -> Any:
    found, kept = self._parts[-1].grad, self._grad
    if found is None:
        self._grad = None
    elif kept is None or self._grad_of is not found:
        self._grad, self._grad_of = gradient(self, found), found
    return self._grad


def _set_grad(self: SparseTensor, value: Any) -> None:
    if value is None:
        self._parts[-1].grad = self._grad = None
        return
    if not isinstance(value, SparseTensor) or value._kind is not self._kind or value.shape != self.shape:
        raise RuntimeError("Tensor.grad: the gradient of a sparse tensor must be sparse, of its layout and size")
    found = to_values(value, self)
    self._parts[-1].grad, self._grad, self._grad_of = found, value, found


SparseTensor.grad = property(_get_grad, _set_grad, lambda self: _set_grad(self, None))


@method
def detach(self: SparseTensor) -> SparseTensor:
    """The same memory without its history."""
    return with_values(self, self._parts[-1].detach())


@method
def detach_(self: SparseTensor) -> SparseTensor:
    """Forget this tensor's history, in place."""
    self._parts = (*self._parts[:-1], self._parts[-1].detach())
    return self


SparseTensor.data = property(detach, doc="The same memory without its history.")


@method
def retain_grad(self: SparseTensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad` during backward."""
    self._parts[-1].retain_grad()


@method
def register_hook(self: SparseTensor, hook: Any) -> Any:
    """Call `hook(grad)` with the sparse gradient when it is computed."""

    def on_values(g: Tensor | None) -> Any:
        found = hook(None if g is None else gradient(self, g))
        return None if found is None else to_values(found, self)

    return self._parts[-1].register_hook(on_values)


@method
def backward(
    self: SparseTensor, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Add gradients to the leaves; `gradient` is sparse, or dense."""
    if gradient is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    self._parts[-1].backward(to_values(gradient, self), retain_graph, create_graph, inputs)


@method
def is_contiguous(self: SparseTensor, memory_format: Any = None) -> bool:
    """False for COO; compressed layouts have no such thing."""
    if self._kind is not COO:
        raise RuntimeError(f"Sparse {self._kind.name[-3:].upper()} tensors do not have is_contiguous")
    return False


@method
def stride(self: SparseTensor, dim: int | None = None) -> Any:
    """Zeros for COO; compressed layouts have no strides."""
    if self._kind is not COO:
        raise RuntimeError(f"Sparse {self._kind.name[-3:].upper()} tensors do not have strides")
    return (0,) * self.dim() if dim is None else 0


@method
def storage_offset(self: SparseTensor) -> int:
    """0."""
    return 0


@method
def data_ptr(self: SparseTensor) -> NoReturn:
    """RuntimeError: a sparse tensor has no memory of its own."""
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


def _no_storage(self: SparseTensor) -> NoReturn:
    """NotImplementedError: a sparse tensor has no memory of its own."""
    name = "SparseTensorImpl" if self._kind is COO else "SparseCsrTensorImpl"
    raise NotImplementedError(f"Cannot access storage of {name}")


for _name in ("storage", "untyped_storage", "_typed_storage", "storage_type", "share_memory_", "is_shared"):
    setattr(SparseTensor, _name, _no_storage)


@_property
def nbytes(self: SparseTensor) -> NoReturn:
    """RuntimeError: ask the parts for theirs."""
    raise RuntimeError("nbytes is not defined for sparse tensors: add those of the indices and of the values")


@method
def dim_order(self: SparseTensor, ambiguity_check: Any = False) -> NoReturn:
    """AttributeError: there is no order of elements in memory."""
    raise AttributeError(f"Can't get dim order on sparse type: {self.type()} Use Tensor.to_dense() first.")


@method
def numpy(self: SparseTensor, *, force: bool = False) -> NoReturn:
    """TypeError: convert to a dense tensor first."""
    raise TypeError(f"can't convert {TITLES[self._kind]} layout tensor to numpy. Use Tensor.to_dense() first.")


SparseTensor.__array__ = lambda self, *args, **kwargs: numpy(self)


@method
def tolist(self: SparseTensor) -> NoReturn:
    """RuntimeError: convert to a dense tensor first."""
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


@method
def item(self: SparseTensor) -> Any:
    """The single element as a Python number."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return self.to_dense().item()


@method
def __deepcopy__(self: SparseTensor, memo: Any) -> SparseTensor:
    if id(self) in memo:
        return memo[id(self)]
    if self.grad_fn is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment."
        )
    parts = [p.detach().clone() for p in self._parts]
    parts[-1].requires_grad_(self.requires_grad)
    out = memo[id(self)] = make(self._kind, tuple(parts), self.shape, self._sparse, self._merged)
    if self.grad is not None:
        out.grad = self.grad.clone()
    return out


def rebuild_parts(t: SparseTensor) -> tuple[Any, tuple[Any, ...]]:
    """(layout, parts), as PyTorch pickles them."""
    parts = tuple([p.detach() for p in t._parts])
    return (t._kind, (*parts, Size(t.shape), t._merged)) if t._kind is COO else (t._kind, (*parts, Size(t.shape)))


ForkingPickler.register(SparseTensor, reduced)


def grad_name(operation: str) -> str:
    """'mul' -> 'MulBackward0'."""
    return camel(operation.strip("_")) + "Backward0"


def new(name: str) -> Any:
    """A function of `torch`, which is there when this is called."""
    return functions[name]
