"""The rarer names of `torch.cuda`: statistics that JAX does not keep, NVIDIA's tools, and graphs of kernels."""

from __future__ import annotations

from typing import Any

from .._core.types.device import jax_devices as _jax_devices
from .._core.types.warn_once import warn
from .._namespace import accelerators as _shared
from .streams import Stream


class CudaError(RuntimeError):
    """An error of the CUDA runtime, by its number; JAX raises its own."""

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA error {code}")


class DeferredCudaCallError(Exception):
    """An error while CUDA is initialised; JAX initialises it."""


class ExternalStream(Stream):
    """A stream of another library; streams order nothing here."""


def is_current_stream_capturing() -> bool:
    """False: there are no graphs of kernels."""
    return False


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Can a GPU read another's memory? XLA copies instead: False."""
    _shared.jax_device("cuda", _shared.index_of(device))
    _shared.jax_device("cuda", _shared.index_of(peer_device))
    return False


def get_arch_list() -> list[str]:
    """Nothing is compiled ahead of time: XLA compiles for the GPU there is."""
    return []


def get_gencode_flags() -> str:
    """No flags: nothing is compiled ahead of time."""
    return ""


def is_tf32_supported() -> bool:
    """Has the GPU TensorFloat-32?"""
    from . import get_device_capability, is_available

    return is_available() and get_device_capability()[0] >= 8


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """JAX's memory statistics as text."""
    from . import memory_stats

    return "\n".join(f"{name}: {value}" for name, value in memory_stats(device).items())


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing is reset: JAX keeps the peak of the whole process."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    warn("`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`", FutureWarning)
    from . import max_memory_reserved

    return max_memory_reserved(device)


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    warn("`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`", FutureWarning)
    from . import memory_reserved

    return memory_reserved(device)


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """NotImplementedError: set XLA_PYTHON_CLIENT_MEM_FRACTION before the program starts."""
    raise NotImplementedError(
        "torch.cuda.set_per_process_memory_fraction: JAX takes memory when it starts; set XLA_PYTHON_CLIENT_MEM_FRACTION"
    )


def get_sync_debug_mode() -> int:
    """0: nothing warns about waiting."""
    return 0


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Accepted: nothing warns about waiting."""


_EXPORTED = (
    "CudaError DeferredCudaCallError ExternalStream can_device_access_peer check_error get_arch_list "
    "get_gencode_flags "
    "get_sync_debug_mode is_current_stream_capturing is_tf32_supported max_memory_cached "
    "memory_cached memory_summary reset_accumulated_memory_stats reset_max_memory_allocated reset_max_memory_cached "
    "reset_peak_memory_stats set_per_process_memory_fraction set_sync_debug_mode"
).split()


def check_error(res: int) -> None:
    """CudaError where a number that CUDA has returned is not 0. AttributeError without CUDA, as in PyTorch."""
    if not _jax_devices("cuda"):
        raise AttributeError("'NoneType' object has no attribute 'cudaError'")
    if int(res) != 0:
        raise CudaError(int(res))
