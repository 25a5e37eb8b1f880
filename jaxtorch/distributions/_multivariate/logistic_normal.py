"""A normal vector on the simplex, by stick breaking."""

from __future__ import annotations

from typing import Any

from .. import constraints
from .._continuous.normal import Normal
from ..transformed_distribution import TransformedDistribution
from ..transforms import StickBreakingTransform
from ..utils import alias

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """A normal vector on the simplex, by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    loc = alias("base_dist.base_dist.loc", "Means.")
    scale = alias("base_dist.base_dist.scale", "Standard deviations.")
