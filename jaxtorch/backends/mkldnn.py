"""`torch.backends.mkldnn`: switches that programs set. They are kept and change nothing: XLA computes in float32 on the CPU."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from .._core.types.warn_once import warn
from . import _flags

__all__ = ["deterministic", "enabled", "flags", "is_available"]

enabled: bool
deterministic: bool
fp32_precision: str
allow_tf32: bool | None
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2


class _Unheard(_flags.Flag):
    """A switch of Intel's GPUs: it takes a bool, and reads None where there are none."""

    def __set__(self, module: Any, value: Any) -> None:
        self.check(module, value)
        if value is not None:
            warn("TF32 acceleration on top of oneDNN is available for Intel GPUs. There are none here.")


def is_available() -> bool:
    """Always False: XLA brings its own kernels."""
    return False


def is_acl_available() -> bool:
    """Always False, see `is_available`."""
    return False


class verbose(contextlib.nullcontext[Any]):
    """Context in which oneDNN would say what it does: nothing does."""

    def __init__(self, level: int) -> None:
        super().__init__(self)
        self.level = level


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple[Any, ...]:  # fmt: skip
    """Set switches, and give what they were."""
    precision = None if _fp32_precision == "none" else _fp32_precision
    return _flags.set_flags(
        sys.modules[__name__], enabled=_enabled, deterministic=_deterministic, allow_tf32=_allow_tf32,
        fp32_precision=precision,
    )  # fmt: skip


@contextlib.contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool | None = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """Context in which the switches have other values."""
    if allow_tf32 is not None:
        sys.modules[__name__].allow_tf32 = allow_tf32  # pyright: ignore[reportAttributeAccessIssue] - for its error and warning
    given = {"enabled": enabled, "deterministic": deterministic}
    precision = None if fp32_precision == "none" else fp32_precision
    with _flags.changed(sys.modules[__name__], **given, fp32_precision=precision):
        yield


matmul, conv, rnn = (_flags.Operation("mkldnn", kind) for kind in ("matmul", "conv", "rnn"))
_flags.with_flags(
    __name__, enabled=_flags.Flag(True, "set_enabled_mkldnn"),
    deterministic=_flags.Flag(False, "set_deterministic_mkldnn"), allow_tf32=_Unheard(None, "_set_onednn_allow_tf32"),
    fp32_precision=_flags.Precision("generic"),
)  # fmt: skip
