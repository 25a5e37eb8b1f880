"""`torch.distributed.distributed_c10d`: the names of `torch.distributed` under their other address."""

# ruff: noqa: F401 - what is imported here is the module's content
from __future__ import annotations

from .collectives import all_gather, all_gather_object, all_reduce, barrier, broadcast, broadcast_object_list
from .process_group import (
    Backend,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Store,
    Work,
    _get_default_group,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_initialized,
    new_group,
)
