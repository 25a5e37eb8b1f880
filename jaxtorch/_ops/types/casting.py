"""Between element types and devices."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.compile.kernel import Entry, Kernel
from ..._core.define.op import Array, common_type, function, functions, inner_op, method
from ..._core.tensor import strides
from ..._core.tensor.layouts import normal, suggests
from ..._core.tensor.tensor import Tensor, apply_entry, need_tensor
from ..._core.types import dtypes
from ..._core.types.device import device as Device
from ..._core.types.dtypes import BUILTIN, as_dtype
from ..._core.types.size import kind_name
from ..._core.types.value import Aval, aval_of, python_number, wrap_number
from ..._core.types.warn_once import once
from . import constants


def convert(x: Any, dtype: dtypes.dtype) -> Any:
    """An array in another element type, with PyTorch's rules: complex to real drops the imaginary part, and a float that an
    integer type cannot hold becomes what x86 makes of it (the smallest int32 or int64; narrower types keep the low bits)."""
    if x.dtype == dtype.np:
        return x
    if jnp.iscomplexobj(x) and not dtype.is_complex:
        x = x != 0 if dtype is dtypes.bool_ else x.real
    if jnp.issubdtype(x.dtype, jnp.floating) and dtypes.category(dtype) == 1:
        return to_integer(x, dtype)
    if dtype is dtypes.float8_e8m0fnu:
        return jax.lax.bitcast_convert_type(exponents(x), dtype.np)
    return narrowed(x, dtype).astype(dtype.np)


def narrowed(x: Any, dtype: dtypes.dtype, xp: Any = jnp) -> Any:
    """What is rounded to this type: float64 is rounded to float32 before it becomes float16, as in PyTorch."""
    if dtype is dtypes.float8_e4m3fn:
        return saturated(x, xp)
    return x.astype(np.float32) if x.dtype == np.float64 and dtype is dtypes.float16 else x


def computed_in(x: Any, dtype: dtypes.dtype) -> Any:
    """An operand in the type that `dtype=` asks an operation to compute in; that complex numbers lose a part is warned of."""
    if jnp.iscomplexobj(x) and not dtype.is_complex and dtype is not dtypes.bool_:
        once("Casting complex values to real discards the imaginary part")
    return convert(x, dtype)


def saturated(x: Any, xp: Any = jnp) -> Any:
    """Numbers within the range of float8_e4m3fn, which has no infinity: what is beyond becomes its largest number; NaN stays."""
    return xp.clip(x.astype(xp.float32), -448, 448)


def exponents(x: Any, xp: Any = jnp) -> Any:
    """The bytes of numbers in float8_e8m0fnu, which holds a power of two and no sign: 0 is the smallest one, half goes to even."""
    x = x.astype(xp.float32)
    bits = jax.lax.bitcast_convert_type(x, xp.uint32) if xp is jnp else x.view(xp.uint32)
    power, rest = (bits >> 23) & 255, bits & 0x7FFFFF
    up = (rest > 0x400000) | ((rest == 0x400000) & (power > 0))
    return (power + (up & (power < 255))).astype(xp.uint8)


def to_integer(x: Any, dtype: dtypes.dtype, xp: Any = jnp) -> Any:
    """Floats in an integer type as x86 converts them; `xp` is jax.numpy or NumPy."""
    if dtype.name == "uint32" and x.dtype.name == "float16":
        return to_integer(x, dtypes.int64, xp).astype(dtype.np)
    if x.dtype.name not in ("float32", "float64"):
        x = x.astype(xp.float32)
    if dtype.name in ("uint32", "uint64"):
        signed, half = (dtypes.int32, 2.0**31) if dtype.name == "uint32" else (dtypes.int64, 2.0**63)
        high = x >= half
        low = to_integer(xp.where(high, x - x.dtype.type(half), x), signed, xp).astype(dtype.np)
        return xp.where(high, low ^ dtype.np.type(int(half)), low)
    wide, least = (xp.int64, -(2.0**63)) if dtype.name in ("int64", "uint8") else (xp.int32, -(2.0**31))
    whole = xp.trunc(x)
    inside = (whole >= least) & (whole < -least)
    return xp.where(inside, whole, x.dtype.type(least)).astype(wide).astype(dtype.np)


@inner_op(grad="ToCopyBackward0", elementwise=True)
def _cast(input: Array, dtype: dtypes.dtype):
    """The tensor in another element type."""
    if dtype.np is None:
        raise dtypes.no_storage(dtype)
    return convert(input, dtype)


function("_cast")(_cast)


@inner_op(grad="CloneBackward0")
def _clone(input: Array):
    """A copy with its own memory."""
    return input


@function("clone", method=True)
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory; gradients flow through it."""
    if memory_format is not None:
        constants.need_format("clone", memory_format)
    out = _clone(input)
    if input._layout is not None and getattr(memory_format, "name", memory_format) in (None, "preserve_format"):
        size = input._value.aval.shape
        out._layout = normal(size, strides.preserved(size, input._layout[0]), 0)
    return out if memory_format is None else _formatted(out, memory_format)


