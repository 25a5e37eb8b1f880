"""`torch.quantization.observer`: the old name of `torch.ao.quantization.observer`."""

from typing import Any

from ..ao.quantization import observer as _observer
from ..ao.quantization.observer import (
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = ["MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "ObserverBase",
           "PerChannelMinMaxObserver", "default_observer", "default_per_channel_weight_observer",
           "default_weight_observer"]  # fmt: skip


def __getattr__(name: str) -> Any:
    return getattr(_observer, name)
