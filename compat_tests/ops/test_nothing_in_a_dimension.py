"""Dimensions of size 0, and indices into a tensor without dimensions: results and errors as PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test

CHOSEN = [
    ((0, 3), 0, [0, 0]),
    ((0, 3), 1, [0, 0]),
    ((0, 3), 0, []),
    ((3, 0), 0, [0, 1]),
    ((0,), 0, [0]),
    ((), 0, [1]),
    ((), 0, [0]),
]


def _kind(found: Any) -> Any:
    return getattr(found, "kind", found)


@pytest.mark.parametrize(("shape", "dim", "at"), CHOSEN)
@parity_test
def test_choosing(torch: Any, shape: Any, dim: int, at: list[int]) -> Any:
    x, index = torch.ones(shape), torch.tensor(at, dtype=torch.int64)
    spread = index.reshape(-1, *(1,) * max(len(shape) - 1, 0))
    return [
        _kind(attempt(lambda: x.index_select(dim, index).tolist())),
        _kind(attempt(lambda: x.gather(0, spread).tolist())),
    ]


@parity_test
def test_an_index_into_a_number_that_is_computed(torch: Any) -> Any:
    at = torch.tensor([0]) + 1
    return _kind(attempt(lambda: torch.ones(()).index_select(0, at).item()))


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (2, 0), (2, 3, 0)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@parity_test
def test_cross_entropy(torch: Any, reduction: str, shape: Any, kind: str) -> Any:
    x = torch.zeros(shape, dtype=getattr(torch, kind), requires_grad=True)
    labels = torch.zeros([shape[0], *shape[2:]], dtype=torch.int64)
    found = []
    for target, smoothing in ((labels, 0.0), (labels, 0.1), (torch.zeros(shape, dtype=x.dtype), 0.0)):

        def loss(target: Any = target, smoothing: float = smoothing) -> Any:
            out = torch.nn.functional.cross_entropy(x, target, reduction=reduction, label_smoothing=smoothing)
            (grad,) = torch.autograd.grad(out.sum(), x)
            return out.tolist(), grad.tolist(), out.detach(), grad.clone()

        found.append(_kind(attempt(loss)))
    return found


OF_ONE: dict[str, Any] = {
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]),
    "layer_norm with weights": lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:], *x.new_ones(2, x.shape[-1])),
    "layer_norm of all": lambda t, x: t.nn.functional.layer_norm(x, x.shape),
    "gumbel_softmax": lambda t, x: t.nn.functional.gumbel_softmax(x) * 0,
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "softmax": lambda t, x: x.softmax(-1) + x.log_softmax(0),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 0)])
@pytest.mark.parametrize("name", OF_ONE)
@parity_test
def test_normalising(torch: Any, name: str, shape: Any) -> Any:
    x = torch.ones(shape, requires_grad=True)

    def run() -> Any:
        y = OF_ONE[name](torch, x)
        (grad,) = torch.autograd.grad(y.sum(), x)
        return y.tolist(), grad.tolist(), list(y.shape)

    return _kind(attempt(run))


SHAPES = [
    ((1, 0, 3), (1, 0, 3), (1, 0, 3)), ((1, 3, 0), (1, 3, 0), (1, 3, 0)), ((0, 3, 4), (0, 3, 4), (0, 3, 4)),
    ((1, 2, 3), (1, 0, 3), (1, 0, 3)), ((2, 4, 3, 5), (2, 4, 0, 5), (2, 4, 0, 2)), ((1, 0, 3), (1, 2, 3), (1, 2, 3)),
    ((1, 2, 3), (1, 2, 3), (1, 2, 0)), ((1, 1, 2, 0), (1, 1, 2, 0), (1, 1, 2, 4)),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@parity_test
def test_attention(torch: Any, shapes: Any, kind: str) -> Any:
    found = []
    for how in ("plain", "causal", "masked"):
        given = [torch.ones(shape, dtype=getattr(torch, kind), requires_grad=True) for shape in shapes]
        mask = torch.ones(shapes[0][-2], shapes[1][-2], dtype=torch.bool) if how == "masked" else None
        y = torch.nn.functional.scaled_dot_product_attention(*given, attn_mask=mask, is_causal=how == "causal")
        y.sum().backward()
        found += [y.tolist(), *[x.grad.tolist() for x in given]]
    return found


SAMPLED = [
    ((0, 3, 8, 8), (0, 3, 3, 2)), ((2, 0, 8, 8), (2, 3, 3, 2)), ((2, 3, 8, 8), (2, 0, 3, 2)), ((2, 3, 0, 8), (2, 3, 3, 2)),
    ((0, 3, 4, 8, 8), (0, 2, 3, 3, 3)),
]  # fmt: skip


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize(("shape", "places"), SAMPLED)
@parity_test
def test_grid_sample(torch: Any, shape: Any, places: Any, mode: str) -> Any:
    x, grid = torch.ones(shape, requires_grad=True), torch.zeros(places, requires_grad=True)

    def run() -> Any:
        y = torch.nn.functional.grid_sample(x, grid, mode=mode, align_corners=False)
        y.sum().backward()
        return list(y.shape), x.grad.tolist(), grid.grad.tolist()

    return _kind(attempt(run))


@parity_test
def test_no_sequences(torch: Any) -> Any:
    scores, none = torch.zeros(4, 0, 3).log_softmax(2), torch.ones(0, dtype=torch.int64)
    return _kind(attempt(lambda: torch.nn.functional.ctc_loss(scores, none.view(0, 1), none, none).item()))


CONVOLVED = [
    ((1, 0, 5), (2, 0, 3), 1),
    ((1, 0, 5), (2, 0, 3), 2),
    ((0, 5), (2, 0, 3), 1),
    ((0, 0, 5), (2, 0, 3), 1),
    ((1, 0, 5, 5), (2, 0, 3, 3), 1),
    ((0, 2, 5), (4, 2, 3), 1),
    ((1, 0, 5), (0, 0, 3), 1),
]


@pytest.mark.parametrize(("size", "weight", "groups"), CONVOLVED)
@parity_test
def test_convolution(torch: Any, size: Any, weight: Any, groups: int) -> Any:
    F = torch.nn.functional
    dims = len(weight) - 2

    def run() -> Any:
        inputs = [torch.ones(s, requires_grad=True) for s in (size, weight, weight[:1])]
        out = getattr(F, f"conv{dims}d")(*inputs, groups=groups)
        return out.detach(), torch.autograd.grad(out.sum(), inputs)

    return [attempt(run)]


@pytest.mark.parametrize(("size", "weight"), [((1, 0, 5), (0, 2, 3)), ((1, 0, 5), (0, 0, 3)), ((0, 2, 5), (2, 2, 3))])
@parity_test
def test_transposed_convolution(torch: Any, size: Any, weight: Any) -> Any:
    return [attempt(lambda: torch.nn.functional.conv_transpose1d(torch.ones(size), torch.ones(weight)))]


@pytest.mark.parametrize("dim", [-3, -2, -1, 0, 1, 5])
@parity_test
def test_joining_nothing(torch: Any, dim: int) -> Any:
    nothing = torch.zeros(0)
    return [
        attempt(lambda: torch.cat([nothing, nothing], dim)),
        attempt(lambda: torch.cat([nothing.int(), nothing], dim)),
        attempt(lambda: torch.cat([nothing, torch.ones(2)], dim)),
        attempt(lambda: torch.cat([nothing, torch.ones(2, 3)], dim)),
        attempt(lambda: torch.cat([nothing.clone().requires_grad_()], dim).requires_grad),
    ]


@pytest.mark.parametrize("steps", [0, 1, 2])
@pytest.mark.parametrize("name", ["linspace", "logspace"])
@parity_test
def test_flags_in_steps(torch: Any, name: str, steps: int) -> Any:
    return [_kind(attempt(lambda: getattr(torch, name)(0, 1, steps, dtype=torch.bool)))]


@pytest.mark.parametrize("right", [(3, 0), (2, 3, 0), (3, 2), (0, 3, 2)])
@pytest.mark.parametrize("size", [(3, 3), (2, 3, 3), (0, 3, 3), (1, 3, 3)])
@parity_test
def test_solving_for_nothing(torch: Any, size: Any, right: Any) -> Any:
    matrix, other = torch.eye(3).expand(size) * 2, torch.ones(right)
    found = [
        attempt(lambda: torch.linalg.solve_triangular(matrix, other, upper=False)),
        attempt(lambda: torch.linalg.solve_triangular(matrix, other.mT, upper=True, left=False)),
        attempt(lambda: torch.triangular_solve(other, matrix)[0]),
        attempt(lambda: torch.cholesky_solve(other, matrix)),
        attempt(lambda: torch.linalg.solve(matrix, other)),
        attempt(lambda: torch.linalg.solve(matrix * 0, other)),
        attempt(lambda: torch.linalg.lu_solve(*torch.linalg.lu_factor(matrix), other)),
    ]
    return [getattr(x, "kind", None) or (tuple(x.shape), x.tolist()) for x in found]


@pytest.mark.parametrize("size", [(0, 0), (2, 0, 0), (0, 3, 3), (3, 0), (2, 3, 0), (2, 0, 3)])
@parity_test
def test_inverse_of_nothing(torch: Any, size: Any) -> Any:
    x = torch.zeros(*size, *size)
    return [
        attempt(lambda: torch.linalg.tensorinv(x, ind=len(size)).shape),
        attempt(lambda: torch.linalg.tensorsolve(x, torch.zeros(size)).shape),
    ]


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize(("size", "other"), [((2, 0), (3, 0)), ((0, 1, 3, 0), (1, 0, 0)), ((0, 2), (3, 2))])
@parity_test
def test_distances(torch: Any, size: Any, other: Any, p: float) -> Any:
    return [torch.cdist(torch.ones(size), torch.ones(other), p=p), torch.pdist(torch.ones(3, 0), p)]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@parity_test
def test_linear_cross_entropy(torch: Any, reduction: str) -> Any:
    target = torch.zeros(4, dtype=torch.int64)
    fn = torch.nn.functional.linear_cross_entropy
    return fn(torch.ones(4, 0), torch.ones(5, 0), target, reduction=reduction)


@pytest.mark.parametrize("size", [(0, 3), (2, 3, 0), (0, 3, 2)])
@parity_test
def test_normalisation(torch: Any, size: Any) -> Any:
    x, zeros, ones = torch.ones(size), torch.zeros(3), torch.ones(3)
    found = [
        attempt(lambda: torch.native_batch_norm(x, ones, zeros, zeros.clone(), ones.clone(), True, 0.1, 1e-5)),
        attempt(
            lambda: torch.native_batch_norm(x, ones, zeros, zeros.clone(), ones.clone(), False, 0.1, 1e-5)[0].shape
        ),
        attempt(lambda: torch.nn.functional.instance_norm(x)),
    ]
    return [_kind(x) for x in found]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("correction", [-5, 0, 1])
@parity_test
def test_variance(torch: Any, correction: int) -> Any:
    x = torch.ones(0, 3)
    return [
        torch.var(x, 0, correction=correction),
        torch.std_mean(x, correction=correction)[0],
        torch.ones(3, 0).std(0, correction=correction),
    ]
