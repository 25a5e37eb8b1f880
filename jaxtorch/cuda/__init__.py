"""`torch.cuda`: the GPUs that JAX sees. XLA schedules their work, so streams order nothing, and memory is JAX's to manage."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

from .._core.random import generator as _random
from .._core.tensor.tensor import Tensor
from .._core.types.device import device as _device
from .._core.types.device import jax_devices as _jax_devices
from .._core.types.foreign_errors import OutOfMemoryError as OutOfMemoryError
from .._namespace import accelerators as _shared
from .._ops.creation.legacy_constructors import legacy_type as _legacy_type
from .._ops.types.casting import _LEGACY
from . import amp as amp
from .streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "AcceleratorError", "Event", "OutOfMemoryError", "Stream", "StreamContext", "current_device", "current_stream", "default_stream",
    "device", "device_count", "device_of", "empty_cache", "get_device_capability", "get_device_name", "get_device_properties",
    "get_rng_state", "get_rng_state_all", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported",
    "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info",
    "memory_allocated", "memory_reserved", "memory_stats", "seed", "seed_all", "set_device", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip


class AcceleratorError(RuntimeError):
    """What PyTorch raises where a device's runtime fails. For `except` clauses: nothing here raises it."""


AcceleratorError.__module__ = "torch"


# -- devices


def device_count() -> int:
    """How many GPUs JAX sees."""
    return len(_jax_devices("cuda"))


def is_available() -> bool:
    """Does JAX see a GPU?"""
    return device_count() > 0


def is_initialized() -> bool:
    """Is there a GPU that JAX has initialised?"""
    return is_available()


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Call it once there is an initialised GPU: now, or never."""
    if is_initialized():
        callable()


def init() -> None:
    """Nothing to do: JAX initialises the devices. RuntimeError where there is no GPU."""
    _shared.jax_device("cuda", 0)


def current_device() -> int:
    """The device that 'cuda' means: the first one."""
    init()
    return 0


def set_device(device: Any) -> None:
    """Accepts the first GPU. NotImplementedError for another: name it in `.to("cuda:1")` instead."""
    index = _shared.index_of(device)
    _shared.jax_device("cuda", index)
    if index:
        raise NotImplementedError(
            f"torch.cuda.set_device({index}): in jaxtorch 'cuda' is always the first GPU; name 'cuda:{index}'"
        )


class device:
    """Context in which a GPU is the current one. NotImplementedError for another than the first, as in `set_device`."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else _shared.index_of(device)

    def __enter__(self) -> None:
        if self.idx > 0:
            set_device(self.idx)

    def __exit__(self, *exc: Any) -> None:
        pass


class device_of(device):
    """Context in which the GPU of a tensor is the current one."""

    def __init__(self, obj: Any) -> None:
        super().__init__(obj.get_device() if isinstance(obj, Tensor) and obj.is_cuda else None)


def get_device_name(device: Any = None) -> str:
    """The name of a GPU."""
    return str(_shared.jax_device("cuda", _shared.index_of(device)).device_kind)


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Its compute capability, (major, minor)."""
    found = str(getattr(_shared.jax_device("cuda", _shared.index_of(device)), "compute_capability", "0.0"))
    major, _, minor = found.partition(".")
    return int(major), int(minor or 0)


class _DeviceProperties(NamedTuple):
    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int


def get_device_properties(device: Any = None) -> _DeviceProperties:
    """Name, compute capability, memory in bytes that JAX may take, and number of multiprocessors."""
    index = _shared.index_of(device)
    found = _shared.jax_device("cuda", index)
    total = _shared.free_and_total("cuda", index)[1]
    return _DeviceProperties(
        str(found.device_kind), *get_device_capability(index), total, int(getattr(found, "core_count", 0))
    )


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Is there a GPU? XLA computes in bfloat16 on every one."""
    return is_available()


def synchronize(device: Any = None) -> None:
    """Run what is pending on a GPU, and wait for it."""
    _shared.synchronize("cuda", _shared.index_of(device))


# -- memory


def memory_stats(device: Any = None) -> OrderedDict[str, int]:
    """JAX's memory statistics under PyTorch's names; empty without a GPU."""
    return _shared.memory_stats("cuda", _shared.index_of(device))


def memory_allocated(device: Any = None) -> int:
    """Bytes in use; 0 without a GPU."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes in use so far. Unlike in PyTorch it cannot be reset."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Any = None) -> int:
    """Bytes that JAX's allocator holds."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that JAX's allocator has held."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Bytes that JAX may still take of a GPU's memory, and all that it may take."""
    return _shared.free_and_total("cuda", _shared.index_of(device))


def empty_cache() -> None:
    """Nothing to do: JAX's allocator keeps the memory it has taken from the system."""


def ipc_collect() -> None:
    """Nothing to do: memory is not shared between processes."""


# -- random numbers


def _generators() -> list[_random.Generator]:
    return [_random.generator_of(_device("cuda", i).slot) for i in range(device_count())]


def manual_seed(seed: int) -> None:
    """Seed the generator of the current GPU; nothing happens without one."""
    if is_available():
        _generators()[0].manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all GPUs."""
    for generator in _generators():
        generator.manual_seed(int(seed))


def seed() -> None:
    """Seed the generator of the current GPU from the system's randomness."""
    if is_available():
        _generators()[0].seed()


def seed_all() -> None:
    """Seed the generators of all GPUs alike, from the system's randomness."""
    found = _generators()
    for generator in found:
        generator.manual_seed(found[0].seed() if generator is found[0] else found[0].initial_seed())


def initial_seed() -> int:
    """The seed of the current GPU's generator."""
    init()
    return _generators()[0].initial_seed()


def get_rng_state(device: Any = "cuda") -> Tensor:
    """The state of a GPU's generator. Its format is jaxtorch's own."""
    index = _shared.index_of(device)
    _shared.jax_device("cuda", index)
    return _generators()[index].get_state()


def get_rng_state_all() -> list[Tensor]:
    """The states of all GPUs' generators."""
    return [generator.get_state() for generator in _generators()]


def set_rng_state(new_state: Tensor, device: Any = "cuda") -> None:
    """Set the state of a GPU's generator."""
    index = _shared.index_of(device)
    _shared.jax_device("cuda", index)
    _generators()[index].set_state(new_state)


def set_rng_state_all(new_states: Iterable[Tensor]) -> None:
    """Set the states of all GPUs' generators."""
    for generator, state in zip(_generators(), new_states, strict=False):
        generator.set_state(state)


def __getattr__(name: str) -> Any:
    """The rarer names, the old tensor types and the submodules, imported when they are asked for."""
    import importlib
    import importlib.util

    if name == "_initialized":  # libraries ask for it before they keep the state of random generators
        return is_initialized()
    if name.startswith("_"):
        raise AttributeError(name)
    if importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    more = importlib.import_module(f"{__name__}._more")
    if name in more._EXPORTED:
        return getattr(more, name)
    if name == "default_generators":
        return tuple(_generators())
    dtype = next((d for d, n in _LEGACY.items() if n == name and not d.is_complex), None)
    if dtype is not None:
        return _legacy_type(name, dtype, "cuda")
    raise AttributeError(f"module 'torch.cuda' has no attribute '{name}': jaxtorch has no torch.cuda.{name} yet")
