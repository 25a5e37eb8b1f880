"""|x| of a Cauchy variable x around 0."""

from __future__ import annotations

import math
from typing import Any

from .._families import Half
from .._torch import Tensor, torch
from ..transforms import AbsTransform
from ..utils import alias
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """|x| of a Cauchy variable x around 0 with the half-width `scale`."""

    def __init__(self, scale: Any, validate_args: Any = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def mean(self) -> Tensor:
        return torch.full(self._extended_shape(), math.inf, dtype=self.scale.dtype, device=self.scale.device)

    variance = alias("base_dist.variance")

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_sample(value)
        return self._log_density(torch.as_tensor(value, dtype=self.scale.dtype, device=self.scale.device))
