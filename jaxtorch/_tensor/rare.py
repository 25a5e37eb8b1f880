"""Methods of `Tensor` that few programs call, and those that PyTorch has removed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

from .._core.autograd.hook_results import GradDtype
from .._core.define.op import Sizes
from .._core.define.signature import checked, refusal
from .._core.graph.nodes import leaf_hooks, shown
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types.dtypes import as_dtype, dtype, scalar_name
from .._core.types.warn_once import warn
from . import storage_warnings
from ._members import Members
from .properties import data_ptr as _data_ptr
from .storage_types import LEGACY

MEMBERS = Members()
member, prop = MEMBERS.member, MEMBERS.prop


@prop
def name(self: Tensor) -> None:
    """None, as in PyTorch."""
    return None


def _get_volatile(self: Tensor) -> bool:
    warn("volatile was removed (Variable.volatile is always False)")
    return False


def _set_volatile(self: Tensor, value: Any) -> None:
    warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.")


MEMBERS["volatile"] = property(_get_volatile, _set_volatile, doc="False, with a warning: PyTorch has removed it.")


def _get_hooks(self: Tensor) -> Any:
    node = shown(self._node)
    if node is not None:
        return (node.pre_hooks or {}).get(self._index)
    return self._hooks


def _set_hooks(self: Tensor, hooks: Any) -> None:
    if hooks is not None and not isinstance(hooks, dict):
        raise TypeError(f"_backward_hooks must be a dictionary or None, but got {type(hooks).__name__}")
    node = shown(self._node)
    if node is None:
        self._hooks = hooks
        if hooks is not None and not leaf_hooks:
            leaf_hooks.append(True)
    elif hooks is not None:
        node.output_hooks(self._index)
        node.pre_hooks[self._index] = hooks
    elif node.pre_hooks:
        node.pre_hooks.pop(self._index, None)


MEMBERS["_backward_hooks"] = property(
    _get_hooks, _set_hooks, doc="The hooks on the tensor's gradient, by number; None if there never was one."
)


@prop
def _has_symbolic_sizes_strides(self: Tensor) -> bool:
    """False: sizes are numbers."""
    return False


@prop
def _python_dispatch(self: Tensor) -> bool:
    """False: no class here has a `__torch_dispatch__`."""
    return False


@member
def __long__(self: Tensor) -> int:
    """`int(tensor)`."""
    return int(self)


@member
def __nonzero__(self: Tensor) -> bool:
    """`bool(tensor)`."""
    return bool(self)


@member
def _conj(self: Tensor) -> Tensor:
    """`conj` of a complex tensor."""
    if not self.is_complex():
        raise RuntimeError("_conj is only for complex tensors")
    return self.conj()


@member
def _conj_physical(self: Tensor) -> Tensor:
    """`conj_physical`."""
    return self.conj_physical()


@member
def _lazy_clone(self: Tensor) -> Tensor:
    """`clone`."""
    return self.clone()


@member
def _view_func(self: Tensor, new_base: Tensor) -> Tensor | None:
    """This view of another base: the same sizes and strides, as far from its beginning.

    None for what is no view, and for a base of another size or place in its memory.
    """
    places = [(t.shape, t.stride(), t.storage_offset()) for t in (self._base, new_base) if t is not None]
    return _view_func_unsafe(self, new_base) if len(places) == 2 and places[0] == places[1] else None


@member
def _view_func_unsafe(self: Tensor, new_base: Tensor) -> Tensor | None:
    """`_view_func` that does not compare the bases."""
    base = self._base
    if base is None:
        return None
    if self.dtype is not base.dtype or self.is_conj() or self.is_neg():
        raise NotImplementedError("jaxtorch: _view_func of a view that changes the type or conjugates")
    place = self.storage_offset() - base.storage_offset() + new_base.storage_offset()
    return new_base.as_strided(self.size(), self.stride(), place)


def _get_grad_dtype(self: Tensor) -> Any:
    _need_leaf(self, "accessed")
    found = None if self._hooks is None else self._hooks.get(GradDtype.KEY)
    return self.dtype if found is None else found.dtype


def _set_grad_dtype(self: Tensor, value: Any) -> None:
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(value).__name__}")
    _need_leaf(self, "set")
    old = self._grad
    if value is not None and old is not None and old.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{scalar_name(value)}' because there is already a gradient with dtype "
            f"'{scalar_name(old.dtype).lower()}'. Clear the gradient first (.grad = None), or give the type it has."
        )
    if self._hooks is None:
        self._hooks = OrderedDict()
    self._hooks[GradDtype.KEY] = GradDtype(value)
    self._hooks.move_to_end(GradDtype.KEY, last=False)
    if not leaf_hooks:
        leaf_hooks.append(True)


def _need_leaf(t: Tensor, what: str) -> None:
    if not t.is_leaf:
        raise RuntimeError(f"grad_dtype can only be {what} on leaf tensors.")


MEMBERS["grad_dtype"] = property(
    _get_grad_dtype, _set_grad_dtype, doc="The element type of a leaf's gradient: its own unless set; None: any."
)


@member
def const_data_ptr(self: Tensor) -> int:
    """`data_ptr`."""
    return _data_ptr(self)


@member
def is_distributed(self: Tensor) -> bool:
    """False, as in PyTorch."""
    return False


@member
def storage_type(self: Tensor) -> Any:
    """The class of the storage, such as torch.FloatStorage."""
    storage_warnings.warn()
    return LEGACY[self.dtype]


@member
def reinforce(self: Tensor, reward: Any) -> NoReturn:
    """RuntimeError: PyTorch has removed it."""
    raise RuntimeError("reinforce() was removed.")


@member
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """`view`, with a warning: use `resize_` or `view`."""
    warn("non-inplace resize is deprecated")
    return _resized(self, sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)


@member
def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """`view_as`, with a warning: use `resize_as_` or `view_as`."""
    warn("non-inplace resize_as is deprecated")
    return _resized(self, tensor.shape)


def _resized(t: Tensor, sizes: Any) -> Tensor:
    count = 1
    for n in sizes:
        count *= n
    if count != t.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, sizes))} ({count} elements in total), but the given tensor has a size of "
            f"{'x'.join(map(str, t.shape))} ({t.numel()} elements). autograd's resize can only change the shape of a given "
            "tensor, while preserving the number of elements."
        )
    return t.contiguous().view(tuple(sizes))


@member
def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing to do: XLA knows which streams use a buffer."""
    if not hasattr(stream, "synchronize"):  # as streams of all kinds have
        raise RuntimeError("unknown parameter type")


