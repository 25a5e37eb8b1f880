"""Options of optimizers: checked as PyTorch does, and as the numbers that enter a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.tensor.tensor import Tensor
from .._core.types import grad_mode
from .._core.types.size import kind_name
from .._core.types.value import check_long


def run_closure(closure: Any) -> Any:
    """The loss of a closure, computed with gradients."""
    if closure is None:
        return None
    with grad_mode.enable_grad():
        return closure()


def check_number(name: str, value: Any, nan: bool = False) -> None:
    """Raise PyTorch's error for a negative option, and for NaN unless that is allowed."""
    if isinstance(value, Tensor):
        if name == "learning rate" and value.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        value = value.item()
    if not (value >= 0.0 or (nan and value != value)):
        raise ValueError(f"Invalid {name}{'' if name == 'learning rate' else ' value'}: {value}")


def check_switches(foreach: Any, fused: Any, differentiable: Any) -> None:
    """Raise PyTorch's errors for switches that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def number(x: Any) -> float:
    """An option as a Python number; it may be a tensor."""
    return x.item() if isinstance(x, Tensor) else x


def sent(x: Any) -> float:
    """A number that enters the program. TypeError, or OverflowError for a whole one of more than 64 bits, for what no tensor
    takes."""
    x = number(x)
    if isinstance(x, (np.ndarray, str)):
        raise TypeError(f"mul_(): argument 'other' (position 1) must be Tensor, not {kind_name(x)}")
    check_long(x)
    return float(x)
