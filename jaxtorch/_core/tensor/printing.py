"""The text of a tensor: `repr`, print options and the parameter and storage forms, from NumPy arrays alone.

Nothing here knows the engine. A caller hands over values and facts (dtype name, device, grad_fn name) and
gets a string. For a large tensor only the elements that will be shown are touched: `summary_indices` names
them, so a caller whose values live on an accelerator can fetch those and no others.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = [
    "format_parameter",
    "format_scalar",
    "format_storage_like",
    "format_tensor",
    "get_printoptions",
    "printoptions",
    "set_printoptions",
    "summary_indices",
]

# Beyond these, fixed-point columns would be too wide or would lose every digit.
_SCI_RATIO = 1000.0
_SCI_LARGE = 1e8
_SCI_SMALL = 1e-4


@dataclass(frozen=True)
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}

_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; `None` leaves an option as it is, but lets each tensor decide its `sci_mode`.

    `profile` ("default", "short" or "full") is applied first, the other arguments on top of it. As in
    PyTorch, an unknown profile is ignored and every call sets `sci_mode` anew.
    """
    global _options
    changes = dict(_PROFILES.get(profile, {})) if isinstance(profile, str) else {}
    explicit = {
        "precision": precision,
        "threshold": threshold,
        "edgeitems": edgeitems,
        "linewidth": linewidth,
    }
    changes.update((name, value) for name, value in explicit.items() if value is not None)
    _options = replace(_options, sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """The current print options, as keyword arguments that `set_printoptions` accepts."""
    return {name: getattr(_options, name) for name in _Options.__dataclass_fields__}


@contextlib.contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Context manager: `set_printoptions(**kwargs)` inside, the former options after."""
    global _options
    former = _options
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        _options = former


# ---------------------------------------------------------------------------------------------- cells


@dataclass(frozen=True)
class _Column:
    """Elements as strings, each at least `width` wide once padded."""

    cells: list[str]
    width: int

    def padded(self) -> list[str]:
        width = self.width
        return [cell.rjust(width) for cell in self.cells]


def _exact_column(values: np.ndarray) -> _Column:
    """Integers and booleans: every element counts towards the width."""
    cells = [str(value) for value in values.tolist()]
    return _Column(cells, max(map(len, cells), default=1))


def _finite_and_nonzero(values: np.ndarray) -> np.ndarray:
    return np.isfinite(values) & (values != 0)


def _float_column(values: np.ndarray, options: _Options, counted: np.ndarray) -> _Column:
    """Floats, in float64. Only the elements under the mask `counted` decide the notation and the width."""
    significant = values[counted]
    precision = options.precision
    if significant.size == 0:
        return _Column([_whole(value) for value in values.tolist()], 1)

    magnitudes = np.abs(significant)
    largest, smallest = float(magnitudes.max()), float(magnitudes.min())
    whole = bool((np.ceil(significant) == significant).all())
    scientific = options.sci_mode
    if scientific is None:
        # Python division: a ratio beyond float64 is inf here, where NumPy would also warn.
        scientific = largest / smallest > _SCI_RATIO or largest > _SCI_LARGE
        scientific = scientific or (not whole and smallest < _SCI_SMALL)

    write: Callable[[float], str]
    if scientific:
        write = f"{{:.{precision}e}}".format
    elif whole:
        write = _whole
    else:
        write = f"{{:.{precision}f}}".format
    cells = [write(value) for value in values.tolist()]
    width = max(len(cell) for cell, counts in zip(cells, counted.tolist(), strict=True) if counts)
    return _Column(cells, max(1, width))


def _whole(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else str(value)


def _complex_column(values: np.ndarray, options: _Options) -> _Column:
    """Complex numbers: the two parts choose notation separately, and only the real part is padded."""
    left_part, right_part = np.real(values), np.imag(values)
    real = _float_column(left_part, options, _finite_and_nonzero(left_part))
    imaginary = _float_column(right_part, options, _finite_and_nonzero(right_part))
    cells = []
    for left, right in zip(real.padded(), imaginary.cells, strict=True):
        sign = "" if right.startswith("-") else "+"
        cells.append(f"{left}{sign}{right}j")
    return _Column(cells, real.width + imaginary.width + 1)


def _column(values: np.ndarray, options: _Options) -> tuple[list[str], int]:
    """The padded cells of a flat array, and the width that line breaking reckons with."""
    kind = values.dtype.kind
    if kind in "iub":
        column = _exact_column(values)
    elif kind == "c":
        # The complex cells are already aligned; padding to the reckoned width would shift them.
        column = _complex_column(values.astype(np.complex128), options)
        return column.cells, column.width
    else:
        # Half, bfloat16 and the float8 types all embed exactly in float64.
        exact = values.astype(np.float64)
        if values.dtype.name == "float8_e8m0fnu":
            # This type has neither zero nor infinity. PyTorch compares within it: its smallest number stands
            # in for zero, and NaN counts as finite.
            counted = exact != 2.0**-127
        else:
            counted = _finite_and_nonzero(exact)
        column = _float_column(exact, options, counted)
    return column.padded(), column.width


# ---------------------------------------------------------------------------------------------- layout


def summary_indices(shape: Sequence[int]) -> tuple[np.ndarray, ...] | None:
    """The positions shown along each dimension of a tensor of `shape`; None if it is not summarised.

    `data[np.ix_(*indices)]` is all that `format_tensor` needs, and it accepts that in place of the whole.
    """
    options = _options
    if not shape or 0 in shape or math.prod(shape) <= options.threshold:
        return None
    return _edges(shape, options)


def _edges(shape: Sequence[int], options: _Options) -> tuple[np.ndarray, ...]:
    edge = options.edgeitems
    if edge < 0:
        raise RuntimeError(f"printing a tensor: edgeitems must not be negative, got {edge}")
    return tuple(np.r_[0:edge, size - edge : size] if size > 2 * edge else np.arange(size) for size in map(int, shape))


def _nested(cells: list[str], width: int, shown: Sequence[int], elided: Sequence[bool], indent: int) -> str:
    """Brackets, commas and line breaks round the flat `cells` of an array of shape `shown`."""
    options = _options
    edge = options.edgeitems
    depth = len(shown)
    columns = indent + depth - 1
    per_line = max(1, math.floor((options.linewidth - columns) / (width + 2)))

    def row(start: int) -> str:
        items = cells[start : start + shown[-1]]
        if elided[-1]:
            items.insert(edge, " ...")
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * (columns + 1)).join(lines) + "]"

    def block(axis: int, start: int) -> str:
        if axis == depth - 1:
            return row(start)
        step = math.prod(shown[axis + 1 :])
        parts = [block(axis + 1, start + i * step) for i in range(shown[axis])]
        if elided[axis]:
            parts.insert(edge, "...")
        return "[" + ("," + "\n" * (depth - 1 - axis) + " " * (indent + axis + 1)).join(parts) + "]"

    return block(0, 0)


def _body(data: np.ndarray, shape: tuple[int, ...], indent: int) -> str:
    """The values of a non-empty tensor, brackets included."""
    options = _options
    if not shape:
        return _column(data.reshape(1), options)[0][0]
    summarise = math.prod(shape) > options.threshold
    if summarise and options.edgeitems == 0:
        return "[...]"
    elided = [summarise and size > 2 * options.edgeitems for size in shape]
    if summarise:
        indices = _edges(shape, options)
        shown = tuple(len(index) for index in indices)
        if data.shape == shape:
            data = data[np.ix_(*indices)]
    else:
        shown = shape
    if data.shape != shown:
        raise ValueError(f"format_tensor: expected data of shape {shape} or its summary {shown}, got {data.shape}")
    cells, width = _column(data.ravel(), options)
    return _nested(cells, width, shown, elided, indent)


def _with_suffixes(text: str, suffixes: list[str], indent: int, newline: bool = False) -> str:
    """Append keyword-like suffixes, each on a new line where it would pass the line width, the first if told to."""
    linewidth = _options.linewidth
    used = len(text) - text.rfind("\n") + 1
    parts = [text]
    for suffix in suffixes:
        if newline or used + len(suffix) + 2 > linewidth:
            newline = False
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    return "".join(parts) + ")"


# ---------------------------------------------------------------------------------------------- public forms


def format_tensor(
    data: np.ndarray | None,
    *,
    dtype: str,
    default_dtype: str = "float32",
    default_complex: str = "complex64",
    shape: tuple[int, ...],
    device: str | None = None,
    grad_fn: str | None = None,
    requires_grad: bool = False,
    tangent: str | None = None,
    prefix: str = "tensor(",
) -> str:
    """`repr` of a tensor, as PyTorch writes it.

    `data` holds all values, or only those `summary_indices` names; `None` means that there are none to show
    (a meta tensor). `dtype`, `default_dtype` and `default_complex` are bare names ("float32"); `device` is
    given only if it is not the default one; `grad_fn` is the node's bare name ("MulBackward0"); `tangent` is its text. `prefix`
    opens the text, and its length indents the lines that follow. Raises ValueError if the shape of `data`
    fits neither form. PyTorch's garbled summaries under a negative `edgeitems` are a RuntimeError here.
    """
    shape = tuple(int(size) for size in shape)
    indent = len(prefix)
    empty = 0 in shape
    suffixes = [f"device='{device}'"] if device is not None else []
    size = f"size={shape}"
    if data is None:
        text = "..."
        suffixes.append(size)
        show_dtype = dtype != default_dtype
    elif empty:
        text = "[]"
        if len(shape) != 1:
            suffixes.append(size)
        show_dtype = dtype != default_dtype
    else:
        text = _body(data, shape, indent)
        if _options.edgeitems == 0:
            suffixes.append(size)
        show_dtype = dtype not in (default_dtype, default_complex, "int64", "bool")
    if show_dtype:
        suffixes.append(f"dtype=torch.{dtype}")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return _with_suffixes(prefix + text, suffixes, indent)


def format_sparse(parts: Sequence[tuple[str, np.ndarray, tuple[int, ...]]], facts: list[str], newline: bool) -> str:
    """`repr` of a sparse tensor: (name, data, shape) of its parts, and what follows them, on a new line if told to."""
    shown = []
    for name, data, shape in parts:
        opening = f"{name}=tensor("
        body = f"[], size={shape}" if 0 in shape else _body(data, shape, len("tensor(") + len(opening))
        shown.append(f"{opening}{body})")
    indent = len("tensor(")
    text = "tensor(" + (",\n" + " " * indent).join(shown)
    return _with_suffixes(text, facts, indent, newline)


def format_parameter(data: np.ndarray | None, **facts: Any) -> str:
    """`repr` of an `nn.Parameter`: a heading line, then `format_tensor` of the same arguments."""
    return "Parameter containing:\n" + format_tensor(data, **facts)


def format_scalar(value: Any, spec: str) -> str:
    """`format(t, spec)` of a 0-dim tensor, from its value (a Python or NumPy scalar, or a 0-dim array).

    Raises what Python raises for a `spec` that the number does not accept.
    """
    array = np.asarray(value)
    if array.shape != ():
        raise TypeError(f"format_scalar: expected a single value, got an array of shape {array.shape}")
    # NumPy has no Python number for the types of ml_dtypes.
    number = array.item() if array.dtype.kind in "iubfc" else float(array)
    return format(number, spec)


def format_storage_like(data: np.ndarray | None, *, size: int, dtype: str | None = None, device: str = "cpu") -> str:
    """`repr` of a storage of `size` elements: one value a line, then what the storage is.

    `dtype` is the bare name of a typed storage's elements; without it the storage is untyped, `data` is shown
    as its bytes, and `size` counts bytes. `data=None` shows "..." (meta). Every element is listed, as in
    PyTorch. Raises ValueError if `data` does not have `size` elements.
    """
    if data is None:
        listing = "..."
    else:
        flat = np.ascontiguousarray(data).reshape(-1)
        if dtype is None:
            flat = flat.view(np.uint8)
        elif flat.dtype.kind not in "iubfc":
            flat = flat.astype(np.float64)
        if flat.size != size:
            raise ValueError(f"format_storage_like: expected {size} elements, got {flat.size}")
        listing = " " + "\n ".join(map(str, flat.tolist()))
    kind = "UntypedStorage(" if dtype is None else f"TypedStorage(dtype=torch.{dtype}, "
    return f"{listing}\n[torch.storage.{kind}device={device}) of size {size}]"
