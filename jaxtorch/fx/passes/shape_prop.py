"""`ShapeProp`: runs a graph and notes the shape and type of every node's value."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core.tensor.tensor import Tensor
from ..._ops.types import constants
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    memory_format = None
    if include_contiguity:
        formats = (constants.contiguous_format, constants.channels_last, constants.channels_last_3d)
        memory_format = next((f for f in formats if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), memory_format, result.is_quantized, {}
    )


class ShapeProp(Interpreter):
    """Runs a module's graph; every node gets `meta["tensor_meta"]` where its value holds tensors, and `meta["type"]`.

    fake_mode must be None: the graph runs on the tensors it is given.
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("torch.fx.passes.shape_prop.ShapeProp: fake_mode")

    def run_node(self, n: Node) -> Any:
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def note(a: Any) -> Any:
            nonlocal found
            if not isinstance(a, Tensor):
                return a
            found = True
            return _extract_tensor_metadata(a)

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these arguments; returns its result."""
        return super().run(*args)
