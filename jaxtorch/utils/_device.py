"""`torch.utils._device`: where factory functions put tensors when no device is named, as a mode or a decorator."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from .._core.types.device import device as _device
from ..overrides import TorchFunctionMode

__all__ = ["DeviceContext", "_device_constructors", "device_decorator", "set_device"]

_CONSTRUCTORS = (
    "empty", "empty_permuted", "empty_strided", "ones", "arange", "bartlett_window", "blackman_window", "eye", "full",
    "hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "rand", "randn", "randint", "randperm", "range",
    "sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor", "sparse_csc_tensor", "sparse_bsr_tensor",
    "sparse_bsc_tensor", "tril_indices", "triu_indices", "zeros", "asarray", "tensor", "as_tensor", "scalar_tensor",
)  # fmt: skip


@functools.cache
def _device_constructors() -> set[Any]:
    """The functions that heed a default device."""
    torch = importlib.import_module(__name__.partition(".")[0])
    found = {getattr(torch, name) for name in _CONSTRUCTORS}
    return found | {torch.fft.fftfreq, torch.fft.rfftfreq, torch.nested.nested_tensor}


class DeviceContext(TorchFunctionMode):
    """What `with torch.device(...)` is in PyTorch; here it sets the default device, and sees no function."""

    def __init__(self, device: Any) -> None:
        self.device = _device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.device.__exit__(exc_type, exc_val, exc_tb)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The function, on the mode's device where it makes a tensor and names none."""
        kwargs = dict(kwargs or {})
        if func in _device_constructors() and kwargs.get("device") is None:
            kwargs["device"] = self.device
        return func(*args, **kwargs)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` under a device's context."""

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        with device:
            return func(*args, **kwargs)

    return called


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: the function's new tensors are on `device`."""
    return functools.partial(device_decorator, _device(device))
