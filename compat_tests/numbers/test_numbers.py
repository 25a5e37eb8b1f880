"""Numbers at the edges: infinity, NaN, poles, and what overflows on the way, against PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
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


# -- special functions at poles, zeros, and where the numbers are huge or tiny

_EDGES = [
    0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -0.5, 1.5, -2.5, 0.9, 0.99, 0.9999, 1.0001, 1.01, 1.9999, 2.0001, -0.99, 3.0, -12.5,
    1e-10, -1e-10, 1e-30, 50.0, -100.25, -103.5, 170.25, 1000.5, 1e6, 1e10, 1e20, 1e30, INF, -INF, NAN,
]  # fmt: skip
_ONE: dict[str, Callable[[Any, Any], Any]] = {
    "lgamma": lambda m, x: m.lgamma(x),
    "digamma": lambda m, x: m.digamma(x),
    "mvlgamma": lambda m, x: m.mvlgamma(x.clamp(min=0.75), 2),
    "bessel_j0": lambda m, x: m.special.bessel_j0(x),
    "i0e": lambda m, x: m.special.i0e(x),
    "erfcx": lambda m, x: m.special.erfcx(x.clamp(min=-5)),
    "log_ndtr": lambda m, x: m.special.log_ndtr(x),
    "ndtri": lambda m, x: m.special.ndtri(x),
    **{f"polygamma {n}": lambda m, x, n=n: m.polygamma(n, x) for n in (1, 2, 3)},
}
_PAIRS = [0.0, 1.0, 2.0, 0.5, 0.001, 1.5, -1.5, 3.0, 10.5, 200.0, 1e4, 1e20, INF, -1.0, NAN]
_TWO: dict[str, Callable[[Any, Any, Any], Any]] = {
    "igamma": lambda m, a, x: m.igamma(a, x),
    "igammac": lambda m, a, x: m.igammac(a, x),
    "zeta": lambda m, a, x: m.special.zeta(a, x),
    "xlogy": lambda m, a, x: m.xlogy(a, x),
    "xlog1py": lambda m, a, x: m.special.xlog1py(a, x),
    "logaddexp": lambda m, a, x: m.logaddexp(a, x),
}


def _compare(dtype: str, fn: Callable[..., Any], *numbers: list[float], ulps: int = 64) -> None:
    """Three runs are as PyTorch's numbers, or in single precision nearer to those in double precision."""
    given = [reference.tensor(x, dtype=getattr(reference, dtype)) for x in numbers]
    theirs, wide = fn(reference, *given).double(), fn(reference, *[x.double() for x in given])
    epsilon = reference.finfo(getattr(reference, dtype)).eps
    arguments = [torch.tensor(x, dtype=getattr(torch, dtype)) for x in numbers]
    for _ in range(3):
        ours = reference.tensor(fn(torch, *arguments).double().tolist(), dtype=reference.float64)
        far = (ours - wide).abs()
        same = (ours == theirs) | (ours.isnan() & theirs.isnan()) | ((theirs.abs() < 1e-37) & (ours.abs() < 1e-37))
        near = far <= reference.maximum(2 * (theirs - wide).abs(), ulps * epsilon * wide.abs())
        bad = ~(same | near)
        assert not bad.any(), [(*(x[bad].tolist() for x in given), theirs[bad].tolist(), ours[bad].tolist())]


@pytest.mark.parametrize("name", _ONE)
def test_special_functions(name: str) -> None:
    _compare("float32", _ONE[name], _EDGES, ulps=4 if "gamma" in name else 64)


@pytest.mark.parametrize("name", _TWO)
def test_special_functions_of_two_numbers(name: str) -> None:
    pairs = [(a, b) for a in _PAIRS for b in _PAIRS]
    _compare("float32", _TWO[name], [a for a, _ in pairs], [b for _, b in pairs], ulps=64)


