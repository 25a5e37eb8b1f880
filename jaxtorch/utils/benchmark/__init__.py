"""`torch.utils.benchmark`: repeated timings of a statement, and tables of them.

Every run of a statement runs what it recorded, and the last result is waited for: otherwise a result that nobody reads would cost
nothing. Statements in C++ and callgrind raise `NotImplementedError`.
"""

from __future__ import annotations

from ..._absent import absent as _absent
from .utils.common import Measurement, TaskSpec, select_unit, trim_sigfig, unit_to_english
from .utils.compare import Compare
from .utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .utils.timer import Timer, timer

__all__ = [
    "Compare", "FuzzedParameter", "FuzzedTensor", "Fuzzer", "Measurement", "ParameterAlias", "TaskSpec", "Timer", "select_unit",
    "timer", "trim_sigfig", "unit_to_english",
]  # fmt: skip

globals().update(
    _absent(
        __name__,
        "CallgrindStats FunctionCounts FuzzedSparseTensor",
        "jaxtorch times statements in Python only, and draws dense tensors",
    )
)
