"""Between tensors and JAX: a tensor is a pytree with one leaf, its array, and a `jax.Array` becomes a tensor uncopied."""

from __future__ import annotations

import enum
from typing import Any

import jax
import numpy as np
from jax import tree_util
from jax._src import core as _jax_core

from .._core.compile.context import x64
from .._core.record import deferred_errors
from .._core.run.runner import is_tracer
from .._core.tensor import tensor as _tensor
from .._core.tensor.numpy_sharing import adopt
from .._core.tensor.tensor import Tensor, from_array, need_tensor, wrap
from .._core.transforms import vmap
from .._core.types import dtypes
from .._core.types.device import cpu, resolve
from .._core.types.device import device as device_named
from .._core.types.grad_mode import UNKNOWN, restart_untaped, state
from .._core.types.value import Value, aval_of
from .._ops.creation import from_data
from ._members import Members

MEMBERS = Members()
member = MEMBERS.member


def to_jax(t: Tensor) -> jax.Array:
    """The tensor's content as a `jax.Array` (a tracer inside a JAX transformation), without a copy where JAX made it.

    It keeps what the tensor holds now, whatever happens to the tensor later, and it has no part in the tensor's autograd
    history. Errors in the data that led to it (an index out of range) are raised here.
    """
    value = need_tensor(t, "to_jax", "t")._read()
    if vmap.is_mapped(value):
        restart_untaped(UNKNOWN)
    array = t._array()
    value.owned = False  # the user can see the buffer, so it must never be donated
    if isinstance(array, np.ndarray):
        device = jax.default_device(value.aval.slot.jax)  # where it goes, but not committed to it
        with jax.core.eval_context(), x64(), device:  # pyright: ignore[reportAttributeAccessIssue]
            array = value.array = jax.device_put(array)
    if value.aval.slot.is_meta:
        raise NotImplementedError("to_jax(): a meta tensor has no content")
    deferred_errors.raise_pending()
    return array


def from_jax(array: Any) -> Tensor:
    """A tensor on a `jax.Array` or tracer, without a copy. The array never changes: in-place ones give the tensor another."""
    if not isinstance(array, (jax.Array, np.ndarray, np.generic)):
        raise TypeError(f"from_jax(): argument 'array' must be jax.Array, not {type(array).__name__}")
    if isinstance(array, jax.Array) and jax.dtypes.issubdtype(array.dtype, jax.dtypes.prng_key):  # pyright: ignore[reportPrivateImportUsage]
        raise TypeError("from_jax(): a tensor holds no random keys; pass jax.random.key_data(key)")
    if isinstance(array, (np.ndarray, np.generic)):
        array = np.array(array)  # NumPy's memory may be written to later
    return from_array(array)


@member
def jax_(self: Tensor) -> jax.Array:
    """The content as a `jax.Array`, uncopied where JAX made it, without autograd history."""
    return to_jax(self)


MEMBERS["jax"] = MEMBERS.pop("jax_")


@member
def __jax_array__(self: Tensor) -> jax.Array:
    if self._rg and state.grad and not is_tracer(self._read().array):
        raise RuntimeError(
            "a JAX function was given a Tensor that requires grad, and would lose its history. Use tensor.detach(), or make "
            "the JAX function an operation on tensors with jaxtorch.interop.jax_function"
        )
    return to_jax(self)


def _no_array(t: Any) -> Any:
    raise ValueError(
        "JAX expected an array here, but got a jaxtorch Tensor: hand it `tensor.jax()`. (A function that jax.grad "
        "differentiates returns `loss.jax()`; jaxtorch.func.grad takes functions that return tensors.)"
    )


_jax_core.pytype_aval_mappings[Tensor] = _no_array


@member
def __dlpack__(self: Tensor, **kwargs: Any) -> Any:
    """A DLPack capsule of the content."""
    if self._rg:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if self.is_conj():
        raise BufferError("Can't export tensors with the conjugate bit set")
    on_host, stream = self._value.aval.slot is cpu.slot, kwargs.get("stream")
    if on_host and stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    if (
        on_host
        and self._value.aval.dtype is not dtypes.bfloat16
        and not self._value.aval.dtype.name.startswith("float8")
    ):
        return self.numpy().__dlpack__(**{k: v for k, v in kwargs.items() if k != "stream"})
    return to_jax(self).__dlpack__(**{k: v for k, v in kwargs.items() if k != "stream" or not on_host})


