"""`torch.utils._python_dispatch`: `__torch_dispatch__`, which jaxtorch does not have."""

from __future__ import annotations

from typing import Any

from .._absent import absent_class as _absent_class

TorchDispatchMode: Any = _absent_class(
    "torch.utils._python_dispatch.TorchDispatchMode",
    "jaxtorch has no __torch_dispatch__; torch.overrides.TorchFunctionMode sees every function that is called",
)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Is it a tensor that is made of others? There are none."""
    return False


def is_traceable_wrapper_subclass_type(t: Any) -> bool:
    """Is it a class of such tensors? There are none."""
    return False
