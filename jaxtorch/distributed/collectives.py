"""Collectives of a group of one process: each gives back what was put in."""

from __future__ import annotations

from typing import Any

from .._core.modes import no_grad
from .._core.tensor import Tensor
from .._core.warned import warn
from .process_group import ReduceOp, default_group, done


def _tensor(t: Any, api: str) -> Tensor:
    default_group()
    if not isinstance(t, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `tensor` of type torch.Tensor of {api}(), got {type(t)} instead"
        )
    return t


def _copy(target: Tensor, source: Tensor, api: str) -> None:
    _tensor(target, api)
    with no_grad():
        target.copy_(_tensor(source, api).reshape(target.shape))


def _old_name(old: str, new: str) -> None:
    api = "torch.distributed."
    warn(f"`{api}{old}` is deprecated. Please use `{api}{new}` instead.", FutureWarning)


def _first(items: Any, api: str) -> Any:
    if len(items) != 1:
        raise ValueError(f"{api}(): expected a list of one item, for the one process of the group, got {len(items)}")
    return items[0]


def _own(rank: Any, api: str) -> None:
    if rank not in (None, 0):
        raise ValueError(f"{api}(): there is no process of rank {rank} in a group of one")


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Leaves the tensor as it is: the sum, mean, product, minimum and maximum of one tensor."""
    return done([_tensor(tensor, "all_reduce")], async_op)


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Leaves the tensors as they are."""
    return done([_tensor(t, "all_reduce_coalesced") for t in tensors], async_op)


def reduce(
    tensor: Tensor,
    dst: Any = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Any:
    """Leaves the tensor as it is."""
    _own(dst, "reduce")
    return done([_tensor(tensor, "reduce")], async_op)


def broadcast(tensor: Tensor, src: Any = None, group: Any = None, async_op: bool = False, group_src: Any = None) -> Any:
    """Leaves the tensor as it is."""
    _own(src, "broadcast")
    return done([_tensor(tensor, "broadcast")], async_op)


def broadcast_object_list(object_list: list[Any], src: Any = None, *args: Any, **kwargs: Any) -> None:
    """Leaves the list as it is."""
    _own(src, "broadcast_object_list")
    default_group()


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Copies the tensor into the one of the list."""
    _copy(_first(tensor_list, "all_gather"), tensor, "all_gather")
    return done(tensor_list, async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Any:
    """Copies each tensor into the one of its list."""
    for outputs, tensor in zip(output_tensor_lists, input_tensor_list, strict=True):
        _copy(_first(outputs, "all_gather_coalesced"), tensor, "all_gather_coalesced")
    return done(output_tensor_lists, async_op)


def all_gather_single(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Copies the tensor into the other."""
    _copy(output_tensor, input_tensor, "all_gather_single")
    return done([output_tensor], async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """`all_gather_single`, by its old name."""
    _old_name("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts the object into the list."""
    default_group()
    _first(object_list, "all_gather_object")
    object_list[0] = obj


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: Any = None,
) -> Any:
    """Copies the tensor into the one of the list."""
    _own(dst, "gather")
    _copy(_first(gather_list or [], "gather"), tensor, "gather")
    return done(gather_list, async_op)


def gather_object(
    obj: Any, object_gather_list: Any = None, dst: Any = None, group: Any = None, group_dst: Any = None
) -> None:
    """Puts the object into the list."""
    _own(dst, "gather_object")
    all_gather_object(object_gather_list or [], obj)


def scatter(
    tensor: Tensor,
    scatter_list: Any = None,
    src: Any = None,
    group: Any = None,
    async_op: bool = False,
    group_src: Any = None,
) -> Any:
    """Copies the one tensor of the list into the tensor."""
    _own(src, "scatter")
    _copy(tensor, _first(scatter_list or [], "scatter"), "scatter")
    return done([tensor], async_op)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: Any = None,
    src: Any = None,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Puts the one object of the second list into the first."""
    _own(src, "scatter_object_list")
    default_group()
    scatter_object_output_list[0] = _first(scatter_object_input_list or [], "scatter_object_list")


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies the one tensor of the list into the output."""
    _copy(output, _first(input_list, "reduce_scatter"), "reduce_scatter")
    return done([output], async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Copies the input into the output."""
    _copy(output, input, "reduce_scatter_single")
    return done([output], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`reduce_scatter_single`, by its old name."""
    _old_name("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Any:
    """Copies the one tensor of the second list into that of the first."""
    _copy(_first(output_tensor_list, "all_to_all"), _first(input_tensor_list, "all_to_all"), "all_to_all")
    return done(output_tensor_list, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Copies the input into the output."""
    _copy(output, input, "all_to_all_single")
    return done([output], async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
    """Nobody to wait for."""
    default_group()
    return done(None, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """Nobody to wait for."""
    default_group()
