"""Process groups: the default one, and those made of some of its processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

from .._core.types.warn_once import warn
from .exchange import Exchange
from .rendezvous import rendezvous_store
from .store import PrefixStore, Store, seconds
from .transport import Mesh
from .work import ThreadWork, Work

default_pg_timeout = timedelta(minutes=30)


class Backend(str):
    """The name of a backend, in lower case. ValueError for one that PyTorch does not know."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class ProcessGroup:
    """Some of the processes that have called `init_process_group`, of which this is one.

    asked: the backend as it was asked for. ranks: the processes' numbers in the default group. mesh: the connections to them; None
    where there is but this one.
    """

    __module__ = "jaxtorch.distributed.distributed_c10d"

    def __init__(
        self,
        backend: str = "gloo",
        name: str = "0",
        ranks: Sequence[int] = (0,),
        rank: int = 0,
        mesh: Mesh | None = None,
        timeout: Any = default_pg_timeout,
        store: Store | None = None,
        desc: str = "undefined",
    ) -> None:
        self._backend = backend
        self.asked = backend
        self.group_name = name
        self.group_desc = desc
        self.bound_device_id = None
        self.ranks = tuple(ranks)
        self.world_rank = rank
        self.mesh = mesh
        self.store = store
        self.timeout = timeout
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        self.channel = int.from_bytes(digest, "little") & ~1  # of collectives; the next is that of single messages
        self._number = 0
        self._under_way: list[ThreadWork] = []

    def rank(self) -> int:
        """This process's number in the group."""
        return self.ranks.index(self.world_rank)

    def size(self) -> int:
        """How many processes there are."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return self._backend

    @property
    def seconds(self) -> float:
        """How long one communication may take."""
        return seconds(self.timeout)

    def next_number(self) -> int:
        """The number of the next collective, the same in all processes."""
        self._number += 1
        return self._number

    def exchange(self, timeout: float | None = None) -> Exchange:
        """The next collective."""
        if self.mesh is None:
            raise RuntimeError("the process group has been destroyed")
        self.mesh.check()
        self.bring()
        return Exchange(self, timeout)

    def bring(self) -> None:
        """Have what has arrived for asynchronous collectives, and nobody has waited for, put into its tensors."""
        self._under_way = [work for work in self._under_way if not work.is_completed()]

    def start(
        self, run: Callable[[Exchange], Any], deliver: Callable[[Any], None], result: Any, async_op: bool
    ) -> Work | None:
        """Do a collective: `run` communicates, `deliver` puts what it found into tensors. At once, or in a thread."""
        exchange = self.exchange()
        if not async_op:
            deliver(run(exchange))
            return None
        work = ThreadWork(lambda: run(exchange), deliver, result)
        self._under_way.append(work)
        return work

    def shutdown(self) -> None:
        """Forget the connections."""
        self.mesh = None

    abort = shutdown


class _GroupMeta(type):
    @property
    def WORLD(cls) -> Any:
        return _world


class group(metaclass=_GroupMeta):
    """Names for groups: WORLD is the default one."""


class GroupMember(metaclass=_GroupMeta):
    """Names for groups: WORLD is the default one, NON_GROUP_MEMBER says that a process is not in a group."""

    NON_GROUP_MEMBER = -100


_world: ProcessGroup | None = None
_groups: set[ProcessGroup] = set()
"""The groups that have not been destroyed. They stay though nobody holds them: meshes know them by name."""
_count = 0
_local: dict[tuple[int, ...], int] = {}
"""How many groups of the same processes these have made without the others."""
_outside: list[int] = []
"""The processes of the last group that was made without this one: what is known of `GroupMember.NON_GROUP_MEMBER`."""


def _ranks_of(group: Any) -> Sequence[int]:
    return _outside if group == GroupMember.NON_GROUP_MEMBER else (group or default_group()).ranks


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """Has `init_process_group` been called?"""
    return _world is not None


def _backend_name(backend: str | None, size: int) -> str:
    """The name of the backend for the CPU, of a name or of a list such as 'cpu:gloo,cuda:nccl'."""
    if backend is None:
        return "gloo"
    by_device = dict(part.split(":") for part in str(backend).lower().split(",") if ":" in part)
    name = by_device.get("cpu") or str(backend).lower().split(",")[0].split(":")[-1]
    if size > 1 and name != "gloo":
        if name in Backend.backend_list:
            raise RuntimeError(f"Distributed package doesn't have {name.upper()} built in")
        raise ValueError(f"Unknown backend: {name!r}; jaxtorch has 'gloo'")
    return name


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Store | None = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
    _ranks: Any = None,
) -> None:
    """Make the default group; all its processes call this, and wait for each other.

    They meet at `store`, or where `init_method` says: `env://` (the default: MASTER_ADDR and MASTER_PORT of the environment),
    `tcp://host:port` or `file:///path`. world_size, rank: by default those of the environment (WORLD_SIZE, RANK), else 1 and 0; a
    group of one process meets nobody. timeout: for meeting, and for each communication later (30 minutes).

    ValueError where there is a default group already, RuntimeError for a backend other than 'gloo' with more than one process,
    DistStoreError or DistNetworkError when the others do not come in time.
    """
    global _world
    if _world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    timeout = default_pg_timeout if timeout is None else timeout
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    if store is None:
        find, world_size, rank = rendezvous_store(init_method, world_size, rank, timeout)
    else:
        if world_size <= 0 or rank < 0:
            raise ValueError("world_size and rank must be given with a store")
        given = store
        find = lambda: given  # noqa: E731
    if not 0 <= rank < world_size:
        raise ValueError(
            f"init_process_group(): rank is {rank}, expected 0 to {world_size - 1} with a world_size of {world_size}"
        )
    name = _backend_name(backend, world_size)
    mesh = None
    if world_size > 1:
        met = find()
        met.set_timeout(timeout)
        part = store = PrefixStore("default_pg", met)
        mesh = Mesh(part, rank, world_size, timeout)
    made = ProcessGroup(Backend(name), "0", range(world_size), rank, mesh, timeout, store, "default_pg")
    made.asked = Backend(backend or "undefined")
    if mesh is not None:
        made.exchange().barrier()
    _groups.add(made)
    _world = made


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group; by default the default one, and with it all others and the connections."""
    global _world, _count
    if group is GroupMember.NON_GROUP_MEMBER:
        return
    default = _world if group is None else group
    if default is None:
        raise AssertionError("Process group cannot be None")
    if default is _world:
        default.bring()
        mesh = default.mesh
        for made in list(_groups):
            made.shutdown()
        _groups.clear()
        _local.clear()
        if mesh is not None:
            mesh.close()
        _world, _count = None, 0
    elif default in _groups:
        default.bring()
        default.shutdown()
        _groups.discard(default)
    else:
        raise ValueError("Invalid process group specified or has been destroyed")


