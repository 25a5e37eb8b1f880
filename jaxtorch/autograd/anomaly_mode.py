"""Anomaly detection: which forward call led to an error, or to a NaN, in backward."""

from __future__ import annotations

import warnings
from typing import Any

from .._core.define.signature import need_kind
from .._core.types.grad_mode import Anomaly, set_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class detect_anomaly:
    """Context in which nodes remember where they were made, and backward checks its results for NaN.

    check_nan: raise RuntimeError when a gradient holds a NaN. Each check waits for the computation: for debugging only.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.before = Anomaly.enabled, Anomaly.check_nan
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self.before = Anomaly.enabled, Anomaly.check_nan
        set_anomaly(True, self.check_nan)

    def __exit__(self, *exc: Any) -> None:
        set_anomaly(*self.before)


class set_detect_anomaly:
    """Switch anomaly detection on or off: at once, and back at the end when used as a context."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = Anomaly.enabled, Anomaly.check_nan
        need_kind("set_anomaly_enabled", "enabled", "bool", mode)
        need_kind("set_anomaly_enabled", "check_nan", "bool", check_nan)
        set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        set_anomaly(*self.before)
