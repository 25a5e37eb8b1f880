"""`assert_close`: compares tensors, numbers, arrays, and sequences and mappings of them, with tolerances.

Each kind of input has its class of pairs, as in PyTorch, so that test suites can add kinds of their own and loosen those there are.
"""

from __future__ import annotations

import abc
import cmath
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.warn_once import warn
from .._ops.types import constants as layouts
from .._tensor.conversion import to_numpy

_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5), dtypes.bfloat16: (1.6e-2, 1e-5), dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7), dtypes.complex64: (1.3e-6, 1e-5), dtypes.complex128: (1e-7, 1e-7),
}  # fmt: skip

Message = str | Callable[[str], str] | None


class ErrorMeta(Exception):
    """A difference: the exception that tells it, and where in nested containers it is."""

    def __init__(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> None:
        super().__init__(msg)
        self.type, self.msg, self.id = type, msg, id

    def to_error(self, msg: Message = None) -> Exception:
        """The exception; `msg` replaces its text, or is called with it."""
        where = "".join(f"[{item!r}]" for item in self.id)
        text = f"{self.msg}\n\nThe failure occurred for item {where}" if self.id else self.msg
        if self.type is AssertionError and msg is not None:
            text = msg(text) if callable(msg) else msg
        return self.type(text)


class UnsupportedInputs(Exception):
    """A class of pairs does not compare such inputs: another may."""


class Pair(abc.ABC):
    """Two inputs to compare. `__init__` raises UnsupportedInputs for those that are not of its kind."""

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **unknown_parameters: Any) -> None:
        self.actual, self.expected, self.id = actual, expected, id

    @staticmethod
    def _inputs_not_supported() -> NoReturn:
        raise UnsupportedInputs

    @staticmethod
    def _check_inputs_isinstance(*inputs: Any, cls: type | tuple[type, ...]) -> None:
        if not all(isinstance(x, cls) for x in inputs):
            Pair._inputs_not_supported()

    def _fail(self, type: type[Exception], msg: str, *, id: tuple[Any, ...] = ()) -> NoReturn:
        raise ErrorMeta(type, msg, id=getattr(self, "id", ()) or id)

    @abc.abstractmethod
    def compare(self) -> None:
        """Raise ErrorMeta where the two differ."""

    def extra_repr(self) -> Sequence[str | tuple[str, Any]]:
        """More attributes for the text: names, or names and values."""
        return []

    def __repr__(self) -> str:
        items = ["id", "actual", "expected", *self.extra_repr()]
        pairs = [item if isinstance(item, tuple) else (item, getattr(self, item)) for item in items]
        body = "\n".join(f"    {name}={value!r}," for name, value in pairs)
        return f"{type(self).__name__}(\n{body}\n)"


class ObjectPair(Pair):
    """Objects that are compared with `==`."""

    def compare(self) -> None:
        """Raise ErrorMeta where the two are not equal."""
        try:
            equal = self.actual == self.expected
        except Exception as error:
            self._fail(ValueError, f"{self.actual} == {self.expected} failed with:\n{error}.")
        if not equal:
            self._fail(AssertionError, f"{self.actual} != {self.expected}")


