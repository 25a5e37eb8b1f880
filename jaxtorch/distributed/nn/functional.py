"""`torch.distributed.nn.functional`: collectives that autograd knows; with one process, they return what they are given."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ..process_group import ReduceOp, default_group

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce"]


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """A copy of the tensor."""
    default_group()
    return tensor.clone()


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """A copy of the tensor, in a tuple."""
    default_group()
    return (tensor.clone(),)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """A copy of the tensor."""
    default_group()
    return tensor.clone()


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """A copy of the tensor."""
    default_group()
    return tensor.clone()