class DLDeviceType(enum.IntEnum):
    """DLPack's numbers for kinds of devices."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


@member
def __dlpack_device__(self: Tensor) -> tuple[int, int]:
    if self._value.aval.slot is cpu.slot:
        return (DLDeviceType.kDLCPU, 0)
    return to_jax(self).__dlpack_device__()  # pyright: ignore[reportAttributeAccessIssue]


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor on memory that another library exports through DLPack; shared on the CPU, but for
    bfloat16 and float8, of which it is a copy.

    A bare capsule, which does not tell its device, is taken to be of the CPU. device: where the tensor is to be. copy: True for
    memory of its own, False for an error where memory cannot be shared.
    """
    if device is not None or copy is not None:
        place = None if device is None else resolve(device).device
        if copy is False and place is not None and getattr(ext_tensor, "device", place) != place:
            raise ValueError(f"cannot move {ext_tensor.device} tensor to {place} without copying")
        found = from_dlpack(ext_tensor)
        return found.to(place, copy=bool(copy))
    capsule = type(ext_tensor).__name__ == "PyCapsule"
    if capsule or not hasattr(ext_tensor, "__dlpack__"):
        if not capsule or '"used' in repr(ext_tensor):
            raise RuntimeError(
                "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
                "already constructed a tensor from it once."
            )
        ext_tensor = _Capsule(ext_tensor)
    kind, _ = ext_tensor.__dlpack_device__()
    if int(kind) == 1:
        try:
            array = np.from_dlpack(ext_tensor)
        except (RuntimeError, BufferError) as error:  # NumPy has no bfloat16 and no float8
            if "nsupported" not in str(error):
                raise
            return from_array(jax.dlpack.from_dlpack(ext_tensor, copy=True))
        return adopt(np.asarray(_Writable(array)) if type(ext_tensor) is _Capsule else array)
    return from_array(jax.dlpack.from_dlpack(ext_tensor))


from_data.from_capsule = from_dlpack


class _Capsule:
    """A DLPack capsule as an object that exports itself."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Writable:
    """The memory of a capsule without a version, which cannot say whether it may be written to: NumPy takes it for read-only,
    PyTorch does not."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        described = array.__array_interface__
        self.__array_interface__ = {**described, "data": (described["data"][0], False)}


# -- tensors as pytrees


class _Aux:
    """The static part of a tensor in a pytree: its class, whether it is a leaf that requires a gradient, its device and what
    the user has attached to it."""

    __slots__ = ("kind", "note", "requires_grad", "slot")

    def __init__(self, t: Tensor, slot: Any) -> None:
        self.kind = type(t)
        self.requires_grad = t._rg and t._node is None
        self.slot = slot
        self.note = dict(t.__dict__) if t.__dict__ else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Aux)
            and self.kind is other.kind
            and self.requires_grad is other.requires_grad
            and self.slot is other.slot
            and (self.note is other.note or _same_note(self.note, other.note))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.requires_grad))

    def __repr__(self) -> str:
        return f"{self.kind.__name__} on {self.slot.name}" + (", requires_grad" if self.requires_grad else "")


def _same_note(a: Any, b: Any) -> bool:
    if a is None or b is None or a.keys() != b.keys():
        return False
    return all(
        v is b[k] or (type(v) is type(b[k]) and isinstance(v, (bool, int, float, str)) and v == b[k])
        for k, v in a.items()
    )


class _Anything(Value):
    """What JAX puts where leaves will be: any object at all."""

    __slots__ = ("slot_before",)


_NO_TYPE = aval_of((), dtypes.float32, device_named("meta").slot)


def _flatten(t: Tensor) -> tuple[tuple[Any], _Aux]:
    value = t._read()
    if type(value) is _Anything:
        return (value.array,), _Aux(t, value.slot_before)
    return (to_jax(t),), _Aux(t, value.aval.slot)


def _unflatten(aux: _Aux, children: Any) -> Tensor:
    (array,) = children
    t = wrap(_value(array, aux.slot))
    if aux.kind is not Tensor:
        out = object.__new__(aux.kind)
        for name in ("_value", "_alias", "_node", "_index", "_grad", "_layout", "_ver", "_hooks", "_post_hooks"):
            object.__setattr__(out, name, getattr(t, name))
        t = out
    t._rg = aux.requires_grad
    if aux.note:
        t.__dict__.update(aux.note)
    return t


def _value(array: Any, slot: Any) -> Value:
    if isinstance(array, Tensor):  # a tree in a leaf's place: a second derivative's
        return array._read()
    dtype = getattr(array, "dtype", None)
    known = dtype is not None and hasattr(array, "shape") and dtype in _KNOWN
    if known and is_tracer(array):
        return Value(aval_of(tuple(array.shape), dtypes.from_numpy(array.dtype), slot), array)
    if known and isinstance(array, (jax.Array, np.ndarray)):
        return from_array(array)._value
    aval = _NO_TYPE
    if known and isinstance(array, jax.ShapeDtypeStruct):
        aval = aval_of(tuple(array.shape), dtypes.from_numpy(array.dtype), _NO_TYPE.slot)
    held = _Anything(aval, array)
    held.slot_before = slot
    return held


_KNOWN = frozenset([d.np for d in dtypes.ALL if d.np is not None])


def register(kind: type) -> None:
    """Make a tensor class, and those derived from it, pytree nodes."""
    tree_util.register_pytree_node(kind, _flatten, _unflatten)
    for derived in kind.__subclasses__():
        register(derived)


register(Tensor)
_tensor.on_subclass.append(register)
