"""|x| of a normal x with mean 0."""

from __future__ import annotations

import math
from typing import Any

from .._families import Half
from .._torch import Tensor
from ..transforms import AbsTransform
from .normal import Normal

__all__ = ["HalfNormal"]


class HalfNormal(Half):
    """|x| of a normal x with mean 0 and standard deviation `scale`."""

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)
