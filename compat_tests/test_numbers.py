"""Numbers at the edges: infinity, NaN, poles, and what overflows on the way, against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jaxtorch as torch

INF, NAN = math.inf, math.nan


def both(fn: Callable[[Any], Any]) -> tuple[Any, Any]:
    """What a function of the module `torch` gives with PyTorch and here: a tensor's numbers, or a tuple of those."""
    return tuple(_plain(fn(m)) for m in (reference, torch))  # pyright: ignore[reportReturnType]


def _plain(found: Any) -> Any:
    if isinstance(found, tuple):
        return [_plain(part) for part in found]
    return found.detach().tolist()


def alike(theirs: Any, ours: Any, rtol: float = 2e-6) -> bool:
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(theirs) == len(ours) and all(map(alike, theirs, ours))
    if isinstance(theirs, complex):
        return alike([theirs.real, theirs.imag], [ours.real, ours.imag])
    return theirs == pytest.approx(ours, rel=rtol, abs=1e-30, nan_ok=True)


def _gradient(fn: Callable[[Any, Any], Any], numbers: Any) -> Callable[[Any], Any]:
    def run(m: Any) -> Any:
        x = m.tensor(numbers, requires_grad=True)
        fn(m, x).sum().backward()
        return x.grad

    return run


# -- losses of torch's own namespace, which are not reduced without `reduction=`

_LOSSES: dict[str, Callable[[Any, Any], tuple[Any, ...]]] = {
    "binary_cross_entropy_with_logits": lambda m, x: (x, m.ones(2, 3)),
    "kl_div": lambda m, x: (x, m.full((2, 3), 0.2)),
    "hinge_embedding_loss": lambda m, x: (x, m.ones(2, 3)),
    "margin_ranking_loss": lambda m, x: (x, x * 2, m.ones(2, 3)),
    "cosine_embedding_loss": lambda m, x: (x, x + 1, m.ones(2)),
    "triplet_margin_loss": lambda m, x: (x, x * 2, x * -1),
    "ctc_loss": lambda m, x: (
        m.full((5, 2, 3), -1.1), m.tensor([[1, 2], [1, 1]]), m.tensor([5, 5]), m.tensor([2, 2]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("reduction", [None, 0, 1, 2, 3, -1])
@pytest.mark.parametrize("name", _LOSSES)
def test_losses_of_torch(name: str, reduction: int | None) -> None:
    options = {} if reduction is None else {"reduction": reduction}

    def run(m: Any) -> Any:
        x = m.tensor([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4]])
        return getattr(m, name)(*_LOSSES[name](m, x), **options)

    assert alike(*both(run))


def test_reductions_of_torch_are_numbers() -> None:
    for word in ("mean", 1.0):
        with pytest.raises(TypeError, match=r"kl_div\(\): argument 'reduction' must be int"):
            torch.kl_div(torch.ones(2), torch.ones(2), word)


# -- infinity and NaN in pooling, distances, running sums


_ROW = [1.0, -2.0, 3.0, 4.5, 0.5]
_POOLED: dict[int, Any] = {1: [[_ROW]], 2: [[_ROW] * 3], 3: [[[_ROW] * 2] * 2]}


@pytest.mark.parametrize("p", [INF, -INF, 2.0, 3.0])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("n", _POOLED)
def test_lp_pool(n: int, ceil_mode: bool, p: float) -> None:
    def function(m: Any, x: Any) -> Any:
        return getattr(m.nn.functional, f"lp_pool{n}d")(x, p, 2, 2, ceil_mode)

    assert alike(*both(lambda m: function(m, m.tensor(_POOLED[n]))))
    assert alike(*both(lambda m: getattr(m.nn, f"LPPool{n}d")(p, 2, ceil_mode=ceil_mode)(m.tensor(_POOLED[n]))))
    if n == 1:  # of equal numbers another may have the gradient
        assert alike(*both(_gradient(function, _POOLED[n])))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, INF])
@pytest.mark.parametrize("a, b", [([INF, INF], [INF, INF]), ([INF, 1.0], [2.0, 1.0]), ([NAN, 1.0], [2.0, 3.0])])
def test_distances(p: float, a: list[float], b: list[float]) -> None:
    assert alike(*both(lambda m: m.nn.functional.pdist(m.tensor([a, b]), p)))
    assert alike(*both(lambda m: m.cdist(m.tensor([a]), m.tensor([b]), p)))
    assert alike(*both(lambda m: m.dist(m.tensor(a), m.tensor(b), p)))


@pytest.mark.parametrize(
    "numbers",
    [
        [1 + 0.7j, 2 + 2j, 3 + 3j, 1 - 3j, 4 + 2.5j, -2 - 1j],
        [complex(INF, 2), 3 + 1j],
        [1 + 5j, complex(INF, 2)],
        [complex(NAN, 1), 2],
        [complex(-INF, 1), 2],
        [complex(-INF, 1), complex(-INF, 2)],
        [0.5 + 3j, 0.6 + 3.1j] * 10,
    ],
)
def test_running_logarithms_of_complex_sums(numbers: list[complex]) -> None:
    """Which of a number's logarithms is meant is known from the order of the sum."""
    assert alike(*both(lambda m: m.logcumsumexp(m.tensor(numbers, dtype=m.complex128), 0)))


_MATRICES = {
    "positive": [[4.0, 1, 0], [1, 3, 1], [0, 1, 2]],
    "turning": [[0.0, 30.0], [-30.0, 0.0]],
    "negative": [[-20.0, 1], [0.5, -40]],
    "sheared": [[1.0, 1e3], [0, -1]],
    "nilpotent": [[0.0, 50, 3], [0, 0, 70], [0, 0, 0]],
}


@pytest.mark.parametrize("name", _MATRICES)
def test_matrix_exp(name: str) -> None:
    exact = reference.matrix_exp(reference.tensor(_MATRICES[name], dtype=reference.float64))
    for dtype, rtol in (("float32", 2e-7), ("float64", 1e-13)):
        found = torch.matrix_exp(torch.tensor(_MATRICES[name], dtype=getattr(torch, dtype)))
        difference = (reference.tensor(found.double().tolist(), dtype=reference.float64) - exact).abs().max()
        assert difference / exact.abs().max() < rtol, (dtype, difference)


def test_matrix_exp_is_differentiable_twice() -> None:
    def hessian(m: Any) -> Any:
        x = m.tensor([[0.3, 0.2], [0.7, -0.5]], dtype=m.float64)
        weights = m.arange(4.0, dtype=m.float64).reshape(2, 2)
        return m.autograd.functional.hessian(lambda x: (m.matrix_exp(3 * x) * weights).sum(), x)

    assert alike(*both(hessian))
    complexes = [[0.3 + 1j, 0.2], [0.7, -0.5]]
    theirs, ours = both(_gradient(lambda m, x: m.matrix_exp(x).abs(), complexes))
    for some, same in zip(theirs, ours, strict=True):
        assert some == [pytest.approx(b, rel=1e-5) for b in same]
