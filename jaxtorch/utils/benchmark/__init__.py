"""`torch.utils.benchmark`: repeated timings of a statement, and tables of them.

Every run of a statement runs what it recorded, and the last result is waited for: otherwise a result that nobody reads would cost
nothing. Statements in C++ and callgrind raise `NotImplementedError`.
"""

from __future__ import annotations

from .utils.common import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from .utils.compare import Compare
from .utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .utils.timer import Timer, timer

__all__ = [
    "Compare", "FuzzedParameter", "FuzzedTensor", "Fuzzer", "Measurement", "ParameterAlias", "TaskSpec", "Timer", "select_unit",
    "timer", "trim_sigfig", "unit_to_english",
]  # fmt: skip
