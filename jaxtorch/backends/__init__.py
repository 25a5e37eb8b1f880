"""`torch.backends`: which libraries there are, and their switches. XLA takes the decisions that most of them stand for."""

from __future__ import annotations

from collections.abc import Iterator as _Iterator
from contextlib import contextmanager as _contextmanager

from . import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]


def flags_frozen() -> bool:
    """False: the switches may always be set."""
    return False


@_contextmanager
def __allow_nonbracketed_mutation() -> _Iterator[None]:
    """Context in which the switches may be set; so they may outside of it."""
    yield
