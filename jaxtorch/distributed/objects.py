"""Collectives on Python objects, which travel as pickles: only for processes that trust one another, as in PyTorch."""

from __future__ import annotations

import pickle
from typing import Any

from .._core.run import capture
from .collectives import root
from .point_to_point import group_of, other_end, sender
from .process_group import member


def _pickled(obj: Any) -> bytes:
    capture.break_capture("it communicates with other processes")
    return pickle.dumps(obj)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Put the objects of all processes into the list, by rank."""
    if (own := member(group, "all_gather_object")) is None:
        return
    found = own.exchange().all_gather_bytes(_pickled(obj)) if own.size() > 1 else [_pickled(obj)]
    for k, data in enumerate(found):
        object_list[k] = pickle.loads(data)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """Put the objects of all processes into the list that the process `dst` (by default 0) gives, by rank."""
    if (own := member(group, "gather_object")) is None:
        return
    to = root(own, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    receives = own.rank() == to
    if receives and object_gather_list is None:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not receives and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    data = _pickled(obj)
    x = own.exchange() if own.size() > 1 else None
    if not receives:
        assert x is not None
        x.send(to, data)
        return
    assert object_gather_list is not None
    for k in range(own.size()):
        object_gather_list[k] = pickle.loads(data if k == to or x is None else x.take(k))


def broadcast_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
) -> None:
    """Replace the objects in each process's list by those in the list of the process `src` (by default 0)."""
    if (own := member(group, "broadcast_object_list")) is None:
        return
    source = root(own, 0 if src is None and group_src is None else src, group_src, "broadcast")
    if own.size() == 1:
        return
    x = own.exchange()
    if own.rank() == source:
        data = _pickled(list(object_list))
        for other in x.others():
            x.send(other, data)
        return
    for k, obj in enumerate(pickle.loads(x.take(source))[: len(object_list)]):
        object_list[k] = obj


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """Put into the first place of each process's list its own of the objects that the process `src` (by default 0) gives."""
    if (own := member(group, "scatter_object_list")) is None:
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    source = root(own, 0 if src is None and group_src is None else src, group_src, "broadcast")
    x = own.exchange() if own.size() > 1 else None
    if own.rank() != source:
        assert x is not None
        scatter_object_output_list[0] = pickle.loads(x.take(source))
        return
    if scatter_object_input_list is None or len(scatter_object_input_list) != own.size():
        raise ValueError("scatter_object_input_list must have one object for each process of the group")
    for k, obj in enumerate(scatter_object_input_list):
        data = _pickled(obj)
        if k == source or x is None:
            scatter_object_output_list[0] = pickle.loads(data)
        else:
            x.send(k, data)


_OBJECTS = -(1 << 32)
"""The tag of objects that are sent: one that no tensor has."""


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send the objects of a list to the process `dst`."""
    if (own := group_of(group, "send_object_list")) is None:
        return
    to = other_end(own, dst, group_dst, "dst")
    assert own.mesh is not None
    own.mesh.send(own.ranks[to], own.channel + 1, _OBJECTS, _pickled(list(object_list)))


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive objects into a list, from any process where no `src` is given; who has sent them. -1 outside the group."""
    if (own := group_of(group, "recv_object_list")) is None:
        return -1
    mesh, source = sender(own, src, group_src)
    slot = mesh.take(source, own.channel + 1, _OBJECTS, own.seconds)
    for k, obj in enumerate(pickle.loads(slot.payload)[: len(object_list)]):
        object_list[k] = obj
    return int(slot.source or 0)
