"""A stand-in for a GPU: JAX's second CPU device, by the name of 'cuda'. Import it first, with
`XLA_FLAGS=--xla_force_host_platform_device_count=2`; then programs that use 'cuda' run, and everything is where they put it."""

from __future__ import annotations

from typing import Any

import jax

from jaxtorch._core.tensor import tensor
from jaxtorch._core.types import device

_found, _slot_of = jax.local_devices, tensor._slot_of


def _devices(*args: Any, backend: Any = None, **kwargs: Any) -> list[Any]:
    return jax.devices("cpu")[1:] if backend == "gpu" else _found(*args, backend=backend, **kwargs)


def _slot(array: Any) -> Any:
    try:
        where = next(iter(array.devices()))
    except Exception:  # a tracer: what is within it is asked for
        return _slot_of(array)
    return device.device("cuda", 0).slot if where.id == 1 else _slot_of(array)


jax.local_devices, tensor._slot_of = _devices, _slot
