"""Modules that round their input as quantising would, and keep float32: what training that is aware of it puts in a model."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from typing import Any

from ..._core.define.op import functions
from ..._core.types import dtypes
from ..._core.types.grad_mode import no_grad
from ..._ops.quantized.quantize import _followed_range
from ..._ops.types import constants
from ...nn import Module
from .observer import (
    HistogramObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    _PartialWrapper,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)

__all__ = ["FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize",
           "default_affine_fixed_qparams_fake_quant", "default_dynamic_fake_quant", "default_fake_quant",
           "default_fixed_qparams_range_0to1_fake_quant", "default_fixed_qparams_range_neg1to1_fake_quant",
           "default_fused_act_fake_quant", "default_fused_per_channel_wt_fake_quant", "default_fused_wt_fake_quant",
           "default_histogram_fake_quant", "default_per_channel_weight_fake_quant", "default_symmetric_fixed_qparams_fake_quant",
           "default_weight_fake_quant", "disable_fake_quant", "disable_observer", "enable_fake_quant", "enable_observer",
           "fused_per_channel_wt_fake_quant_range_neg_127_to_127", "fused_wt_fake_quant_range_neg_127_to_127"]  # fmt: skip

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
    _extra_repr_names = (
        "fake_quant_enabled",
        "observer_enabled",
        "quant_min",
        "quant_max",
        "dtype",
        "qscheme",
        "ch_axis",
        "scale",
        "zero_point",
    )

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

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("scale", "zero_point"):  # as many channels as were saved
            found = state_dict.get(prefix + name)
            if found is not None and found.shape != getattr(self, name).shape:
                setattr(self, name, functions["zeros_like"](found, device=getattr(self, name).device))
        super()._load_from_state_dict(state_dict, prefix, *args)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds by a scale and a zero point that its observer was given."""

    def __init__(self, observer: Any) -> None:
        super().__init__(observer=observer)
        if type(self.activation_post_process).__name__ != "FixedQParamsObserver":
            raise AssertionError("FixedQParamsFakeQuantize: the observer must be a FixedQParamsObserver")
        self._observer_ctr = observer
        self.scale, self.zero_point = self.activation_post_process.scale, self.activation_post_process.zero_point
        if self.is_per_channel:
            raise AssertionError("Only per tensor quantization is supported FixedQParamsFakeQuantize module")

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) as they were given."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.activation_post_process.quant_min}, "
            f"quant_max={self.activation_post_process.quant_max}, qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Follows the range by a moving average and rounds, both at once (`torch.fused_moving_avg_obs_fake_quant`)."""

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ) -> None:
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(
            self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        ):
            raise AssertionError(
                "Fused observer+fake_quant module only works with MovingAverageMinMaxObserver and "
                "MovingAveragePerChannelMinMaxObserver"
            )
        self.register_buffer("fake_quant_enabled", functions["tensor"]([1], dtype=dtypes.int64))
        self.register_buffer("observer_enabled", functions["tensor"]([1], dtype=dtypes.int64))
        self.is_symmetric_quant = self.qscheme in (constants.per_tensor_symmetric, constants.per_channel_symmetric)

    def forward(self, X: Any) -> Any:
        made = self.activation_post_process
        return fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, made.min_val, made.max_val, self.scale, self.zero_point,
            made.averaging_constant, made.quant_min, made.quant_max, self.ch_axis, self.is_per_channel,
            self.is_symmetric_quant,
        )  # fmt: skip

    def extra_repr(self) -> str:
        made = self.activation_post_process
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={made.quant_min}, quant_max={made.quant_max}, "
            f"qscheme={self.qscheme}, reduce_range={made.reduce_range}"
        )


def fused_moving_avg_obs_fake_quant(
    input: Any, observer_on: Any, fake_quant_on: Any, running_min: Any, running_max: Any, scale: Any, zero_point: Any,
    averaging_const: float, quant_min: int, quant_max: int, ch_axis: int, per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Any:  # fmt: skip
    """The input rounded as a quantised tensor would hold it, in the range that moving averages of its extremes give.

    observer_on, fake_quant_on: (1,) whether the averages are followed, and whether the input is rounded. `running_min`,
    `running_max`, `scale` and `zero_point` are written to: one entry, or with `per_row_fake_quant` one for each index of
    dimension `ch_axis`.
    """
    if observer_on.item():
        x = input.detach()
        with no_grad():
            if per_row_fake_quant:
                low, high = functions["aminmax"](functions["flatten"](x.transpose(0, ch_axis), start_dim=1), dim=1)
                if not running_min.numel():
                    for t, first in ((running_min, "inf"), (running_max, "-inf")):
                        t.resize_(low.shape).fill_(float(first))
                for t in (scale, zero_point):
                    if t.shape != low.shape:
                        t.resize_(low.shape)
            else:
                low, high = functions["aminmax"](x)
            for t, new in ((running_min, low), (running_max, high)):
                new = new.to(t.dtype)
                t.copy_(functions["where"](t.isinf(), new, t + averaging_const * (new - t)))
            found = _followed_range(running_min, running_max, quant_min, quant_max, symmetric_quant)
            scale.copy_(found[0])
            zero_point.copy_(found[1])
    if not fake_quant_on.item():
        return input.view_as(input)
    limits = quant_min, quant_max
    if per_row_fake_quant:
        return functions["fake_quantize_per_channel_affine"](input, scale, zero_point, ch_axis, *limits)
    return functions["fake_quantize_per_tensor_affine"](input, scale, zero_point, *limits)


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

default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, is_dynamic=True, dtype=dtypes.quint8,
    averaging_constant=1,
)  # fmt: skip
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=dtypes.quint8, qscheme=constants.per_tensor_affine,
    reduce_range=True,
)  # fmt: skip
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=dtypes.quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_tensor_symmetric,
)  # fmt: skip
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_channel_symmetric,
)  # fmt: skip
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-127, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_tensor_symmetric, eps=2**-12,
)  # fmt: skip
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-127, quant_max=127, dtype=dtypes.qint8,
    qscheme=constants.per_channel_symmetric, eps=2**-12,
)  # fmt: skip
