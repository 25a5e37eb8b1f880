"""Tensors from Python data, NumPy arrays and buffers, with PyTorch's rules for their types."""

from __future__ import annotations

import operator
import warnings
from array import array as packed
from typing import Any

import jax
import numpy as np

from ..._core.define.op import function, method
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import check_number
from ..._core.run.runner import _META, is_tracer
from ..._core.tensor import numpy_sharing, strides
from ..._core.tensor.indexing import MOST_DIMENSIONS, items_of
from ..._core.tensor.layouts import normal
from ..._core.tensor.tensor import Tensor, from_array, from_host, wrap
from ..._core.types import device as devices
from ..._core.types import dtypes, warn_once
from ..._core.types.grad_mode import is_grad_enabled
from ..._core.types.value import Value, aval_of
from ..._core.types.warn_once import once
from ..types import constants
from ..types.casting import as_dtype, cast, exponents, move, narrowed, saturated, to_integer
from .filled import check_flags, leaf

_NUMBERS = (bool, int, float, complex)
_SEQUENCES = (list, tuple, range)
_TEXT = (str, bytes)


def _is_sequence(data: Any) -> bool:
    return isinstance(data, _SEQUENCES) or (
        hasattr(type(data), "__getitem__") and not isinstance(data, (*_TEXT, dict, np.generic))
    )


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape of nested sequences, read along their first items. A tensor inside counts as a number."""
    shape = []
    while not isinstance(data, Tensor) and _is_sequence(data):
        n = len(data)
        shape.append(n)
        if len(shape) > MOST_DIMENSIONS:  # a list that holds itself, too
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if not n:
            break
        try:
            data = data[0]
        except Exception as error:
            raise ValueError(f"could not determine the shape of object type '{type(data).__name__}'") from error
        if isinstance(data, _TEXT) and shape and isinstance(data, str):
            raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _collect(data: Any, shape: tuple[int, ...], depth: int, found: list[Any]) -> None:
    """Gather the numbers of nested sequences, or raise PyTorch's errors for ragged ones."""
    if depth == len(shape):
        found.append(data)
        return
    if not _is_sequence(data) or (isinstance(data, Tensor) and not data.dim()):
        raise TypeError("not a sequence")
    if isinstance(data, Tensor):
        data = data.unbind(0)
    elif not isinstance(data, (*_SEQUENCES, np.ndarray)):
        data = list(data)
    if len(data) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(data)})")
    if isinstance(data, np.ndarray) and data.ndim == len(shape) - depth:
        if data.shape != shape[depth:]:
            raise ValueError(f"expected sequence of length {shape[depth + 1]} at dim {depth + 1} (got {data.shape[1]})")
        found.extend(data.reshape(-1))
        return
    for item in data:
        _collect(item, shape, depth + 1, found)


def _inferred(item: Any) -> dtypes.dtype:
    """The type of one number."""
    if isinstance(item, Tensor):
        return item._value.aval.dtype
    if isinstance(item, np.generic):
        return dtypes.from_numpy(item.dtype)
    if isinstance(item, _NUMBERS):
        found = dtypes.of_python(item)
        if found.np is None:
            raise dtypes.no_storage(found)
        return found
    if isinstance(item, _TEXT):
        raise TypeError(f"new(): invalid data type '{type(item).__name__}'")
    if isinstance(item, _SEQUENCES):
        raise TypeError(f"'{type(item).__name__}' object cannot be interpreted as an integer")
    raise RuntimeError(f"Could not infer dtype of {type(item).__name__}")


def _common(items: list[Any]) -> dtypes.dtype:
    """The promotion of the types of all numbers."""
    common: dtypes.dtype | None = None
    for kind in set(map(type, items)):
        same = (
            [next(i for i in items if type(i) is kind)]
            if not issubclass(kind, Tensor)
            else [i for i in items if type(i) is kind]
        )
        for item in same:
            own = _inferred(item)
            common = own if common is None else dtypes.promote(common, own)
    return common or dtypes.default()


