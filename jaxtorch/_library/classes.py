"""What `import torch._ops` gives: the classes of operations, as libraries ask for them by `isinstance`."""

from __future__ import annotations

from typing import Any

from .._private_names.absent import absent_class
from . import operators
from .operators import Namespace as _OpNamespace

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "_OpNamespace"]

HigherOrderOperator = absent_class(
    "torch._ops.HigherOrderOperator", "functions such as torch.cond are plain functions here"
)


class _OfOverloads(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, operators.OfEngine):
            return bool(instance._overloadname)
        return isinstance(instance, operators.OpOverload)


class OpOverload(metaclass=_OfOverloads):
    """`torch.ops.aten.add.Tensor` and overloads of libraries are instances."""


class _OfPackets(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, operators.OfEngine):
            return not instance._overloadname
        return isinstance(instance, operators.OpOverloadPacket)


class OpOverloadPacket(metaclass=_OfPackets):
    """`torch.ops.aten.add` and operations of libraries are instances."""
