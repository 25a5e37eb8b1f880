"""`torch.types`: names for annotations."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import Any, TypeAlias, Union

from ._core.tensor.tensor import Tensor
from ._core.types.device import device as device
from ._core.types.dtypes import dtype as dtype
from ._core.types.size import Size
from ._ops.types.constants import layout as layout

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = Size | Sequence[int]
_dispatchkey: TypeAlias = str
_int, _float, _bool, _complex = builtins.int, builtins.float, builtins.bool, builtins.complex
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
FileLike: TypeAlias = str | os.PathLike[str] | Any
Device: TypeAlias = Union[device, str, int, None]  # noqa: UP007
Storage: TypeAlias = Any
