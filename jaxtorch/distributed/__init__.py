"""`torch.distributed`: processes that work on one thing, by messages over sockets, as PyTorch's backend 'gloo'.

`init_process_group` in every process makes the group, and collectives on the CPU's tensors go from there; so do
`nn.parallel.DistributedDataParallel` and the launcher, `python -m jaxtorch -m torch.distributed.run`. A group of one process opens
no socket. Sharded models (FSDP, DTensor) and remote calls raise NotImplementedError: for several devices see `jax.sharding`.
"""

from __future__ import annotations

from typing import Any as _Any

from ..nn.modules.batchnorm import SyncBatchNorm as _SyncBatchNorm
from .collectives import _all_gather_base as _all_gather_base
from .collectives import _reduce_scatter_base as _reduce_scatter_base
from .collectives import (
    all_gather,
    all_gather_coalesced,
    all_gather_into_tensor,
    all_gather_single,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_single,
    reduce_scatter_tensor,
    scatter,
)
from .device_mesh import DeviceMesh, init_device_mesh
from .errors import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from .file_store import FileStore
from .grad_bucket import GradBucket as GradBucket
from .nn.functional import all_reduce as _recorded_all_reduce
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from .point_to_point import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .process_group import (
    Backend,
    GroupMember,
    ProcessGroup,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    new_group,
    new_subgroups,
    new_subgroups_by_enumeration,
)
from .process_group import _rank_not_in_group as _rank_not_in_group
from .reduce_op import ReduceOp, supports_complex
from .rendezvous import register_rendezvous_handler, rendezvous
from .store import HashStore, PrefixStore, Store
from .tcp_store import TCPStore
from .work import Work

__all__ = [
    "Backend", "DeviceMesh", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "FileStore", "GroupMember",
    "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "QueueEmptyError", "ReduceOp", "Store", "TCPStore", "Work", "all_gather",
    "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object", "all_gather_single", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "group", "init_device_mesh", "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "isend", "monitored_barrier", "new_group", "new_subgroups", "new_subgroups_by_enumeration", "recv",
    "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor",
    "register_rendezvous_handler", "rendezvous", "scatter", "scatter_object_list", "send", "send_object_list",
    "supports_complex",
]  # fmt: skip

_SyncBatchNorm._world_size = staticmethod(lambda group: get_world_size(group) if is_initialized() else 1)
_SyncBatchNorm._all_reduce = staticmethod(lambda x, group: _recorded_all_reduce(x, group=group))


def __getattr__(name: str) -> _Any:
    import importlib
    import importlib.util

    if not name.startswith("__") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.distributed' has no attribute '{name}'")