def _formatted(t: Tensor, memory_format: Any) -> Tensor:
    """Give a fresh tensor the strides of a memory format."""
    name = getattr(memory_format, "name", memory_format)
    shape = t._value.aval.shape
    if name == "contiguous_format":
        t._layout = None
    elif name in ("channels_last", "channels_last_3d"):
        rank = 4 if name == "channels_last" else 5
        if len(shape) != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")
        t._layout = normal(shape, strides.channels_last(shape, name), 0)
    return t


def _suggesting(t: Tensor, memory_format: Any) -> Tensor:
    """What `to` gives: the tensor itself only where its strides ask for this format, a copy where they merely fit it."""
    name = getattr(memory_format, "name", memory_format)
    return t if (suggests(t) or "contiguous_format") == name else clone(t, memory_format=memory_format)


@function("contiguous", method=True, function=False)
def contiguous(self: Tensor, memory_format: Any = constants.contiguous_format) -> Tensor:
    """The tensor in the order of a memory format; itself where it is in that order."""
    constants.need_format("contiguous", memory_format)
    name = memory_format.name
    if name == "preserve_format":
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if self._layout is None and name == "contiguous_format":
        return self
    shape = self._value.aval.shape
    stride = strides.contiguous(shape) if self._layout is None else self._layout[0]
    if strides.is_contiguous(shape, stride, None if name == "contiguous_format" else name):
        return self
    return clone(self, memory_format=memory_format)


_warned: list[bool] = []


