"""PyTorch's element types and its promotion rules, on NumPy's (and ml_dtypes') types."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from .warn_once import once


class dtype:
    """An element type. There is one object for each, compared by identity."""

    __module__ = "jaxtorch"

    __slots__ = ("name", "np", "itemsize", "is_floating_point", "is_complex", "is_signed", "rank", "__weakref__")

    def __init__(self, name: str, np_type: Any, kind: str, rank: int, itemsize: int = 0) -> None:
        self.name = name
        self.np: Any = None if np_type is None else np.dtype(np_type)
        self.itemsize = itemsize if self.np is None else self.np.itemsize
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        if kind != "q":
            self.is_signed = kind in "ifc" and name != "float8_e8m0fnu"
        self.rank = rank

    def __getattr__(self, name: str) -> Any:
        if name == "is_signed":
            bits = self.name.startswith("bits")
            raise RuntimeError("Bits types are undefined" if bits else "isSignedType not supported for quantized types")
        raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    @property
    def abbr(self) -> str:
        """The short name that printed graphs use."""
        return _ABBREVIATIONS.get(self.name, self.name)

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type."""
        try:
            return _TO_COMPLEX[self]
        except KeyError:
            raise RuntimeError(f"Unknown Complex ScalarType for {_SCALAR_NAMES[self.name]}") from None

    def to_real(self) -> dtype:
        """The type of the parts of this complex type; itself for a real one."""
        return _TO_REAL.get(self, self)


bool_ = dtype("bool", np.bool_, "b", 0)
uint8 = dtype("uint8", np.uint8, "u", 1)
int8 = dtype("int8", np.int8, "i", 2)
int16 = dtype("int16", np.int16, "i", 3)
int32 = dtype("int32", np.int32, "i", 4)
int64 = dtype("int64", np.int64, "i", 5)
uint16 = dtype("uint16", np.uint16, "u", 3)
uint32 = dtype("uint32", np.uint32, "u", 4)
uint64 = dtype("uint64", np.uint64, "u", 5)
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, "f", 6)
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f", 6)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "f", 6)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "f", 6)
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, "f", 6)
float16 = dtype("float16", np.float16, "f", 7)
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "f", 7)
float32 = dtype("float32", np.float32, "f", 8)
float64 = dtype("float64", np.float64, "f", 9)
complex32 = dtype("complex32", None, "c", 10, itemsize=4)
complex64 = dtype("complex64", np.complex64, "c", 11)
complex128 = dtype("complex128", np.complex128, "c", 12)

ALL = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float8_e5m2, float8_e4m3fn, float8_e5m2fnuz,
    float8_e4m3fnuz, float8_e8m0fnu, float16, bfloat16, float32, float64, complex32, complex64, complex128,
)  # fmt: skip
WITHOUT_STORAGE = tuple(
    [dtype(f"{sign}int{bits}", None, kind, 1, 1) for sign, kind in (("u", "u"), ("", "i")) for bits in range(1, 8)]
    + [
        dtype(name, None, "q", 1, 4 if name == "qint32" else 1)
        for name in ("qint8", "quint8", "qint32", "quint4x2", "quint2x4")
    ]
    + [
        dtype(name, None, "q", 1, 2 if name == "bits16" else 1)
        for name in ("bits1x8", "bits2x4", "bits4x2", "bits8", "bits16")
    ]
    + [dtype("float4_e2m1fn_x2", None, "f", 6, 1)]
)
"""Types that PyTorch has kernels of its own for, or none: here they are names, and a tensor of one raises NotImplementedError."""
ALIASES = {
    "half": float16, "float": float32, "double": float64, "short": int16, "int": int32, "long": int64,
    "chalf": complex32, "cfloat": complex64, "cdouble": complex128,
}  # fmt: skip
_ABBREVIATIONS = {
    "bool": "b8", "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float8_e5m2": "f8e5m2", "float8_e4m3fn": "f8e4m3fn",
    "float8_e5m2fnuz": "f8e5m2fnuz", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e8m0fnu": "f8e8m0fnu", "float16": "f16",
    "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex32": "c32", "complex64": "c64", "complex128": "c128",
    "bits1x8": "b1x8", "bits2x4": "b2x4", "bits4x2": "b4x2", "bits8": "b8x1", "bits16": "b16x1",
    "float4_e2m1fn_x2": "f4e2m1fnx2",
}  # fmt: skip
_BY_NAME = {d.name: d for d in ALL + WITHOUT_STORAGE}
qint8, quint8, qint32 = (_BY_NAME[name] for name in ("qint8", "quint8", "qint32"))
_BY_NP = {d.np: d for d in ALL if d.np is not None}
_TO_COMPLEX = {float16: complex32, bfloat16: complex64, float32: complex64, float64: complex128}
_TO_COMPLEX |= {complex32: complex32, complex64: complex64, complex128: complex128}
_TO_REAL = {complex32: float16, complex64: float32, complex128: float64}
_BAREBONES = (uint16, uint32, uint64)
_FLOAT8 = (float8_e5m2, float8_e4m3fn, float8_e5m2fnuz, float8_e4m3fnuz, float8_e8m0fnu)


def no_storage(d: dtype) -> NotImplementedError:
    """What to raise where a tensor of a type without storage would be made."""
    if d is complex32:
        once("ComplexHalf support is experimental and many operators don't support it yet.")
    return NotImplementedError(f"jaxtorch has no storage for torch.{d.name}")


def by_name(name: str) -> dtype:
    return _BY_NAME[name]


