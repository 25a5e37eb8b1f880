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


def fuzzed(b: Any, t: Any) -> list[Any]:
    fuzzer = b.Fuzzer(
        parameters=[
            b.FuzzedParameter("k0", minval=1, maxval=100, distribution="loguniform"),
            [b.FuzzedParameter("k1", 1, 100, "uniform"), b.FuzzedParameter("step", 1, 2, "uniform", strict=True)],
            b.FuzzedParameter("dim", 1, 3, "uniform"),
        ],
        tensors=[
            b.FuzzedTensor("x", ("k0", "k1"), steps=("step", 1), min_elements=16, max_elements=1000, probability_contiguous=0.6),
            b.FuzzedTensor("y", ("k1", "k0", 3), dim_parameter="dim", max_allocation_bytes=9000, dtype=t.int64),
        ],
        constraints=[lambda p: p["k0"] > 1],
        seed=3,
    )  # fmt: skip
    shown = []
    for tensors, properties, params in fuzzer.take(4):
        assert list(params) == ["k0", "k1", "step", "dim"]
        of = [(n, tuple(x.shape), x.stride(), str(x.dtype), float(x.double().sum())) for n, x in tensors.items()]
        shown.append((params, str(properties), of))
    return [*shown, fuzzer.rejection_rate]


def test_fuzzers_draw_pytorchs_tensors():
    assert fuzzed(benchmark, torch) == fuzzed(reference, pytorch)
    with pytest.raises(ValueError, match=r"Duplicate names in parameters and tensors: \{'k'\}"):
        benchmark.Fuzzer([benchmark.FuzzedParameter("k", 1, 5, "uniform")], [benchmark.FuzzedTensor("k", ("k",))])
    values = benchmark.FuzzedParameter("a", distribution={benchmark.ParameterAlias("k"): 0.5, 7: 0.5})
    few = benchmark.Fuzzer([benchmark.FuzzedParameter("k", 1, 5, "uniform"), values], [], seed=0)
    drawn = [params for _, _, params in few.take(20)]
    assert all(p["a"] in (7, p["k"]) for p in drawn) and {p["a"] == 7 for p in drawn} == {True, False}


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