def cast(t: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The tensor itself where it has the type already."""
    own = t._value.aval.dtype
    if own is dtype:
        return t
    if own.is_complex and not dtype.is_complex and dtype is not dtypes.bool_ and not _warned:
        _warned.append(True)  # once a process, as in PyTorch
        once("Casting complex values to real discards the imaginary part")
    out = _cast(t, dtype)
    if t._layout is not None:
        size = t._value.aval.shape
        out._layout = normal(size, strides.preserved(size, t._layout[0]), 0)
    return out


_moves: dict[tuple[Aval, Any], Entry] = {}


def move(t: Tensor, slot: Any) -> Tensor:
    """The tensor on another device; itself where it is there already."""
    aval = t._read().aval
    if aval.slot is slot:
        return t
    if slot.is_meta or aval.slot.is_meta:
        if aval.slot.is_meta:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        return functions["empty"](aval.shape, dtype=aval.dtype, device="meta")
    entry = _moves.get((aval, slot))
    if entry is None:
        entry = _moves[aval, slot] = _move_entry(aval, slot)
    return apply_entry(entry, [t])


def _move_entry(aval: Aval, slot: Any) -> Entry:
    """An identity that runs on the target device: its input is transferred when the program is run."""
    source = aval_of(aval.shape, aval.dtype, aval.slot)
    kernel = Kernel("to_device", lambda x: (x,), (source,), slot)
    entry = Entry(None, kernel, None)
    entry.grad_name = "ToCopyBackward0"
    return entry


def _invalid(rest: Any) -> TypeError:
    kinds = ", ".join(str(r) if isinstance(r, str) else type(r).__name__ for r in rest)
    return TypeError(f"to() received an invalid combination of arguments - got ({kinds})")


def _is_example(given: list[Any]) -> bool:
    """Is the first a number that stands for a tensor of its type? A whole number alone is that of a device."""
    first = given[0]
    if isinstance(first, bool | float | complex | np.floating):
        return True
    return isinstance(first, int) and len(given) > 1 and isinstance(given[1], bool)


def to_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device slot, dtype, copy, memory_format) of the overloads of `Tensor.to`: (dtype), (device, dtype), (other)."""
    given = dict(kwargs)
    copy, layout = given.pop("copy", False), given.pop("memory_format", None)
    device, dtype, non_blocking = given.pop("device", None), given.pop("dtype", None), given.pop("non_blocking", False)
    other = None
    if layout is not None:
        constants.need_format("to", layout)
    if given:
        raise _invalid([f"{k}={type(v).__name__}" for k, v in given.items()])
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
    elif rest and (isinstance(rest[0], dtypes.dtype) or rest[0] in BUILTIN):
        dtype = rest.pop(0)
        if device is not None:
            raise _invalid([*args, "device"])
    elif rest and _is_example(rest):
        dtype = as_dtype(type(python_number(rest.pop(0))))
    elif rest and (rest[0] is None or isinstance(rest[0], (str, Device, int, np.integer))):
        device = rest.pop(0)
        if rest:
            if not (isinstance(rest[0], dtypes.dtype) or rest[0] is None or rest[0] in BUILTIN):
                raise _invalid(args)
            dtype = rest.pop(0)
    elif rest:
        raise _invalid(args)
    if other is not None:
        device, dtype = other.device, other.dtype
    if len(rest) > 2 or any(not isinstance(r, bool) for r in (*rest, copy, non_blocking)):
        raise _invalid(args)
    copy = rest[1] if len(rest) == 2 else copy
    return None if device is None else Device(device).slot, None if dtype is None else as_dtype(dtype), copy, layout


@method("to")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor with another element type or on another device; itself where nothing changes (unless `copy`)."""
    slot, dtype, copy, layout = to_arguments(args, kwargs)
    out = self
    if slot is not None:
        out = move(out, slot)
    if dtype is not None:
        out = cast(out, dtype)
    if layout is not None and layout is not constants.preserve_format:
        if out is self:
            out = clone(self, memory_format=layout) if copy else _suggesting(self, layout)
        else:
            _formatted(out, layout)
    return clone(out) if copy and out is self else out


def _converter(name: str, dtype: dtypes.dtype) -> None:
    def convert_to(self: Tensor, *, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            constants.need_format(name, memory_format)
        out = cast(self, dtype)
        if memory_format is None or memory_format is constants.preserve_format:
            return out
        return _suggesting(self, memory_format) if out is self else _formatted(out, memory_format)

    convert_to.__name__ = name
    convert_to.__doc__ = f"The tensor as torch.{dtype.name}; itself where it is already."
    method(name)(convert_to)


for _name, _dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16,
    "int": dtypes.int32, "long": dtypes.int64, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8,
    "bool": dtypes.bool_, "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "chalf": dtypes.complex32,
}.items():  # fmt: skip
    _converter(_name, _dtype)


@method("cpu")
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU."""
    return move(self, Device("cpu").slot)


@method("cuda")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a GPU."""
    return move(self, Device("cuda" if device is None else device).slot)


@method("type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor with the element type (and device) of another."""
    need_tensor(other, "type_as", "other")
    return cast(move(self, other.device.slot), other.dtype)


_LEGACY = {d: n for n, d in {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "LongTensor": dtypes.int64, "IntTensor": dtypes.int32,
    "ShortTensor": dtypes.int16, "CharTensor": dtypes.int8, "ByteTensor": dtypes.uint8, "BoolTensor": dtypes.bool_,
    "ComplexFloatTensor": dtypes.complex64, "ComplexDoubleTensor": dtypes.complex128,
}.items()}  # fmt: skip
LEGACY_TYPES = {name: d for d, name in _LEGACY.items()}


@method("type")
def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The name of the tensor's legacy type, or the tensor converted to one; `torch.Tensor` stands for the default element type."""
    aval = self._value.aval
    if kwargs.keys() - {"async"}:
        raise TypeError(f"type() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if dtype in BUILTIN:
        raise ValueError(f"invalid type: '{dtype.__name__}'")
    if dtype is None:
        prefix = "torch." if aval.slot.device.type == "cpu" else f"torch.{aval.slot.device.type}."
        return prefix + (_LEGACY.get(aval.dtype) or f"{dtypes.scalar_name(aval.dtype)}Tensor")
    if dtype is Tensor or dtype == "torch.Tensor":
        dtype = dtypes.default()
    if isinstance(dtype, dtypes.dtype):
        return cast(self, dtype)
    if not isinstance(dtype, (str, type)):
        raise TypeError(
            f"type(): argument 'dtype' must be a torch.dtype, a class or its name, not {dtype.__class__.__name__}"
        )
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    parts = name.split(".")
    if parts[-1] not in LEGACY_TYPES:
        raise ValueError(f"invalid type: '{name}'")
    out = cast(self, LEGACY_TYPES[parts[-1]])
    return out.cuda() if "cuda" in parts else out


@function("result_type")
def result_type(tensor: Any, other: Any) -> dtypes.dtype:
    """The element type that arithmetic between these tensors or numbers gives."""
    if not all([isinstance(x, (Tensor, int, float, complex, np.generic)) for x in (tensor, other)]):  # noqa: C419
        given = ", ".join([kind_name(x) for x in (tensor, other)])
        raise TypeError(
            f"result_type() received an invalid combination of arguments - got ({given}), but tensors and numbers are expected"
        )
    # A number of NumPy's that is True or False counts as a floating one.
    plain = [float(x) if isinstance(x, np.bool_) else x for x in (tensor, other)]
    return common_type([x._value.aval if isinstance(x, Tensor) else wrap_number(x).aval for x in plain])


@function("promote_types")
def promote_types(type1: dtypes.dtype, type2: dtypes.dtype) -> dtypes.dtype:
    """The smallest element type both convert to without losing their category."""
    both = [_type_or_builtin("promote_types", f"type{i}", i, given) for i, given in enumerate((type1, type2), 1)]
    return dtypes.promote(*both)


def _type_or_builtin(function: str, argument: str, position: int, given: Any) -> dtypes.dtype:
    if isinstance(given, dtypes.dtype) or (isinstance(given, type) and given in BUILTIN):
        return as_dtype(given)
    raise TypeError(
        f"{function}(): argument '{argument}' (position {position}) must be torch.dtype, not {kind_name(given)}"
    )


@function("can_cast")
def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """May results of one element type be stored in another?"""
    return dtypes.can_cast(_type_or_builtin("can_cast", "from_", 1, from_), _type_or_builtin("can_cast", "to", 2, to))
