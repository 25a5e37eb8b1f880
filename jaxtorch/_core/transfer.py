"""From NumPy to the device."""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax.core import ShapedArray

from .context import at_top


@functools.lru_cache(4096)
def _shaped(shape: tuple[int, ...], dtype: Any) -> Any:
    return ShapedArray(shape, dtype)


@functools.cache
def _sharding(device: Any) -> Any:
    return jax.device_put(np.zeros(()), device, may_alias=False).sharding


def on_cpu(array: np.ndarray[Any, Any], device: Any) -> Any:
    """A copy of a NumPy array as JAX's: `jax.device_put`, without the 30 us that it takes to find out what to do."""
    return at_top(_put, (array, device))


def _put(given: tuple[np.ndarray[Any, Any], Any]) -> Any:
    array, device = given
    during_call = xla_client.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
    aval = _shaped(array.shape, array.dtype)
    return xla_client.batched_device_put(aval, _sharding(device), [array], [device], False, True, during_call)
