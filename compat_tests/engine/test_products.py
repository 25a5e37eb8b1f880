"""The forms of products and means that are chosen on a CPU, at sizes where they are chosen: values and derivatives of PyTorch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as pytorch

import jaxtorch
from jaxtorch._core import native
from jaxtorch._core.compile.context import tracing_for
from jaxtorch._ops.common import product_primitives


def _derivatives(torch, fn, arrays):
    """The result, its gradients, and the gradients of their squares."""
    xs = [torch.tensor(a, requires_grad=True) for a in arrays]
    out = fn(torch, *xs)
    first = torch.autograd.grad(out.sin().sum(), xs, create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), xs)
    return [t.detach().numpy() for t in (out, *first, *second)]


def _halves(torch, x):
    a, _, c = x.split(100, dim=1)
    return torch.cat([a * 2, c[:, :100]], 1)  # the middle one is not used


CASES = {
    "linear": (lambda torch, x, w, b: torch.nn.functional.linear(x, w, b), [(4, 80, 24), (256, 24), (256,)]),
    "matmul": (lambda torch, a, b: a @ b, [(3, 100, 24), (24, 256)]),
    "mm": (lambda torch, a, b: torch.mm(a, b), [(300, 24), (24, 256)]),
    "layer_norm": (lambda torch, x, w: torch.nn.functional.layer_norm(x, (3, 40), w), [(50, 3, 40), (3, 40)]),
    "gelu": (lambda torch, x: torch.nn.functional.gelu(x * 3), [(100, 100)]),
    "split, one part unused": (_halves, [(50, 300)]),
    "unbind": (lambda torch, x: torch.stack(x.unbind(1)[::2]), [(50, 5, 20)]),
    **{
        f"causal attention over {rows}": (
            lambda torch, q, k, v: torch.nn.functional.scaled_dot_product_attention(
                q * 1, k * 1, v * 1, is_causal=True
            ),
            [(2, 2, rows, 8)] * 3,
        )
        for rows in (127, 128, 133, 515)
    },
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    fn, shapes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    with pytorch.nn.attention.sdpa_kernel(pytorch.nn.attention.SDPBackend.MATH):  # others have no second derivative
        expected = _derivatives(pytorch, fn, arrays)
    for mine, theirs in zip(_derivatives(jaxtorch, fn, arrays), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["linear", "matmul", "layer_norm"])
def test_vmap_and_forward_mode(name):
    fn, shapes = CASES[name]
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    changes = [rng.standard_normal(shape) for shape in shapes]
    found = []
    for torch in (jaxtorch, pytorch):
        xs, ts = [torch.tensor(a) for a in arrays], [torch.tensor(t) for t in changes]
        _, change = torch.func.jvp(lambda *a, torch=torch: fn(torch, *a), tuple(xs), tuple(ts))
        many = torch.vmap(lambda x, torch=torch, xs=xs: fn(torch, x, *xs[1:]))(torch.stack([xs[0], ts[0]]))
        found.append([change.numpy(), many.numpy()])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.skipif(not native.available(), reason="the kernels were not built")
@pytest.mark.parametrize(
    ("units", "avx2", "taken"),
    [(True, False, [1, 1, 1, 1, 1]), (False, True, [1, 1, 1, 1, 0]), (False, False, [1, 0, 0, 0, 0])],
)
def test_which_layers_run_in_the_kernels_depends_on_the_processor(
    monkeypatch: pytest.MonkeyPatch, units: bool, avx2: bool, taken: list[int]
) -> None:
    monkeypatch.setattr(native, "matrix_units", lambda: units)
    monkeypatch.setattr(native, "with_avx2_alone", lambda: avx2)
    found = []
    for rows, inner, columns in ((128, 128, 512), (8, 1024, 1024), (2, 128, 4096), (1024, 128, 512), (8, 1024, 1032)):
        x, w, b = jnp.ones((rows, inner)), jnp.ones((columns, inner)), jnp.ones(columns)

        def layer(x, w, b):
            with tracing_for("cpu"):
                return product_primitives.times_and_plus(x, w, b)

        found.append(int("jaxtorch_linear" in jax.jit(layer).lower(x, w, b).as_text()))
        np.testing.assert_allclose(layer(x, w, b), np.full((rows, columns), inner + 1.0))
    assert found == taken
