"""Operations that meet ever new shapes: traced with the calls inside opened, they compute the same, and loops stay loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as reference
from jax import lax
from jax._src import core

import jaxtorch as torch
from jaxtorch._core.compile import tracing

F32 = np.float32


def _uses(jaxpr: Any, name: str) -> bool:
    inner = [j for eqn in jaxpr.eqns for j in core.jaxprs_in_params(eqn.params)]
    return any(eqn.primitive.name == name for eqn in jaxpr.eqns) or any(_uses(j, name) for j in inner)


def _of(n: int) -> list[Any]:
    return [jax.ShapeDtypeStruct((n, 3), F32)]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "_opened", {})


def test_calls_are_opened_from_the_second_on() -> None:
    def fn(x: Any) -> Any:
        return (jnp.where(x > 0, x, 2.0),)

    first, second = (tracing.traced("chosen", fn, _of(n)) for n in (3, 4))
    assert _uses(first.jaxpr, "jit") and not _uses(second.jaxpr, "jit")
    assert second.out_avals[0].shape == (4, 3)
    assert _uses(tracing.traced("chosen", fn, _of(5), False).jaxpr, "jit")


def test_loops_stay_loops() -> None:
    def scanned(x: Any) -> Any:
        return (lax.scan(lambda c, row: (c + row, None), jnp.zeros(3), x)[0],)

    for n in (3, 4):
        assert _uses(tracing.traced("scanned", scanned, _of(n)).jaxpr, "scan")


def test_loops_of_later_shapes_stay_loops() -> None:
    """Of a name that had none at first: what comes out too long is traced anew."""

    def fn(x: Any) -> Any:
        return scanned(x) if len(x) > 3 else (x.sum(0),)

    def scanned(x: Any) -> Any:
        return (lax.scan(lambda c, row: (c + row, None), jnp.zeros(3), x)[0],)

    tracing.traced("sometimes", fn, _of(3))
    for n in (tracing.LOOP_EQUATIONS, tracing.LOOP_EQUATIONS + 1):
        assert _uses(tracing.traced("sometimes", fn, _of(n)).jaxpr, "scan")


CASES: dict[str, Any] = {
    "where": lambda lib, x: lib.where(x > 0, x, x * 0.5),
    "softmax": lambda lib, x: x.softmax(1) * x,
    "std": lambda lib, x: x.std(0),
    "cdist": lambda lib, x: lib.cdist(x, x * 2),
    "layer_norm": lambda lib, x: lib.nn.functional.layer_norm(x, (3,)),
    "attention": lambda lib, x: lib.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    "cross_entropy": lambda lib, x: lib.nn.functional.cross_entropy(x, lib.arange(len(x)) % 3),
    "logcumsumexp": lambda lib, x: x.logcumsumexp(0),
    "prod": lambda lib, x: (x * 1.1).prod(0),
    "sort": lambda lib, x: x.sort(0)[0].cumsum(0),
    "topk": lambda lib, x: x.topk(2, 1)[0],
    "rows": lambda lib, x: x[lib.arange(len(x)).flip(0)][x[:, 0] > 0],
    "index_add": lambda lib, x: lib.zeros(4, 3).index_add(0, lib.arange(len(x)) % 4, x),
    "scatter_reduce": lambda lib, x: lib.zeros(4).scatter_reduce(0, lib.arange(len(x)) % 4, x[:, 0], "amax"),
    "solve": lambda lib, x: lib.linalg.solve(x.T @ x + lib.eye(3), x.T),
    "gelu of half": lambda lib, x: lib.nn.functional.gelu(x.bfloat16()).float(),
    "complex": lambda lib, x: (lib.fft.fft(x, dim=0) * 1j).abs(),
}


@pytest.mark.parametrize("name", CASES)
def test_growing_shapes(name: str) -> None:
    """Values, gradients and gradients of gradients of six shapes."""
    shown = []
    for lib in (reference, torch):
        found = []
        for n in range(5, 11):
            x = lib.tensor(np.random.default_rng(n).standard_normal((n, 3)).astype(F32), requires_grad=True)
            y = CASES[name](lib, x)
            (grad,) = lib.autograd.grad(y.square().sum(), x, create_graph=True)
            again = (
                grad if name == "cdist" else lib.autograd.grad(grad.square().sum(), x)[0]
            )  # PyTorch has no second one
            found += [t.detach().numpy() for t in (y, grad, again)]
        shown.append(found)
    for a, b in zip(*shown, strict=True):
        tolerance = 5e-2 if "half" in name else 2e-4
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


def test_flags_stay() -> None:
    """What is read in place of a kernel's flags is still an error at every shape."""
    for n in range(3, 8):
        with pytest.raises(IndexError):
            torch.zeros(2, 3)[torch.arange(n)].sum().item()
        assert torch.ones(n, 3)[torch.arange(n)].sum().item() == 3 * n


def test_without_the_tracer_of_this_version_jit_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "is_direct", lambda: False)
    x = torch.arange(6.0).reshape(2, 3).requires_grad_()
    (torch.tanh(x) * x).sum().backward()
    y = reference.arange(6.0).reshape(2, 3).requires_grad_()
    (reference.tanh(y) * y).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-5)


def test_this_version_of_jax_has_the_tracer() -> None:
    assert tracing.is_direct()
