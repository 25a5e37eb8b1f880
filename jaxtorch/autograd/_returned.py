"""What the backward of an `autograd.Function` may return."""

from __future__ import annotations

from typing import Any


def check_gradients(name: str, results: tuple[Any, ...], n: int, tensors: Any) -> None:
    """RuntimeError unless a backward has returned a gradient for each of `n` arguments, and only None where that is no tensor."""
    if len(results) < n or any(r is not None for r in results[n:]):
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {n}, got {len(results)})"
        )
    for i, g in enumerate(results[:n]):
        if g is not None and i not in tensors:
            raise RuntimeError(
                f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding forward "
                "input was not a Variable"
            )
