"""`torch.utils.benchmark`: repeated timings of a statement, and tables of them.

Every run of a statement runs what it recorded, and the last result is waited for: otherwise a result that nobody reads would cost
nothing. Statements in C++ and callgrind raise `NotImplementedError`.
"""

from __future__ import annotations

from ..._absent import absent as _absent
from .utils.common import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from .utils.compare import Compare
from .utils.timer import Timer, timer

__all__ = ["Compare", "Measurement", "TaskSpec", "Timer", "select_unit", "timer", "trim_sigfig", "unit_to_english"]

globals().update(
    _absent(
        __name__,
        "CallgrindStats FunctionCounts Fuzzer FuzzedTensor FuzzedSparseTensor FuzzedParameter",
        "jaxtorch times statements in Python only",
    )
)
