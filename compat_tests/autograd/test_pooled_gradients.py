"""Where the gradient of a maximum goes, when the program that computed the maximum was compiled."""

from __future__ import annotations

from typing import Any

import pytest

from parity import candidate


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_every_window_passes_its_gradient_on(name: str) -> None:
    torch: Any = candidate()
    torch.manual_seed(0)
    nn, dtype = torch.nn, getattr(torch, name)
    first = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.LeakyReLU(0.1)).to(dtype)
    second = nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.Mish()).to(dtype)
    head = nn.Conv2d(16, 21, 1).to(dtype)
    x = torch.randn(2, 8, 16, 16, dtype=dtype)
    for _ in range(4):  # the first runs are NumPy's, later ones XLA's
        a = first(x)
        s = second(a) + a
        p = nn.functional.max_pool2d(s, 2)
        head(p).mean().item()
        (grad,) = torch.autograd.grad(p, s, torch.ones_like(p))
        assert int((grad != 0).sum()) == p.numel()
        assert float(grad.sum()) == p.numel()


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
@pytest.mark.parametrize("kind", ["max", "amax", "norm"])
def test_an_extreme_in_half_precision_has_an_element(name: str, kind: str) -> None:
    """Every operation rounds in a compiled program too: a maximum that was not rounded equals no element."""
    torch: Any = candidate()
    torch.manual_seed(0)
    dtype = getattr(torch, name)
    a, b = torch.randn(8, 16, dtype=dtype), torch.randn(16, dtype=dtype)
    for _ in range(6):
        w, z = (torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in ((16,), (8, 16)))
        y = ((a * w + z * 2) * b + a * w).sigmoid() * w + z
        rows = y.max().view(1) if kind == "max" else y.amax(-1)
        rows = torch.linalg.vector_norm(y, float("inf"), dim=-1) if kind == "norm" else rows
        rows.sum().backward()
        assert not z.grad.isnan().any()
        assert int((z.grad != 0).sum()) >= rows.numel()


def test_the_result_is_not_compared_with() -> None:
    """Kept beside the input it may be rounded apart from it, and then no element of a window equals its maximum."""
    torch: Any = candidate()
    kept: list[tuple[int, ...]] = []
    x = torch.randn(2, 3, 4, 4, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(tuple(t.shape)) or t, lambda t: t):
        p = torch.nn.functional.max_pool2d(x, 2)
    assert tuple(x.shape) in kept and tuple(p.shape) not in kept
