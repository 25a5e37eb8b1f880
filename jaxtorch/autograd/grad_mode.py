"""`torch.autograd.grad_mode`."""

from __future__ import annotations

from typing import Any

from .._core.define.signature import need_kind
from .._core.types.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


class enforce_grad_layout_policy:
    """Accepted for PyTorch's sake, at once or as a context: a `.grad` has the strides of its tensor or is contiguous, either way."""

    def __init__(self, enable: bool = True) -> None:
        self.enable = bool(enable)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


class set_multithreading_enabled:
    """Keeps the setting, at once or as a context, and changes nothing: a backward pass runs in one thread of Python here."""

    now = True

    def __init__(self, mode: bool) -> None:
        self.prev = set_multithreading_enabled.now
        need_kind("set_multithreading_enabled", "enabled", "bool", mode)
        self.mode = set_multithreading_enabled.now = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        set_multithreading_enabled.now = self.prev
