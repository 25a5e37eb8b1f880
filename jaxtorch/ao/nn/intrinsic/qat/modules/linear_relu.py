"""A linear layer with a rounded weight, then `relu`."""

from __future__ import annotations

from typing import Any

from ......nn import functional as F
from ....qat.modules.linear import Linear
from ...modules import fused

__all__ = ["LinearReLU"]


class LinearReLU(Linear):
    """A linear layer with a rounded weight, then `relu`."""

    _FLOAT_MODULE = fused.LinearReLU  # pyright: ignore[reportAssignmentType]
    _fused = True

    def forward(self, input: Any) -> Any:
        return F.relu(super().forward(input))
