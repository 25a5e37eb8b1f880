"""Observers: modules that hand their input on and keep the range of its values, from which a scale and a zero point follow."""

from __future__ import annotations

import functools
import warnings
from abc import ABCMeta, abstractmethod
from typing import Any

from ..._absent import absent
from ..._core import dtypes
from ..._core.op import functions
from ..._ops import constants
from ...nn import Module

__all__ = ["MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "ObserverBase",
           "PerChannelMinMaxObserver", "UniformQuantizationObserverBase", "default_observer", "default_per_channel_weight_observer",
           "default_weight_observer", "per_channel_weight_observer_range_neg_127_to_127",
           "weight_observer_range_neg_127_to_127"]  # fmt: skip

_REASON = "jaxtorch quantises dynamically only, by quantize_dynamic"


class _PartialWrapper:
    """A constructor with some arguments given; `with_args` gives more."""

    def __init__(self, p: Any) -> None:
        self.p = p

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return repr(self.p) + "{}"

    def with_args(self, **kwargs: Any) -> _PartialWrapper:
        """The same with more arguments given."""
        return _PartialWrapper(functools.partial(self.p, **kwargs))


class ObserverBase(Module, metaclass=ABCMeta):
    """What observers have in common: `forward` keeps what it sees, `calculate_qparams` gives (scale, zero_point)."""

    def __init__(self, dtype: Any, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any: ...

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) for what was seen."""

    @classmethod
    def with_args(cls, **kwargs: Any) -> _PartialWrapper:
        """A constructor with these arguments given."""
        return _PartialWrapper(functools.partial(cls, **kwargs))


class UniformQuantizationObserverBase(ObserverBase):
    """Observers whose integers are evenly spaced.

    dtype: `torch.quint8`, `torch.qint8` or `torch.qint32`; `quant_min` and `quant_max` narrow its range, `reduce_range` halves it.
    """

    eps: Any
    min_val: Any
    max_val: Any

    def __init__(
        self, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        if dtype.is_floating_point:
            raise AssertionError(f"{type(self).__name__} only works for integers, not for {dtype}")
        if dtype not in (dtypes.qint8, dtypes.quint8, dtypes.qint32):
            raise NotImplementedError(
                f"{type(self).__name__}: jaxtorch has observers for qint8, quint8 and qint32, not {dtype}"
            )
        if qscheme is constants.per_channel_affine_float_qparams:
            raise NotImplementedError(f"{type(self).__name__}: jaxtorch has no {qscheme}")
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self.register_buffer("eps", functions["tensor"]([eps], dtype=dtypes.float32))
        self.has_customized_qrange = False
        low, high = {dtypes.qint8: (-128, 127), dtypes.quint8: (0, 255), dtypes.qint32: (-(1 << 31), (1 << 31) - 1)}[
            dtype
        ]
        if quant_min is not None and quant_max is not None:
            self.has_customized_qrange = True
            if quant_min >= quant_max:
                raise AssertionError("Quantization range must be a positive range")
            if not quant_min <= 0 <= quant_max:
                raise AssertionError("Used-specified quantization range must include 0.")
            low, high = quant_min, quant_max
        if reduce_range and dtype is not dtypes.qint32:
            low, high = low // 2, high // 2
        self.quant_min, self.quant_max = low, high

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> Any:
        if min_val.numel() == 0 or bool((min_val == float("inf")).all() & (max_val == float("-inf")).all()):
            warnings.warn(
                "must run observer before calling calculate_qparams. Returning default values.",
                UserWarning,
                stacklevel=3,
            )
            return functions["tensor"]([1.0], device=min_val.device), functions["tensor"]([0], device=min_val.device)
        if bool((min_val > max_val).any()):
            raise AssertionError(f"min {min_val} should be less than max {max_val}")
        low, high = min_val.clamp(max=0), max_val.clamp(min=0)
        span = float(self.quant_max - self.quant_min)
        if self.qscheme in (constants.per_tensor_symmetric, constants.per_channel_symmetric):
            scale = functions["max"](functions["max"](-low, high) / (span / 2), self.eps)
            middle = 0
            if self.dtype is dtypes.quint8:
                middle = (self.quant_min + self.quant_max) // 2 if self.has_customized_qrange else 128
            zero = functions["full"](low.size(), middle, dtype=dtypes.int64, device=low.device)
        else:
            scale = functions["max"]((high - low) / span, self.eps)
            zero = self.quant_min - functions["round"](low / scale).to(dtypes.int32)
            zero = functions["clamp"](zero, self.quant_min, self.quant_max)
        return scale.reshape(-1), zero.reshape(-1)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point), each with one entry, or one for each channel."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the smallest and the largest value seen."""

    def __init__(
        self, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_tensor_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in (constants.per_tensor_affine, constants.per_tensor_symmetric):
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", functions["tensor"](float("inf")))
        self.register_buffer("max_val", functions["tensor"](float("-inf")))

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel():
            low, high = functions["aminmax"](x_orig.detach().to(self.min_val.dtype))
            low, high = self._joined(low, high)
            self.min_val.copy_(low)
            self.max_val.copy_(high)
        return x_orig

    def _joined(self, low: Any, high: Any) -> Any:
        return functions["min"](low, self.min_val), functions["max"](high, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val.copy_(functions["tensor"](float("inf")))
        self.max_val.copy_(functions["tensor"](float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps moving averages of the smallest and the largest value: `averaging_constant` is the share of the newest."""

    def __init__(
        self, averaging_constant: float = 0.01, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None,
        eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )
        self.averaging_constant = averaging_constant
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)

    def _joined(self, low: Any, high: Any) -> Any:
        if self.min_val == float("inf") and self.max_val == float("-inf"):
            return low, high
        share = self.averaging_constant
        return self.min_val + share * (low - self.min_val), self.max_val + share * (high - self.max_val)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the smallest and the largest value at each index of the dimension `ch_axis`."""

    def __init__(
        self, ch_axis: int = 0, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_channel_affine, reduce_range: bool = False,
        quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", functions["tensor"]([]))
        self.register_buffer("max_val", functions["tensor"]([]))

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel():
            x = x_orig.detach().to(self.min_val.dtype)
            low, high = functions["aminmax"](functions["flatten"](x.transpose(0, self.ch_axis), start_dim=1), dim=1)
            if self.min_val.numel():
                low, high = self._joined(low, high)
            self.min_val, self.max_val = low, high
        return x_orig

    def _joined(self, low: Any, high: Any) -> Any:
        return functions["min"](low, self.min_val), functions["max"](high, self.max_val)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("min_val", "max_val"):  # as many channels as were saved
            found = state_dict.get(prefix + name)
            if found is not None and found.shape != getattr(self, name).shape:
                setattr(self, name, functions["zeros_like"](found, device=getattr(self, name).device))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        self.min_val, self.max_val = functions["rand"](0), functions["rand"](0)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps moving averages of the smallest and the largest value at each index of the dimension `ch_axis`."""

    def __init__(
        self, averaging_constant: float = 0.01, ch_axis: int = 0, dtype: Any = dtypes.quint8,
        qscheme: Any = constants.per_channel_affine, reduce_range: bool = False, quant_min: int | None = None,
        quant_max: int | None = None, eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def _joined(self, low: Any, high: Any) -> Any:
        share = self.averaging_constant
        return self.min_val + share * (low - self.min_val), self.max_val + share * (high - self.max_val)


_WEIGHT = {"dtype": dtypes.qint8, "qscheme": constants.per_tensor_symmetric}
_CHANNELS = {"dtype": dtypes.qint8, "qscheme": constants.per_channel_symmetric}
_NARROW = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_weight_observer = MinMaxObserver.with_args(**_WEIGHT)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_WEIGHT, **_NARROW)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(**_CHANNELS, **_NARROW)

_ABSENT = absent(
    __name__, "HistogramObserver FixedQParamsObserver PlaceholderObserver NoopObserver RecordingObserver", _REASON
)
globals().update(_ABSENT)