def _common_inside(data: Any) -> dtypes.dtype:
    """The promotion of the types of all that nested sequences hold; an empty one has the default type."""
    if isinstance(data, (Tensor, np.generic)) or not _is_sequence(data):
        return _inferred(data)
    if isinstance(data, np.ndarray):
        return dtypes.from_numpy(data.dtype)
    common: dtypes.dtype | None = None
    for item in items_of(data):
        own = _common_inside(item)
        common = own if common is None else dtypes.promote(common, own)
    return common or dtypes.default()


def _number(item: Any, dtype: dtypes.dtype) -> Any:
    """One item as a Python number that fits `dtype`'s category, or PyTorch's error."""
    if isinstance(item, Tensor):
        if dtypes.category(dtype) < 2:
            operator.index(item)
        elif item._value.aval.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        elif item.is_complex() and dtype.is_floating_point and item.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        if item._rg and is_grad_enabled():
            warn_once.scalar_with_gradient()
        return _number(item.item(), dtype)
    if item.__class__ in _PLAIN or (isinstance(item, (complex, np.bool_)) and dtype is dtypes.bool_):
        return item
    if dtype.is_complex and not isinstance(item, str):
        return complex(item)
    if dtype.is_complex or dtype.is_floating_point:
        return packed("d", [item])[0]  # pyright: ignore[reportArgumentType, reportCallIssue]
    return item if isinstance(item, float) else operator.index(item)  # pyright: ignore[reportArgumentType]


