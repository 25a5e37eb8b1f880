"""`torch.backends.cudnn`: switches that programs set. Only the precision of convolutions on GPUs (`allow_tf32`, `fp32_precision`)
changes something: XLA chooses the algorithms."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from .._namespace import precision as _precision
from . import _flags

__all__ = ["allow_tf32", "benchmark", "benchmark_limit", "deterministic", "enabled", "flags", "is_available", "version"]

enabled: bool
benchmark: bool
benchmark_limit: int | None
deterministic: bool
allow_tf32: bool
fp32_precision: str


def is_available() -> bool:
    """Always False: programs have no need to know whether XLA uses cuDNN."""
    return False


def version() -> int | None:
    """Always None, see `is_available`."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Always False, see `is_available`."""
    return False


def set_flags(
    _enabled: bool | None = None, _benchmark: bool | None = None, _benchmark_limit: int | None = None,
    _deterministic: bool | None = None, _allow_tf32: bool | None = None, _fp32_precision: str = "none",
) -> tuple[Any, ...]:  # fmt: skip
    """Set switches, and give what they were."""
    return _flags.set_flags(
        sys.modules[__name__], enabled=_enabled, benchmark=_benchmark, benchmark_limit=_benchmark_limit,
        deterministic=_deterministic, allow_tf32=_allow_tf32, fp32_precision=_given(_fp32_precision),
    )  # fmt: skip


def _given(precision: str) -> str | None:
    return None if precision == "none" else precision


@contextlib.contextmanager
def flags(
    enabled: bool = False, benchmark: bool = False, benchmark_limit: int | None = 10, deterministic: bool = False,
    allow_tf32: bool = True, fp32_precision: str = "none", depthwise_kernel: str = "auto",
) -> Iterator[None]:  # fmt: skip
    """Context in which the switches have other values. `depthwise_kernel` changes nothing."""
    given = {"enabled": enabled, "benchmark": benchmark, "deterministic": deterministic, "allow_tf32": allow_tf32}
    precision = _given(fp32_precision)
    with _flags.changed(sys.modules[__name__], **given, benchmark_limit=benchmark_limit, fp32_precision=precision):
        yield


class _AllowTF32(_flags.Flag):
    """May GPUs compute float32 convolutions in TF32? True, as in PyTorch."""

    def __get__(self, module: Any, owner: type | None = None) -> Any:
        return _precision.convolutions_in_tf32()

    def __set__(self, module: Any, value: Any) -> None:
        self.check(module, value)
        _precision.set_convolutions_in_tf32(value)


conv = _flags.Operation("cuda", "conv")
rnn = _flags.Operation("cuda", "rnn")
_flags.with_flags(
    __name__, enabled=_flags.Flag(True, "set_enabled_cudnn"), benchmark=_flags.Flag(False, "set_benchmark_cudnn"),
    benchmark_limit=_flags.Flag(None), deterministic=_flags.Flag(False, "set_deterministic_cudnn"),
    allow_tf32=_AllowTF32(True, "set_allow_tf32_cudnn"), fp32_precision=_flags.Precision("cuda"),
)  # fmt: skip
