"""`torch.onnx.symbolic_helper`: decorators of functions that an export would call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["parse_args", "quantized_args"]


def parse_args(*arg_descriptors: str) -> Callable[[Any], Any]:
    """A decorator that leaves the function as it is: nothing is exported."""
    return lambda fn: fn


def quantized_args(*arg_q_descriptors: bool, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator that leaves the function as it is: nothing is exported."""
    return lambda fn: fn
