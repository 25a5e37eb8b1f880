"""From a tensor to Python, NumPy and text, and into copies and pickles."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.dispatch.torch_function import admit, anybody, disable_subclass
from .._core.record import deferred_errors
from .._core.run import capture, runner
from .._core.run.traced_kernels import layer
from .._core.tensor import layouts, numpy_sharing, printing, views
from .._core.tensor.storage import Alias
from .._core.tensor.tensor import Tensor, from_host, wrap
from .._core.transforms import forward_mode, vmap
from .._core.types import dtypes
from .._core.types.device import cpu, default_device
from .._core.types.grad_mode import UNKNOWN, restart_untaped, state, watch
from .._core.types.reference_counts import LISTED, counted
from .._core.types.warn_once import scalar_with_gradient
from .._ops.indexing.getitem import rows_on_host
from ._members import Members
from .interop import from_jax
from .memory import copied

MEMBERS = Members()
member = MEMBERS.member


_NO_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please "
    "try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please "
    "file a bug report."
)
_NO_CONDITION = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def to_numpy(t: Tensor, mapped: str = _NO_STORAGE) -> np.ndarray[Any, Any]:
    """The content as a NumPy array that nobody may write to; waits for the device and raises what it has flagged.

    mapped: what is said where the tensor stands for the examples that `vmap` goes through.
    """
    array = t._array()
    if isinstance(array, runner._Meta):
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    found = runner.concrete_array(array, mapped)
    if not deferred_errors.clean:
        deferred_errors.raise_pending()
    return found


@member
def item(self: Tensor) -> Any:
    """The single element as a Python number."""
    if capture.refusing:
        capture.refuse_branch(False)
    return _item(self, _NO_ITEM)


def _item(self: Tensor, mapped: str) -> Any:
    value = self._read()
    if value.aval.numel != 1:
        raise RuntimeError(f"a Tensor with {value.aval.numel} elements cannot be converted to Scalar")
    if value.aval.slot.is_meta:
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")
    found = to_numpy(self, mapped).reshape(())
    return found.item() if found.dtype.kind != "V" else float(found)


@member
def tolist(self: Tensor) -> Any:
    """The elements as nested Python lists; a number for a 0-dimensional tensor."""
    if capture.refusing and (self._value.aval.dtype.is_floating_point or self._value.aval.dtype.is_complex):
        capture.refuse_fullgraph("Tensor.tolist() with non-integer tensor")
    found = to_numpy(self)
    if self._value.aval.dtype.is_floating_point and found.dtype.itemsize < 4:
        found = found.astype(np.float32) if found.dtype.kind == "V" or found.dtype != np.float16 else found
    return found.tolist()


class _Alone:
    def count(self) -> int:
        return next(counted((self,)))


def _temporary() -> int:
    named = _Alone()
    count, held = _Alone().count(), named.count()
    return count if count < held else -1


_TEMPORARY = _temporary()
"""The reference count, within a method, of what nothing but its call holds: `model(x)` in `model(x).numpy()`; -1 where Python counts
a variable in the same way."""


def _handed_over(aval: Any, places: tuple[np.ndarray[Any, Any], Any, Tensor]) -> np.ndarray[Any, Any] | None:
    """The first of these, the content of a tensor that stands in the last place, for the caller alone if nobody will see the tensor
    again."""
    held_content, held_value, held = counted(places)
    if held != _TEMPORARY:
        return None
    found = places[0]
    alone = held_content == held_value == LISTED + 1  # the array by its value, and that by its tensor
    if alone and found is places[1].array and found.flags.owndata and found.flags.writeable:
        return found
    return np.array(found, aval.dtype.np, order="C")


@member
def numpy(self: Tensor, *, force: bool = False) -> np.ndarray[Any, Any]:
    """A NumPy array that shares this tensor's memory (on the CPU): writing one changes the other.

    force: detach and copy to the CPU first if need be.
    """
    aval = self._value.aval
    dtype = aval.dtype
    own = self._alias is None and self._layout is None and not self._rg and aval.slot is cpu.slot
    if own and not watch and dtype.np is not None and dtype.np.kind in "fiubc":
        handed = _handed_over(aval, (to_numpy(self), self._value, self))
        if handed is not None:
            return handed
    if force:
        return (
            np.array(to_numpy(self)) if self._rg or self._value.aval.slot is not cpu.slot else numpy_sharing.share(self)
        )
    if self.requires_grad:
        if state.grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        self = self.detach()
    if self._value.aval.slot is not cpu.slot:
        raise TypeError(
            f"can't convert {self._value.aval.slot.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor "
            "to host memory first."
        )
    if dtype.np is None or dtype.np.kind == "V" or dtype.name.startswith(("bfloat", "float8")):
        raise TypeError(f"Got unsupported ScalarType {dtypes.scalar_name(dtype)}")
    for bit, name in (("conj", "conjugate"), ("neg", "negative")) if self._alias is not None else ():
        if getattr(self, f"is_{bit}")():
            raise RuntimeError(
                f"Can't call numpy() on Tensor that has {name} bit set. Use tensor.resolve_{bit}().numpy() instead."
            )
    to_numpy(self)
    return numpy_sharing.share(self)


@member
def __delitem__(self: Tensor, index: Any) -> None:
    raise TypeError("Tensor does not support deleting items")


@member
def __array__(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    found = numpy(self)
    if dtype is not None and np.dtype(dtype) != found.dtype:
        return found.astype(dtype)
    return found.copy() if copy else found


@member
def __array_wrap__(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    if array.dtype == bool:
        array = array.astype("uint8")
    out = from_host(np.array(array))
    if not array.flags.c_contiguous:
        out._layout = layouts.normal(array.shape, tuple([s // array.itemsize for s in array.strides]), 0)
    return out


MEMBERS["__array_priority__"] = 1000


@member
def __bool__(self: Tensor) -> bool:
    aval = self._value.aval
    if aval.numel != 1:
        if aval.numel == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if capture.refusing:
        capture.refuse_branch(True)
    return bool(_item(self, _NO_CONDITION))


def _one(self: Tensor, kind: Callable[[Any], Any]) -> Any:
    aval = self._value.aval
    if aval.numel != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if self._rg and kind is not int and state.grad:
        scalar_with_gradient()
    number = item(self)
    if isinstance(number, complex) and kind is not complex:
        if number.imag != 0:
            raise RuntimeError("value cannot be converted to type double without overflow")
        number = number.real
    return kind(number)


@member
def __int__(self: Tensor) -> int:
    if capture.refusing:
        capture.refuse_branch(False)
    return _one(self, int)


@member
def __float__(self: Tensor) -> float:
    if capture.refusing:
        capture.refuse_branch(False)
    return _one(self, float)


@member
def __complex__(self: Tensor) -> complex:
    if capture.refusing:
        capture.refuse_branch(False)
    return _one(self, complex)


@member
def __index__(self: Tensor) -> int:
    dtype = self._value.aval.dtype
    if self._value.aval.numel != 1 or dtype.is_floating_point or dtype.is_complex:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(self))


@member
def __hash__(self: Tensor) -> int:
    return id(self)


@member
def __iter__(self: Tensor) -> Any:
    if self.dim() == 0:
        raise TypeError("iteration over a 0-d tensor")
    rows = None if anybody() else rows_on_host(self)
    return iter(self.unbind(0) if rows is None else rows)


@member
def __reversed__(self: Tensor) -> Tensor:
    return self.flip(0) if self._value.aval.ndim else self  # pyright: ignore[reportAttributeAccessIssue]


@member
def __contains__(self: Tensor, element: Any) -> bool:
    if not isinstance(element, (Tensor, int, float, complex, np.number)):
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")
    return bool((element == self).any().item())  # pyright: ignore[reportAttributeAccessIssue]


@member
def __repr__(self: Tensor, *, tensor_contents: Any = None) -> str:
    return describe(self)


class _Invalid:
    """Shown as the grad_fn of a view that may not be used any more."""


def describe(t: Tensor, prefix: str | None = None) -> str:
    """The text PyTorch prints for a tensor."""
    if runner.is_tracer(t._read().array):
        return _transformed(t)
    if state.taped or vmap.is_mapped(t._read()):  # JAX's tracers know at which levels they are
        restart_untaped(UNKNOWN)
    aval = t._value.aval
    try:
        node = t.grad_fn
    except RuntimeError:  # a view that has lost its place in the graph
        node = _Invalid()
    prefix = prefix or ("tensor(" if type(t).__name__ in ("Tensor", "Parameter") else f"{type(t).__name__}(")
    slot = aval.slot
    shown = str(slot.device) if slot.is_meta or (slot.device.type, slot.device.index or 0) != (
        default_device().type, default_device().index or 0) else None  # fmt: skip
    if slot is cpu.slot and default_device().type == "cpu":
        shown = None
    tangent = None if forward_mode.level is None else forward_mode.tangent_of(t._read())
    name = None if node is None else type(node).__name__
    if name is not None and not hasattr(node, "_cls"):  # a Function of the user's keeps its name
        name = name.removeprefix("_")
    return printing.format_tensor(
        None if slot.is_meta else to_numpy(t),
        dtype=aval.dtype.name,
        default_dtype=dtypes.default().name,
        default_complex=dtypes.default().to_complex().name,
        shape=aval.shape,
        device=shown,
        grad_fn=name,
        requires_grad=t._rg and node is None,
        tangent=None if tangent is None else str(tangent.item()) if tangent.dim() == 0 else describe(tangent),
        prefix=prefix,
    )


def _transformed(t: Tensor) -> str:
    """The text for a tensor inside a transformation: what it stands for at each level, and the values beneath."""
    array = t._read().array
    found = layer(array)
    if found is None:
        raise RuntimeError(f"cannot print a tensor that a JAX transformation is tracing: {array}")
    inner = textwrap.indent(describe(from_jax(found[1])), "    ")
    return f"{found[0]}\n{inner}\n)"


@member
def __format__(self: Tensor, spec: str) -> str:
    if self._value.aval.ndim == 0 and not self._value.aval.slot.is_meta and type(self) is Tensor:
        return printing.format_scalar(item(self), spec)
    if spec == "":
        return str(self)
    raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")


def _copied_with_storage(t: Tensor, alias: Alias, memo: Any) -> Tensor:
    """A copy on a copy of the memory, which all views in one `deepcopy` share."""
    out = wrap(t._read())
    out._layout = t._layout
    out._alias = Alias(copied(alias.storage, memo), alias.chain, None, len(alias.chain))
    out._alias.seen = -1 if alias.seen == -1 else -2
    return out


def _of_kind(kind: type, t: Tensor) -> Tensor:
    """The same tensor as an instance of another class."""
    if kind is Tensor:
        return t
    out = object.__new__(kind)
    for name in ("_value", "_alias", "_node", "_index", "_grad", "_layout", "_ver", "_hooks", "_post_hooks", "_rg"):
        object.__setattr__(out, name, getattr(t, name))
    return out


@member
def __copy__(self: Tensor) -> Tensor:
    out = _of_kind(type(self), views.detached(self, silent=True))
    assert out._alias is not None and out._alias.silent is not None
    out._alias.silent.n = 1
    out._rg = self._rg
    out.__dict__.update(self.__dict__)
    return out


def _makes_its_like(self: Any) -> bool:
    """Is it no subclass of a program's, or one with a `new_empty` that makes tensors of it?"""
    if type(self).__module__.partition(".")[0] in ("torch", "jaxtorch"):
        return True
    with disable_subclass():
        return type(self.new_empty([])) is type(self)


