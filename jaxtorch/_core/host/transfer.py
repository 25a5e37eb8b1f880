"""From NumPy to the device, and back."""

from __future__ import annotations

import functools
import os
from operator import is_
from time import perf_counter
from typing import Any

import jax
import numpy as np
from jax._src.array import ArrayImpl
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax.core import ShapedArray

from ..compile.context import at_top
from ..tuning import CACHED, SPIN
from ..types.foreign_errors import of_a_run
from ..types.reference_counts import LISTED, counted


@functools.lru_cache(CACHED)
def _shaped(shape: tuple[int, ...], dtype: Any, weak: bool) -> Any:
    return ShapedArray(shape, dtype, weak_type=weak)


@functools.cache
def _sharding(device: Any) -> Any:
    return jax.device_put(np.zeros(()), device, may_alias=False).sharding


@functools.cache
def is_first(device: Any) -> bool:
    """Is it where JAX computes what is placed nowhere? On any other device arrays are committed to it."""
    return device == jax.devices()[0]


def on_cpu(array: np.ndarray[Any, Any], device: Any, weak: bool = False) -> Any:
    """A copy of a NumPy array as JAX's: `jax.device_put`, without the 30 us that it takes to find out what to do.

    weak: the type gives way to others, as that of a Python number does.
    """
    return at_top(_put, (array, device, weak))


def _put(given: tuple[np.ndarray[Any, Any], Any, bool]) -> Any:
    array, device, weak = given
    during_call = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    aval = _shaped(array.shape, array.dtype, weak)
    return xla_client.batched_device_put(
        aval, _sharding(device), [array], [device], not is_first(device), True, during_call
    )


def apart(results: list[Any]) -> list[Any]:
    """Results that stand here and on one other list, those on the host as dense memory that nothing else holds; there they stay
    until an XLA program reads them."""
    counts = list(counted(results))
    return [
        a.copy()
        if type(a) is np.ndarray and (count > LISTED + 1 or a.base is not None or not a.flags.c_contiguous)
        else a
        for a, count in zip(results, counts, strict=True)
    ]


_CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
PATIENCE = SPIN if _CORES != 1 else 0.0
"""Seconds for which an array that is not there yet is looked for before the thread sleeps: waking it takes some 50 us, more
than a small program."""


def fetched(array: Any) -> np.ndarray[Any, Any]:
    """What an array holds, once it has been computed."""
    ready = array.is_ready if type(array) is ArrayImpl else None  # pyright: ignore[reportAttributeAccessIssue]
    if ready is not None and not ready():
        end = perf_counter() + PATIENCE
        while perf_counter() < end and not ready():
            pass
    if ready is not None:
        waited(array)  # raises what went wrong, memory that ran out for one: NumPy would end the process
    return np.asarray(array)


def waited(array: Any) -> None:
    """Wait until an array has been computed; PyTorch's error where its program could not run to its end."""
    try:
        array.block_until_ready()
    except jax.errors.JaxRuntimeError as error:
        told = of_a_run(error, next(iter(array.devices())).platform)
        raise error if told is None else told from error


class Numbers:
    """The Python numbers of one kind among a program's inputs, as one vector; kept on the device while they stay the same."""

    __slots__ = ("dtype", "positions", "device", "numbers", "content", "array", "kept")

    def __init__(self, dtype: Any, positions: list[int], device: Any) -> None:
        self.dtype = dtype
        self.device = device
        self.positions = positions
        self.numbers: tuple[Any, ...] = ()
        self.content = b""
        self.array: Any = None
        self.kept = False

    def __call__(self, *numbers: Any) -> Any:
        """The vector of these numbers."""
        if not (self.kept and all(map(is_, numbers, self.numbers))):
            made = np.array(numbers, self.dtype)
            content = made.tobytes()
            if content != self.content:
                self.content, self.array, self.kept = content, made, False
                return made
            self.numbers, self.array, self.kept = numbers, on_cpu(made, self.device), True
        return self.array
