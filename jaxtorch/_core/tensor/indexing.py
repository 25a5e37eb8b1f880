"""What `x[index]` means: a Python index expression, normalised to the steps PyTorch would take.

`plan` splits an index into view steps (select, slice, unsqueeze), which are static and hashable, and the
index arrays left for one gather or scatter. It follows PyTorch where NumPy differs: an integer is a view step
even beside index arrays, so it has no part in where their dimensions go. Tensors are duck types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..tuning import CACHED, PYTHON_COMPARES
from ..types.warn_once import once, warn
from . import strides

Ints = tuple[int, ...]
INT64 = np.iinfo(np.int64)


class Plan:
    """How to index a tensor.

    steps: view steps in order, none where the result is the tensor itself under another handle (`x[...]`):
        ("select", dim, i), ("slice", dim, start, stop, step), ("unsqueeze", dim), and ("select_at", dim, k)
        for the index `numbers[k]`, a tensor whose value could not be read. 0 <= start <= stop <= length.
    numbers: the tensors that `select_at` steps use.
    operands: () for a basic index. Otherwise, over the dimensions of the view that the steps make, None (all
        of it), an integer array, or a boolean tensor, which stands for as many dimensions as it has. With
        slices for None it is an index tuple for NumPy and JAX. Lists and NumPy masks are int64 arrays by now.
    at: where the dimensions of the index arrays go in the result: in place if neighbours, else in front (0).
    size: the size of the view that the steps make (set with operands only).
    mask: the list or NumPy mask, if the operands stand for one and nothing else: writing one number is a fill then.
    """

    __slots__ = ("at", "mask", "numbers", "operands", "size", "steps")

    def __init__(
        self, steps: Any, operands: Any = (), at: int = 0, size: Ints = (), numbers: Any = (), mask: Any = None
    ) -> None:
        self.steps: tuple[tuple[Any, ...], ...] = steps
        self.operands: tuple[Any, ...] = operands
        self.at = at
        self.size = size
        self.numbers: tuple[Any, ...] = numbers
        self.mask: np.ndarray | None = mask

    def __repr__(self) -> str:
        return f"Plan(steps={self.steps}, operands={self.operands}, at={self.at})"


recipes: dict[Any, Any] = {}
"""What steps make of tensors of a type and a layout: (type, layout, steps) -> a `Recipe` of `_ops/indexing/getitem.py`."""
viewed_in_c: Any = None
"""`viewed(tensor, steps)`: the view that a recipe says, made in C (dispatch/recorder.py), or None where it is not the common case."""
rows_in_c: Any = None
"""All parts of the first dimension of a tensor on the host, as views of one function, or None; see `rows_on_host`."""

_plans: dict[Any, Plan] = {}


def _key(index: tuple[Any, ...], size: Ints) -> tuple[Any, ...] | None:
    """What the plan of a basic index depends on; None for others."""
    parts: list[Any] = [size]
    for item in index:
        kind = type(item)
        if kind is int or item is None or item is Ellipsis:
            parts.append(item)
            continue
        if kind is not slice:
            return None
        bounds = item.start, item.stop, item.step
        for bound in bounds:
            if bound is not None and type(bound) is not int:
                return None
        parts.append(bounds)
    return tuple(parts)


_WHOLE = Plan(())
_NEW_AXIS = Plan((("unsqueeze", 0),))


def plan(
    index: Any,
    size: Ints,
    is_tensor: Callable[[Any], bool],
    as_int: Callable[[Any], int | None] = operator.index,
) -> Plan:
    """The plan for `x[index]`, x of this size. Raises PyTorch's IndexError, TypeError or ValueError; an IndexError is marked
    `viewed` where the items before it have made a view of the tensor by then, and `basic` where its item is no index array.

    is_tensor(obj): is it a tensor (with .dtype, .shape, .tolist())? as_int(t): the value of a 0-d integer or
    boolean tensor, or None for an integer that cannot be read (it is then selected by `select_at`).
    """
    kind = type(index)
    if kind is int:
        if not size:
            raise _scalar_error()
        n = size[0]
        return Plan((("select", 0, index if 0 <= index < n else _place(index, n, 0)),))
    if kind is slice:
        if not size:
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        return Plan((_slice_step(index, 0, size[0]),))
    if index is None:
        return _NEW_AXIS
    if index is Ellipsis:
        return _WHOLE
    if kind is tuple:
        key = _key(index, size)
        if key is None:
            index = tuple([_read(item, is_tensor, as_int) for item in index])
            key = _key(index, size)
        if key is None:
            return _Planner(index, size, is_tensor, as_int).finish()
        found = _plans.get(key)
        if found is None:
            if len(_plans) >= CACHED:
                _plans.clear()
            found = _plans[key] = _Planner(index, size, is_tensor, as_int).finish()
        return found
    if _is_integer(index):
        if not size:
            raise _scalar_error()
        return Plan((("select", 0, _place(int(index), size[0], 0)),))
    if _is_several(index, is_tensor):
        if not isinstance(index, tuple):
            warn(
                "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; "
                "use x[tuple(seq)] instead of x[seq]."
            )
        return _Planner(tuple(index), size, is_tensor, as_int).finish()
    return _Planner((index,), size, is_tensor, as_int).finish()


def plan_given(indices: Sequence[Any], size: Ints, is_tensor: Callable[[Any], bool]) -> Plan:
    """The plan for the tensors that `index_put` and its like are given, None for a whole dimension. Here one without dimensions is an
    index array too, and a mask without dimensions stands for none."""
    items = tuple([slice(None) if i is None else i for i in indices if i is None or i.shape or not _is_mask(i)])
    return _GivenPlanner(items, size, is_tensor, None).finish()


def _read(item: Any, is_tensor: Callable[[Any], bool], as_int: Callable[[Any], int | None]) -> Any:
    """An integer tensor without dimensions as the number that it holds, if that can be read; anything else as it is."""
    if is_tensor(item) and not item.shape and _dtype_name(item.dtype) in ("int64", "int32"):
        value = as_int(item)
        return item if value is None else value
    return item


def _scalar_error() -> IndexError:
    return IndexError(
        "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
        "convert a 0-dim tensor to a number"
    )


def _place(index: int, n: int, dim: int) -> int:
    if 0 <= index < n:
        return index
    if -n <= index < 0:
        return index + n
    if not INT64.min <= index <= INT64.max:
        raise ValueError("Overflow when unpacking long long")
    raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {n}")


def _slice_step(index: slice, dim: int, n: int) -> tuple[Any, ...]:
    start, stop, step = index.indices(n)
    if step <= 0:
        raise ValueError("step must be greater than zero")
    return "slice", dim, start, stop if stop > start else start, step


def _is_step(index: slice, n: int) -> bool:
    """Does a slice of the whole dimension count as a view, because its bounds are not those of the whole?"""
    start, stop = [0 if i is None else operator.index(i) for i in (index.start, index.stop)]
    return start < 0 or (n == 0 and (start > 0 or stop < 0))


def _is_integer(obj: Any) -> bool:
    return isinstance(obj, (int, np.integer)) and not isinstance(obj, bool)


def _is_sequence(obj: Any) -> bool:
    kind = type(obj)
    return kind is list or (hasattr(kind, "__getitem__") and not isinstance(obj, (dict, np.generic)))


def _is_several(index: Any, is_tensor: Callable[[Any], bool]) -> bool:
    """Does a lone sequence stand for a tuple of indices (deprecated), rather than for one index array?"""
    if isinstance(index, tuple):
        return True
    if is_tensor(index) or type(index) is np.ndarray or not _is_sequence(index) or len(index) >= 32:
        return False
    return any(o is None or o is Ellipsis or isinstance(o, slice) or is_tensor(o) or _is_sequence(o) for o in index)


MOST_DIMENSIONS = 128
"""PyTorch reads no sequences that are nested more deeply."""

_names: dict[Any, str] = {}


def _dtype_name(dtype: Any) -> str:
    try:
        return _names[dtype]
    except KeyError:
        return _names.setdefault(dtype, str(dtype).rpartition(".")[2])


def _is_mask(array: Any) -> bool:
    return _dtype_name(array.dtype) in ("bool", "uint8")


class _Planner:
    """One pass over the items of an index tuple, then the checks that concern the index arrays together."""

    def __init__(self, items: tuple[Any, ...], size: Ints, is_tensor: Any, as_int: Any) -> None:
        self.is_tensor, self.as_int = is_tensor, as_int
        self.steps: list[tuple[Any, ...]] = []
        self.view = list(size)  # the size so far
        self.found: list[tuple[int, Any]] = []  # (dimension of the view, index array)
        self.numbers: list[Any] = []
        self.dim = 0  # the dimension of the view that the next item is about
        named = sum([self._dims_named(item) for item in items])
        if named > len(size):
            raise IndexError(f"too many indices for tensor of dimension {len(size)}")
        for position, item in enumerate(items):
            if item is Ellipsis:
                self.dim += len(size) - named
            else:
                try:
                    self._take(item, position)
                except IndexError as error:
                    error.viewed = bool(self.steps)  # pyright: ignore[reportAttributeAccessIssue]
                    error.basic = not self.is_tensor(item) and not _is_sequence(item)  # pyright: ignore[reportAttributeAccessIssue]
                    raise

    def _dims_named(self, item: Any) -> int:
        if item is None or item is Ellipsis or isinstance(item, bool):
            return 0
        return len(item.shape) if self.is_tensor(item) and _is_mask(item) else 1

    def _take(self, item: Any, position: int) -> None:
        if item is None:
            self._unsqueeze()
            self.dim += 1
        elif isinstance(item, slice):
            n = self._length()
            step = _slice_step(item, self.dim, n)
            if step[2:] != (0, n, 1) or _is_step(item, n):
                self.steps.append(step)
                self.view[self.dim] = len(range(*step[2:]))
            self.dim += 1
        elif isinstance(item, bool):
            self._boolean(item)
        elif _is_integer(item):
            self._select(int(item), position)
        elif self.is_tensor(item):
            self._array(item, position)
        elif _is_sequence(item):
            self._array(host_array(item, self.is_tensor), position)
        else:
            try:
                i = operator.index(item)
            except TypeError:
                name = type(item).__name__
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
                    f"valid indices (got {'numpy.' if isinstance(item, np.generic) else ''}{name})"
                ) from None
            self._select(i, position)

    def _length(self) -> int:
        if self.dim >= len(self.view):
            strides.wrap_dim(self.dim, len(self.view))
            raise IndexError(f"too many indices for tensor of dimension {len(self.view)}")
        return self.view[self.dim]

    def _unsqueeze(self) -> None:
        strides.wrap_dim(self.dim, len(self.view) + 1)
        self.steps.append(("unsqueeze", self.dim))
        self.view.insert(self.dim, 1)

    def _select(self, i: int, position: int) -> None:
        self.steps.append(("select", self.dim, _place(i, self._length(), position)))
        del self.view[self.dim]

    def _boolean(self, value: bool) -> None:
        """True is a new dimension of size 1, False one of size 0, and both count as index arrays."""
        self._unsqueeze()
        self.found.append((self.dim, np.zeros(int(value), np.int64)))
        self.dim += 1

    def _array(self, array: Any, position: int) -> None:
        name, ndim = _dtype_name(array.dtype), len(array.shape)
        if ndim:
            self._length()
            self.found.append((self.dim, array))
            self.dim += ndim if _is_mask(array) else 1
            return
        if name.startswith(("float", "bfloat", "complex")):
            raise _type_error()
        value = self.as_int(array) if self.is_tensor(array) else int(array)
        if name in ("bool", "uint8"):
            self._boolean(bool(value))
        elif value is None:
            self._length()
            self.steps.append(("select_at", self.dim, len(self.numbers)))
            self.numbers.append(array)
            del self.view[self.dim]
        else:
            self._select(value, position)

    def finish(self) -> Plan:
        steps, numbers = tuple(self.steps), tuple(self.numbers)
        if not self.found:
            return Plan(steps, numbers=numbers)
        for _, array in self.found:
            if _dtype_name(array.dtype) not in ("int64", "int32", "bool", "uint8"):
                raise _type_error()
        size = tuple(self.view)
        operands: list[Any] = []
        dims: list[int] = []  # the dimension each index array is for, masks counted as what they expand to
        at_dim, waiting = 0, False
        for dim, array in self.found:
            operands += [None] * (dim - at_dim)
            at_dim = dim
            if _is_mask(array):
                expanded = self._mask(array, dim, size)
                waiting = waiting or expanded is None
                operands += [array] if expanded is None else expanded
                covered = len(array.shape)
            else:
                operands.append(array)
                covered = 1
            dims += range(dim, dim + covered)
            at_dim += covered
        if not waiting:
            common_shape(operands)
        at = dims[0] if dims[-1] - dims[0] + 1 == len(dims) else 0
        lone = self.found[0][1] if len(self.found) == 1 else None
        mask = lone if isinstance(lone, np.ndarray) and lone.dtype == np.bool_ else None
        return Plan(steps, tuple(operands), at, size, numbers, mask)

    def _mask(self, mask: Any, dim: int, size: Ints) -> list[np.ndarray] | None:
        """Check a mask against the view. The index arrays of a NumPy mask; None for a tensor, read later."""
        if _dtype_name(mask.dtype) == "uint8":
            warn("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")
        shape = list(mask.shape)
        for j, n in enumerate(shape):
            if dim + j >= len(size):
                raise IndexError(f"too many indices for tensor of dimension {len(size)}")
            if size[dim + j] != n:
                raise IndexError(
                    f"The shape of the mask {shape} at index {j} does not match the shape of the indexed "
                    f"tensor {list(size)} at index {dim + j}"
                )
        return None if self.is_tensor(mask) else list(mask.nonzero())


class _GivenPlanner(_Planner):
    """The same for tensors that are index arrays whatever their shape."""

    def _array(self, array: Any, position: int) -> None:
        if array.shape:
            super()._array(array, position)
            return
        self._length()
        self.found.append((self.dim, array))
        self.dim += 1


def settle(plan: Plan, read: Callable[[Any], np.ndarray]) -> Plan:
    """The plan with boolean tensors replaced by their index arrays; `read` gives a mask as a NumPy array."""
    operands: list[Any] = []
    for o in plan.operands:
        if o is not None and not isinstance(o, np.ndarray) and _is_mask(o):
            operands += read(o).nonzero()
        else:
            operands.append(o)
    lengths = [plan.size[d] for d, o in enumerate(operands) if o is not None]
    check_operands(operands, lengths, plan.size)
    return Plan(plan.steps, tuple(operands), plan.at, plan.size, plan.numbers)


def _type_error() -> IndexError:
    return IndexError("tensors used as indices must be long, int, byte or bool tensors")


# -- index arrays


def common_shape(operands: Sequence[Any]) -> Ints:
    """The shape that integer index arrays broadcast to; IndexError where they do not."""
    shapes = [tuple(a.shape) for a in operands if a is not None]
    try:
        return strides.broadcast_shapes(*shapes)
    except RuntimeError:
        listed = ", ".join([str(list(s)) for s in shapes])
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
        ) from None


def check_operands(operands: Sequence[Any], lengths: Sequence[int], size: Ints, fits: Any = None) -> Ints:
    """The common shape of integer index arrays for dimensions of these lengths, in a view of this size.

    Raises IndexError where they do not broadcast, name a dimension of size 0, or, if all are NumPy's, are out
    of bounds. fits: called before the last of these, for what PyTorch sees first.
    """
    arrays = [a for a in operands if a is not None]
    shape = common_shape(arrays)
    if 0 in lengths and 0 not in shape:
        raise IndexError("index is out of bounds for dimension with size 0")
    if fits is not None:
        fits(operands)
    if 0 in shape:
        return shape
    if 0 in size or not all(isinstance(a, np.ndarray) for a in arrays):
        return shape
    if not all(map(are_within, arrays, lengths)):
        wrong = [(a < -n) | (a >= n) for a, n in zip(arrays, lengths)]
        # The first element of the result that is wrong, and the first of its indices, is the one to name.
        spread = np.stack([np.broadcast_to(w, shape).reshape(-1) for w in wrong])
        first = int(spread.any(axis=0).argmax())
        k = int(spread[:, first].argmax())
        value = np.broadcast_to(arrays[k], shape).reshape(-1)[first]
        raise IndexError(f"index {value} is out of bounds for dimension {k} with size {lengths[k]}")
    return shape


def are_within(array: np.ndarray, n: int) -> bool:
    """Are all numbers of an index array, if it has any, places in a dimension of size n?"""
    if array.size > PYTHON_COMPARES:
        return bool(array.max() < n and array.min() >= -n)
    numbers = array.ravel().tolist()
    return not numbers or (max(numbers) < n and min(numbers) >= -n)


def host_array(obj: Any, is_tensor: Callable[[Any], bool]) -> np.ndarray:
    """A sequence or NumPy array used as an index, as an array of int64, bool or uint8 (deprecated mask)."""
    if isinstance(obj, np.ndarray):
        return _from_numpy(obj)
    if isinstance(obj, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(obj).__name__}'")
    if isinstance(obj, (list, tuple)) and set(map(type, obj)) == {int}:
        try:
            return np.array(obj, np.int64)
        except OverflowError:
            raise ValueError("Overflow when unpacking long long") from None
    else:
        kinds = set()
        _kinds(obj, is_tensor, kinds)
        shape = _shape(obj, is_tensor)
        kind = "int64"
        if kinds and kinds <= {"bool", "uint8"}:
            kind = "uint8" if "uint8" in kinds else "bool"
    flat: list[int] = []
    _fill(obj, shape, 0, is_tensor, kind, flat)
    return np.array(flat, kind).reshape(shape)


def _from_numpy(array: np.ndarray) -> np.ndarray:
    array = np.asarray(array)  # a subclass may have rules of its own
    kind = array.dtype.kind
    if kind not in "biufc" or array.dtype.name in ("float128", "longdouble", "complex256"):
        raise TypeError(
            f"can't convert np.ndarray of type {array.dtype.type.__module__}.{array.dtype.type.__name__}. "
            "The only "
            "supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, "
            "int8, uint64, uint32, uint16, uint8, and bool."
        )
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are "
            "not currently "
            "supported. (You can probably work around this by making a copy of your array  with "
            "array.copy().) "
        )
    if kind == "c":
        once("Casting complex values to real discards the imaginary part")
        array = np.real(array)
    if array.dtype == np.uint8 or kind == "b":
        return array
    with np.errstate(invalid="ignore"):
        return array.astype(np.int64)


def _shape(obj: Any, is_tensor: Callable[[Any], bool]) -> list[int]:
    """The shape of nested sequences, told from the first element at each level."""
    shape: list[int] = []
    while True:
        if is_tensor(obj):
            return [*shape, *obj.shape]
        if isinstance(obj, (str, bytes)) or not _is_sequence(obj):
            return shape
        shape.append(len(obj))
        if len(shape) > MOST_DIMENSIONS:
            raise ValueError(f"too many dimensions '{type(obj).__name__}'")
        if not len(obj):
            return shape
        obj = obj[0]


def items_of(obj: Any) -> list[Any]:
    """The items of a sequence, read by their places as its type is told from them. TypeError where it holds itself."""
    items = [obj[i] for i in range(len(obj))]
    if any(item is obj for item in items):
        raise TypeError("new(): self-referential lists are incompatible")
    return items


def _kinds(obj: Any, is_tensor: Callable[[Any], bool], found: set[str]) -> None:
    """Add the types of the elements of nested sequences to `found`."""
    if isinstance(obj, (bool, int, float, complex)):
        found.add(type(obj).__name__)
    elif is_tensor(obj) or isinstance(obj, (np.ndarray, np.generic)):
        found.add(_dtype_name(obj.dtype))
    elif isinstance(obj, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(obj).__name__}'")
    elif _is_sequence(obj):
        for item in items_of(obj):
            _kinds(item, is_tensor, found)
    else:
        raise RuntimeError(f"Could not infer dtype of {type(obj).__name__}")


def _fill(obj: Any, shape: list[int], dim: int, is_tensor: Any, kind: str, out: list[int]) -> None:
    if is_tensor(obj):
        obj = obj.tolist()
    if dim < len(shape):
        if not _is_sequence(obj):
            raise TypeError("not a sequence")
        obj = obj if isinstance(obj, np.ndarray) else list(obj)
        if len(obj) != shape[dim]:
            raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(obj)})")
        for item in obj:
            _fill(item, shape, dim + 1, is_tensor, kind, out)
    elif kind == "bool":
        out.append(bool(obj))
    else:
        out.append(_number(obj))


def _number(obj: Any) -> int:
    if isinstance(obj, float):
        if not -(2.0**63) <= obj < 2.0**63:
            raise RuntimeError("value cannot be converted to type int64 without overflow")
        return int(obj)
    value = operator.index(obj)
    if not INT64.min <= value <= INT64.max:
        raise ValueError("Overflow when unpacking long long")
    return value
