"""Collectives on tensors. Every process of the group calls them, in the same order, and results are written into the tensors given.

What has been recorded runs first: communication needs values. With `async_op=True` a collective returns a `Work`; the tensors hold
the results once that has been waited for. In a group of one process nothing is communicated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad
from .._core.types.warn_once import warn
from .content import content, like, put, put_all
from .errors import DistBackendError
from .process_group import default_group, done, get_group_rank, member
from .reduce_op import ReduceOp, check_op
from .store import seconds

_API = "torch.distributed."


def check_tensor(t: Any, name: str) -> None:
    """TypeError for what is no tensor."""
    if not isinstance(t, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n             but got {type(t)} instead."
        )


def check_list(items: Any, name: str) -> None:
    """TypeError for what is no list of tensors."""
    if isinstance(items, (list, tuple)) and all(isinstance(t, Tensor) for t in items):
        return
    inside = f" with elements of type {[type(t) for t in items]}" if isinstance(items, (list, tuple)) else ""
    raise TypeError(
        f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
        f"             but got {type(items)}{inside} instead."
    )


def check_types(*tensors: Tensor) -> None:
    """ValueError for tensors of several element types."""
    first = tensors[0]
    for t in tensors:
        if t.dtype is not first.dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {t.dtype} and  {first.dtype}")


def root(group: Any, rank: int | None, group_rank: int | None, api: str) -> int:
    """The number in the group of the process that a collective is about, given as a number of the default group or of this one."""
    if rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if group_rank is not None:
        if not 0 <= group_rank < group.size():
            raise ValueError(f"Group rank {group_rank} is not part of group {group}")
        return group_rank
    if rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if rank not in group.ranks and group is default_group():
        raise RuntimeError(f"ProcessGroupGloo::{api}: invalid root rank: {rank}")
    return get_group_rank(group, rank)


def _old_name(old: str, new: str) -> None:
    warn(f"`{_API}{old}` is deprecated. Please use `{_API}{new}` instead.", FutureWarning)


def _copy(target: Tensor, source: Tensor) -> None:
    with no_grad():
        target.copy_(source.reshape(target.shape))


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """Replace the tensor of each process by the sum (or what `op` says) of all."""
    check_tensor(tensor, "tensor")
    if (own := member(group, "all_reduce")) is None:
        return None
    check_op(op, tensor.dtype, "all_reduce")
    if own.size() == 1:
        return done([tensor], async_op)
    array = content(tensor, async_op)
    return own.start(lambda x: x.all_reduce(array, op), lambda found: put(tensor, found), [tensor], async_op)


def all_reduce_coalesced(tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """`all_reduce` of several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else tensors
    check_list(tensors, "tensor")
    check_types(*tensors)
    if (own := member(group, "all_reduce_coalesced")) is None:
        return None
    check_op(op, tensors[0].dtype, "all_reduce_coalesced")
    if own.size() == 1:
        return done(list(tensors), async_op)
    arrays = [content(t, async_op) for t in tensors]
    return own.start(
        lambda x: [x.all_reduce(array, op) for array in arrays],
        lambda found: put_all(tensors, found),
        list(tensors),
        async_op,
    )


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Replace the tensor of the process `dst` by the sum (or what `op` says) of all. The others keep theirs (in PyTorch they may
    hold parts of the sum)."""
    check_tensor(tensor, "tensor")
    if (own := member(group, "reduce")) is None:
        return None
    to = root(own, dst, group_dst, "reduce")
    check_op(op, tensor.dtype, "reduce")
    if own.size() == 1:
        return done([tensor], async_op)
    array = content(tensor, async_op)
    return own.start(
        lambda x: x.reduce(array, op, to),
        lambda found: None if found is None else put(tensor, found),
        [tensor],
        async_op,
    )


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Any:
    """Replace the tensor of each process by that of the process `src`."""
    check_tensor(tensor, "tensor")
    if (own := member(group, "broadcast")) is None:
        return None
    source = root(own, src, group_src, "broadcast")
    if own.size() == 1:
        return done([tensor], async_op)
    sends = own.rank() == source
    array = content(tensor, async_op) if sends else like(tensor)
    return own.start(
        lambda x: x.broadcast(array, source),
        lambda found: None if sends else put(tensor, found),
        [tensor],
        async_op,
    )


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Put the tensors of all processes into the list's, by rank."""
    check_list(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    check_types(tensor, *tensor_list)
    if (own := member(group, "all_gather")) is None:
        return None
    if len(tensor_list) != own.size():
        raise RuntimeError(
            "ProcessGroupGloo::allgather: invalid output tensor list at index 0 (expected length "
            f"{own.size()}, got {len(tensor_list)})"
        )
    if own.size() == 1:
        _copy(tensor_list[0], tensor)
        return done([tensor_list], async_op)
    for k, t in enumerate(tensor_list):
        _check_size(t.shape, tensor.shape, k)
    array = content(tensor, async_op)
    return own.start(lambda x: x.all_gather(array), lambda found: put_all(tensor_list, found), [tensor_list], async_op)


def all_gather_coalesced(
    output_tensor_lists: Any, input_tensor_list: Any, group: Any = None, async_op: bool = False
) -> Any:
    """`all_gather` of several tensors: `output_tensor_lists[i][j]` becomes tensor j of process i."""
    check_list(input_tensor_list, "tensor_list")
    if (own := member(group, "all_gather_coalesced")) is None:
        return None
    if own.size() == 1:
        for t, tensor in zip(output_tensor_lists[0], input_tensor_list, strict=True):
            _copy(t, tensor)
        return done(output_tensor_lists, async_op)
    arrays = [content(t, async_op) for t in input_tensor_list]

    def deliver(found: Any) -> None:
        for k, parts in enumerate(found):
            put_all([outputs[k] for outputs in output_tensor_lists], parts)

    return own.start(lambda x: [x.all_gather(array) for array in arrays], deliver, output_tensor_lists, async_op)


def all_gather_single(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Any:
    """Put the tensors of all processes into one, behind or on top of one another."""
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if (own := member(group, "all_gather_single")) is None:
        return None
    check_types(output_tensor, input_tensor)
    rows = output_tensor.shape[0] // own.size() if output_tensor.dim() else 0
    if input_tensor.dim() == 0:  # one behind the other
        _check_size(output_tensor.shape, (own.size(),), 0)
    else:
        _check_size((rows, *output_tensor.shape[1:]), input_tensor.shape, 0)
    if own.size() == 1:
        _copy(output_tensor, input_tensor)
        return done([output_tensor], async_op)
    array = content(input_tensor, async_op)
    return own.start(
        lambda x: x.all_gather(array),
        lambda found: put(output_tensor, np.concatenate([a.reshape(-1) for a in found])),
        [output_tensor],
        async_op,
    )


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Any:
    """`all_gather_single`, by its old name."""
    _old_name("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def gather(
    tensor: Tensor,
    gather_list: Any = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Any:
    """Put the tensors of all processes into those of `gather_list`, which the process `dst` (by default 0) gives."""
    check_tensor(tensor, "tensor")
    if gather_list:
        check_list(gather_list, "gather_list")
        check_types(tensor, *gather_list)
    if (own := member(group, "gather")) is None:
        return None
    to = root(own, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    _check_root_list(gather_list, own.rank() == to, "gather_list", "dst", "destination")
    receives = own.rank() == to
    if receives:
        _check_length(gather_list, own.size(), "gather_list")
    if own.size() == 1:
        _copy(gather_list[0], tensor)
        return done(gather_list, async_op)
    array = content(tensor, async_op)
    return own.start(
        lambda x: x.gather(array, to),
        lambda found: put_all(gather_list, found) if receives else None,
        gather_list,
        async_op,
    )


def scatter(
    tensor: Tensor,
    scatter_list: Any = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Any:
    """Put into the tensor of each process its own of `scatter_list`, which the process `src` (by default 0) gives."""
    check_tensor(tensor, "tensor")
    if scatter_list:
        check_list(scatter_list, "scatter_list")
        check_types(tensor, *scatter_list)
    if (own := member(group, "scatter")) is None:
        return None
    source = root(own, 0 if src is None and group_src is None else src, group_src, "scatter")
    _check_root_list(scatter_list, own.rank() == source, "scatter_list", "src", "source")
    if own.rank() == source:
        _check_length(scatter_list, own.size(), "scatter_list")
    if own.size() == 1:
        _copy(tensor, scatter_list[0])
        return done([tensor], async_op)
    arrays = [content(t, async_op) for t in scatter_list] if own.rank() == source else []
    expected = like(tensor)
    return own.start(
        lambda x: x.scatter(arrays, expected, source), lambda found: put(tensor, found), [tensor], async_op
    )


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """Put into `output` the sum (or what `op` says), over all processes, of the tensors with this process's number."""
    check_tensor(output, "output")
    check_list(input_list, "input_list")
    check_types(output, *input_list)
    if (own := member(group, "reduce_scatter")) is None:
        return None
    _check_length(input_list, own.size(), "input_list")
    for k, t in enumerate(input_list):
        if t.shape != output.shape:
            raise RuntimeError(
                f"reduce_scatter(): tensor {k} of input_list has shape {tuple(t.shape)}; expected {tuple(output.shape)}"
            )
    check_op(op, output.dtype, "reduce_scatter")
    if own.size() == 1:
        _copy(output, input_list[0])
        return done([output], async_op)
    arrays = [content(t, async_op) for t in input_list]
    return own.start(lambda x: x.reduce_scatter(arrays, op), lambda found: put(output, found), [output], async_op)


def reduce_scatter_single(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`reduce_scatter` of the parts, as many as there are processes, that `input` is cut into."""
    check_tensor(output, "output")
    check_tensor(input, "input")
    if (own := member(group, "reduce_scatter_single")) is None:
        return None
    check_op(op, output.dtype, "reduce_scatter_single")
    if output.dtype is not input.dtype:
        raise RuntimeError("input tensor must be the same type as the output tensor.")
    if input.numel() != output.numel() * own.size():
        raise RuntimeError(
            f"reduce_scatter_single(): the input has {input.numel()} elements; expected {own.size()} times {output.numel()}"
        )
    if own.size() == 1:
        _copy(output, input)
        return done([output], async_op)
    arrays = np.split(content(input, async_op).reshape(-1), own.size())
    return own.start(lambda x: x.reduce_scatter(arrays, op), lambda found: put(output, found), [output], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    """`reduce_scatter_single`, by its old name."""
    _old_name("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Any:
    """Send to each process its own tensor of the second list, and put what they sent into those of the first."""
    check_list(output_tensor_list, "output_tensor_list")
    check_list(input_tensor_list, "input_tensor_list")
    check_types(*output_tensor_list, *input_tensor_list)
    if (own := member(group, "all_to_all")) is None:
        return None
    _check_length(output_tensor_list, own.size(), "output_tensor_list")
    _check_length(input_tensor_list, own.size(), "input_tensor_list")
    if own.size() == 1:
        _copy(output_tensor_list[0], input_tensor_list[0])
        return done(output_tensor_list, async_op)
    arrays = [content(t, async_op) for t in input_tensor_list]
    expected = [like(t) for t in output_tensor_list]
    return own.start(
        lambda x: x.all_to_all(arrays, expected),
        lambda found: put_all(output_tensor_list, found),
        output_tensor_list,
        async_op,
    )


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Any:
    """Send to each process its part of `input`, cut along dimension 0, and put what they sent into `output`, one behind the other.

    The parts are equal, or have the sizes given.
    """
    check_tensor(output, "output")
    check_tensor(input, "input")
    check_types(output, input)
    if (own := member(group, "all_to_all_single")) is None:
        return None
    size = own.size()
    cuts_in = _cuts(input, input_split_sizes, size)
    cuts_out = _cuts(output, output_split_sizes, size)
    if size == 1:
        _copy(output, input)
        return done([output], async_op)
    arrays = np.split(content(input, async_op), cuts_in)
    expected = np.split(like(output), cuts_out)
    return own.start(
        lambda x: x.all_to_all(arrays, expected),
        lambda found: put(output, np.concatenate(found)),
        [output],
        async_op,
    )


def _cuts(t: Tensor, sizes: Sequence[int] | None, count: int) -> list[int]:
    """Where a tensor is cut along dimension 0."""
    if not sizes:
        if t.size(0) % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return [t.size(0) // count * k for k in range(1, count)]
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != t.size(0):
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    return [int(n) for n in np.cumsum(sizes)[:-1]]


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
    """Wait until all processes of the group have come here."""
    if (own := member(group, "barrier")) is None:
        return None
    if device_ids is not None and not isinstance(device_ids, list):
        raise TypeError("Invalid function argument: device_ids type should be List[int]")
    if own.size() == 1:
        return done(None, async_op)
    return own.start(lambda x: x.barrier(), lambda found: None, None, async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """`barrier`, in which process 0 says which process has not come in time.

    wait_all_ranks: name all of these, not only the first.
    """
    if (own := member(group, "monitored_barrier")) is None or own.size() == 1:
        return
    limit = own.seconds if timeout is None else seconds(timeout)
    x = own.exchange(limit)
    if own.rank() != 0:
        x.send(0, b"")
        x.take(0)
        return
    missing: list[int] = []
    for other in range(1, own.size()):
        try:
            x.take(other)
        except DistBackendError:
            missing.append(other)
            if not wait_all_ranks:
                break
    if missing:
        names = ", ".join(map(str, missing))
        who = f"Ranks {names}" if wait_all_ranks else f"Rank {names}"
        raise RuntimeError(f"[Rank 0]: {who} failed to pass monitoredBarrier in {round(limit * 1000)} ms")
    for other in range(1, own.size()):
        x.send(other, b"")


def _check_length(items: Any, count: int, name: str) -> None:
    if len(items) != count:
        raise ValueError(f"{name} has {len(items)} tensors; expected {count}, one for each process of the group")


def _check_size(shape: Sequence[int], expected: Sequence[int], index: int) -> None:
    if tuple(shape) != tuple(expected):
        asked, got = ", ".join(map(str, expected)), ", ".join(map(str, shape))
        raise RuntimeError(
            f"ProcessGroupGloo::allgather: invalid tensor size at index {index} (expected ({asked}), got ({got}))"
        )


def _check_root_list(items: Any, is_root: bool, name: str, rank: str, what: str) -> None:
    if is_root and not items:
        raise ValueError(f"Argument ``{name}`` must be specified on {what} rank.")
    if not is_root and items:
        raise ValueError(f"Argument ``{name}`` must NOT be specified on non-{what} ranks.")


def _private_name(old: str, new: Any) -> Any:
    def function(output: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        warn(
            f"`{_API}{old}` is a private function and will be deprecated. Please use `{_API}{new.__name__}` instead.",
            FutureWarning,
        )
        return new(output, input, *args, **kwargs)

    function.__name__ = function.__qualname__ = old
    return function


_all_gather_base = _private_name("_all_gather_base", all_gather_single)
_reduce_scatter_base = _private_name("_reduce_scatter_base", reduce_scatter_single)
