"""What `import torch._ops` gives: the classes of operations, as libraries ask for them by `isinstance`."""

from __future__ import annotations

from .._absent import absent_class
from .operators import Namespace as _OpNamespace
from .operators import OpOverload, OpOverloadPacket

__all__ = ["HigherOrderOperator", "OpOverload", "OpOverloadPacket", "_OpNamespace"]

HigherOrderOperator = absent_class(
    "torch._ops.HigherOrderOperator", "functions such as torch.cond are plain functions here"
)
