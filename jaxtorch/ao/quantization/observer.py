"""Observers: modules that hand their input on and keep the range of its values, from which a scale and a zero point follow."""

from __future__ import annotations

import functools
import warnings
from abc import ABCMeta, abstractmethod
from collections import OrderedDict
from typing import Any

import numpy as np

from ..._core.define.op import functions
from ..._core.types import dtypes
from ..._ops.types import constants
from ...nn import Module

__all__ = ["FixedQParamsObserver", "HistogramObserver", "MinMaxObserver", "MovingAverageMinMaxObserver",
           "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase", "PerChannelMinMaxObserver", "PlaceholderObserver",
           "RecordingObserver", "UniformQuantizationObserverBase", "default_affine_fixed_qparams_observer", "default_debug_observer",
           "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer",
           "default_fixed_qparams_range_neg1to1_observer", "default_histogram_observer", "default_observer",
           "default_per_channel_weight_observer", "default_placeholder_observer", "default_symmetric_fixed_qparams_observer",
           "default_weight_observer", "get_observer_state_dict", "per_channel_weight_observer_range_neg_127_to_127",
           "weight_observer_range_neg_127_to_127"]  # fmt: skip


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
    _extra_repr_names = ("min_val", "max_val")

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
        # A tensor, for XLA multiplies by the reciprocal of a constant: the largest weight lies at the edge between two steps.
        span = functions["tensor"](float(self.quant_max - self.quant_min), dtype=low.dtype, device=low.device)
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


