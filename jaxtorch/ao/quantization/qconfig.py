"""What says how a layer is to be quantised."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._absent import absent
from ...nn import Identity
from .observer import _REASON, default_per_channel_weight_observer, default_weight_observer

__all__ = ["QConfig", "default_dynamic_qconfig", "per_channel_dynamic_qconfig"]


class QConfig(NamedTuple):
    """How a layer's activation and its weight are observed: two constructors of observers."""

    activation: Any
    weight: Any


default_dynamic_qconfig = QConfig(activation=Identity, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=Identity, weight=default_per_channel_weight_observer)

_ABSENT = absent(
    __name__,
    (
        "get_default_qconfig get_default_qat_qconfig default_qconfig default_qat_qconfig float16_dynamic_qconfig "
        "float_qparams_weight_only_qconfig"
    ),
    _REASON,
)
globals().update(_ABSENT)
