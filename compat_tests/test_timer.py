"""`torch.utils.benchmark` tells of times as PyTorch does, and times what a statement computes."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch as pytorch
import torch.utils.benchmark as reference

import jaxtorch as torch
import jaxtorch.utils.benchmark as benchmark


def spoken(b: Any, t: Any) -> str:
    """What a timer and a table print, without the times themselves."""
    timers = [
        b.Timer("x + x", globals={"x": t.ones(n)}, label="sums", sub_label=f"[{n}]", description=d, num_threads=k)
        for n in (3, 2000)
        for k in (1, 2)
        for d in ("one", "another")
    ]
    found = [timer.timeit(3) for timer in timers]
    table = b.Compare(found)
    alone = b.Timer("y = x * 2\n(y\n.sum())", setup="x = torch.ones(4)").timeit(2)
    text = "\n".join([str(found[0]), str(alone), str(table), alone.title, found[0].as_row_name])
    text = re.sub(r"<.*object at .*>|[-\[\]] *-+ sums -+|\d+\.\d+|[unm]?s\b|-+\n|Times are .*", "#", text)
    return re.sub(r" +", " ", re.sub(r" +$", "", text, flags=re.MULTILINE))


def test_timers_and_tables_speak_as_pytorchs_do():
    assert spoken(benchmark, torch) == spoken(reference, pytorch)


def test_a_statement_is_computed_each_time():
    made: list[Any] = []
    timer = benchmark.Timer("f(x)", globals={"f": lambda x: made.append(x * 2) or made[-1], "x": torch.ones(3)})
    timer.timeit(2)
    assert len(made) == 6 and all(y._value.array is not None for y in made)
    quick = timer.blocked_autorange(min_run_time=0.01)
    assert sum(quick.raw_times) >= 0.01 and quick.median > 0 and quick.iqr >= 0
    assert timer.adaptive_autorange(max_run_time=0.05).number_per_run >= 1
    with pytest.raises(NotImplementedError, match="collect_callgrind"):
        timer.collect_callgrind()


@pytest.mark.parametrize("t", [3e-9, 4e-6, 5e-3, 6.0, 7000.0])
def test_units_are_pytorchs(t: float):
    assert benchmark.select_unit(t) == pytest.approx(reference.select_unit(t))
    assert benchmark.trim_sigfig(t, 2) == pytest.approx(reference.trim_sigfig(t, 2))
