"""What `torch.cuda` and `torch.accelerator` share: which devices JAX sees, waiting for them, and their memory."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .._core.record import deferred_errors
from .._core.record.program import flush_device
from .._core.types.device import _slots, device, jax_devices


def index_of(d: Any, kind: str = "cuda") -> int:
    """The index that a device argument (None, a number, a name or a device) means."""
    if d is None:
        return 0
    if isinstance(d, int):
        return 0 if d < 0 else d
    found = device(d)
    if found.type != kind:
        raise ValueError(f"Expected a {kind} device, but got: {found}")
    return found.index or 0


def jax_device(kind: str, index: int) -> Any:
    """JAX's device; RuntimeError where there is none."""
    return device(kind, index).slot.jax


def synchronize(kind: str, index: int) -> None:
    """Run what is pending on a device, wait for it, and raise what it has flagged."""
    import jax

    jax_device(kind, index)
    slot = _slots.get(f"{kind}:{index}")
    if slot is not None:
        flush_device(slot)
        # Programs of one device run in order: the end of a new one is the end of all before it.
        jax.jit(_next)(jax.device_put(0, slot.jax)).block_until_ready()
    deferred_errors.raise_pending()


def _next(x: Any) -> Any:
    return x + 1


def memory(kind: str, index: int) -> dict[str, int]:
    """JAX's statistics of the device's memory; empty where it keeps none."""
    if index >= len(jax_devices(kind)):
        return {}
    return jax_device(kind, index).memory_stats() or {}


def memory_stats(kind: str, index: int) -> OrderedDict[str, int]:
    """The statistics under PyTorch's names, as far as JAX has them."""
    found = memory(kind, index)
    if not found:
        return OrderedDict()
    used, peak = found.get("bytes_in_use", 0), found.get("peak_bytes_in_use", 0)
    pool, pool_peak = found.get("pool_bytes", used), found.get("peak_pool_bytes", peak)
    return OrderedDict(
        {
            "allocated_bytes.all.current": used,
            "allocated_bytes.all.peak": peak,
            "num_alloc_retries": 0,
            "num_ooms": 0,
            "reserved_bytes.all.current": pool,
            "reserved_bytes.all.peak": pool_peak,
        }
    )


def free_and_total(kind: str, index: int) -> tuple[int, int]:
    """Bytes that JAX may still take, and all bytes it may take, of the device's memory."""
    jax_device(kind, index)
    found = memory(kind, index)
    total = found.get("bytes_limit", 0)
    return total - found.get("bytes_in_use", 0), total
