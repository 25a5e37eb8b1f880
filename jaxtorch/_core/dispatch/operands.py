"""Operands that are no tensors, as generated functions read them: numbers, limits, sequences of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..define.op import Op
from ..define.signature import MISSING, need_kind
from ..run import capture
from ..tensor import tensor as _tensor
from ..tensor.tensor import Tensor
from ..types.size import check_long
from ..types.value import Value, python_number, wrap_number
from .number_limits import check_common, number_in_program
from .torch_function import refuse_stranger

_NUMBERS = frozenset((int, float, bool, complex))
ROUNDED = frozenset(("add", "sub", "rsub", "clamp", "clamp_min", "clamp_max"))
"""Operations whose numbers must fit a type of half precision; others compute in float32."""


def operand(op: Op, name: str, x: Any, kind: str) -> Value:
    """The value of an operand that is not a tensor."""
    if isinstance(x, Value):
        return x
    if x is MISSING:
        raise missing(op, name)
    if kind in ("operand", "operand_optional") and (
        isinstance(x, (int, float, complex, np.number, np.bool_)) or hasattr(x, "__jax_array__")
    ):
        return wrap_number(x)
    refuse_stranger(x)
    position = [p.name for p in op.params].index(name) + 1
    return _tensor.need_tensor(x, op.name, name, position)._read()


def leading(op: Op, name: str, x: Any, kind: str, others: tuple[Any, ...]) -> Value:
    """The value of what a method is called on, where that is no tensor: a number, where one of the others is none."""
    for other in others:
        if other.__class__ is Tensor:
            break
    else:
        plain = (int, float, complex, np.number, np.bool_)
        if isinstance(x, plain) and all(other is None or isinstance(other, plain) for other in others):
            _tensor.need_tensor(x, op.name, name)
    return operand(op, name, x, kind)


def bound(op: Op, name: str, x: Any, kind: str, operands: tuple[Any, ...]) -> Value:
    """The value of a limit, which as a number must fit the type of the result."""
    value = operand(op, name, x, kind)
    check_common(x, operands, True, op.name not in ROUNDED)
    return value


def scalar(op: Op, name: str, x: Any, operands: tuple[Any, ...]) -> Value:
    """The value of a number beside the operands; given these, it is multiplied with them, so that it must fit their type."""
    if x.__class__ not in _NUMBERS:
        need_kind(op.name, name, "Number", x)
        if isinstance(x, Tensor) and capture.active is not None:
            return number_in_program(x, operands, bool(op.promote), op.name not in ROUNDED)
        x = x.item() if isinstance(x, Tensor) else python_number(x)
    if name == "index":
        check_long(x)
    if operands:
        check_common(x, operands, bool(op.promote), op.name not in ROUNDED)
    return wrap_number(x)


def missing(op: Op, name: str) -> TypeError:
    return TypeError(f'{op.name}() missing 1 required positional arguments: "{name}"')


def tensor_list(op: Op, name: str, xs: Any, vals: list[Value], ops: list[Any], mask: int) -> tuple[Any, int]:
    """Read a sequence of tensors into `vals` and `ops`; its part of the key, and the gradient mask."""
    if isinstance(xs, Tensor) or not isinstance(xs, (list, tuple)):
        refuse_stranger(xs)
        position = [p.name for p in op.params].index(name) + 1
        raise TypeError(
            f"{op.name}(): argument '{name}' (position {position}) must be tuple of Tensors, not {type(xs).__name__}"
        )
    key = []
    for i, x in enumerate(xs):
        if not isinstance(x, Tensor):
            refuse_stranger(x)
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
        v = x._read()
        if x._rg:
            mask |= 1 << len(vals)
        vals.append(v)
        ops.append(x)
        key.append(v.aval)
    return tuple(key), mask
