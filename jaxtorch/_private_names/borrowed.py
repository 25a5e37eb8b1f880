"""Names of `torch` that hardly a program uses, but that libraries import."""

from __future__ import annotations

import sys
from typing import Any

from .._core.tensor.tensor import Tensor as _Tensor
from .._core.types.device import device as _device
from .._core.types.size import Size as _Size
from .absent import AbsentAttribute as _AbsentAttribute
from .absent import absent as _absent

torch = sys.modules["jaxtorch"]  # `torch.torch`
DeviceObjType = _device
TensorType = _absent("jaxtorch", "TensorType")["TensorType"]


class _Classes:
    """`torch.classes`: classes of compiled extensions; there are none."""

    loaded_libraries: set[str] = set()

    def load_library(self, path: Any) -> None:
        """OSError: a library compiled for PyTorch needs PyTorch."""
        raise OSError(f"torch.classes.load_library: jaxtorch cannot load {path}, which is compiled for PyTorch")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _AbsentAttribute(f"torch.classes.{name}: jaxtorch has no classes of compiled extensions")


classes = _Classes()


def _assert_async(condition: _Tensor, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """RuntimeError unless the one element is not zero. Unlike in PyTorch it waits for the value."""
    if not condition.item():
        raise RuntimeError(message)


def _shape_as_tensor(input: _Tensor) -> _Tensor:
    """The sizes, as a tensor of integers."""
    return torch.tensor(_Size(input.shape), dtype=torch.int64)
