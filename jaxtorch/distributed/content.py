"""Between tensors and messages: a tensor's content as an array, and arrays put into tensors in place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.host.transfer import fetched
from .._core.record import deferred_errors
from .._core.run import capture
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import no_grad
from .._core.types.value import Value

Array = np.ndarray[Any, Any]


def content(t: Tensor, keep: bool = False) -> Array:
    """What a tensor holds now; everything that leads to it runs. keep: as a copy, which later writes leave alone."""
    capture.break_capture("it communicates with other processes")
    array = fetched(t._array())
    deferred_errors.raise_pending()
    return np.array(array) if keep else np.asarray(array)


def put(t: Tensor, array: Array) -> None:
    """Write an array, which nobody writes to any more, into a tensor. As in PyTorch, autograd does not see it."""
    with no_grad():
        t._write_uncounted(Value(t._value.aval, array.reshape(t._value.aval.shape)))


def put_all(tensors: Sequence[Tensor], arrays: Sequence[Array]) -> None:
    """Write arrays into tensors."""
    for t, array in zip(tensors, arrays, strict=True):
        put(t, array)


def like(t: Tensor) -> Array:
    """An array of the tensor's shape and type, for messages that will be put into it; it holds nothing."""
    aval = t._value.aval
    return np.broadcast_to(np.empty((), aval.dtype.np), aval.shape)
