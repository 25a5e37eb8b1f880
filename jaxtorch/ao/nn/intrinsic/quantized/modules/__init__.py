"""`torch.ao.nn.intrinsic.quantized.modules`: fused layers on integers."""

from __future__ import annotations

from typing import Any

from ....quantized.modules import _others
from ....quantized.modules import conv as _conv
from ....quantized.modules import linear as _linear

__all__ = ["BNReLU2d", "BNReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearReLU"]


def _with_relu(name: str, base: Any) -> Any:
    text = f"A quantised {base.__name__}, then `relu`, in one rounding."
    return type(name, (base,), {"__module__": __name__, "__doc__": text, "_relu": True})


ConvReLU1d = _with_relu("ConvReLU1d", _conv.Conv1d)
ConvReLU2d = _with_relu("ConvReLU2d", _conv.Conv2d)
ConvReLU3d = _with_relu("ConvReLU3d", _conv.Conv3d)
BNReLU2d = _with_relu("BNReLU2d", _others.BatchNorm2d)
BNReLU3d = _with_relu("BNReLU3d", _others.BatchNorm3d)


class LinearReLU(_linear.Linear):
    """A quantised linear layer, then `relu`, in one rounding."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
