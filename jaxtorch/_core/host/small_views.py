"""Where the operands of a small program lie (small_code.py): views of host memory, and calls of NumPy's rules on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .numpy_program import Step


class _View(NamedTuple):
    """Elements at base + offset, `strides` bytes apart."""

    base: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any

    def is_dense(self) -> bool:
        return all(
            s == d or n == 1 for n, s, d in zip(self.shape, self.strides, _dense(self.shape, self.dtype), strict=True)
        )

    def permuted(self, order: Sequence[int]) -> _View:
        """With its dimensions in this order."""
        return self._replace(
            shape=tuple([self.shape[d] for d in order]), strides=tuple([self.strides[d] for d in order])
        )

    def spread(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The strides as an operand of results of this shape."""
        if len(self.shape) != len(shape):
            return (0,) * len(shape)
        return tuple([s if n == m else 0 for s, n, m in zip(self.strides, self.shape, shape, strict=True)])


def _dense(shape: Sequence[int], dtype: Any) -> tuple[int, ...]:
    strides, step = [], dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(strides[::-1])


def _flipped(view: _View, dims: Sequence[int]) -> _View:
    """With these dimensions backwards."""
    if 0 in view.shape:
        return view
    offset = view.offset + sum((view.shape[d] - 1) * view.strides[d] for d in dims)
    strides = tuple([-s if d in dims else s for d, s in enumerate(view.strides)])
    return view._replace(offset=offset, strides=strides)


def merged(columns: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Dimensions (size, then a stride for each operand), neighbours as one where all operands allow it."""
    found: list[tuple[int, ...]] = []
    for column in columns:
        if column[0] == 1:
            continue
        if found and all(outer == inner * column[0] for outer, inner in zip(found[-1][1:], column[1:], strict=True)):
            found[-1] = (found[-1][0] * column[0], *column[1:])
        else:
            found.append(column)
    return found


class _Call:
    """One equation by NumPy's rule; called, it says whether the result is in doubt."""

    __slots__ = ("step", "arrays", "results")

    def __init__(self, step: Step, arrays: list[Any], results: list[Any]) -> None:
        self.step, self.arrays, self.results = step, arrays, results

    def __call__(self) -> bool:
        step, given = self.step, self.arrays
        if step.doubt is not None and step.doubt(*given, **step.params):
            return True
        if step.halves:
            given = [a.astype(np.float32) if i in step.halves else a for i, a in enumerate(given)]
        with np.errstate(all="ignore"):
            made = step.fn(*given, **step.params)
            for result, found in zip(self.results, made if step.several else (made,), strict=True):
                result[...] = found
        return False


def _seen(memory: Any, view: _View) -> Any:
    """The array in the scratch memory that a view is."""
    return np.lib.stride_tricks.as_strided(
        memory[view.offset :][: view.dtype.itemsize].view(view.dtype), view.shape, view.strides
    )
