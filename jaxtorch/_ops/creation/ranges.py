"""Ranges, identity matrices, index patterns and grids."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Arrays, Scalar, function, functions, inner_op, op
from ..._core.define.overloads import signed
from ..._core.define.signature import MISSING, need_kind
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.types import device as devices
from ..._core.types import dtypes
from ..._core.types.size import LONG, check_long
from ..._core.types.value import check_long as check_scalar
from ..._core.types.value import python_number
from ..._core.types.warn_once import once
from ..indexing.setitem import assignable
from ..types.casting import as_dtype, convert, move
from .filled import filled, finish_factory, out_dtype, place

_NO_RANGE = (dtypes.bool_, dtypes.complex64, dtypes.complex128)


def placed(array: np.ndarray[Any, Any], device: Any) -> Tensor:
    """Host data nobody else holds as a tensor on a device."""
    t = from_host(array)
    slot = devices.resolve(device)
    return t if slot.name == "cpu" else move(t, slot)


def _number(value: Any, name: str, argument: str, position: int) -> Any:
    """A Python number, of one that may be a tensor or NumPy's."""
    if isinstance(value, Tensor):
        need_kind(name, argument, "Number", value)
        return value.item()
    value = python_number(value) if isinstance(value, np.generic) else value
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be Number, not {type(value).__name__}"
        )
    if isinstance(value, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    check_scalar(value)
    return int(value) if isinstance(value, bool) else value


def _check_range(start: Any, end: Any, step: Any) -> None:
    if not abs(step) > 0:  # nor NaN
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end < start) if step > 0 else (end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def _check_width(bounds: Any, dtype: Any) -> None:
    """PyTorch's errors for bounds and steps that are no int64."""
    for n in bounds:
        if n.__class__ is int and not -LONG <= n < 2 * LONG:
            raise OverflowError("int too big to convert" if n > 0 else "can't convert negative int to unsigned")
    if not dtype.is_floating_point:
        raise RuntimeError("value cannot be converted to type int64_t without overflow")


@inner_op(differentiable=False)
def _arange(start: Scalar, step: Scalar, n: int, dtype: Any, device: Any):
    """start, start + step, ...: n numbers."""
    if not dtype.is_floating_point:
        start, step = (convert(jnp.asarray(s), dtypes.int64) for s in (start, step))
        return (start + step * up_to(n, jnp.int64)).astype(dtype.np)
    values = up_to(n, jnp.float64) * step + start
    return values.astype(jnp.float32).astype(dtype.np) if dtype.itemsize < 4 else values.astype(dtype.np)


def _steps(start: Any, end: Any, step: Any, whole: bool) -> int:
    """How many numbers a half-open range has."""
    if whole:
        return max(0, -(-(end - start) // step))
    return max(0, math.ceil((end - start) / step))


@function("arange")
def arange(
    *args: Any, start: Any = None, end: Any = None, step: Any = 1, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from `start` (0) up to but without `end`, by `step`: `arange(end)` or `arange(start, end, step)`.

    Integers give int64, floats the default type. Another length makes a new program; other bounds do not.
    """
    given = list(args)
    if len(given) > 3 or (given and end is not None and start is not None):
        raise TypeError("arange() received an invalid combination of arguments: expected (end) or (start, end, step)")
    if len(given) > 1 and given[0] is None:
        need_kind("arange", "start", "Number", None)
    if len(given) == 3:
        step = given.pop()
    if len(given) == 2:
        start, end = given
    elif given and end is None:
        end = given[0]
    elif given:
        start = given[0]
    if end is None:
        raise TypeError("arange() received an invalid combination of arguments - got (): 'end' is needed")
    device = place("arange", device, out, layout, pin_memory, requires_grad)
    first = _number(0 if start is None else start, "arange", "start", 1)
    last = _number(end, "arange", "end", 1 if start is None else 2)
    by = _number(step, "arange", "step", 3)
    whole = first.__class__ is int and last.__class__ is int and by.__class__ is int
    _check_range(first, last, by)
    dtype = out_dtype(dtype, out, dtypes.int64 if whole else None)
    if not (-LONG <= first < LONG and -LONG <= last < LONG and -LONG <= by < LONG):
        _check_width((first, last, by), dtype)
    if dtype in _NO_RANGE:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{dtypes.scalar_name(dtype)}'")
    if dtype is dtypes.int64 and not whole:
        if not int(by):
            raise ValueError("step must be nonzero")
        n = _steps(int(first), int(last), int(by), True)
    else:
        whole = whole and dtype is dtypes.int64
        n = _steps(first, last, by, True) if whole else _steps(float(first), float(last), float(by), False)
    t = _arange(first, by, n, dtype, devices.resolve(device).device)
    return (
        finish_factory(t, out, requires_grad, "arange", fill=True)
        if requires_grad is not False or out is not None
        else t
    )


@function("range")
@signed("range")
def range_(
    start: Any, end: Any, step: Any = 1, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from `start` to `end`, `end` included. Deprecated in PyTorch: use `arange`."""
    warnings.warn(
        "torch.range is deprecated and will be removed in a future release because its behavior is inconsistent with "
        "Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
        UserWarning,
        stacklevel=3,
    )
    first, last, by = (
        _number(v, "range", n, p) for v, n, p in ((start, "start", 1), (end, "end", 2), (step, "step", 3))
    )
    _check_range(first, last, by)
    device = place("range", device, out, layout, pin_memory, requires_grad)
    dtype = out_dtype(dtype, out)
    n = int((last - first) / by) + 1
    t = _arange(first, by, n, dtype, devices.resolve(device).device)
    return finish_factory(t, out, requires_grad, "range", fill=True)


def _ends(start: Any, end: Any, steps: Any, name: str) -> tuple[Any, Any, int]:
    numbers = []
    for value in (start, end):
        if isinstance(value, Tensor):
            if value._value.aval.ndim or (
                isinstance(start, Tensor) and isinstance(end, Tensor) and (start.ndim or end.ndim)
            ):
                d0, d1 = (v.ndim if isinstance(v, Tensor) else 0 for v in (start, end))
                raise RuntimeError(
                    f"{name} only supports 0-dimensional start and end tensors, but got start with {d0} dimension(s) and "
                    f"end with {d1} dimension(s)."
                )
            value = value.item()
        elif value.__class__ not in (int, float):
            need_kind(name, "end" if numbers else "start", "Number", value)
            value = python_number(value)
        if isinstance(value, int) and not -LONG <= value < LONG:
            check_scalar(value)
            value = float(value)
        numbers.append(value)
    if isinstance(steps, Tensor):
        need_kind(name, "steps", "int", steps)
    if isinstance(steps, (bool, np.ndarray)) or not hasattr(steps, "__index__"):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(start).__name__}, {type(end).__name__}, "
            f"{type(steps).__name__}): 'steps' must be int"
        )
    check_long(int(steps))
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    return numbers[0], numbers[1], int(steps)


def _multiply_add(x: float, y: np.ndarray[Any, Any], z: float) -> np.ndarray[Any, Any]:
    """x * y + z, rounded once: rounded twice, what should be a whole number may fall below it.

    Dekker (1971), A floating-point technique for extending the available precision.
    """

    def halves(a: Any) -> tuple[Any, Any]:
        c = a * 134217729.0  # 2**27 + 1
        high = c - (c - a)
        return high, a - high

    y = y.astype(np.float64)
    product = x * y
    (a, b), (c, d) = halves(x), halves(y)
    rest = ((a * c - product) + a * d + b * c) + b * d
    total = product + z
    part = total - product
    with np.errstate(invalid="ignore"):
        exact = total + (((product - (total - part)) + (z - part)) + rest)
    return np.where(np.isfinite(exact), exact, total)  # the halves of a number above 2**996 overflow


def _spaced(start: Any, end: Any, steps: int, dtype: dtypes.dtype, fused: bool = True) -> np.ndarray[Any, Any]:
    """`steps` evenly spaced numbers, counted from both ends to the middle, in the arithmetic of the type: to PyTorch's bits.

    fused: whether a step is multiplied and added with one rounding, where PyTorch does so.
    """
    if not steps:
        return np.zeros(0, dtype.np)
    first, last = (
        np.array(assignable(v, dtype)).astype(dtype.np)[()] for v in ((start, start) if steps == 1 else (start, end))
    )
    if steps == 1:
        return np.array([first])
    floating = dtype.is_floating_point or dtype.is_complex
    work = dtype.np.type if floating else np.float64
    first, last = work(first), work(last)
    with np.errstate(over="ignore", invalid="ignore"):
        by = (last - first) / work(steps - 1) if steps > 1 else work(0)
        index = np.arange(steps)
        if not fused or dtype.is_complex or (floating and dtype.itemsize < 4):
            real = np.dtype(work(0).real.dtype)
            low, high = first + by * index.astype(real), last - by * (steps - 1 - index).astype(real)
        else:
            low = _multiply_add(float(by), index, float(first))
            high = _multiply_add(-float(by), steps - 1 - index, float(last))
        return np.where(index < steps // 2, low, high).astype(dtype.np)


def _spaced_dtype(start: Any, end: Any, steps: int, dtype: Any, out: Tensor | None, name: str) -> dtypes.dtype:
    is_complex = isinstance(start, complex) or isinstance(end, complex)
    if is_complex and dtype is not None and not as_dtype(dtype).is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<float> can't be safely cast to passed dtype "
            f"{dtypes.scalar_name(as_dtype(dtype))}"
        )
    found = out_dtype(dtype, out, dtypes.default().to_complex() if is_complex else None)
    if found is dtypes.bool_ and steps > 1:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    return found


@function("linspace")
def linspace(
    start: Any, end: Any, steps: Any = None, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` evenly spaced numbers from `start` to `end`, both included."""
    first, last, n = _ends(start, end, steps, "linspace")
    device = place("linspace", device, out, layout, pin_memory, requires_grad)
    dtype = _spaced_dtype(first, last, n, dtype, out, "linspace")
    return finish_factory(placed(_spaced(first, last, n, dtype), device), out, requires_grad, "linspace", fill=True)


@function("logspace")
def logspace(
    start: Any, end: Any, steps: Any = None, base: float = 10.0, *, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` numbers from base**start to base**end, their exponents evenly spaced."""
    first, last, n = _ends(start, end, steps, "logspace")
    device = place("logspace", device, out, layout, pin_memory, requires_grad)
    if base.__class__ is not float:
        need_kind("logspace", "base", "float", base)
    dtype = _spaced_dtype(first, last, n, dtype, out, "logspace")
    wide = dtypes.complex128 if dtype.is_complex else dtypes.float64
    exact = dtype.itemsize >= 4 and (dtype.is_floating_point or dtype.is_complex)
    if not (dtype.is_floating_point or dtype.is_complex):
        first, last = int(first), int(last)
    exponents = _spaced(first, last, n, dtype if exact else dtypes.float32 if dtype.is_floating_point else wide, False)
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.power(wide.np.type(base), exponents.astype(wide.np)).astype(dtype.np)
    return finish_factory(placed(values, device), out, requires_grad, "logspace", fill=True)


@inner_op(differentiable=False)
def _eye(n: int, m: int, dtype: Any, device: Any):
    """Ones on the diagonal."""
    return convert(jnp.eye(n, m, dtype=bool), dtype)


@function("eye")
def eye(
    n: int, m: Any = MISSING, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix (n, m) with ones on its diagonal and zeros elsewhere."""
    for name, size, position in (("n", n, 1), ("m", n if m is MISSING else m, 2)):
        if isinstance(size, Tensor):
            need_kind("eye", name, "int", size)
        if isinstance(size, bool) or not hasattr(size, "__index__"):
            raise TypeError(f"eye(): argument '{name}' (position {position}) must be int, not {type(size).__name__}")
        if check_long(size) < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    device = place("eye", device, out, layout, pin_memory, requires_grad)
    dtype = out_dtype(dtype, out)
    t = _eye(int(n), int(n if m is MISSING else m), dtype, devices.resolve(device).device)
    return finish_factory(t, out, requires_grad, "eye")


def _triangle(name: str, pick: Any) -> Any:
    def make(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = "cpu", layout: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        place(name, device, None, layout, pin_memory, requires_grad)
        need_kind(name, "offset", "int", offset)
        for label, size in (("row", row), ("col", col)):
            need_kind(name, label, "int", size)
            if size < 0:
                raise RuntimeError(f"{label} must be non-negative, got{size}")
        found = dtypes.int64 if dtype is None else as_dtype(dtype, name)
        if found not in (dtypes.int64, dtypes.int32):
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.scalar_name(found)}'")
        return placed(np.stack(pick(row, offset, col)).astype(found.np), device).requires_grad_(requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"Rows and columns of the {'lower' if name[2] == 'i' else 'upper'} triangle of a matrix, as int64 (2, n)."
    )
    return function(name)(make)


tril_indices = _triangle("tril_indices", np.tril_indices)
triu_indices = _triangle("triu_indices", np.triu_indices)


# -- grids and combinations


def _list_of(tensors: tuple[Any, ...]) -> list[Any]:
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


@function("meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinate grids of vectors: views of shape (n0, n1, ...); with indexing='xy' the first two dimensions swap."""
    given = _list_of(tensors)
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for i, t in enumerate(given):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    for t in given:
        if t.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got:{'  0' * t.ndim}")
        if t.dtype is not given[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != given[0].device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing is not None:
        need_kind("meshgrid", "indexing", "str", indexing)
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if indexing is None:
        once("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
    swap = indexing == "xy" and len(given) >= 2
    if swap:
        given[:2] = given[1::-1]
    shape = [t.numel() for t in given]
    grids = []
    for i, t in enumerate(given):
        view = [1] * len(given)
        view[i] = shape[i]
        grids.append(t.view(view).expand(shape))
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@function("cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector: (n0 * n1 * ..., number of vectors)."""
    for t in tensors:
        if need_tensor(t, "cartesian_prod", "tensors").ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return functions["stack"]([g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1)


@function("combinations")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of `r` elements of a vector, in order: (number, r)."""
    if type(input) is not Tensor:
        need_tensor(input, "combinations", "input")
    need_kind("combinations", "r", "int", r)
    need_kind("combinations", "with_replacement", "bool", with_replacement)
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return filled((0,), 0, input.dtype, input.device)
    if input.is_meta:
        raise NotImplementedError("aten::masked_select: attempted to run this operator with Meta tensors")
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    picked = np.array(list(choose(range(input.numel()), r)), np.int64).reshape(-1, r)
    flat = functions["index_select"](input, 0, placed(picked.reshape(-1), input.device))
    return flat.reshape(picked.shape)


@op(method=False, out=False)
def vander(x: Array, N: int | None = None, increasing: bool = False):
    """Powers of a vector's elements in columns, highest first unless `increasing`."""
    if x.ndim < 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if x.ndim > 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    if not (jnp.issubdtype(x.dtype, jnp.floating) or jnp.iscomplexobj(x)):
        x = x.astype(jnp.int64)
    columns = [jnp.ones_like(x)]
    for _ in range(n - 1):
        columns.append(columns[-1] * x)
    columns = columns[:n]
    if not columns:
        return jnp.zeros((x.shape[0], 0), x.dtype)
    return jnp.stack(columns if increasing else columns[::-1], 1)


@inner_op(grad="BlockDiagBackward0")
def _block_diag(tensors: Arrays):
    """Matrices along the diagonal of one."""
    blocks: Sequence[Any] = [jnp.atleast_2d(t) for t in tensors]
    common = blocks[0].dtype
    out = jnp.zeros((sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), common)
    row = column = 0
    for b in blocks:
        out = out.at[row : row + b.shape[0], column : column + b.shape[1]].set(b)
        row, column = row + b.shape[0], column + b.shape[1]
    return out


@function("block_diag")
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given ones along its diagonal; vectors count as rows, numbers as (1, 1)."""
    if not tensors:
        return filled((1, 0), 0, None, None)
    for t in tensors:
        need_tensor(t, "block_diag", "tensors")
    common = tensors[0].dtype
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
        common = dtypes.promote(common, t.dtype)
    return _block_diag([t.to(common) for t in tensors])
