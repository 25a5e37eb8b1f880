"""Messages from one process to another: `send`, `recv`, their asynchronous forms, and several at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .collectives import check_tensor, root
from .content import content, like, put
from .errors import DistBackendError
from .exchange import as_array
from .process_group import ProcessGroup, default_group, member
from .transport import Mesh, Slot
from .work import ReceiveWork, Work


def group_of(group: Any, api: str) -> ProcessGroup | None:
    own = member(group, api)
    if own is not None and own.mesh is not None:
        own.mesh.check()
        own.bring()
    return own


def other_end(own: ProcessGroup, rank: int | None, group_rank: int | None, name: str) -> int:
    """The number in the group of the process at the other end."""
    number = root(own, rank, group_rank, "send" if name == "dst" else "recv")
    if number == own.rank():
        if name == "src":
            raise RuntimeError("a process cannot receive from itself")
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )
    return number


def sender(own: ProcessGroup, src: int | None, group_src: int | None) -> tuple[Mesh, int | None]:
    """The connections, and who is to send: a number in the default group, or None for anybody."""
    source = None if src is None and group_src is None else own.ranks[other_end(own, src, group_src, "src")]
    if own.mesh is None:
        raise ValueError("there is nobody to receive from in a group of one process")
    return own.mesh, source


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """Send a tensor. What it holds now is sent, whatever is written to it later."""
    check_tensor(tensor, "tensor")
    if (own := group_of(group, "isend")) is None:
        raise ValueError("Invalid process group specified")
    to = other_end(own, dst, group_dst, "dst")
    assert own.mesh is not None
    own.mesh.send(own.ranks[to], own.channel + 1, tag, content(tensor))
    return Work([tensor])


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor. The other process keeps it until it asks for it, so that this one need not wait for that."""
    isend(tensor, dst, group, tag, group_dst)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """Receive into a tensor, which holds what came once the `Work` has been waited for. From any process where no `src` is given."""
    check_tensor(tensor, "tensor")
    if (own := group_of(group, "irecv")) is None:
        return None
    mesh, source = sender(own, src, group_src)
    slot = mesh.receive(source, own.channel + 1, tag)
    return ReceiveWork(slot, lambda: _deliver(own, slot, tensor), [tensor], own.seconds, own.ranks.index)


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive into a tensor, from any process where no `src` is given; who has sent it. -1 outside the group."""
    check_tensor(tensor, "tensor")
    if (own := group_of(group, "recv")) is None:
        return -1
    mesh, source = sender(own, src, group_src)
    slot = mesh.take(source, own.channel + 1, tag, own.seconds)
    _deliver(own, slot, tensor)
    return int(slot.source or 0)


def _deliver(own: ProcessGroup, slot: Slot, tensor: Tensor) -> None:
    """Put a message that has come into its tensor."""
    expected, payload = like(tensor), slot.payload
    if len(payload) != expected.nbytes:
        raise DistBackendError(
            f"rank {slot.source} has sent {len(payload)} bytes to a tensor of {expected.nbytes} on rank {own.world_rank}"
        )
    put(tensor, as_array(payload, expected))


class P2POp:
    """A message for `batch_isend_irecv`. op: `isend` or `irecv`."""

    __module__ = "jaxtorch.distributed"

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        check_tensor(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = default_group() if group is None else group
        self.group_peer = root(self.group, peer, group_peer, "peer")
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={self.group.rank()}, "
            f"group_dst={self.group_peer}, {tuple(self.tensor.shape)}, {self.tensor.dtype})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Send and receive several messages; a `Work` for each."""
    if not isinstance(p2p_op_list, list) or not all(isinstance(op, P2POp) for op in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    works = [op.op(op.tensor, group=op.group, tag=op.tag, **_end(op)) for op in p2p_op_list]
    return [work for work in works if work is not None]


def _end(op: P2POp) -> dict[str, int]:
    return {"group_dst" if op.op is isend else "group_src": op.group_peer}