class NonePair(Pair):
    """None, on either side."""

    def __init__(self, actual: Any, expected: Any, **other_parameters: Any) -> None:
        if actual is not None and expected is not None:
            self._inputs_not_supported()
        super().__init__(actual, expected, **other_parameters)

    def compare(self) -> None:
        """Raise ErrorMeta where one is not None."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"None mismatch: {self.actual} is not {self.expected}")


class BooleanPair(Pair):
    """Booleans of Python and NumPy."""

    _supported_types: tuple[type, ...] = (bool, np.bool_)

    def __init__(self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), **other_parameters: Any) -> None:
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> Any:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        return [self._to_bool(x, id=id) for x in (actual, expected)]

    def _to_bool(self, bool_like: Any, *, id: tuple[Any, ...]) -> bool:
        if not isinstance(bool_like, (bool, np.bool_)):
            raise ErrorMeta(TypeError, f"Unknown boolean type {type(bool_like)}.", id=id)
        return bool(bool_like)

    def compare(self) -> None:
        """Raise ErrorMeta where the two differ."""
        if self.actual is not self.expected:
            self._fail(AssertionError, f"Booleans mismatch: {self.actual} is not {self.expected}")


class NumberPair(Pair):
    """Numbers of Python and NumPy."""

    _TYPE_TO_DTYPE: dict[type, Any] = {int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}
    _NUMBER_TYPES = tuple(_TYPE_TO_DTYPE)
    _supported_types: tuple[type, ...] = (*_NUMBER_TYPES, np.number)

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), rtol: float | None = None, atol: float | None = None,
        equal_nan: bool = False, check_dtype: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id)
        super().__init__(actual, expected, id=id, **other_parameters)
        kinds = [self._TYPE_TO_DTYPE[type(x)] for x in (actual, expected)]
        self.rtol, self.atol = get_tolerances(*kinds, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_dtype = equal_nan, check_dtype

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...]) -> Any:
        self._check_inputs_isinstance(actual, expected, cls=self._supported_types)
        if isinstance(actual, bool) or isinstance(expected, bool):
            self._inputs_not_supported()
        return [self._to_number(x, id=id) for x in (actual, expected)]

    def _to_number(self, number_like: Any, *, id: tuple[Any, ...]) -> Any:
        if isinstance(number_like, np.number):
            return number_like.item()
        if not isinstance(number_like, self._NUMBER_TYPES):
            raise ErrorMeta(TypeError, f"Unknown number type {type(number_like)}.", id=id)
        return number_like

    def compare(self) -> None:
        """Raise ErrorMeta where the two are not close."""
        if self.check_dtype and type(self.actual) is not type(self.expected):
            self._fail(AssertionError, f"The (d)types do not match: {type(self.actual)} != {type(self.expected)}.")
        if not _close(self.actual, self.expected, self.rtol, self.atol, self.equal_nan):
            text = make_scalar_mismatch_msg(self.actual, self.expected, rtol=self.rtol, atol=self.atol)
            self._fail(AssertionError, text)

    def extra_repr(self) -> Sequence[str]:
        """The tolerances and what is checked."""
        return ("rtol", "atol", "equal_nan", "check_dtype")


class TensorLikePair(Pair):
    """Tensors and arrays. A tensor is compared with an array only by subclasses that allow it."""

    def __init__(
        self, actual: Any, expected: Any, *, id: tuple[Any, ...] = (), allow_subclasses: bool = True,
        rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
        check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False, **other_parameters: Any,
    ) -> None:  # fmt: skip
        actual, expected = self._process_inputs(actual, expected, id=id, allow_subclasses=allow_subclasses)
        super().__init__(actual, expected, id=id, **other_parameters)
        self.rtol, self.atol = get_tolerances(actual.dtype, expected.dtype, rtol=rtol, atol=atol, id=id)
        self.equal_nan, self.check_device, self.check_dtype = equal_nan, check_device, check_dtype
        self.check_layout, self.check_stride = check_layout, check_stride
        self.check_is_coalesced = other_parameters.get("check_is_coalesced", True)

    def _process_inputs(self, actual: Any, expected: Any, *, id: tuple[Any, ...], allow_subclasses: bool) -> Any:
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        kinds = (Tensor, np.ndarray)
        if not related or not (allow_subclasses or type(actual) is type(expected)):
            self._inputs_not_supported()
        self._check_inputs_isinstance(actual, expected, cls=kinds)
        if not allow_subclasses and type(actual) not in kinds:
            self._inputs_not_supported()
        actual, expected = self._to_tensor(actual), self._to_tensor(expected)
        for x in (actual, expected):
            self._check_supported(x, id=id)
        return actual, expected

    def _to_tensor(self, tensor_like: Any) -> Tensor:
        return tensor_like if isinstance(tensor_like, Tensor) else functions["from_numpy"](np.array(tensor_like))

    def _check_supported(self, tensor: Tensor, *, id: tuple[Any, ...]) -> None:
        pass  # every layout that tensors have is compared

    def _attribute(self, name: str, actual: Any, expected: Any) -> None:
        if actual != expected:
            self._fail(AssertionError, f"The values for attribute '{name}' do not match: {actual} != {expected}.")

    def compare(self) -> None:
        """Raise ErrorMeta where an attribute that is checked differs, or the values are not close."""
        a, b = self.actual, self.expected
        self._attribute("shape", a.shape, b.shape)
        if self.check_layout:
            self._attribute("layout", a.layout, b.layout)
        if self.check_device:
            self._attribute("device", a.device, b.device)
        if self.check_dtype:
            self._attribute("dtype", a.dtype, b.dtype)
        if self.check_stride and a.layout is b.layout is layouts.strided:
            self._attribute("stride()", a.stride(), b.stride())
        if a.device.type == "meta" or b.device.type == "meta":
            return  # they have no values
        for part, x, y in self._parts(a.detach(), b.detach()):
            text = _difference(x, y, self.rtol, self.atol, self.equal_nan, part)
            if text is not None:
                self._fail(AssertionError, text)

    def _parts(self, a: Any, b: Any) -> list[tuple[str, Any, Any]]:
        """The tensors whose values are compared, and what they are called."""
        if a.is_quantized or b.is_quantized:
            if a.is_quantized is not b.is_quantized:
                self._attribute("is_quantized", a.is_quantized, b.is_quantized)
            self._attribute("qscheme()", a.qscheme(), b.qscheme())
            return [("Tensor-likes", a.dequantize(), b.dequantize())]
        if a.is_nested:
            return [("Tensor-likes", x, y) for x, y in zip(a.unbind(), b.unbind(), strict=True)]
        if a.layout is not b.layout:
            return [("Tensor-likes", *(x.to_dense() if x.layout is not layouts.strided else x for x in (a, b)))]
        if a.layout is layouts.sparse_coo:
            if self.check_is_coalesced:
                self._attribute("is_coalesced()", a.is_coalesced(), b.is_coalesced())
            a, b = a.coalesce(), b.coalesce()
            self._attribute("_nnz()", a._nnz(), b._nnz())
            names = ("indices", "values")
        elif a.layout is layouts.strided:
            return [("Tensor-likes", a, b)]
        else:
            rows = a.layout in (layouts.sparse_csr, layouts.sparse_bsr)
            names = ("crow_indices", "col_indices", "values") if rows else ("ccol_indices", "row_indices", "values")
        kind = str(a.layout).removeprefix("torch.sparse_").upper()
        return [(f"Sparse {kind} {name}", getattr(a, name)(), getattr(b, name)()) for name in names]

    def extra_repr(self) -> Sequence[str]:
        """The tolerances and what is checked."""
        return ("rtol", "atol", "equal_nan", "check_device", "check_dtype", "check_layout", "check_stride")


def default_tolerances(*inputs: Any, dtype_precisions: Any = None) -> tuple[float, float]:
    """(rtol, atol): the widest that are usual for these tensors or element types."""
    table = dtype_precisions or _TOLERANCES
    found = [table.get(x.dtype if isinstance(x, Tensor) else x, (0.0, 0.0)) for x in inputs]
    return max(r for r, _ in found), max(a for _, a in found)


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """(rtol, atol): those given, or the usual ones. ErrorMeta of a ValueError where only one is given."""
    if (rtol is None) ^ (atol is None):
        missing = "rtol" if rtol is None else "atol"
        text = f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}."
        raise ErrorMeta(ValueError, text, id=id)
    return (rtol, atol) if rtol is not None and atol is not None else default_tolerances(*inputs)


def originate_pairs(
    actual: Any, expected: Any, *, pair_types: Collection[type[Pair]], sequence_types: tuple[type, ...] = (Sequence,),
    mapping_types: tuple[type, ...] = (Mapping,), id: tuple[Any, ...] = (), **options: Any,
) -> list[Pair]:  # fmt: skip
    """The pairs of two inputs, and of what they contain, by the first of the classes that takes them.

    ErrorMeta where containers do not match, or no class takes two inputs.
    """
    further: Any = {
        "pair_types": pair_types, "sequence_types": sequence_types, "mapping_types": mapping_types, **options,
    }  # fmt: skip
    if all(isinstance(x, sequence_types) and not isinstance(x, str) for x in (actual, expected)):
        if len(actual) != len(expected):
            raise ErrorMeta(
                AssertionError, f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", id=id
            )
        places: Any = range(len(actual))
    elif all(isinstance(x, mapping_types) for x in (actual, expected)):
        missing, extra = set(expected) - set(actual), set(actual) - set(expected)
        if missing or extra:
            text = (
                f"The keys of the mappings do not match:\nMissing keys in the actual mapping: {_sorted(missing)}\n"
                f"Additional keys in the actual mapping: {_sorted(extra)}"
            )
            raise ErrorMeta(AssertionError, text, id=id)
        places = _sorted(actual)
    else:
        for kind in pair_types:
            try:
                return [kind(actual, expected, id=id, **options)]
            except UnsupportedInputs:
                continue
        text = f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        raise ErrorMeta(TypeError, text, id=id)
    return [p for at in places for p in originate_pairs(actual[at], expected[at], id=(*id, at), **further)]


def _sorted(items: Any) -> list[Any]:
    try:
        return sorted(items)
    except TypeError:
        return list(items)


def not_close_error_metas(
    actual: Any, expected: Any, *, pair_types: Collection[type[Pair]] = (ObjectPair,),
    sequence_types: tuple[type, ...] = (Sequence,), mapping_types: tuple[type, ...] = (Mapping,), **options: Any,
) -> list[ErrorMeta]:  # fmt: skip
    """The differences of two inputs; none for those that are close."""
    try:
        pairs = originate_pairs(
            actual,
            expected,
            pair_types=pair_types,
            sequence_types=sequence_types,
            mapping_types=mapping_types,
            **options,
        )
    except ErrorMeta as found:
        raise found.to_error() from None
    metas = []
    for pair in pairs:
        try:
            pair.compare()
        except ErrorMeta as found:
            metas.append(found.with_traceback(None))
    return metas


def _unwrap_dtensor_for_comparison(actual: Any, expected: Any) -> tuple[Any, Any]:
    return actual, expected  # there are no distributed tensors


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
    metas = not_close_error_metas(
        actual, expected, pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair), allow_subclasses=allow_subclasses,
        rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=check_device, check_dtype=check_dtype,
        check_layout=check_layout, check_stride=check_stride,
    )  # fmt: skip
    if metas:
        raise metas[0].to_error(msg)


_OLDER_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-3),
    dtypes.float32: (1e-4, 1e-5),
    dtypes.float64: (1e-5, 1e-8),
}


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Deprecated: `assert_close`. Element types and devices may differ, and other tolerances are usual."""
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead. You can find detailed upgrade instructions in "
        "https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    actual, expected = (x if isinstance(x, Tensor) else functions["tensor"](x) for x in (actual, expected))
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected, dtype_precisions=_OLDER_TOLERANCES)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False,
        check_stride=False, msg=msg or None,
    )  # fmt: skip


