"""The process group of one process, its stores and its names."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from ..futures import Future

default_pg_timeout = timedelta(minutes=30)


class DistError(RuntimeError):
    """An error of `torch.distributed`."""


class DistBackendError(DistError):
    """An error of a backend."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistStoreError(DistError):
    """An error of a store."""


class Backend(str):
    """The name of a backend, in lower case. ValueError for one that PyTorch does not know."""

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


class _ReduceKind:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {ReduceOp._NAMES.index(self.name)}>"


class ReduceOp:
    """How the tensors of a group's processes become one."""

    _NAMES = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "PREMUL_SUM")
    RedOpType = _ReduceKind
    SUM = _ReduceKind("SUM")
    AVG = _ReduceKind("AVG")
    PRODUCT = _ReduceKind("PRODUCT")
    MIN = _ReduceKind("MIN")
    MAX = _ReduceKind("MAX")
    BAND = _ReduceKind("BAND")
    BOR = _ReduceKind("BOR")
    BXOR = _ReduceKind("BXOR")
    PREMUL_SUM = _ReduceKind("PREMUL_SUM")


class Work:
    """A collective that has been done."""

    def __init__(self, result: Any = None) -> None:
        self._result = result

    def wait(self, timeout: Any = None) -> bool:
        """True: it is done."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    def is_success(self) -> bool:
        """True."""
        return True

    def result(self) -> Any:
        """The tensors it gave."""
        return self._result

    def get_future(self) -> Future[Any]:
        """A future that has the tensors."""
        made: Future[Any] = Future()
        made.set_result(self._result)
        return made


class Store:
    """Keys and values that the processes of a group share: here, a dictionary."""

    def __init__(self) -> None:
        self._items: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def set(self, key: str, value: Any) -> None:
        """Store a value, text or bytes."""
        with self._lock:
            self._items[key] = value if isinstance(value, bytes) else str(value).encode()

    def get(self, key: str) -> bytes:
        """A value; DistStoreError where nobody has set it, as nobody else can."""
        if key not in self._items:
            raise DistStoreError(f"Store.get(): key {key!r} has not been set")
        return self._items[key]

    def add(self, key: str, amount: int) -> int:
        """Add to a counter; the new count."""
        with self._lock:
            count = int(self._items.get(key, b"0")) + amount
            self._items[key] = str(count).encode()
        return count

    def check(self, keys: list[str]) -> bool:
        """Are all the keys set?"""
        return all(key in self._items for key in keys)

    def wait(self, keys: list[str], timeout: Any = None) -> None:
        """DistStoreError where a key is not set."""
        for key in keys:
            self.get(key)

    def delete_key(self, key: str) -> bool:
        """Remove a key; was it there?"""
        return self._items.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._items)

    def set_timeout(self, timeout: Any) -> None:
        """Nothing to do: nothing waits."""


class HashStore(Store):
    """A store in memory."""


class TCPStore(Store):
    """A store that processes reach over the network; here one for this process alone."""

    def __init__(
        self, host_name: str = "localhost", port: int = 0, world_size: int | None = None, *args: Any, **kwargs: Any
    ) -> None:
        super().__init__()
        _refuse_more("torch.distributed.TCPStore", world_size or 1)
        self.host, self.port = host_name, port


class FileStore(Store):
    """A store in a file; here in memory, for this process alone."""

    def __init__(self, file_name: str = "", world_size: int = -1) -> None:
        super().__init__()
        _refuse_more("torch.distributed.FileStore", world_size)
        self.path = file_name


class PrefixStore(Store):
    """A part of another store."""

    def __init__(self, prefix: str, store: Store) -> None:
        super().__init__()
        self.underlying_store = store


class ProcessGroup:
    """A group of processes: this one."""

    def __init__(self, backend: str = "gloo", name: str = "default_pg") -> None:
        self._backend = backend
        self.group_name = name
        self.bound_device_id = None

    def rank(self) -> int:
        """0: the only process."""
        return 0

    def size(self) -> int:
        """1."""
        return 1

    def name(self) -> str:
        """The name of the backend."""
        return self._backend


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
_count = 0


def _refuse_more(api: str, world_size: int) -> None:
    if world_size > 1:
        raise NotImplementedError(
            f"{api}: world_size is {world_size}, but jaxtorch has process groups of one process only"
        )


def is_available() -> bool:
    """True: programs for several processes run with one."""
    return True


def is_initialized() -> bool:
    """Has `init_process_group` been called?"""
    return _world is not None


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
    """Make the default group, of this process alone.

    world_size, rank: by default those of the environment (WORLD_SIZE, RANK), else 1 and 0. NotImplementedError for more
    than one process; ValueError when there is a default group already.
    """
    global _world
    if _world is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if world_size == -1:
        world_size = int(os.environ.get("WORLD_SIZE", "1"))
    if rank == -1:
        rank = int(os.environ.get("RANK", "0"))
    _refuse_more("torch.distributed.init_process_group", world_size)
    if rank != 0:
        raise ValueError(f"init_process_group(): rank is {rank}, expected 0 with a world_size of 1")
    name = "gloo" if backend is None else str(backend).split(",")[0].split(":")[-1]
    _world = ProcessGroup(Backend(name))


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group, by default the default one."""
    global _world
    if group is None or group is _world:
        default_group()
        _world = None


def default_group() -> ProcessGroup:
    """The default group; ValueError where there is none."""
    if _world is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return _world


_get_default_group = default_group


def new_group(ranks: Any = None, timeout: Any = None, backend: str | None = None, *args: Any, **kwargs: Any) -> Any:
    """Another group with this process in it; `GroupMember.NON_GROUP_MEMBER` where `ranks` leave it out."""
    global _count
    default = default_group()
    if ranks is not None and list(ranks) != [0]:
        if any(r != 0 for r in ranks):
            raise ValueError("the new group's rank should be within the world_size set by init_process_group")
        return GroupMember.NON_GROUP_MEMBER
    _count += 1
    return ProcessGroup(backend or default.name(), f"group_{_count}")


def get_rank(group: Any = None) -> int:
    """0; ValueError before `init_process_group`."""
    default_group()
    return 0


def get_world_size(group: Any = None) -> int:
    """1; ValueError before `init_process_group`."""
    default_group()
    return 1


def get_backend(group: Any = None) -> Backend:
    """The backend that `init_process_group` was given, by default 'gloo'. Nothing depends on it."""
    return Backend((group or default_group()).name())


def get_process_group_ranks(group: Any = None) -> list[int]:
    """The ranks of a group's processes."""
    default_group()
    return [0]


def get_global_rank(group: Any, group_rank: int) -> int:
    """The rank in the default group of a process of `group`."""
    return group_rank


def get_group_rank(group: Any, global_rank: int) -> int:
    """The rank in `group` of a process of the default group."""
    return global_rank


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
    """Can a group have this backend? All names are taken, for one process."""
    return backend.lower() in Backend.backend_list


def is_gloo_available() -> bool:
    """True: the name is accepted."""
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


def supports_complex(reduceOp: Any) -> bool:
    """Can complex tensors be reduced so?"""
    return reduceOp not in (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)


def done(result: Any, async_op: bool) -> Any:
    """What a collective returns."""
    return Work(result) if async_op else None


Collective = Callable[..., Any]
