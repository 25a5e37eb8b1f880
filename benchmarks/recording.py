"""What recording an operation costs in Python: chains of 10 to 10,000, with and without gradients.

Only the recording is timed. The parent sets JAXTORCH_PROGRAM_LIMIT and JAXTORCH_COMPILE_AFTER so high that
nothing runs in between and that running the chain afterwards compiles nothing large. PyTorch's figure beside
it is the time it takes to dispatch and compute the same chain on 4 numbers.
"""

from __future__ import annotations

import importlib
import time
from statistics import median
from typing import Any

LENGTHS = (10, 100, 1000, 10000)


def _chain(x: Any, w: Any, count: int) -> Any:
    y = x
    for _ in range(count // 2):
        y = y * w
        y = y + x
    return y


def measure(library: str, rounds: int) -> list[dict[str, Any]]:
    """Microseconds an operation, the median over `rounds` chains of each length."""
    torch = importlib.import_module(library)
    rows = []
    for grad in (False, True):
        x = torch.ones(4)
        w = torch.full((4,), 0.5, requires_grad=grad)
        for count in LENGTHS:
            repeats = max(1, 1000 // count)
            times = []
            for _ in range(rounds + 1):  # the first is a warm-up
                total = 0.0
                for _ in range(repeats):
                    begun = time.perf_counter()
                    y = _chain(x, w, count)
                    total += time.perf_counter() - begun
                    y.tolist()  # runs what was recorded, outside the clock
                    del y
                times.append(total / (repeats * count))
            microseconds = median(times[1:]) * 1e6
            rows.append({"library": library, "grad": grad, "length": count, "us": microseconds})
    return rows
