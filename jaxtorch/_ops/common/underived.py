"""Results that PyTorch has no derivative for: they require a gradient where what they are computed from does, and backward raises."""

from __future__ import annotations

from typing import Any

from ..._core.define.op import Array, Arrays, inner_op
from ..._core.tensor.tensor import Tensor
from ..._core.transforms import forward_mode
from ..._core.types.grad_mode import state
from .rules import no_derivative

_NODES = {"_unique2": "Unique2", "unique_dim": "UniqueDim", "unique_consecutive": "UniqueConsecutive"}


def _node(keys: Any, statics: Any) -> str:
    return f"{_NODES[statics[0]]}Backward0" if statics[0] in _NODES else "NotImplemented"


@inner_op(grad=_node)
def _underived(found: Array, inputs: Arrays, operation: str):
    if operation in _NODES:
        refused = no_derivative(NotImplementedError, f"the derivative for '{operation}' is not implemented.")
    else:
        refused = no_derivative(RuntimeError, f"derivative for aten::{operation} is not implemented")
    return refused(lambda found, *_: found)(found, *inputs)


def refuse_tangents(operation: str, *inputs: Tensor | None) -> None:
    """NotImplementedError where an input of an operation without a forward derivative has a tangent."""
    if forward_mode.level is not None and any([t is not None and forward_mode.is_dual(t._read()) for t in inputs]):  # noqa: C419
        raise NotImplementedError(
            f"Trying to use forward AD with {operation} that does not support it because it has not been implemented yet."
        )


def underived(operation: str, found: Any, *inputs: Tensor | None) -> Any:
    """What an operation, by PyTorch's name, has found, with a place in the graph where one of its inputs has one."""
    refuse_tangents(operation, *inputs)
    given = [t for t in inputs if t is not None and t.requires_grad]
    if not given or not state.grad:
        return found
    if isinstance(found, tuple):
        return type(found)([_underived(f, given, operation) for f in found])
    return _underived(found, given, operation)
