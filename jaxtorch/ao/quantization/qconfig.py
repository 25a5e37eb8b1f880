"""What says how a layer is to be quantised."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from ..._core.types import dtypes
from ..._ops.types import constants
from ...nn import Identity
from . import fake_quantize as _fake
from . import observer as _seen
from .fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from .observer import HistogramObserver, MovingAverageMinMaxObserver, PlaceholderObserver

__all__ = ["QConfig", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qat_qconfig",
           "default_dynamic_qconfig", "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2",
           "default_qconfig", "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig",
           "default_weight_only_qconfig", "float16_dynamic_qconfig", "float16_static_qconfig", "get_default_qat_qconfig",
           "get_default_qconfig", "per_channel_dynamic_qconfig"]  # fmt: skip


class QConfig(NamedTuple):
    """How a layer's activation and its weight are observed: two constructors of observers."""

    activation: Any
    weight: Any


_EPS = 2**-12
default_qconfig = QConfig(activation=_seen.default_observer, weight=_seen.default_weight_observer)
default_debug_qconfig = QConfig(activation=_seen.default_debug_observer, weight=_seen.default_weight_observer)
default_per_channel_qconfig = QConfig(
    activation=_seen.default_observer, weight=_seen.default_per_channel_weight_observer
)
default_dynamic_qconfig = QConfig(activation=_seen.default_dynamic_quant_observer, weight=_seen.default_weight_observer)
per_channel_dynamic_qconfig = QConfig(
    activation=_seen.default_dynamic_quant_observer, weight=_seen.default_per_channel_weight_observer
)
float16_dynamic_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=dtypes.float16, is_dynamic=True),
    weight=PlaceholderObserver.with_args(dtype=dtypes.float16),
)
float16_static_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=dtypes.float16),
    weight=PlaceholderObserver.with_args(dtype=dtypes.float16),
)
default_qat_qconfig = QConfig(activation=_fake.default_fake_quant, weight=_fake.default_weight_fake_quant)
default_qat_qconfig_v2 = QConfig(
    activation=_fake.default_fused_act_fake_quant, weight=_fake.default_fused_wt_fake_quant
)
default_dynamic_qat_qconfig = QConfig(
    activation=_fake.default_dynamic_fake_quant, weight=_fake.default_weight_fake_quant
)
default_weight_only_qconfig = QConfig(activation=Identity, weight=_fake.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=_fake.default_fake_quant, weight=Identity)
default_symmetric_qnnpack_qconfig = QConfig(
    activation=HistogramObserver.with_args(dtype=dtypes.qint8, reduce_range=False, eps=_EPS),
    weight=_seen.weight_observer_range_neg_127_to_127,
)
default_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=FusedMovingAvgObsFakeQuantize.with_args(
        observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=dtypes.qint8, reduce_range=False,
        eps=_EPS,
    ),
    weight=_fake.fused_wt_fake_quant_range_neg_127_to_127,
)  # fmt: skip
_BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")


def _check(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of ['fbgemm', 'x86', 'qnnpack', 'onednn']"
        )


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The observers with which a model is calibrated for a backend ('fbgemm' and 'x86' narrow activations to 7 bits)."""
    _check(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    observer = HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86"))
    weight = _seen.default_weight_observer if backend == "qnnpack" else _seen.default_per_channel_weight_observer
    return QConfig(activation=observer, weight=weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The modules that round while a model is trained for a backend; version 1 observes and rounds in one step."""
    _check(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version} in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    narrow = {} if version and backend == "onednn" else {"reduce_range": backend in ("fbgemm", "x86")}
    made = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    activation = made.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **narrow)
    if version:
        weights = _fake.default_fused_wt_fake_quant, _fake.default_fused_per_channel_wt_fake_quant
    else:
        weights = _fake.default_weight_fake_quant, _fake.default_per_channel_weight_fake_quant
    return QConfig(activation=activation, weight=weights[backend != "qnnpack"])


def _checked(config: Any, module: Any) -> None:
    """AssertionError for a `QConfig` that gives a transposed convolution weights with a scale for each channel."""
    if config is None or not type(module).__name__.startswith("ConvTranspose"):
        return
    observer = config.weight()
    if getattr(observer, "qscheme", None) in (constants.per_channel_symmetric, constants.per_channel_affine):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def _copied(config: Any) -> Any:
    return copy.copy(config)
