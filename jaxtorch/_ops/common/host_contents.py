"""What a tensor holds, as a NumPy array: for what reads tensors on the host."""

from __future__ import annotations

import numpy as np

from ..._core.record import deferred_errors
from ..._core.run import capture
from ..._core.run.runner import ArrayImpl, concrete_array
from ..._core.tensor.numpy_sharing import _window
from ..._core.tensor.tensor import Tensor
from ..._core.transforms import forward_mode
from ..._core.types.device import cpu
from ..._core.types.grad_mode import watch

_ndarray = np.ndarray


def host_content(t: Tensor) -> np.ndarray | None:
    """The content as a NumPy array to be read at once; None where it is yet to be computed or elsewhere."""
    if capture.active is not None:
        return None
    alias = t._alias
    if alias is None:
        value = t._value
    elif alias.storage.host is not None and alias.storage.host.shared():
        return _window(alias.storage.host, t)
    else:
        value = alias.read(t)
    if watch and forward_mode.is_dual(value):
        return None  # read on the host it would lose its tangent
    if not deferred_errors.clean:
        deferred_errors.raise_failure_of(value)
    array = value.array
    if type(array) is _ndarray:
        return array
    if type(array) is ArrayImpl and value.aval.slot is cpu.slot:
        value.owned = False  # NumPy sees the buffer from now on
        return np.asarray(array)
    return None


def content_of(t: Tensor) -> np.ndarray:
    """The content as a NumPy array, computed now where it is yet to be."""
    found = host_content(t)
    return concrete_array(t._array()) if found is None else found
