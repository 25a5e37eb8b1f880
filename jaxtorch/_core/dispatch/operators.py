"""Python's operators on tensors, and what they leave to the other side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..define import op
from ..tensor.tensor import Tensor
from .torch_function import activate, overrides

_COMMUTING = frozenset(("add", "mul", "and", "or", "xor"))
"""Operators whose reflected form PyTorch computes with the operands exchanged."""


def install_operator(operator: str, public: Callable[..., Any], methods: dict[str, Any]) -> None:
    """Make `__add__`, `__radd__` and `__iadd__` for operator 'add', answering NotImplemented to strangers."""
    numbers = (Tensor, int, float, complex, np.number, np.bool_)
    taken = Tensor if operator == "matmul" else numbers
    name, reflected_name, augmented_name = [f"__{prefix}{operator}__" for prefix in ("", "r", "i")]
    commutes = operator in _COMMUTING

    def forward(self: Any, other: Any) -> Any:
        return public(self, other) if isinstance(other, taken) else foreign(public, self, other, name)

    def reflected(self: Any, other: Any) -> Any:
        if not isinstance(self, Tensor):
            if commutes:
                raise TypeError(f"'{reflected_name}' requires a Tensor, but received '{type(self).__name__}'")
            return or_not_implemented(public, other, self)
        if not isinstance(other, taken):
            return foreign(public, self, other, reflected_name, swap=not commutes)
        return public(self, other) if commutes else public(other, self)

    methods[name] = forward
    forward.__name__ = name
    if operator not in ("eq", "ne", "lt", "le", "gt", "ge"):
        methods[reflected_name] = reflected
        reflected.__name__ = reflected_name
        changed = getattr(public, "inplace", None)
        if changed is not None:

            def augmented(self: Any, other: Any) -> Any:
                return (
                    changed(self, other)
                    if isinstance(other, numbers)
                    else foreign(changed, self, other, augmented_name)
                )

            augmented.__name__ = augmented_name
            methods[augmented_name] = augmented


def foreign(public: Callable[..., Any], self: Any, other: Any, name: str, swap: bool = False) -> Any:
    """The operator of this name met what is no tensor or number: leave it to the other side, unless it overrides functions,
    and answers."""
    if overrides(type(other)):
        if activate():
            return getattr(Tensor, name)(self, other)
        try:
            return public(other, self) if swap else public(self, other)
        except TypeError:  # also where it leaves the function to others: its operator of the other side comes next
            pass
    return NotImplemented


def or_not_implemented(function: Callable[..., Any], *args: Any) -> Any:
    """The function's result; NotImplemented where it refuses the types of its arguments."""
    try:
        return function(*args)
    except TypeError:
        return NotImplemented


op.install_operator = install_operator
