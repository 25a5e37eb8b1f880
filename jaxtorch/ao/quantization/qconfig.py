"""What says how a layer is to be quantised."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...nn import Identity
from .observer import default_per_channel_weight_observer, default_weight_observer

__all__ = ["QConfig", "default_dynamic_qconfig", "per_channel_dynamic_qconfig"]


class QConfig(NamedTuple):
    """How a layer's activation and its weight are observed: two constructors of observers."""

    activation: Any
    weight: Any


default_dynamic_qconfig = QConfig(activation=Identity, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(activation=Identity, weight=default_per_channel_weight_observer)
