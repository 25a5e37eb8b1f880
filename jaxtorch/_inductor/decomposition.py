"""`torch._inductor.decomposition`: what operations are made of, for a compiler. Kept, and never asked for: XLA compiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the function stands for these operations of `torch.ops`."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops if isinstance(ops, Sequence) else (ops,):
            decompositions[op] = fn
        return fn

    return register
