"""`torch.distributed.nn.functional`: collectives that autograd knows.

The gradient is that of the sum of all processes' losses, so each process has to run its backward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..._ops.creation.filled import empty_like, zeros_like
from ...autograd.function import Function
from .. import collectives
from ..process_group import default_group
from ..reduce_op import ReduceOp

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip


def _size(group: Any) -> int:
    return (group or default_group()).size()


def _rank(group: Any) -> int:
    return (group or default_group()).rank()


def _in_group(group: Any, rank: int) -> int:
    """The number in the group of a process of the default group."""
    own = group or default_group()
    return own.ranks.index(rank)


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        tensor = tensor.clone()
        collectives.all_reduce(tensor, op, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, grad)


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        tensor = tensor.clone()
        collectives.broadcast(tensor, src, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        total = _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, grad)
        return None, None, total if _rank(ctx.group) == _in_group(ctx.group, ctx.src) else zeros_like(grad)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        tensor = tensor.clone()
        collectives.reduce(tensor, dst, op, group)
        return tensor

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, grad)


class _AlltoAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, outputs: list[Tensor], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.group, ctx.shapes = group, [empty_like(t) for t in tensors]
        collectives.all_to_all(outputs, [t.contiguous() for t in tensors], group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, *_AlltoAll.apply(ctx.group, ctx.shapes, *grads)


class _AlltoAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, output: Tensor, output_sizes: Any, input_sizes: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.sizes, ctx.like = group, (input_sizes, output_sizes), empty_like(tensor)
        collectives.all_to_all_single(output, tensor.contiguous(), output_sizes, input_sizes, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, None, _AlltoAllSingle.apply(ctx.group, ctx.like, *ctx.sizes, grad)


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.group = group
        outputs = [empty_like(tensor) for _ in range(_size(group))]
        collectives.all_gather(outputs, tensor.contiguous(), group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, _Reduce_Scatter.apply(ReduceOp.SUM, ctx.group, empty_like(grads[0]), *grads)


class _Reduce_Scatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *tensors: Tensor) -> Tensor:
        ctx.group = group
        collectives.reduce_scatter(output, [t.contiguous() for t in tensors], op, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, None, *_AllGather.apply(ctx.group, grad)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> tuple[Tensor, ...]:
        ctx.dst, ctx.group = dst, group
        outputs = [zeros_like(tensor) for _ in range(_size(group))]
        receives = _rank(group) == _in_group(group, dst)
        collectives.gather(tensor.contiguous(), outputs if receives else None, dst, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, _Scatter.apply(ctx.dst, ctx.group, *grads)


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        output = zeros_like(tensors[0])
        sends = _rank(group) == _in_group(group, src)
        collectives.scatter(output, [t.contiguous() for t in tensors] if sends else None, src, group)
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return None, None, *_Gather.apply(ctx.src, ctx.group, grad)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum (or what `op` says) of all processes' tensors."""
    return _AllReduce.apply(op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return _AllGather.apply(group, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of the process `src`."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """In the process `dst` the sum (or what `op` says) of all tensors, in the others their own."""
    return _Reduce.apply(dst, op, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """In the process `dst` the tensors of all processes, in the others zeros."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """This process's own of the tensors of the process `src`."""
    return _Scatter.apply(src, group, *tensors)


def reduce_scatter(output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum (or what `op` says), over all processes, of the tensors with this process's number; `output` gives the shape."""
    return _Reduce_Scatter.apply(op, group, output, *input_list)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What each process has for this one."""
    return _AlltoAll.apply(group, output_tensor_list, *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Tensor:
    """What each process has for this one, in one tensor."""
    return _AlltoAllSingle.apply(group, output, output_split_sizes, input_split_sizes, input)
