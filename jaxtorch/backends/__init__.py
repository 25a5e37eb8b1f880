"""`torch.backends`: which libraries there are, and their switches. XLA takes the decisions that most of them stand for."""

from __future__ import annotations

import sys as _sys
from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager
from typing import Any as _Any

from . import (
    _flags,
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    python_native,
    quantized,
    xnnpack,
)

__all__ = [
    "cpu", "cuda", "cudnn", "cusparselt", "disable_global_flags", "flags", "flags_frozen", "fp32_precision", "kleidiai",
    "mha", "miopen", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "python_native", "quantized", "set_flags", "xnnpack",
]  # fmt: skip


def flags_frozen() -> bool:
    """Has `disable_global_flags` been called, outside of a context that lifts it?"""
    return _flags.Frozen.on


def disable_global_flags() -> None:
    """From now on only the functions `flags()` set switches: assignments are RuntimeErrors."""
    _flags.Frozen.on = True


def set_flags(_fp32_precision: str = "none") -> tuple[str]:
    """Set the precision of all backends, and give what it was."""
    module: _Any = _sys.modules[__name__]
    before = module.fp32_precision
    if _fp32_precision is not None:
        module.fp32_precision = _fp32_precision
    return (before,)


@_contextmanager
def flags(fp32_precision: str = "none") -> _Iterator[None]:
    """Context in which the precision of all backends is another."""
    with _flags.changed(_sys.modules[__name__], fp32_precision=fp32_precision):
        yield


@_contextmanager
def __allow_nonbracketed_mutation() -> _Iterator[None]:
    """Context in which the switches may be set, frozen or not."""
    with _flags.bracketed():
        yield


fp32_precision: str
_flags.with_flags(__name__, fp32_precision=_flags.Precision("generic"))
