"""Parameters that share memory, with one another or with another's gradient: PyTorch steps one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ..._core.tensor.layouts import offset_of, strides_of


def meet(params: Sequence[Any], grads: Sequence[Any]) -> bool:
    """Would one parameter's step be seen in another parameter or its gradient? Also where one is named twice."""
    aliased = [x for x in params if x._alias is not None] + [x for x in grads if x._alias is not None]
    if len(aliased) > 1:
        by_storage: dict[int, list[Any]] = {}
        for x in aliased:
            by_storage.setdefault(id(x._alias.storage), []).append(x)
        if any(len(some) > 1 and _overlap(some) for some in by_storage.values()):
            return True
    return len({*map(id, params)}) < len(params)


def _overlap(some: list[Any]) -> bool:
    """Do any of these views of one memory reach into another's part, between their first and last elements?"""
    spans = sorted(filter(None, map(_span, some)))
    return any(begin < end for (_, end), (begin, _) in pairwise(spans))


def _span(x: Any) -> tuple[int, int] | None:
    size = x._value.aval.shape
    if 0 in size:
        return None
    begin, bytes_each = offset_of(x), x._value.aval.dtype.itemsize
    end = begin + 1 + sum((n - 1) * s for n, s in zip(size, strides_of(x), strict=True))
    return begin * bytes_each, end * bytes_each