def default_group() -> ProcessGroup:
    """The default group; ValueError where there is none."""
    if _world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world


_get_default_group = default_group


def _rank_not_in_group(group: Any) -> bool:
    """Is this process outside the group that `new_group` gave it?"""
    return group is not None and group is GroupMember.NON_GROUP_MEMBER


def named_group(name: str) -> ProcessGroup:
    """The group of this name; RuntimeError where there is none, or no more."""
    for made in _groups:
        if made.group_name == name:
            return made
    raise RuntimeError(f"Could not resolve the process group registered under the name {name}")


def member(group: Any, api: str) -> ProcessGroup | None:
    """The group of a collective, by default the default one; None, with a warning, where this process is not in it."""
    if group is None:
        return default_group()
    if group == GroupMember.NON_GROUP_MEMBER:
        rank = default_group().world_rank
        warn(f"Running {api} on global rank {rank} which does not belong to the given group.")
        return None
    if group not in _groups:
        raise ValueError("Invalid process group specified or has been destroyed")
    return group


def new_group(
    ranks: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: Any = None,
) -> Any:
    """A group of some of the processes; `GroupMember.NON_GROUP_MEMBER` where this one is not among them.

    All processes of the default group call this, in the same order, also those that are not in the group; with
    `use_local_synchronization` only those that are. ValueError for ranks that there are not, or that come twice.
    """
    global _count
    default = default_group()
    size = default.size()
    chosen = list(range(size)) if ranks is None else [int(r) for r in ranks]
    if len(chosen) > size:
        raise ValueError(
            "the new group's world size should be less or equal to the world size set by init_process_group"
        )
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    for rank in chosen:
        if not 0 <= rank < size:
            raise ValueError(f"Rank {rank} is out of range. Valid ranks are 0 to {size - 1} (world_size={size})")
    chosen.sort()
    if use_local_synchronization:
        same = _local[tuple(chosen)] = _local.get(tuple(chosen), 0) + 1
        name = f"{chosen}:{same}"
    else:
        _count += 1
        name = str(_count)
    if default.world_rank not in chosen:
        _outside[:] = chosen
        return GroupMember.NON_GROUP_MEMBER
    made = ProcessGroup(
        Backend(_backend_name(backend, len(chosen)) if backend is not None else default.name()),
        name,
        chosen,
        default.world_rank,
        default.mesh,
        default.timeout if timeout is None else timeout,
        default.store,
        group_desc or "undefined",
    )
    made.asked = Backend(backend) if backend is not None else default.asked
    _groups.add(made)
    return made


