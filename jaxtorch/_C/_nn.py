"""`torch._C._nn`: the functions of `torch.nn.functional` under another address."""

from __future__ import annotations

from typing import Any

from ..nn import functional as _functional


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `Module.to` mean: device, dtype, non_blocking, memory format."""
    from .._core.device import device as _device
    from .._core.dtypes import dtype as _dtype
    from .._core.tensor import Tensor

    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    rest = list(args)
    while rest:
        item = rest.pop(0)
        if isinstance(item, Tensor):
            device, dtype = item.device, item.dtype
        elif isinstance(item, _dtype):
            dtype = item
        elif isinstance(item, bool):
            kwargs["non_blocking"] = item
            break
        elif item is not None:
            device = item
    found = None if device is None else _device(device)
    return found, dtype, bool(kwargs.get("non_blocking", False)), kwargs.get("memory_format")


def __getattr__(name: str) -> Any:
    name = "logsigmoid" if name == "log_sigmoid" else name
    if name.startswith("__") or not hasattr(_functional, name):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return getattr(_functional, name)
