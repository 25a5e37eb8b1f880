"""Padding layers."""

from __future__ import annotations

from typing import Any

from ..._core.tensor.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d", "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d", "ReplicationPad1d", "ReplicationPad2d",
    "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _ConstantPadNd(Module):
    __constants__ = ["padding", "value"]
    _dims: int
    _extra_repr_names = ("padding", "value")

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__()
        self.value = value
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd):
    """Pad the last dimension with a value."""

    _dims = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last 2 dimensions with a value."""

    _dims = 2


class ConstantPad3d(_ConstantPadNd):
    """Pad the last 3 dimensions with a value."""

    _dims = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Pad the last dimension with zeros."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Pad the last 2 dimensions with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Pad the last 3 dimensions with zeros."""


class _RepeatPad(Module):
    """Padding that repeats elements of the input."""

    __constants__ = ["padding"]
    _dims: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._dims)(padding)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, self._mode)

    def _check_input_dim(self, input: Tensor) -> None:
        pass

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ReflectionPadNd(_RepeatPad):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """Pad (N, C, L) or (C, L) with its reflection."""

    _dims = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad (N, C, H, W) or (C, H, W) with its reflection."""

    _dims = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with its reflection."""

    _dims = 3


class _ReplicationPadNd(_RepeatPad):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """Pad (N, C, L) or (C, L) with its border."""

    _dims = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Pad (N, C, H, W) or (C, H, W) with its border."""

    _dims = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with its border."""

    _dims = 3


class _CircularPadNd(_RepeatPad):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (self._dims + 1, self._dims + 2):
            raise ValueError(f"expected {self._dims + 1}D or {self._dims + 2}D input (got {input.dim()}D input)")


class CircularPad1d(_CircularPadNd):
    """Pad (N, C, L) or (C, L) with its other end."""

    _dims = 1


class CircularPad2d(_CircularPadNd):
    """Pad (N, C, H, W) or (C, H, W) with its other end."""

    _dims = 2


class CircularPad3d(_CircularPadNd):
    """Pad (N, C, D, H, W) or (C, D, H, W) with its other end."""

    _dims = 3
