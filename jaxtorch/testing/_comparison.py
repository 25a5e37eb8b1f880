"""`assert_close`: compares tensors, numbers, arrays, and sequences and mappings of them, with tolerances."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.op import functions
from .._core.tensor import Tensor
from .._tensor.conversion import to_numpy

_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7), dtypes.complex64: (1.3e-6, 1e-5), dtypes.complex128: (1e-7, 1e-7),
}  # fmt: skip

Message = str | Callable[[str], str] | None


@dataclass
class _Options:
    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool

    def tolerances(self, *kinds: dtypes.dtype) -> tuple[float, float]:
        """(rtol, atol): those given, or the widest that are usual for these types."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        found = [_TOLERANCES.get(d, (0.0, 0.0)) for d in kinds]
        return max(r for r, _ in found), max(a for _, a in found)


class _Mismatch(AssertionError):
    """The first difference found, and where in nested containers it is."""

    def __init__(self, text: str, kind: type[Exception] = AssertionError) -> None:
        super().__init__(text)
        self.text, self.kind = text, kind
        self.place: list[Any] = []

    def message(self) -> str:
        if not self.place:
            return self.text
        where = "".join(f"[{item!r}]" for item in reversed(self.place))
        return f"{self.text}\n\nThe failure occurred for item {where}"


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Assert that |actual - expected| <= atol + rtol * |expected| everywhere, and that types and shapes are the same.

    rtol, atol: both or neither; by default they depend on the dtype, and are 0 for integers. Sequences and mappings are
    compared item by item. AssertionError tells the first difference; `msg` replaces its text, or is called with it.
    """
    if (rtol is None) ^ (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    options = _Options(allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout, check_stride)
    try:
        _compare(actual, expected, options)
    except _Mismatch as found:
        if found.kind is not AssertionError or msg is None:
            text = found.message()
        else:
            text = msg(found.message()) if callable(msg) else msg
        raise found.kind(text) from None


def _compare(actual: Any, expected: Any, o: _Options) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            raise _Mismatch(
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(extra)}"
            )
        _each(actual, expected, list(actual), o)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise _Mismatch(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}")
        _each(actual, expected, range(len(actual)), o)
    elif actual is None or expected is None:
        if actual is not expected:
            raise _Mismatch(f"None mismatch: {actual} is not {expected}")
    elif _is_bool(actual) and _is_bool(expected):
        if bool(actual) is not bool(expected):
            raise _Mismatch(f"Booleans mismatch: {actual} is not {expected}")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(actual, expected, o)
    elif _is_tensor(actual, o) and _is_tensor(expected, o) and _related(actual, expected, o):
        _compare_tensors(_tensor(actual), _tensor(expected), o)
    else:
        raise _Mismatch(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", TypeError
        )


def _each(actual: Any, expected: Any, places: Any, o: _Options) -> None:
    for place in places:
        try:
            _compare(actual[place], expected[place], o)
        except _Mismatch as found:
            found.place.append(place)
            raise


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, str)


def _is_bool(x: Any) -> bool:
    return isinstance(x, (bool, np.bool_))


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.number)) and not _is_bool(x)


def _is_tensor(x: Any, o: _Options) -> bool:
    return isinstance(x, (Tensor, np.ndarray)) and (o.allow_subclasses or type(x) in (Tensor, np.ndarray))


def _related(a: Any, b: Any, o: _Options) -> bool:
    return isinstance(a, type(b)) or isinstance(b, type(a))


def _tensor(x: Any) -> Tensor:
    return x if isinstance(x, Tensor) else functions["from_numpy"](np.array(x))


def _dtype_of(number: Any) -> dtypes.dtype:
    number = number.item() if isinstance(number, np.number) else number
    return {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}[type(number)]


def _differences(actual: Any, expected: Any, rtol: float, atol: float, head: str) -> str:
    """The text for two numbers that are not close."""
    exact = rtol == 0 and atol == 0
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected != 0 else float("inf")
    up_to_a, up_to_r = ("", "") if exact else (f" (up to {atol} allowed)", f" (up to {rtol} allowed)")
    return (
        f"{head} are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{up_to_a}\nRelative difference: {relative}{up_to_r}"
    )


def _close(actual: Any, expected: Any, rtol: float, atol: float, equal_nan: bool) -> bool:
    if actual == expected:
        return True
    if equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return True
    difference = abs(actual - expected)
    return not cmath.isinf(difference) and difference <= atol + rtol * abs(expected)


def _compare_numbers(actual: Any, expected: Any, o: _Options) -> None:
    if o.check_dtype and type(actual) is not type(expected):
        raise _Mismatch(f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    rtol, atol = o.tolerances(_dtype_of(actual), _dtype_of(expected))
    if not _close(actual, expected, rtol, atol, o.equal_nan):
        raise _Mismatch(_differences(actual, expected, rtol, atol, "Scalars"))


def _attribute(name: str, actual: Any, expected: Any) -> None:
    if actual != expected:
        raise _Mismatch(f"The values for attribute '{name}' do not match: {actual} != {expected}.")


def _compare_tensors(actual: Tensor, expected: Tensor, o: _Options) -> None:
    _attribute("shape", actual.shape, expected.shape)
    if o.check_layout:
        _attribute("layout", actual.layout, expected.layout)
    if o.check_device:
        _attribute("device", actual.device, expected.device)
    if o.check_dtype:
        _attribute("dtype", actual.dtype, expected.dtype)
    if o.check_stride:
        _attribute("stride()", actual.stride(), expected.stride())
    kinds = actual._value.aval.dtype, expected._value.aval.dtype
    rtol, atol = o.tolerances(*kinds)
    common = kinds[0] if kinds[0] is kinds[1] else dtypes.promote(*kinds)
    if actual._value.aval.slot.is_meta and expected._value.aval.slot.is_meta:
        return  # they have no values
    a, b = _wide(to_numpy(actual), common), _wide(to_numpy(expected), common)
    with np.errstate(all="ignore"):
        difference = np.abs(a - b)
        bound = atol + rtol * np.abs(b)
        fine = (a == b) | (np.isfinite(difference) & (difference <= bound))
        if o.equal_nan:
            fine |= np.isnan(a) & np.isnan(b)
        if fine.all():
            return
        _report(a, b, difference, ~fine, rtol, atol, common)


def _wide(x: np.ndarray[Any, Any], common: dtypes.dtype) -> np.ndarray[Any, Any]:
    """The values in a type in which differences of `common` neither overflow nor lose."""
    if common.is_complex:
        return x.astype(common.np)
    if common.is_floating_point:
        return x.astype(common.np if common.itemsize >= 4 else np.float32)
    return x.astype(np.int64 if common is not dtypes.uint64 else np.float64)


def _report(a: Any, b: Any, difference: Any, wrong: Any, rtol: float, atol: float, common: dtypes.dtype) -> None:
    exact = rtol == 0 and atol == 0
    if a.ndim == 0:
        raise _Mismatch(_differences(a.item(), b.item(), rtol, atol, "Scalars"))
    relative = difference / np.abs(b) if common.is_floating_point or common.is_complex else (
        difference.astype(np.float32) / np.abs(b).astype(np.float32)
    )  # fmt: skip
    lines = []
    for name, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        shown = np.where(wrong, values, 0)
        at = np.unravel_index(int(np.argmax(shown)), shown.shape)
        place = tuple(int(i) for i in at)
        up_to = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {name} difference: {shown[at].item()} at index {place}{up_to}")
    count = int(wrong.sum())
    raise _Mismatch(
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\nMismatched elements: {count} / {wrong.size} "
        f"({count / wrong.size:.1%})\n" + "\n".join(lines)
    )
