"""Which transform leads from unconstrained numbers into a region: `biject_to` and `transform_to`."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Makes a transform for a region."""

    def __init__(self) -> None:
        self._registry: dict[Any, Any] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register a function from a region to a transform, for the region's class. Also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable[[Any], Any]:
    def register(factory: Any) -> Any:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return register


_both(constraints.real)(lambda c: transforms.identity_transform)
_both(constraints.positive, constraints.nonnegative)(lambda c: transforms.ExpTransform())
_both(constraints.corr_cholesky)(lambda c: transforms.CorrCholeskyTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda c: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda c: transforms.PositiveDefiniteTransform())
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())


@_both(constraints.greater_than, constraints.greater_than_eq)
def _above(c: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.lower_bound, 1)])


@_both(constraints.less_than)
def _below(c: Any) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(c.upper_bound, -1)])


@_both(constraints.interval, constraints.half_open_interval)
def _between(c: Any) -> Any:
    low: Any = c.lower_bound
    high: Any = c.upper_bound
    if isinstance(low, numbers.Number) and isinstance(high, numbers.Number) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


@biject_to.register(constraints.independent)
def _biject_independent(c: Any) -> Any:
    return transforms.IndependentTransform(biject_to(c.base_constraint), c.reinterpreted_batch_ndims)


@transform_to.register(constraints.independent)
def _transform_independent(c: Any) -> Any:
    return transforms.IndependentTransform(transform_to(c.base_constraint), c.reinterpreted_batch_ndims)


@biject_to.register(constraints.cat)
def _biject_cat(c: Any) -> Any:
    return transforms.CatTransform([biject_to(x) for x in c.cseq], c.dim, c.lengths)


@transform_to.register(constraints.cat)
def _transform_cat(c: Any) -> Any:
    return transforms.CatTransform([transform_to(x) for x in c.cseq], c.dim, c.lengths)


@biject_to.register(constraints.stack)
def _biject_stack(c: Any) -> Any:
    return transforms.StackTransform([biject_to(x) for x in c.cseq], c.dim)


@transform_to.register(constraints.stack)
def _transform_stack(c: Any) -> Any:
    return transforms.StackTransform([transform_to(x) for x in c.cseq], c.dim)