def test_special_functions_in_double_precision() -> None:
    near = [0.9, 0.99, 0.9999, 0.9999999, 1.0, 1.0000001, 1.01, 1.7, 1.9999, 2.0, 2.0001, 2.3, 50.5]
    _compare("float64", _ONE["lgamma"], near, ulps=256)
    mpmath = pytest.importorskip("mpmath")
    for x in (-0.9999999, -1.99999, 0.25, -7.75):
        exact = float(mpmath.digamma(mpmath.mpf(x)))
        assert torch.digamma(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(exact, rel=1e-13)


# -- what overflows, or vanishes, on the way


@pytest.mark.parametrize(
    "numbers", [[1.0, 2e20], [1e-30, 2e-30], [3e38, -3e38], [1e18] * 500 + [-1e18] * 500, [1e-25, 1e-24, 3e-25]]
)
@pytest.mark.parametrize("name", ["std", "var"])
def test_spread_of_huge_and_tiny_numbers(name: str, numbers: list[float]) -> None:
    assert alike(*both(lambda m: getattr(m, name)(m.tensor(numbers))))
    assert alike(*both(lambda m: getattr(m, f"{name}_mean")(m.tensor(numbers))[0]))
    assert alike(*both(lambda m: getattr(m, name)(m.tensor(numbers, dtype=m.complex64) * (1 + 1j))))


@pytest.mark.parametrize(
    "numbers", [[1e38] * 5, [3e38, 2e38, 3e38], [-3e38, -3e38], [INF, 1.0], [INF, INF], [NAN, 1.0], [2.0]]
)
@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
def test_spread_and_mean_of_what_has_no_sum(numbers: list[float]) -> None:
    def rows(m: Any) -> Any:
        return m.tensor([numbers, numbers])

    assert alike(*both(lambda m: m.std_mean(rows(m), 1)))
    assert alike(*both(lambda m: m.var_mean(rows(m), 1)))


_EXTREMES: dict[str, Callable[[Any, Any], Any]] = {
    "amax": lambda m, x: x.amax(-1),
    "amin": lambda m, x: x.amin(-1),
    "smallest": lambda m, x: x.aminmax(dim=-1)[0],
    "largest": lambda m, x: x.aminmax(dim=-1)[1],
    "norm of inf": lambda m, x: m.linalg.vector_norm(x, INF, -1),
    "norm of -inf": lambda m, x: m.linalg.vector_norm(x, -INF, -1),
    "norm of 1": lambda m, x: m.linalg.vector_norm(x, 1, -1),
}


@pytest.mark.parametrize("name", _EXTREMES)
def test_gradients_of_extremes_with_nan(name: str) -> None:
    numbers = [[1.0, NAN, 3.0], [2.0, INF, -INF], [NAN, NAN, 1.0], [4.0, -4.0, 4.0], [0.0, 0.0, 0.0]]
    assert alike(*both(_gradient(_EXTREMES[name], numbers)))


_DISTANCES: dict[str, Callable[[Any, Any], Any]] = {
    "smooth_l1": lambda m, x: m.nn.functional.smooth_l1_loss(x, m.zeros_like(x)),
    "huber": lambda m, x: m.nn.functional.huber_loss(x, m.zeros_like(x)),
    "l1": lambda m, x: m.nn.functional.l1_loss(x, m.zeros_like(x)),
    "normalize": lambda m, x: m.nn.functional.normalize(x, -1, -1),
    "pairwise": lambda m, x: m.nn.functional.pairwise_distance(x, m.zeros_like(x), 1),
    "pdist": lambda m, x: m.nn.functional.pdist(x, INF),
    "cdist": lambda m, x: m.cdist(x, m.zeros_like(x), INF),
}


_ROWS = ([[1.0, INF, -2.0], [0.25, 3e38, -INF]], [[1.0, -1.0, 1.0], [0.0, 2.0, -2.0]], [[NAN, 1.0, 0.0]])


@pytest.mark.parametrize("name", _DISTANCES)
def test_gradients_of_distances(name: str) -> None:
    for numbers in _ROWS[: 2 if name == "cdist" else 3]:  # its forward pass alone passes over NaN in PyTorch
        assert alike(*both(_gradient(_DISTANCES[name], numbers)))


_TIE = 1 + 2**-11 + 2**-40
"""Nearer to the larger of two neighbours in float16, but not once it is rounded to float32."""

_NARROWED: dict[str, Callable[[Any], Any]] = {
    "half": lambda m: m.tensor([_TIE] * 3, dtype=m.float64).half(),
    "to": lambda m: m.tensor([_TIE] * 3, dtype=m.float64).to(m.float16),
    "copy_": lambda m: m.zeros(3).half().copy_(m.tensor([_TIE] * 3, dtype=m.float64)),
    "an array": lambda m: m.tensor(np.array([_TIE] * 3), dtype=m.float16),
    "as_tensor": lambda m: m.as_tensor(np.array([_TIE] * 3), dtype=m.float16),
    "an array as float8": lambda m: m.tensor(np.array([1000.0, -1000.0, 3.0]), dtype=m.float8_e4m3fn).float(),
}


@pytest.mark.parametrize("name", _NARROWED)
def test_double_precision_becomes_half_in_two_steps(name: str) -> None:
    for _ in range(4):
        theirs, ours = both(_NARROWED[name])
        assert theirs == ours
