"""Sums of a few weighted elements at fixed places along axes, as a primitive: what resampling a grid is.

Its transpose is one of the same kind: each element gathers from the results that it went into, where JAX would scatter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.interpreters import batching

from ..._core import native
from ..._core.tuning import TAPS_WRITTEN_OUT
from ..common.primitives import linear_in, primitive


class Taps:
    """Which elements of an axis of `size` each result adds up, (results, taps), and their weights; None: all are 1.

    inside: which of them count, None for all; back: the taps that these are the transpose of.
    """

    __slots__ = ("size", "index", "weight", "inside", "back", "_content")

    def __init__(self, size: int, index: Any, weight: Any, inside: Any = None, back: Taps | None = None) -> None:
        self.size, self.index, self.weight, self.inside, self.back = size, index, weight, inside, back
        self._content = size, *[None if a is None else (a.shape, a.tobytes()) for a in (index, weight, inside)]

    def __eq__(self, other: object) -> bool:
        return type(other) is Taps and self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    def __repr__(self) -> str:
        return f"Taps({self.size} to {len(self.index)}, up to {self.index.shape[1]} each)"


@functools.lru_cache(1024)
def _transposed(taps: Taps) -> Taps:
    """The taps that give the elements' gradients from those of the results."""
    if taps.back is not None:
        return taps.back
    counted = np.ones(taps.index.shape, bool) if taps.inside is None else taps.inside
    at, of = taps.index[counted], counted.nonzero()[0]
    order = np.argsort(at, kind="stable")
    counts = np.bincount(at, minlength=taps.size)
    inside = np.arange(max(int(counts.max(initial=0)), 1)) < counts[:, None]
    index = np.zeros(inside.shape, np.int64)
    index[inside] = of[order]
    weight = None
    if taps.weight is not None:
        weight = np.zeros(inside.shape, taps.weight.dtype)
        weight[inside] = taps.weight[counted][order]
    return Taps(len(taps.index), index, weight, None if inside.all() else inside, taps)


@functools.lru_cache(1024)
def _for_kernel(taps: Taps) -> native.Taps:
    inside = np.ones(taps.index.shape, bool) if taps.inside is None else taps.inside
    weight = np.ones(taps.index.shape) if taps.weight is None else taps.weight
    ends = np.concatenate([[0], np.cumsum(inside.sum(1))])
    return native.Taps(ends.astype(np.int64), taps.index[inside], weight[inside].astype(np.float32))


def sums(x: Any, axes: Sequence[Taps | None]) -> Any:
    """x with these sums along each of its last axes; None: it stays."""
    return _sums_p.bind(x, axes=tuple(axes)) if any(axes) else x


def _along(x: Any, axis: int, taps: Taps) -> Any:
    def looked_up(part: Any) -> Any:
        found = jnp.take(x, taps.index[part], axis=axis, mode="clip")
        after = (1,) * (x.ndim - axis - 1)
        if taps.weight is not None:
            weight = taps.weight[part]
            found = found * jnp.asarray(weight, x.dtype).reshape(*weight.shape, *after)
        if taps.inside is not None:
            inside = taps.inside[part]
            found = jnp.where(inside.reshape(*inside.shape, *after), found, 0)
        return found

    count = taps.index.shape[1]
    if count > TAPS_WRITTEN_OUT:
        return jnp.sum(looked_up(...), axis=axis + 1)
    return functools.reduce(jnp.add, [looked_up((slice(None), i)) for i in range(count)])


def _sums(x: Any, *, axes: tuple[Taps | None, ...]) -> Any:
    for i, taps in enumerate(axes):
        if taps is not None:
            x = _along(x, x.ndim - len(axes) + i, taps)
    return x


def _sums_natively(x: Any, *, axes: tuple[Taps | None, ...]) -> Any:
    n = len(axes)
    out = (*x.shape[:-n], *[m if t is None else len(t.index) for t, m in zip(axes, x.shape[-n:], strict=True)])
    if not native.fits(x) or 0 in (*x.shape, *out):
        return None
    found = [None if t is None else _for_kernel(t) for t in axes]
    for i in range(n - 2):  # all but the last two axes: rows of all that is behind them
        if found[i] is not None:
            here = x.ndim - n + i
            shape = *x.shape[:here], out[here], *x.shape[here + 1 :]
            x = native.resample(x.reshape(-1, x.shape[here], math.prod(x.shape[here + 1 :])), found[i], None).reshape(
                shape
            )
    rows, columns = [None, *found][-2:]
    if rows is not None or columns is not None:
        x = native.resample(x.reshape(-1, x.shape[-2] if n > 1 else 1, x.shape[-1]), rows, columns)
    return x.reshape(out)


_sums_p = primitive("sums_of_taps", _sums, _sums_natively)
linear_in(_sums_p, _sums, 1, lambda g, axes: [_sums_p.bind(g, axes=tuple([t and _transposed(t) for t in axes]))])


def _batched(args: Any, dims: Any, **params: Any) -> Any:
    return _sums_p.bind(jnp.moveaxis(args[0], dims[0], 0), **params), 0


batching.primitive_batchers[_sums_p] = _batched
