"""Small programs as steps of the kernels in C++: their numbers are PyTorch's, and what they cannot run is left to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.host import native_code, tiering, writers
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._core.tuning import PROGRAM_WRITTEN_AFTER
from jaxtorch._core.types.device import cpu

pytestmark = [
    pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs in immediate mode"),
    pytest.mark.skipif(native.steps() is None, reason="the kernels were not built"),
]

RUNS = PROGRAM_WRITTEN_AFTER + 3
EDGES = [0.0, -0.0, 1, -1, 3e-4, 87.9, 88.5, 88.72, 89, -87, -88, -110, 1e38, 1e-38, np.inf, -np.inf, np.nan]


@pytest.fixture(autouse=True)
def without_steps_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiny programs, too, are to be these steps."""
    monkeypatch.setattr(writers, "NATIVE_STEP", 0.0)


def random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) * 2


def ran(f: Callable[..., Any], *arrays: Any) -> tuple[list[Any], bool]:
    """The results of the last of so many runs, and whether the kernels took all of the program."""
    runner._structures.clear()
    cpu.slot.ran = None
    inputs, outs = [torch.tensor(a) for a in arrays], []
    for _ in range(RUNS):
        outs = f(torch, *inputs)
        program.flush_all()
    plans = [s.plan for s in runner._structures.values() if s.on_host]
    outs = outs if isinstance(outs, tuple) else (outs,)
    return [*outs], bool(plans) and all(native_code.written(plan) is not None for plan in plans)


def same(f: Callable[..., Any], *arrays: Any, rtol: float = 2e-6, atol: float = 5e-7) -> bool:
    outs, taken = ran(lambda t, x, *rest: f(t, x * 1, *rest), *arrays)  # one operation alone would be no program
    expected = f(pytorch, *map(pytorch.tensor, arrays))
    for x, y in zip(outs, expected if isinstance(expected, tuple) else (expected,), strict=True):
        found, wanted = x.numpy(), y.numpy()
        assert found.dtype == wanted.dtype and found.shape == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    return taken


@pytest.mark.parametrize(
    "name", "neg abs exp log log1p expm1 tanh sigmoid sqrt rsqrt erf sin cos relu square isnan".split()
)
def test_functions_of_one_number(name: str):
    numbers = np.array([x for x in EDGES if name not in ("sin", "cos") or not 1e4 < abs(x) < np.inf], np.float32)
    for x in (numbers, random(3, 7, 5)):
        assert same(lambda t, x: (getattr(t, name)(x).float() + 0.5) * 2, x)


@pytest.mark.parametrize("name", "add sub mul div maximum minimum eq ne lt le gt ge".split())
def test_functions_of_two_numbers(name: str):
    x, y = (a.ravel().astype(np.float32) for a in np.meshgrid(EDGES, EDGES))
    assert same(lambda t, x, y: getattr(t, name)(x, y), x, y)
    for shapes in (((4, 1, 5), (3, 1)), ((), (2, 3)), ((1, 17), (9, 1)), ((2, 3, 4, 5), (3, 1, 5))):
        assert same(lambda t, x, y: getattr(t, name)(x, y), random(*shapes[0]), random(*shapes[1]))


@pytest.mark.parametrize(
    "m, k, n", [(1, 1, 1), (1, 33, 7), (3, 16, 40), (5, 20, 1), (64, 32, 64), (13, 64, 10), (40, 7, 33)]
)
def test_products(m: int, k: int, n: int):
    x, w, b = random(m, k), random(n, k), random(n)
    close = {"rtol": 1e-4, "atol": 1e-4}
    assert same(lambda t, x, w, b: t.nn.functional.linear(x, w, b), x, w, b, **close)
    assert same(lambda t, x, w: (x @ w.t(), w @ x.t(), x.t() @ (x @ w.t())), x, w, **close)
    assert same(lambda t, x, w: (x @ w[0], w[0] @ x.t(), w[0].dot(w[0])), x, w, **close)
    assert same(lambda t, x, w, b: (p := x @ w.t(), p + b, p * 2), x, w, b, **close)


def test_reductions_and_places():
    x = random(4, 5, 6)
    assert same(lambda t, x: (x.sum(), x.mean(1), x.amax((0, 2)), x.amin(-1), (x > 0).any(1), (x > 3).all()), x)
    assert same(lambda t, x: (x.argmax(), x.argmin(1), x.argmax(-1, keepdim=True)), x)
    x[1, 2, 3] = np.nan
    assert same(lambda t, x: (x.argmax(-1), x.argmin(0), x.amax(1), x.sum(0)), x)


def test_long_sums_are_exact_enough(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1e9)
    assert same(lambda t, x: (x.sum(), x.mean()), np.full(100_000, 0.1, np.float32), rtol=1e-6)


NETWORKS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda nn: nn.ReLU(), "tanh": lambda nn: nn.Tanh(), "gelu": lambda nn: nn.GELU(), "silu": lambda nn: nn.SiLU(),
    "leaky": lambda nn: nn.LeakyReLU(), "norm": lambda nn: nn.LayerNorm(8), "softmax": lambda nn: nn.Softmax(-1),
    "log_softmax": lambda nn: nn.LogSoftmax(-1), "elu": lambda nn: nn.ELU(), "softplus": lambda nn: nn.Softplus(),
    "hardtanh": lambda nn: nn.Hardtanh(), "tanh_gelu": lambda nn: nn.GELU("tanh"),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_layers(name: str):
    parameters = random(8, 4), random(8), random(3, 8), random(3)
    nets: dict[Any, Any] = {}
    for t in (torch, pytorch):
        nets[t] = t.nn.Sequential(t.nn.Linear(4, 8), NETWORKS[name](t.nn), t.nn.Linear(8, 3)).eval()
        given = (nets[t][0].weight, nets[t][0].bias, nets[t][2].weight, nets[t][2].bias)
        with t.no_grad():
            for p, a in zip(given, parameters, strict=True):
                p.copy_(t.tensor(a))
    with torch.no_grad(), pytorch.no_grad():
        for rows in (1, 6):
            assert same(lambda t, x: (nets[t](x), nets[t](x).argmax(-1)), random(rows, 4), rtol=1e-5, atol=1e-5)


def test_results_are_new_arrays_and_inputs_stay_as_they_are():
    x, kept = random(3, 4), []
    for _ in range(RUNS):
        t = torch.from_numpy(x)
        kept.append((t * 1, t.t() + 0, t.reshape(-1)[2:5] * 1))
        program.flush_all()
    kept[-1][0].add_(5)
    first = kept[-1][1].numpy()
    first[:] = 9
    assert np.array_equal(kept[-2][1].numpy(), x.T) and np.array_equal(kept[-1][2].numpy(), x.ravel()[2:5])


@pytest.mark.parametrize("other", ["int64", "float64", "float16"])
def test_other_types_are_left_to_numpy(other: str):
    _, taken = ran(lambda t, x: (x * 3 + 1).to(getattr(t, other)) * 2, random(3, 4))
    assert not taken


def test_large_integers_as_numbers():
    for n in (3, 2**53 + 1, -(2**60), True, 2.5):
        assert same(lambda t, x, n=n: x * n + n, random(3, 4))