@member
def module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `Module.load_state_dict` puts in this place: `other` if it is assigned, else this tensor with its content; detached."""
    return (other if assign else self.copy_(other)).detach()


@member
def dequantize(self: Tensor) -> Tensor:
    """The tensor in float32: jaxtorch has no quantised tensors."""
    return self.float()


@member
def index(self: Tensor, positions: Any, dims: Any) -> Tensor:
    """Indexing by first-class dimensions, which are not there: whatever is given for one is none, and a TypeError."""
    raise TypeError(f"expected a dimension specifyer but found {positions!r}")


@member
@checked
def slice_inverse(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """This tensor's memory with the size, the strides and the offset of `src`, of which it is a slice; nothing else is looked at."""
    src = need_tensor(src, "slice_inverse", "src")
    return self.as_strided(src.size(), src.stride(), src.storage_offset())


def _refuse(name: str, error: type[Exception], message: str, takes: Callable[..., None] | None = None) -> None:
    MEMBERS[name] = refusal(name, error, message, takes)


_REMOVED = "This function was deprecated since version 1.9 and is now removed. "
_refuse(
    "solve",
    RuntimeError,
    f"{_REMOVED}`torch.solve` is deprecated in favor of `torch.linalg.solve`, whose arguments are reversed",
    lambda self, other: None,
)
_refuse(
    "lstsq",
    RuntimeError,
    f"{_REMOVED}`torch.lstsq` is deprecated in favor of `torch.linalg.lstsq`, whose arguments are reversed",
    lambda self, other: None,
)
_refuse(
    "eig",
    RuntimeError,
    f"{_REMOVED}`torch.linalg.eig` returns complex tensors",
    lambda self, eigenvectors=False: None,
)
_refuse(
    "symeig",
    RuntimeError,
    f"{_REMOVED}`torch.linalg.eigh` reads the lower triangle by default, not the upper one",
    lambda self, eigenvectors=False: None,
)


_refuse("xpu", AssertionError, "Torch not compiled with XPU enabled")
_refuse("mtia", AssertionError, "Torch not compiled with MTIA enabled")
_refuse("ipu", RuntimeError, "PyTorch is not linked with support for ipu devices")
_refuse(
    "to_mkldnn",
    NotImplementedError,
    "Tensor.to_mkldnn(): jaxtorch has no MKL-DNN layout; XLA lays tensors out itself",
    lambda self, dtype=None: None if dtype is None else as_dtype(dtype, "to_mkldnn") and None,
)


def _padded(self: Tensor, padding: float, output_size: Sizes | None = None) -> None:
    """The parameters of `to_padded_tensor`."""


for _name in ("q_scale", "q_zero_point", "q_per_channel_scales", "q_per_channel_zero_points", "q_per_channel_axis", "qscheme",
              "int_repr", "to_padded_tensor"):  # fmt: skip
    _what, _takes = ("nested", _padded) if _name == "to_padded_tensor" else ("quantised", lambda self: None)
    _refuse(_name, NotImplementedError,
            f"Could not run 'aten::{_name}' with arguments from the 'CPU' backend: the tensor is not {_what}", _takes)  # fmt: skip