def new_subgroups(
    group_size: int | None = None,
    group: Any = None,
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of `group_size` processes that follow one another: (this process's group, all of them)."""
    size = get_world_size()
    if group_size is None:
        raise ValueError("group_size must be given: jaxtorch does not count a machine's devices")
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by '{group_size=}'")
    parts = [list(range(k, k + group_size)) for k in range(0, size, group_size)]
    return new_subgroups_by_enumeration(parts, timeout, backend, pg_options, group_desc)


def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]],
    timeout: Any = None,
    backend: str | None = None,
    pg_options: Any = None,
    group_desc: str | None = None,
) -> tuple[Any, list[Any]]:
    """Groups of the processes that are listed: (this process's group, all of them). ValueError where one is in two."""
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    own, groups, seen = None, [], set[int]()
    for ranks in ranks_per_subgroup_list:
        made = new_group(list(ranks), timeout, backend, pg_options, group_desc=group_desc)
        groups.append(made)
        for rank in ranks:
            if rank in seen:
                raise ValueError(f"Rank {rank} has appeared in both subgroup and another")
            seen.add(rank)
            if rank == get_rank():
                own = made
    return own, groups


def get_rank(group: Any = None) -> int:
    """This process's number in the group, -1 where it is not in it. ValueError before `init_process_group`, and for a group
    that has been destroyed."""
    default = default_group()
    if group is None:
        return default.world_rank
    if group == GroupMember.NON_GROUP_MEMBER:
        return -1
    if group not in _groups:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")
    return group.rank()


def get_world_size(group: Any = None) -> int:
    """How many processes the group has, -1 where this one is not in it; ValueError before `init_process_group`."""
    default = default_group()
    if group is None:
        return default.size()
    return -1 if group == GroupMember.NON_GROUP_MEMBER else group.size()


def get_backend(group: Any = None) -> Backend:
    """The backend that the group was asked for, 'undefined' where none was."""
    if group == GroupMember.NON_GROUP_MEMBER:
        raise ValueError("Invalid process group specified")
    return Backend((group or default_group()).asked)


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The numbers, in the default group, of a group's processes."""
    default_group()
    return list(_ranks_of(group))


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the default group of a process of `group`; ValueError where there is none of this number."""
    ranks = _ranks_of(group)
    if not 0 <= group_rank < len(ranks):
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return ranks[group_rank]


def get_group_rank(group: Any, global_rank: int) -> int:
    """The number in `group` of a process of the default group; ValueError where it is not in it."""
    ranks = _ranks_of(group)
    if global_rank not in ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return ranks.index(global_rank)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """LOCAL_RANK of the environment, or `fallback_rank`; RuntimeError where there is neither."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")
    return int(fallback_rank)


def is_torchelastic_launched() -> bool:
    """Was the process started by torchrun?"""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_backend_available(backend: str) -> bool:
    """Can groups of several processes have this backend? 'gloo' they can; a group of one process takes every name."""
    return backend.lower() in (Backend.GLOO, Backend.UNDEFINED)


def is_gloo_available() -> bool:
    """True."""
    return True


def is_nccl_available() -> bool:
    """False: jaxtorch has no NCCL groups."""
    return False


def is_mpi_available() -> bool:
    """False."""
    return False


def is_ucc_available() -> bool:
    """False."""
    return False


def is_xccl_available() -> bool:
    """False."""
    return False


def done(result: Any, async_op: bool) -> Any:
    """What a collective of one process returns."""
    return Work(result) if async_op else None