def _overflow(dtype: dtypes.dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")


def pack(items: Any, dtype: dtypes.dtype, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Items as an array of `dtype`; what is no number and integers that do not fit are refused, negative ones wrap in an unsigned
    type."""
    numbers = [_number(i, dtype) for i in items]
    if dtype is dtypes.bool_:
        return np.array([bool(n) for n in numbers], np.bool_).reshape(shape)
    with np.errstate(over="ignore"):
        if dtype.is_complex or dtype.is_floating_point:
            wide = np.array(numbers, np.complex128 if dtype.is_complex else np.float64)
            return _rounded(wide, dtype).reshape(shape)
    info = np.iinfo(dtype.np)
    least = info.min or -info.max
    for n in numbers:
        if isinstance(n, float):
            if not info.min <= n <= info.max or (info.bits == 64 and n >= 2.0**63 and dtype.name == "int64"):
                raise _overflow(dtype)
        elif not least <= n <= info.max:
            if info.bits == 64 or not -(2**63) <= n < 2**63:
                raise ValueError("Overflow when unpacking long long")
            raise _overflow(dtype)
    modulus = 0 if info.min else info.max + 1
    return np.array([int(n) % modulus if modulus else int(n) for n in numbers], dtype.np).reshape(shape)


def _rounded(wide: np.ndarray[Any, Any], dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """Floats in a type that may be narrower; what it cannot hold is infinite there, or its largest number."""
    if dtype is dtypes.float8_e8m0fnu:
        return exponents(wide, np).view(dtype.np)
    if dtype.itemsize < 4:
        wide = saturated(wide, np) if dtype is dtypes.float8_e4m3fn else wide.astype(np.float32)
    return wide.astype(dtype.np, copy=False)


_PLAIN = {bool: "b", int: "i", float: "f"}


def _fast(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any] | None:
    """The array of well-formed lists of Python numbers, by NumPy alone; None where the rules need a closer look."""
    first, depth = data, 0
    while first.__class__ is list or first.__class__ is tuple:
        if not first or depth == MOST_DIMENSIONS:
            return None
        first, depth = first[0], depth + 1
    if first.__class__ not in _PLAIN:
        return None
    try:
        array = np.array(data)
    except (ValueError, TypeError, RuntimeError):  # ragged, or with tensors that are no arrays
        return None
    kind = array.dtype.kind
    if kind == "f":
        if not array.size or (dtype is not None and not dtype.is_floating_point and not dtype.is_complex):
            return None
        if first.__class__ is int and np.abs(array).max() >= 2.0**63:
            return None  # NumPy makes floats of whole numbers beyond int64
        target = dtype or dtypes.default()
        with np.errstate(over="ignore"):
            return _rounded(array, target)
    if kind == "i" and (dtype is None or dtype in (dtypes.int64, dtypes.float32, dtypes.float64)):
        return array if dtype is None else array.astype(dtype.np, copy=False)
    return array if kind == "b" and dtype in (None, dtypes.bool_) else None


def _from_sequence(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    if data.__class__ in (list, tuple):
        array = _fast(data, dtype)
        if array is not None and not _holds_arrays(data, array.ndim):
            return array
    elif isinstance(data, range) and dtype in (None, dtypes.int64):
        return np.array(data, np.int64)
    shape = _shape_of(data)
    _warn_slow(data, len(shape))
    if shape and 0 in shape:  # what else is there gives the type and is not read, whatever its shape
        return np.empty(shape, (dtype or _common_inside(data)).np)
    items: list[Any] = []
    try:
        _collect(data, shape, 0, items)
    except (TypeError, ValueError):
        if dtype is None:
            _common_inside(data)  # which comes first, and may have something to say about the items
        raise
    if dtype is None and any(map(_is_sequence, items)):
        wanted = _common_inside(data)
    else:
        wanted = dtype or _common(items)
    if len(shape) == 0 and isinstance(items[0], np.ndarray):
        raise TypeError("len() of unsized object")
    return pack(items, wanted, shape)


def _holds_arrays(data: Any, ndim: int) -> bool:
    """Did NumPy take a tensor or array inside the lists for a level of nesting, or a NumPy number for a Python one?"""
    if ndim == 1:
        return not all(map(_PLAIN.__contains__, map(type, data)))
    return any(_holds_arrays(d, ndim - 1) if d.__class__ in (list, tuple) else True for d in data)


def _holds_an_array(data: Any, depth: int) -> bool:
    """Is an array of NumPy's among the elements of lists that are nested so deep?"""
    if not depth or data.__class__ not in (list, tuple):
        return False
    return any(isinstance(d, np.ndarray) or _holds_an_array(d, depth - 1) for d in data)


def _warn_slow(data: Any, depth: int) -> None:
    if _holds_an_array(data, depth):
        once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
            "single numpy.ndarray with numpy.array() before converting to a tensor."
        )


def _of_array(data: np.ndarray[Any, Any], dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """A fresh copy of an array, in `dtype`."""
    if any(s < 0 for s in data.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    try:
        own = dtypes.from_numpy(data.dtype)
    except TypeError as error:
        raise TypeError(str(error).replace(f"type {data.dtype}.", f"type numpy.{data.dtype.type.__name__}.")) from None
    if dtype is None or dtype is own:
        return np.array(data, order="C")
    return _cast_host(data, own, dtype)


def _cast_host(data: np.ndarray[Any, Any], own: dtypes.dtype, dtype: dtypes.dtype) -> np.ndarray[Any, Any]:
    """`data.to(dtype)` on the host, by the same rules."""
    if own.is_complex and not dtype.is_complex:
        data = data != 0 if dtype is dtypes.bool_ else data.real
    with np.errstate(invalid="ignore", over="ignore"):
        if own.is_floating_point and dtypes.category(dtype) == 1:
            return to_integer(data, dtype, np)
        if dtype is dtypes.float8_e8m0fnu:
            return exponents(data, np).view(dtype.np)
        return narrowed(data, dtype, np).astype(dtype.np)


def _numpy_of(data: Any, dtype: dtypes.dtype | None) -> np.ndarray[Any, Any]:
    """Python data as a new array of the type PyTorch infers, or of `dtype`."""
    kind = data.__class__
    if kind is list or kind is tuple:
        return _from_sequence(data, dtype)
    if isinstance(data, np.ndarray):
        return _of_array(data, dtype)
    if isinstance(data, _TEXT):
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    if hasattr(data, "__array__") and not isinstance(data, np.generic):
        return _of_array(np.asarray(data.__array__()), dtype)
    if _is_sequence(data):
        return _from_sequence(data, dtype)
    wanted = dtype or _inferred(data)
    return pack([data], wanted, ())


def _on_device(array: np.ndarray[Any, Any], slot: Any) -> Tensor:
    """A tensor on host data that nobody else holds, on a device."""
    aval = aval_of(array.shape, dtypes.from_numpy(array.dtype), slot)
    return wrap(Value(aval, _META if slot.is_meta else array))


def _storable(dtype: dtypes.dtype | None, name: str) -> dtypes.dtype | None:
    if dtype is None:
        return None
    dtype = as_dtype(dtype, name)
    if dtype.np is None:
        raise dtypes.no_storage(dtype)
    return dtype


def _warn_copy() -> None:
    warnings.warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
        "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
        UserWarning,
        stacklevel=3,
    )


@function("tensor")
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with a copy of `data`: numbers, nested sequences, arrays."""
    if requires_grad is not False or pin_memory is not False:
        check_flags("tensor", requires_grad, pin_memory, optional=False)
    if dtype is not None:
        dtype = _storable(dtype, "tensor")
    if isinstance(data, Tensor):
        _warn_copy()
        out = _copied(data, dtype, device)
    elif isinstance(data, jax.Array):
        out = from_array(data) if is_tracer(data) else from_host(np.array(data))
        out = out if dtype is None else cast(out, dtype)
        out = out if device is None else move(out, devices.resolve(device))
    else:
        out = _on_device(_numpy_of(data, dtype), devices.resolve(device))
        if isinstance(data, np.ndarray):
            steps = [s // max(1, data.itemsize) for s in data.strides]
            out._layout = normal(data.shape, strides.preserved(data.shape, steps), 0)
    return leaf(out) if requires_grad else out


def _copied(data: Tensor, dtype: dtypes.dtype | None, device: Any) -> Tensor:
    """A detached copy of a tensor."""
    out = data.detach().clone()
    out = out if dtype is None else cast(out, dtype)
    return out if device is None else move(out, devices.resolve(device))


@function("scalar_tensor")
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """A 0-dimensional tensor of a number, of the default floating point type unless `dtype` says otherwise."""
    need_kind("scalar_tensor", "s", "Number", s)
    check_flags("scalar_tensor", requires_grad, pin_memory)
    if layout is not None and not isinstance(layout, constants.layout):
        raise TypeError(f"scalar_tensor(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
    number = s.item() if isinstance(s, (Tensor, np.generic)) else s
    dtype = dtypes.default() if dtype is None else dtype
    check_number(number, dtypes.as_dtype(dtype, "scalar_tensor"), to_infinity=True)
    return tensor(number, dtype=dtype, device=device, requires_grad=bool(requires_grad))


@function("from_numpy")
def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares its memory with the array: writing one changes the other. An array that cannot be written is
    copied."""
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    if ndarray.flags.writeable and dtypes._BY_NP.get(ndarray.dtype) is not None:
        return numpy_sharing.adopt(ndarray)
    out = from_host(_of_array(ndarray, None))
    item = ndarray.itemsize
    if not any(s % item for s in ndarray.strides):
        out._layout = normal(ndarray.shape, tuple([s // item for s in ndarray.strides]), 0)
    once(
        "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. Here the tensor is a "
        "copy: writing to it does not change the array. This warning comes once."
    )
    return out


from_capsule: Any = None
"""A tensor on the memory of a DLPack capsule; `_tensor/interop.py` says how."""


@function("as_tensor")
def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing its memory where possible."""
    dtype = _storable(dtype, "as_tensor")
    if isinstance(data, Tensor):
        out = data if device is None else move(data, devices.resolve(device))
        return out if dtype is None else cast(out, dtype)
    if isinstance(data, np.ndarray):
        shared = dtype is None or dtype.np == data.dtype
        if shared and devices.resolve(device).name == "cpu":
            return from_numpy(data)
    elif isinstance(data, jax.Array):
        out = from_array(data)
        out = out if dtype is None else cast(out, dtype)
        return out if device is None else move(out, devices.resolve(device))
    return _on_device(_numpy_of(data, dtype), devices.resolve(device))


@function("asarray")
def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """`obj` as a tensor: shares the memory of tensors, arrays and buffers unless `copy=True`; ValueError where
    `copy=False` cannot be met. Without `requires_grad`, a tensor keeps its history (with a warning); False detaches it."""
    check_flags("asarray", requires_grad)
    dtype = _storable(dtype, "asarray")
    if isinstance(obj, Tensor):
        out = as_tensor(obj, dtype=dtype, device=device)
        if out is not obj and copy is False:
            if out.device != obj.device:
                raise ValueError(f"can't alias tensor from device '{obj.device}' to '{out.device}'.")
            raise ValueError(
                f"can't alias tensor with dtype '{dtypes.scalar_name(obj.dtype)}' into dtype "
                f"'{dtypes.scalar_name(out.dtype)}'."
            )
        if copy and out is obj:
            out = obj.clone()
        if out.requires_grad and requires_grad is None:
            warn_once.asarray_with_gradient()
        if out.requires_grad:
            return out.detach() if requires_grad is False else out
    elif isinstance(obj, np.ndarray):
        shared = dtype is None or dtype.np == obj.dtype
        if copy is False and not shared:
            raise ValueError(
                f"can't alias array with dtype '{dtypes.scalar_name(dtypes.from_numpy(obj.dtype))}' into dtype "
                f"'{dtypes.scalar_name(dtype)}'."  # type: ignore[arg-type]
            )
        out = (
            tensor(obj, dtype=dtype, device=device)
            if copy or not shared
            else as_tensor(obj, dtype=dtype, device=device)
        )
    elif type(obj).__name__ == "PyCapsule":
        return asarray(from_capsule(obj), dtype=dtype, device=device, copy=copy, requires_grad=requires_grad)
    elif hasattr(obj, "_as_tensor"):  # a storage
        out = obj._as_tensor(dtype or dtypes.default())
        out = out if device is None else move(out, devices.resolve(device))
        out = out.clone() if copy else out
    elif not isinstance(obj, (jax.Array, str)) and _has_buffer(obj):
        out = frombuffer(obj, dtype=dtype or dtypes.default())
        out = out if device is None else move(out, devices.resolve(device))
        out = out.clone() if copy else out
    elif copy is False and not isinstance(obj, jax.Array):
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    else:
        out = as_tensor(obj, dtype=dtype, device=device)
    return leaf(out) if requires_grad else out


def _warn_buffer() -> None:
    once(
        "The given buffer is not writable, and PyTorch does not support non-writable tensors. Here the tensor is a copy: "
        "writing to it does not change the buffer. This warning comes once."
    )


def _has_buffer(obj: Any) -> bool:
    if isinstance(obj, (list, tuple, *_NUMBERS, np.generic)):
        return False
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


@function("frombuffer")
def frombuffer(
    buffer: Any, *, dtype: dtypes.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A one-dimensional tensor on the memory of an object with the buffer protocol."""
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    item = dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count > 0 and count * item > length - offset:
        raise ValueError(
            f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    if count < 0 and (length - offset) % item:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({item})"
        )
    array = np.frombuffer(buffer, dtype.np, count, offset)
    if not array.flags.writeable:
        _warn_buffer()
    out = numpy_sharing.adopt(array) if array.flags.writeable else from_host(np.array(array))
    return leaf(out) if requires_grad else out


@method("new_tensor")
def new_tensor(
    self: Tensor, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A copy of `data` with this tensor's type and device."""
    aval = self._value.aval
    dtype = aval.dtype if dtype is None else _storable(dtype, "new_tensor")
    where = aval.slot.device if device is None else device
    if isinstance(data, Tensor):
        _warn_copy()
        out = _copied(data, dtype, where)
        return leaf(out) if requires_grad else out
    return tensor(data, dtype=dtype, device=where, requires_grad=requires_grad)