def from_numpy(np_type: Any) -> dtype:
    """The element type of a NumPy or JAX type; TypeError where PyTorch has none."""
    np_type = np.dtype(np_type)
    try:
        return _BY_NP[np_type]
    except KeyError:
        if np_type.newbyteorder("=") in _BY_NP:
            raise ValueError(
                "given numpy array has byte order different from the native byte order. "
                "Conversion between byte orders is currently not supported."
            ) from None
        raise TypeError(
            f"can't convert np.ndarray of type {np_type}. The only supported types are: float64, float32, float16, "
            "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None


class _Defaults:
    """The process-wide default types; entries are rebuilt when they change (`on_change`)."""

    floating = float32
    on_change: list[Any] = []


def default() -> dtype:
    return _Defaults.floating


@contextlib.contextmanager
def default_as(d: dtype) -> Iterator[None]:
    """Let bodies that are traced inside read this default type; no entry is dropped."""
    own, _Defaults.floating = _Defaults.floating, d
    try:
        yield
    finally:
        _Defaults.floating = own


def set_default(d: dtype) -> None:
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    if d is not _Defaults.floating:
        _Defaults.floating = d
        for callback in _Defaults.on_change:
            callback()


def of_python(value: Any) -> dtype:
    """The type PyTorch gives a Python number."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return _Defaults.floating
    if isinstance(value, complex):
        return _Defaults.floating.to_complex()
    raise TypeError(f"expected a Python number, got {type(value).__name__}")


BUILTIN = {float: float64, int: int64, bool: bool_, complex: complex128}
"""The element types that Python's own number types stand for in `dtype=`."""


def as_dtype(given: Any, name: str = "") -> dtype:
    """A `dtype` argument, which may be one of Python's own number types; TypeError otherwise."""
    if isinstance(given, dtype):
        return given
    found = BUILTIN.get(given) if isinstance(given, type) else None
    if found is None:
        where = f"{name}(): " if name else ""
        raise TypeError(f"{where}argument 'dtype' must be torch.dtype, not {type(given).__name__}")
    return found


_promoted: dict[tuple[dtype, dtype], dtype] = {}


def promote(a: dtype, b: dtype) -> dtype:
    """`torch.promote_types`: the smallest type that both convert to without losing their category."""
    if a is b:
        return a
    try:
        return _promoted[a, b]
    except KeyError:
        result = _promoted[a, b] = _promoted[b, a] = _promote(a, b)
        return result


def _promote(a: dtype, b: dtype) -> dtype:
    for d in (a, b):
        if d in WITHOUT_STORAGE:
            raise RuntimeError(f"Promotion of torch.{d.name} is not supported, attempted to promote {a} and {b}")
    if a in _FLOAT8 or b in _FLOAT8:
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {_scalar_name(a)} and {_scalar_name(b)}"
        )
    if (a in _BAREBONES or b in _BAREBONES) and not (a.is_floating_point or b.is_floating_point):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{_scalar_name(a)} and {_scalar_name(b)}"
        )
    if a.is_complex or b.is_complex:
        real = promote(a.to_real(), b.to_real()) if not (a.is_complex and b.is_complex) else None
        if real is None:
            return max(a, b, key=lambda d: d.rank)
        if not real.is_floating_point:
            return a if a.is_complex else b
        if complex32 in (a, b) and real is float16:
            return complex32
        return real.to_complex()
    if a.is_floating_point or b.is_floating_point:
        if a.is_floating_point and b.is_floating_point:
            return float32 if {a, b} == {float16, bfloat16} else max(a, b, key=lambda d: d.rank)
        return a if a.is_floating_point else b
    if bool_ in (a, b):
        return a if b is bool_ else b
    if uint8 in (a, b):
        other = a if b is uint8 else b
        return int16 if other is int8 else other
    return max(a, b, key=lambda d: d.rank)


_SCALAR_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "float16": "Half", "bfloat16": "BFloat16",
    "float32": "Float", "float64": "Double", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "float8_e5m2": "Float8_e5m2", "float8_e4m3fn": "Float8_e4m3fn",
    "float8_e5m2fnuz": "Float8_e5m2fnuz", "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e8m0fnu": "Float8_e8m0fnu",
}  # fmt: skip


def _scalar_name(d: dtype) -> str:
    return _SCALAR_NAMES[d.name]


scalar_name = _scalar_name


def result_type(dims: list[dtype], zeros: list[dtype], wrapped: list[dtype]) -> dtype:
    """Promote operands of three priorities: with dimensions, zero-dimensional, Python numbers.

    A lower priority decides only when its category (bool, integer, floating, complex) is above the higher one's.
    """
    result: dtype | None = None
    for group in (wrapped, zeros, dims):
        if not group:
            continue
        own = group[0]
        for d in group[1:]:
            own = promote(own, d)
        result = own if result is None else _combine(own, result)
    if result is None:
        raise RuntimeError("result_type: expected at least one operand")
    return result


def _combine(higher: dtype, lower: dtype) -> dtype:
    if higher.is_complex:
        return higher
    if higher.is_floating_point:
        return higher.to_complex() if lower.is_complex else higher
    if lower.is_complex and higher in _BAREBONES:
        return lower
    if higher is bool_ or lower.is_floating_point or lower.is_complex:
        return promote(higher, lower)
    return higher


def category(d: dtype) -> int:
    """0 bool, 1 integer, 2 floating, 3 complex."""
    return 3 if d.is_complex else 2 if d.is_floating_point else 0 if d is bool_ else 1


def can_cast(source: dtype, target: dtype) -> bool:
    """`torch.can_cast`: may an in-place operation or `out=` store `source` results in `target`?"""
    if source.is_complex and not target.is_complex:
        return False
    if source.is_floating_point and not (target.is_floating_point or target.is_complex):
        return False
    return not (source is not bool_ and target is bool_)