class HistogramObserver(UniformQuantizationObserverBase):
    """Keeps a histogram of `bins` bins of the values seen; its range is the part of theirs whose rounding costs least.

    A wider range than before spreads each old bin over the new ones in `upsample_rate` parts.
    """

    histogram: Any

    def __init__(
        self, bins: int = 2048, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_tensor_affine,
        reduce_range: bool = False, quant_min: int | None = None, quant_max: int | None = None, factory_kwargs: Any = None,
        eps: float = 1.1920928955078125e-07, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if qscheme not in (constants.per_tensor_affine, constants.per_tensor_symmetric):
            raise NotImplementedError(
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins, self.upsample_rate = bins, 16
        self.register_buffer("histogram", functions["zeros"](bins))
        self.register_buffer("min_val", functions["tensor"](float("inf")))
        self.register_buffer("max_val", functions["tensor"](float("-inf")))
        self.dst_nbins = 2 ** (32 if dtype is dtypes.qint32 else 8)

    def forward(self, x_orig: Any) -> Any:
        if not x_orig.numel():
            return x_orig
        x = x_orig.detach().float()
        low, high = (float(v) for v in functions["aminmax"](x))
        if not (np.isfinite(low) and np.isfinite(high)):  # infinities and NaN are left out
            warnings.warn("torch.inf values are not supported by HistogramObserver", UserWarning, stacklevel=2)
            x = x[x.isfinite()]
            if not x.numel():
                return x_orig
            low, high = (float(v) for v in functions["aminmax"](x))
        old_low, old_high = float(self.min_val), float(self.max_val)
        new_low, new_high = min(low, old_low), max(high, old_high)
        found = functions["histc"](x, self.bins, min=new_low, max=new_high)
        if old_low <= old_high:
            same = (new_low, new_high) == (old_low, old_high)
            before = self.histogram if same else self._spread(old_low, old_high, new_low, new_high)
            found = found + before
        self.histogram.copy_(found)
        self.min_val.copy_(functions["tensor"](new_low))
        self.max_val.copy_(functions["tensor"](new_high))
        return x_orig

    def _spread(self, old_low: float, old_high: float, low: float, high: float) -> Any:
        """The histogram over [old_low, old_high] as one over [low, high]."""
        if old_low == old_high:  # one value, wherever the histogram has put it
            total = self.histogram.sum().item()
            return functions["histc"](functions["tensor"]([old_low]), self.bins, min=low, max=high) * total
        parts = self.bins * self.upsample_rate
        shares = np.repeat(self.histogram.numpy() / np.float32(self.upsample_rate), self.upsample_rate)
        width = (old_high - old_low) / parts
        middles = np.linspace(old_low, old_high, parts + 1, dtype=np.float32)[:-1] + np.float32(width / 2)
        edges = np.linspace(low, high, self.bins + 1, dtype=np.float32)
        bins = np.minimum(np.searchsorted(edges, middles, side="right") - 1, self.bins - 1)
        summed = np.bincount(np.maximum(bins, 0), weights=shares, minlength=self.bins).astype(np.float32)
        return functions["tensor"](summed, device=self.histogram.device)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) of the range whose rounding costs least."""
        low, high = self.min_val, self.max_val
        if low == float("inf") and high == float("-inf"):
            return self._calculate_qparams(low, high)
        return self._calculate_qparams(*self._narrowed())

    def _narrowed(self) -> Any:
        """The range that loses least: from each end in turn, as long as the mean squared error shrinks."""
        counts = self.histogram.numpy()
        low, high = self.min_val.numpy(), self.max_val.numpy()
        width = np.float32((high - low) / np.float32(self.bins))
        total, running = float(counts.sum()), np.cumsum(counts).tolist()
        share, least = 1e-5, float("inf")
        first, last = 0, self.bins - 1
        below, above = 0.0, 1.0
        while below < above:
            next_below, next_above = below + share, above - share
            left, right = first, last
            while left < last and running[left] < next_below * total:
                left += 1
            while right > first and running[right] > next_above * total:
                right -= 1
            new_first, new_last = first, last
            if left - first > last - right:
                new_first, below = left, next_below
            else:
                new_last, above = right, next_above
            if (new_first, new_last) == (first, last):
                continue
            lost = _rounding_loss(counts, width, new_first, new_last, self.dst_nbins)
            if lost > least:
                break
            least, first, last = lost, new_first, new_last
        made = [low + width * np.float32(first), low + width * np.float32(last + 1)]
        return [functions["tensor"](float(v), device=self.min_val.device) for v in made]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name in ("min_val", "max_val"):  # old files have empty ones
            found = state_dict.get(prefix + name)
            if found is not None and found.shape == (0,):
                state_dict[prefix + name] = functions["tensor"](float("inf" if name == "min_val" else "-inf"))
        super()._load_from_state_dict(state_dict, prefix, *args)


def _rounding_loss(counts: Any, width: Any, first: int, last: int, steps: int) -> float:
    """The summed squared error of rounding a histogram's values to `steps` even steps over its bins from `first` to `last`.

    Values are taken to be spread evenly within each bin; those outside are rounded to the nearest end.
    """
    one = np.float32
    step = width * one(last - first + 1) / one(steps)
    if step == 0:
        return 0.0
    begin = (np.arange(len(counts)) - first).astype(np.float32) * width
    end = begin + width
    from_step = np.clip(np.floor(begin / step), 0, steps - 1).astype(np.float32)
    to_step = np.clip(np.floor(end / step), 0, steps - 1).astype(np.float32)
    half, density = step / one(2), counts / width

    def cost(low: Any, high: Any) -> Any:  # of density * x^2 over [low, high], x the distance to the step's middle
        return density * (high * high * high - low * low * low) / one(3)

    lost = cost(begin - (from_step + one(0.5)) * step, half)
    lost = lost + (to_step - from_step - one(1)) * cost(-half, half)
    lost = lost + cost(-half, end - (to_step * step + half))
    return float(lost.sum())


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that were given, whatever is seen."""

    scale: Any
    zero_point: Any

    def __init__(
        self, scale: Any, zero_point: Any, dtype: Any = dtypes.quint8, qscheme: Any = constants.per_tensor_affine,
        quant_min: int = 0, quant_max: int = 255, is_dynamic: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", functions["tensor"]([scale], dtype=dtypes.float32))
        self.register_buffer("zero_point", functions["tensor"]([zero_point], dtype=dtypes.int32))
        self.qscheme = qscheme

    def forward(self, X: Any) -> Any:
        return X

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """(scale, zero_point) as they were given."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Says which type a value is to have, and keeps nothing of it."""

    _extra_repr_names = ("dtype", "is_dynamic")

    def __init__(
        self, dtype: Any = dtypes.float32, custom_op_name: str = "", compute_dtype: Any = None, quant_min: Any = None,
        quant_max: Any = None, qscheme: Any = None, eps: Any = None, is_dynamic: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = constants.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Exception: there are none."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class RecordingObserver(ObserverBase):
    """Keeps a copy of every value seen (`get_tensor_value`)."""

    def __init__(self, dtype: Any = dtypes.quint8) -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val: list[Any] = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Exception: there are none."""
        raise Exception("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self) -> list[Any]:
        """The copies."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Keeps nothing."""

    def __init__(self, dtype: Any = dtypes.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Exception: there are none."""
        raise Exception("calculate_qparams should not be called for NoopObserver")


def get_observer_state_dict(mod: Any) -> Any:
    """The entries of a model's `state_dict` that belong to its observers."""
    found = OrderedDict((k, v) for k, v in mod.state_dict().items() if "activation_post_process" in k)
    metadata = {k: v for k, v in mod.state_dict()._metadata.items() if "activation_post_process" in k}
    vars(found)["_metadata"] = metadata
    return found


_WEIGHT = {"dtype": dtypes.qint8, "qscheme": constants.per_tensor_symmetric}
_CHANNELS = {"dtype": dtypes.qint8, "qscheme": constants.per_channel_symmetric}
_NARROW = {"quant_min": -127, "quant_max": 127, "eps": 2**-12}
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=dtypes.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=dtypes.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=dtypes.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_weight_observer = MinMaxObserver.with_args(**_WEIGHT)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(**_WEIGHT, **_NARROW)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(**_CHANNELS)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(**_CHANNELS, **_NARROW)