@member
def __deepcopy__(self: Tensor, memo: Any) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
            "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    if type(self) is not Tensor and not _makes_its_like(self):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for non-wrapper subclasses only works for subclass types that "
            "implement new_empty() and for which that function returns another instance of the same subclass. You should "
            "either properly implement new_empty() for your subclass or override __deepcopy__()."
        )
    if self.is_conj() or self.is_neg():
        new = self.detach().clone()  # what the memory holds, its sign changed: no view of any kind
    elif self._alias is None:
        new = wrap(wrap(self._value).clone()._value)
        new._layout, new._ver = self._layout, 1  # PyTorch gives the copy its memory by a `set_`
    else:
        new = _copied_with_storage(self, self._alias, memo)
    out = _of_kind(type(self), new)
    out._rg = self._rg
    memo[id(self)] = out
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    if self.__dict__:
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return out


def rebuild(
    kind: type,
    array: Any,
    size: Any,
    stride: Any,
    offset: int,
    dtype: str,
    device: Any,
    requires_grad: bool,
    extra: Any,
) -> Tensor:
    """A tensor from its pickled parts."""
    d = dtypes.by_name(dtype)
    array = np.asarray(array)
    t = from_host(array if array.dtype == d.np else array.view(d.np).reshape(size))
    if device is not None and str(device) != "cpu":
        t = t.to(device)
    if stride is not None:
        t._layout = (stride, offset)
    if kind is not Tensor:
        admit(kind)
        t = _of_kind(kind, t)
    t._rg, t._ver = requires_grad, 1
    if extra:
        t.__dict__.update(extra)
    return t


def rebuild_meta(kind: type, size: Any, stride: Any, dtype: Any, requires_grad: bool, extra: Any) -> Tensor:
    """A tensor without content from what was pickled of it."""
    t = functions["empty"](size, dtype=dtype, device="meta")
    t._layout = layouts.normal(size, stride, 0)
    if kind is not Tensor:
        admit(kind)
        t = _of_kind(kind, t)
    t._rg = requires_grad
    t.__dict__.update(extra)
    return t


@member
def __reduce_ex__(self: Tensor, protocol: Any) -> Any:
    if self._value.aval.slot.is_meta:
        aval = self._value.aval
        return rebuild_meta, (
            type(self),
            aval.shape,
            layouts.strides_of(self),
            aval.dtype,
            self._rg,
            dict(self.__dict__),
        )
    array = np.ascontiguousarray(to_numpy(self)).reshape(self._value.aval.shape)
    if array.dtype.kind == "V":
        array = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
    return rebuild, (
        type(self),
        array,
        tuple(self._value.aval.shape),
        *((None, 0) if self._layout is None else self._layout),
        self._value.aval.dtype.name,
        str(self._value.aval.slot.device),
        self._rg,
        dict(self.__dict__),
    )
