"""What autocast is set to, of each thread its own, and the functions of the torch namespace that read and change it."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from .._core.define.signature import need_kind
from .._core.dispatch import torch_dispatch
from .._core.dispatch.autocast import set_casts
from .._core.types import dtypes
from .._core.types.grad_mode import carried

_HALF = ("cuda", "mps", "xpu", "mtia", "maia", "privateuseone")
_BRAIN = ("cpu", "hpu", "xla", "ipu", "tpu")
KINDS = _HALF + _BRAIN
_ALL = """cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia,
privateuseone""".replace("\n", " ")


class _Settings(threading.local):
    def __init__(self) -> None:
        self.enabled: set[str] = set()
        self.types: dict[str, dtypes.dtype] = dict.fromkeys(_HALF, dtypes.float16)
        self.types |= dict.fromkeys(_BRAIN, dtypes.bfloat16)
        self.cache = True
        self.nesting = 0

    def apply(self) -> None:
        """Tell the engine."""
        torch_dispatch.state.keeps_casts = self.cache
        set_casts(tuple(sorted(((k, self.types[k]) for k in self.enabled), key=lambda p: p[0])) or None)


settings = _Settings()
carried.append(settings)


def known(kind: Any) -> str:
    """A kind of device that autocast knows; RuntimeError for others."""
    name = str(kind).partition(":")[0]
    if name not in [k.strip() for k in _ALL.split(",")] + ["tpu"]:
        raise RuntimeError(f"Expected one of {_ALL} device type at start of device string: {name}")
    if name not in KINDS:
        raise RuntimeError(f"unsupported scalarType: there is no autocast for device type {name}")
    return name


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Is autocast on, in this thread, for a kind of device?"""
    return known(device_type) in settings.enabled


def set_autocast_enabled(*args: Any) -> None:
    """(device_type, enabled), or (enabled) for 'cuda'."""
    kind, enabled = args if len(args) == 2 else ("cuda", args[0])
    need_kind("set_autocast_enabled", "enabled", "bool", enabled)
    (settings.enabled.add if enabled else settings.enabled.discard)(known(kind))
    settings.apply()


def get_autocast_dtype(device_type: str) -> dtypes.dtype:
    """The type that autocast computes in on a kind of device."""
    return settings.types[known(device_type)]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the type that autocast computes in on a kind of device."""
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    settings.types[known(device_type)] = dtype
    settings.apply()


def is_autocast_cache_enabled() -> bool:
    """What `cache_enabled` is set to. It changes nothing: XLA converts a weight once in a program."""
    return settings.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set what `is_autocast_cache_enabled` says."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    settings.cache = enabled


def clear_autocast_cache() -> None:
    """Forget what was cast for modes with a `__torch_dispatch__`; there is no cache of casts beside that and XLA's sharing."""
    torch_dispatch.state.kept_casts.clear()


def autocast_increment_nesting() -> int:
    """Count a region that is entered."""
    settings.nesting += 1
    return settings.nesting


def autocast_decrement_nesting() -> int:
    """Count a region that is left."""
    settings.nesting -= 1
    if not settings.nesting:
        torch_dispatch.state.kept_casts.clear()
    return settings.nesting


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(
        f"torch.{name}() is deprecated. Please use torch.{instead} instead.", DeprecationWarning, stacklevel=3
    )


def _getters(kind: str, short: str) -> dict[str, Any]:
    def is_enabled() -> bool:
        _deprecated(f"is_autocast_{short}_enabled", f"is_autocast_enabled('{kind}')")
        return is_autocast_enabled(kind)

    def set_enabled(enabled: bool) -> None:
        _deprecated(f"set_autocast_{short}_enabled", f"set_autocast_enabled('{kind}', enabled)")
        set_autocast_enabled(kind, enabled)

    def get_dtype() -> dtypes.dtype:
        _deprecated(f"get_autocast_{short}_dtype", f"get_autocast_dtype('{kind}')")
        return get_autocast_dtype(kind)

    def set_dtype(dtype: Any) -> None:
        _deprecated(f"set_autocast_{short}_dtype", f"set_autocast_dtype('{kind}', dtype)")
        set_autocast_dtype(kind, dtype)

    found = {f"get_autocast_{short}_dtype": get_dtype, f"set_autocast_{short}_dtype": set_dtype}
    if short != "gpu":
        found |= {f"is_autocast_{short}_enabled": is_enabled, f"set_autocast_{short}_enabled": set_enabled}
    for name, fn in found.items():
        fn.__name__ = fn.__qualname__ = name
        fn.__doc__ = f"Deprecated: `{name.replace(f'_{short}', '')}` with '{kind}'."
    return found


_OLD = _getters("cpu", "cpu") | _getters("cuda", "gpu") | _getters("xla", "xla") | _getters("ipu", "ipu")
FUNCTIONS = _OLD | {
    fn.__name__: fn
    for fn in (
        is_autocast_enabled, set_autocast_enabled, get_autocast_dtype, set_autocast_dtype, is_autocast_cache_enabled,
        set_autocast_cache_enabled, clear_autocast_cache, autocast_increment_nesting, autocast_decrement_nesting,
    )
}  # fmt: skip
