"""Modules that round their input as quantising would, and keep float32: what training that is aware of it puts in a model."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from typing import Any

from ..._absent import absent
from ..._core import dtypes
from ..._core.op import functions
from ..._ops import constants
from ...nn import Module
from .observer import _REASON, MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver, _PartialWrapper

__all__ = ["FakeQuantize", "FakeQuantizeBase", "default_fake_quant", "default_per_channel_weight_fake_quant",
           "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant",
           "enable_observer"]  # fmt: skip

_PER_CHANNEL = (constants.per_channel_symmetric, constants.per_channel_affine)


class FakeQuantizeBase(Module, metaclass=ABCMeta):
    """Switches that such modules have: rounding and observing, each on at first."""

    fake_quant_enabled: Any
    observer_enabled: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", functions["tensor"]([1], dtype=dtypes.uint8))
        self.register_buffer("observer_enabled", functions["tensor"]([1], dtype=dtypes.uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any: ...

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) for what was seen."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Hand the input on as it is."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Follow the range of the input from now on, or not."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Keep the scale and the zero point."""
        self.enable_observer(False)

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """A constructor with these arguments given."""
        return _PartialWrapper(functools.partial(cls, **kwargs))


class FakeQuantize(FakeQuantizeBase):
    """Rounds to `(n - zero_point) * scale`, n from `quant_min` to `quant_max`, as the observer's range suggests.

    observer: its class, made with `observer_kwargs`. Gradients pass where the input lies within the range.
    """

    scale: Any
    zero_point: Any

    def __init__(
        self, observer: Any = MovingAverageMinMaxObserver, quant_min: int | None = None, quant_max: int | None = None,
        is_dynamic: bool = False, **observer_kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = made = observer(**observer_kwargs)
        self.quant_min, self.quant_max, self.is_dynamic = made.quant_min, made.quant_max, made.is_dynamic
        self.register_buffer("scale", functions["tensor"]([1.0], dtype=dtypes.float32))
        self.register_buffer("zero_point", functions["tensor"]([0], dtype=dtypes.int32))
        self.dtype, self.qscheme = made.dtype, made.qscheme
        self.ch_axis = getattr(made, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _PER_CHANNEL

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) for what the observer has seen."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            scale, zero = self.calculate_qparams()
            if scale.shape != self.scale.shape:
                self.scale, self.zero_point = (
                    functions["ones_like"](scale),
                    functions["zeros_like"](zero, dtype=self.zero_point.dtype),
                )
            self.scale.copy_(scale)
            self.zero_point.copy_(zero)
        if self.fake_quant_enabled[0] == 1:
            limits = self.quant_min, self.quant_max
            if self.is_per_channel:
                return functions["fake_quantize_per_channel_affine"](
                    X, self.scale, self.zero_point, self.ch_axis, *limits
                )
            return functions["fake_quantize_per_tensor_affine"](X, self.scale, self.zero_point, *limits)
        return X

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("scale", "zero_point"):  # as many channels as were saved
            found = state_dict.get(prefix + name)
            if found is not None and found.shape != getattr(self, name).shape:
                setattr(self, name, functions["zeros_like"](found, device=getattr(self, name).device))
        super()._load_from_state_dict(state_dict, prefix, *args)


def _each(name: str, what: str) -> Any:
    def switch(mod: Any) -> None:
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    switch.__name__ = switch.__qualname__ = name
    switch.__doc__ = f"For `Module.apply`: {what}."
    return switch


disable_fake_quant = _each("disable_fake_quant", "hand inputs on as they are")
enable_fake_quant = _each("enable_fake_quant", "round")
disable_observer = _each("disable_observer", "keep scales and zero points")
enable_observer = _each("enable_observer", "follow the ranges of inputs")
default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=dtypes.quint8, qscheme=constants.per_tensor_affine,
    reduce_range=True,
)  # fmt: skip
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_tensor_symmetric, reduce_range=False,
)  # fmt: skip
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_channel_symmetric, reduce_range=False, ch_axis=0,
)  # fmt: skip

_ABSENT = absent(__name__, "FixedQParamsFakeQuantize FusedMovingAvgObsFakeQuantize", _REASON)
globals().update(_ABSENT)