def make_scalar_mismatch_msg(
    actual: Any, expected: Any, *, rtol: float, atol: float, identifier: str | Callable[[str], str] | None = None
) -> str:
    """The text for two numbers that are not close."""
    head = "Scalars" if identifier is None else identifier("Scalars") if callable(identifier) else identifier
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


def _difference(actual: Tensor, expected: Tensor, rtol: float, atol: float, equal_nan: bool, part: str) -> str | None:
    """The text for two tensors of one shape whose values are not close; None where they are."""
    kinds = actual.dtype, expected.dtype
    common = kinds[0] if kinds[0] is kinds[1] else dtypes.promote(*kinds)
    a, b = _wide(to_numpy(actual), common), _wide(to_numpy(expected), common)
    with np.errstate(all="ignore"):
        difference = np.abs(a - b)
        bound = atol + rtol * np.abs(b)
        fine = (a == b) | (np.isfinite(difference) & (difference <= bound))
        if equal_nan:
            fine |= np.isnan(a) & np.isnan(b)
        return None if fine.all() else _report(a, b, difference, ~fine, rtol, atol, common, part)


def _wide(x: np.ndarray[Any, Any], common: dtypes.dtype) -> np.ndarray[Any, Any]:
    """The values in a type in which differences of `common` neither overflow nor lose."""
    if common.is_complex:
        return x.astype(common.np)
    if common.is_floating_point:
        return x.astype(common.np if common.itemsize >= 4 else np.float32)
    return x.astype(np.int64 if common is not dtypes.uint64 else np.float64)


def _report(
    a: Any, b: Any, difference: Any, wrong: Any, rtol: float, atol: float, common: dtypes.dtype, part: str
) -> str:
    """The text for two arrays that are not close."""
    exact = rtol == 0 and atol == 0
    if a.ndim == 0:
        return make_scalar_mismatch_msg(a.item(), b.item(), rtol=rtol, atol=atol)
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
    return (
        f"{part} are not {'equal' if exact else 'close'}!\n\nMismatched elements: {count} / {wrong.size} "
        f"({count / wrong.size:.1%})\n" + "\n".join(lines)
    )
