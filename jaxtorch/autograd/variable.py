"""`torch.autograd.variable`: the old name of tensors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .._core.autograd.backward import queue_callback
from .._core.tensor import views
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import state

__all__ = ["Variable"]


class _ExecutionEngine:
    """What libraries ask of PyTorch's engine in a backward pass."""

    def queue_callback(self, callback: Callable[[], Any]) -> None:
        """Call `callback()` when the outermost backward pass has given all leaves their gradients; RuntimeError outside of one."""
        queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """May a backward pass begin within this one? Not in one for certain inputs (`grad`, `backward(inputs=)`)."""
        return not state.capturing


class _VariableMeta(type):
    _execution_engine = _ExecutionEngine()

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(data, requires_grad=False)`: a leaf that shares the memory of `data`. Tensors have long done without it."""

    def __new__(cls, data: Any = None, requires_grad: Any = False, volatile: Any = None) -> Any:
        if volatile is not None:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", stacklevel=2
            )
        if volatile and requires_grad:
            raise ValueError("Variable can't be volatile and require_grad at the same time!")
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        leaf = views.detached(data)
        return leaf.requires_grad_(True) if requires_grad else leaf
