"""A quantised linear layer with `relu`."""

from __future__ import annotations

from ....quantized.modules import linear as _linear


class LinearReLU(_linear.Linear):
    """A quantised linear layer, then `relu`, in one rounding."""

    _relu = True

    def _get_name(self) -> str:
        return "QuantizedLinearReLU"
