"""`differentiable=True`: the update as an operation with a gradient, so that autograd runs through an optimizer's step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.compile.kernel import Entry
from ..._core.tensor.tensor import Tensor, apply_entry, check_writable, finish_inplace, kept_value
from ..._core.types import grad_mode
from ..._core.types.value import check_long, wrap_number
from .._options import number
from .joined_updates import make_kernel

_entries: dict[Any, Entry] = {}


def update(
    name: str,
    rule: Callable[..., Any],
    static: tuple[Any, ...],
    params: list[Tensor],
    grads: list[Any],
    states: list[list[Tensor]],
    numbers: dict[str, Any],
) -> None:
    """As `optimizer.update` for parameters of one type and device. A number that is a tensor takes part in autograd."""
    numbers = {k: x if isinstance(x, Tensor) and x._rg else number(x) for k, x in numbers.items()}
    operands = [*params, *grads, *[s for kind in states for s in kind], *[_operand(x) for x in numbers.values()]]
    values = [x._read() if isinstance(x, Tensor) else x for x in operands]
    key = (name, static, len(params), len(states), tuple(numbers), *[v.aval for v in values])
    entry = _entries.get(key)
    if entry is None:
        kernel = make_kernel(name, rule, static, len(params), len(states), tuple(numbers), values)
        entry = _entries[key] = Entry(None, kernel, tuple)
        entry.grad_name = f"{name}Backward0"
    with grad_mode.enable_grad():
        targets = [*params, *[s for kind in states for s in kind]]
        for target in targets:
            check_writable(target)
        for target, out in zip(targets, apply_entry(entry, operands), strict=True):
            if out._rg:  # the node may have saved the result, which the next step overwrites
                out._value = kept_value(out._value)
            finish_inplace(target, out)


def _operand(x: Any) -> Any:
    return x if isinstance(x, Tensor) else wrap_number(x)


def check_alpha(x: Any) -> None:
    """Raise what `add` raises where a coupled weight decay is no number to multiply with."""
    if isinstance(x, (bool, np.ndarray)):
        if x is True:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(x, np.ndarray):
            raise TypeError("add(): argument 'alpha' must be Number, not numpy.ndarray")
    else:
        check_long(x)


def option(group: dict[str, Any], name: str, divided: bool = False) -> Any:
    """An option as a number; the tensor itself where autograd shall reach it. divided: a whole number may be of any size."""
    x = group[name]
    if x.__class__ is float:
        return x
    if name == "weight_decay" and not group.get("decoupled_weight_decay"):
        check_alpha(x)
    if isinstance(x, Tensor) and x._rg and group.get("differentiable"):
        return x
    return float(number(x)) if divided or isinstance(x, np.ndarray) else number(x)
