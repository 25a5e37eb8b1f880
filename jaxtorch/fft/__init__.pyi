# Made by scripts/make_stub.py; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportRedeclaration=false
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from typing_extensions import TypeIs

from .. import return_types as _return_types
from .._core.types.device import device as _Device
from .._core.types.dtypes import dtype as _dtype
from .._core.random.generator import Generator
from .._core.types.size import Size
from .._core.tensor.tensor import Tensor
from .._core.tensor.tensor import Tensor as Tensor

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

__all__: list[_str]
def _names_of_its_own(space: dict[_str, Any], names: Sequence[_str]) -> None:
    """Make functions of a module that `torch` or `Tensor` has as well its own: `torch.linalg.det` is not `torch.det`."""
def fft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The discrete Fourier transform along a dimension, cut or filled with zeros to n points."""
def fft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`fftn` over two dimensions, by default the last."""
def fftfreq(n: _int, d: _float = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The frequencies of the elements of `fft`, for samples d apart."""
def fftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The Fourier transform over dimensions (all, or as many as `s` has)."""
def fftshift(input: Tensor, dim: Any = ...) -> Tensor:
    """Roll dimensions (all by default) so that the zero frequency comes to their middle."""
def hfft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The real transform of half a Hermitian signal."""
def hfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`hfftn` over two dimensions, by default the last."""
def hfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The real transform of half a Hermitian signal over dimensions."""
def ifft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `fft`."""
def ifft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`ifftn` over two dimensions, by default the last."""
def ifftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `fftn`."""
def ifftshift(input: Tensor, dim: Any = ...) -> Tensor:
    """The inverse of `fftshift`."""
def ihfft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `hfft`."""
def ihfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`ihfftn` over two dimensions, by default the last."""
def ihfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `hfftn`."""
def irfft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `rfft`: n real numbers, by default 2 (m - 1) from m."""
def irfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`irfftn` over two dimensions, by default the last."""
def irfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The inverse of `rfftn`."""
def rfft(input: Tensor, n: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The first n // 2 + 1 elements of the transform of real numbers."""
def rfft2(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`rfftn` over two dimensions, by default the last."""
def rfftfreq(n: _int, d: _float = ..., *, out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor:
    """The frequencies of the elements of `rfft`, for samples d apart."""
def rfftn(input: Tensor, s: Any = ..., dim: Any = ..., norm: _str | None = ..., *, axis: Any = ..., out: Any = ...) -> Tensor:
    """The transform of real numbers over dimensions; the last has n // 2 + 1 elements."""
