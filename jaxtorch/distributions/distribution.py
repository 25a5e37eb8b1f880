"""`Distribution`: the base of all distributions."""

from __future__ import annotations

import warnings
from typing import Any

from .._private_names.absent import undefined
from . import constraints
from ._torch import Size, Tensor, torch
from .utils import lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A family with parameters. `sample(shape)` has the shape sample + batch_shape + event_shape.

    validate_args: check parameters and values, which waits for them. On unless `set_default_validate_args(False)`.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    _expands: str
    """The attributes that `expand` expands, of a class that has no `expand` of its own."""

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Switch the validation on or off for distributions that do not say."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: Any = None) -> None:  # noqa: B008
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            try:
                known = self.arg_constraints
            except NotImplementedError:
                known = {}
                warnings.warn(
                    f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize the "
                    "distribution with `validate_args=False` to turn off validation.",
                    stacklevel=2,
                )
            for name, constraint in known.items():
                if constraints.is_dependent(constraint):
                    continue
                if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                    continue
                value = getattr(self, name)
                if not constraint.check(value).all():
                    raise ValueError(
                        f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                        f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                    )
        super().__init__()

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """The distribution with its batch dimensions expanded."""
        kind = next((c for c in type(self).__mro__ if "_expands" in vars(c)), None)
        if kind is None:
            raise undefined(self, "expand")
        return self._expanded(kind, batch_shape, kind._expands, _instance)

    @property
    def batch_shape(self) -> Any:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Any:
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, Any]:
        """The regions of the parameters."""
        raise undefined(self, "arg_constraints")

    @property
    def support(self) -> Any:
        """The region of the values."""
        raise undefined(self, "support")

    @property
    def mean(self) -> Tensor:
        """The expectation."""
        raise undefined(self, "mean")

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise undefined(self, "variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Values, through which no gradient flows."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """Values through which gradients flow to the parameters."""
        raise undefined(self, "rsample")

    def sample_n(self, n: int) -> Tensor:
        """Deprecated: `sample((n,))`."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`."""
        raise undefined(self, "log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of values up to `value`."""
        raise undefined(self, "cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise undefined(self, "icdf")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along the first dimension."""
        raise undefined(self, "enumerate_support")

    def entropy(self) -> Tensor:
        """The entropy."""
        raise undefined(self, "entropy")

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape: Any = ()) -> Any:
        return torch.Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        start = len(value.size()) - len(self._event_shape)
        if tuple(value.size()[start:]) != tuple(self._event_shape):
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        actual, expected = value.size(), torch.Size((*self._batch_shape, *self._event_shape))
        for i, j in zip(reversed(actual), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _check_sample(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls: type, batch_shape: Any, names: str, _instance: Any = None, event: Any = None) -> Any:
        """A copy whose attributes `names`, where they are set, are expanded. event: the event shape of each of them."""
        new = self._get_checked_instance(cls, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in names.split():
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand((*batch_shape, *(event or {}).get(name, ()))))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self) -> str:
        names = [k for k in self.arg_constraints if k in self.__dict__]
        args = ", ".join(
            f"{p}: {self.__dict__[p] if self.__dict__[p].numel() == 1 else self.__dict__[p].size()}" for p in names
        )
        return type(self).__name__ + "(" + args + ")"
