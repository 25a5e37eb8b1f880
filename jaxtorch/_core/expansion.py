"""Primitives of jaxtorch's own: the functions, in terms of JAX's, that they stand for, each traced once for a set of types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax._src import config as _config

EXPANDED: dict[str, Callable[..., Any]] = {}


def expanded(name: str, avals: Any, params: dict[str, Any]) -> Any:
    """What a primitive does with arrays of these types, as a jaxpr."""
    kinds = tuple([(a.shape, a.dtype) for a in avals])
    return _traced(name, kinds, tuple(params.items()), _config.enable_x64.value)


@functools.lru_cache(maxsize=2048)
def _traced(name: str, kinds: Any, params: Any, wide: bool) -> Any:
    """`wide`: are there 64-bit types? The caller's context says so, and the trace is made in it."""
    structs = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in kinds]
    return jax.make_jaxpr(functools.partial(EXPANDED[name], **dict(params)))(*structs)
