"""`torch.nn.attention`: which implementation of attention to use (jaxtorch has one), biases, `flex_attention`."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Iterator
from typing import Any

from ..._ops.nn import attention

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(enum.Enum):
    """PyTorch's implementations of scaled dot-product attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


def list_flash_attention_impls() -> list[str]:
    """The kernels of other packages that could be chosen: none, XLA makes them."""
    return []


def current_flash_attention_impl() -> str | None:
    """The kernel of another package that was chosen: None."""
    return None


def activate_flash_attention_impl(impl: str) -> None:
    """NotImplementedError: there are no kernels of other packages."""
    raise NotImplementedError(f"torch.nn.attention.activate_flash_attention_impl({impl!r}): XLA makes the kernels")


def restore_flash_attention_impl() -> None:
    """Nothing to do: no kernel of another package was chosen."""


_wanted: list[SDPBackend] = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.OVERRIDEABLE,
]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_wanted)


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Ask for certain implementations of attention. XLA compiles the one there is; on the CPU it is refused, as in PyTorch, where
    none that PyTorch has there is among them."""
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, Iterable) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances")
    before = list(_wanted)
    _want(list(dict.fromkeys(given)))
    try:
        yield {}
    finally:
        _want(before)


def _want(backends: list[SDPBackend]) -> None:
    _wanted[:] = backends
    attention.lacking[:] = [] if SDPBackend.MATH in backends or SDPBackend.FLASH_ATTENTION in backends else [True]


def __getattr__(name: str) -> Any:
    import importlib

    if name in ("bias", "flex_attention"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module 'torch.nn.attention' has no attribute '{name}': jaxtorch has no torch.nn.attention.{name} yet"
    )
