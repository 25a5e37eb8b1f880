"""What programs on another device than JAX's first one, or on an accelerator, need besides.

Compiling takes longer there: the first run of a program, kernel by kernel, would spend seconds on kernels that NumPy runs at once
on the CPU (`cold.py`). So those not compiled yet are compiled side by side before the first of them runs.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax

from .context import caching, x64


def all_on(device: Any) -> dict[str, Any]:
    """Arguments of `jax.jit`: everything is on this device, host arrays and Python numbers are put there."""
    there = jax.sharding.SingleDeviceSharding(device)
    return {"in_shardings": there, "out_shardings": there}


def make_ready(kernels: list[Any], device: Any) -> None:
    """Compile those of these kernels that are not, in several threads: XLA does not hold Python's lock."""
    new = list({id(kernel): kernel for kernel in kernels if kernel.ready is None}.values())
    if len(new) < 2:
        return
    with jax.default_device(device):
        lowered = [_lowered(kernel, device) for kernel in new]
    with ThreadPoolExecutor(min(len(new), os.cpu_count() or 1)) as pool:
        for kernel, call in zip(new, pool.map(_compiled, lowered), strict=True):
            kernel.ready = call


def _lowered(kernel: Any, device: Any) -> Any:
    there = jax.sharding.SingleDeviceSharding(device)
    with x64():
        structs = [jax.ShapeDtypeStruct(a.shape, a.dtype.np, sharding=there) for a in kernel.in_avals]
        return kernel.alone.lower(*structs)


def _compiled(lowered: Any) -> Any:
    with x64(), caching():
        return lowered.compile()
