"""`torch.onnx`: no export. Its names can be imported; using one raises NotImplementedError."""

from __future__ import annotations

import enum as _enum
from typing import Any as _Any

from .._private_names.absent import absent as _absent
from . import symbolic_helper as symbolic_helper

_NAMES = "dynamo_export ExportOptions ExportTypes OnnxRegistry is_onnxrt_backend_supported enable_fake_mode"
"""What PyTorch has removed."""
globals().update(
    _absent(__name__, _NAMES, "jaxtorch exports no ONNX; use jax.export, or export the state_dict from PyTorch")
)


class OperatorExportTypes(_enum.Enum):
    """How PyTorch's exporter wrote operations that ONNX has not."""

    __module__ = "jaxtorch._C._onnx"

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3

    def __int__(self) -> int:
        return self.value


class TrainingMode(_enum.Enum):
    """In which mode PyTorch's exporter wrote a model."""

    __module__ = "jaxtorch._C._onnx"

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2

    def __int__(self) -> int:
        return self.value


def is_in_onnx_export() -> bool:
    """Is a model being exported? Never."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: _Any, opset_version: int) -> None:
    """Nothing to do: nothing is exported, so what an operation would become is not needed."""
