"""Writes at places that JAX traces: the same elements as outside of its transformations, and derivatives through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import jaxtorch as torch

X = torch.arange(24.0).reshape(2, 3, 4)
V = -1 - X


def _increment(x: Any, i: Any, v: Any) -> None:
    x[:, i] += v[:, 0]


NUMBERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "row": lambda x, i, v: x.__setitem__(i, v[0]),
    "number": lambda x, i, v: x.__setitem__(i, 7.0),
    "column": lambda x, i, v: x.__setitem__((slice(None), i), v[:, 0]),
    "part of a column": lambda x, i, v: x.__setitem__((slice(None), i, slice(1, 3)), v[:, 0, 1:3]),
    "two": lambda x, i, v: x.__setitem__((i, i), v[0, 0]),
    "with an index array": lambda x, i, v: x.__setitem__((i, torch.tensor([0, 2])), v[0, :2]),
    "behind an index array": lambda x, i, v: x.__setitem__((torch.tensor([0, 1]), slice(None), i), v[:, :, 0]),
    "from the end": lambda x, i, v: x.__setitem__((Ellipsis, i - 3), v[..., 0]),
    "of a view": lambda x, i, v: x[:, 1:].__setitem__((slice(None), i), v[:, 0]),
    "new dimension": lambda x, i, v: x.__setitem__((None, i), v[0]),
    "in place": _increment,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_at_a_number(name: str) -> None:
    def run(i: Any, v: Any) -> Any:
        y = X.clone()
        NUMBERS[name](y, i, v)
        return y

    def loss(v: Any, i: Any) -> Any:
        return (run(i, v) * X.sin()).sum().jax()

    i = torch.tensor(1)
    expected = run(i, V)
    assert not torch.equal(expected, X)
    assert torch.equal(jax.jit(run)(i, V), expected)
    wanted = V.clone().requires_grad_()
    (run(i, wanted) * X.sin() + wanted * 0).sum().backward()
    gradient = wanted.grad
    for transformed in (jax.grad(loss), jax.jit(jax.grad(loss))):
        np.testing.assert_allclose(transformed(V, i).numpy(), gradient.numpy(), rtol=1e-6)


PLACES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "index_copy": lambda x, i, v: x.index_copy(1, i, v[:, :2]),
    "scatter": lambda x, i, v: x.scatter(1, i.reshape(1, 2, 1).expand(2, 2, 4), v),
    "put": lambda x, i, v: x.put(i, v[0, 0, :2]),
    "index_put": lambda x, i, v: x.index_put((i.clamp(max=1), i), v[0, :2]),
    **{
        f"scatter_reduce, {how}": lambda x, i, v, how=how: x.scatter_reduce(
            1, i.reshape(1, 2, 1).expand(2, 2, 4), v, how
        )
        for how in ("prod", "amax", "amin", "mean")
    },
    "frexp": lambda x, i, v: (x + v * i[0]).frexp().mantissa,
}


@pytest.mark.parametrize("name", PLACES)
def test_derivatives_that_jit_traces(name: str) -> None:
    """A derivative's rule must not hold tracers of an earlier trace."""

    def result(v: Any, i: Any) -> Any:
        return (PLACES[name](X + 1, i, v) ** 2).sum()

    v, i = V / 3, torch.tensor([2, 0])
    wanted = v.clone().requires_grad_()
    (first,) = torch.autograd.grad(result(wanted, i), wanted, create_graph=True)
    found = jax.jit(jax.grad(lambda v, i: result(v, i).jax()))(v, i)
    np.testing.assert_allclose(found.numpy(), first.detach().numpy(), rtol=1e-5)
    if not first.requires_grad:
        return
    (second,) = torch.autograd.grad((first * X.cos()).sum(), wanted)
    inner = jax.grad(lambda v, i: result(v, i).jax())
    found = jax.jit(jax.grad(lambda v, i: (inner(v, i) * X.cos()).sum().jax()))(v, i)
    np.testing.assert_allclose(found.numpy(), second.numpy(), rtol=1e-5, atol=1e-4)


def test_loops_and_batches() -> None:
    def fibonacci(y: Any, i: Any) -> Any:
        y = y.clone()
        y[i] = y[i - 1] + y[i - 2]
        return y, i

    assert jax.lax.scan(fibonacci, torch.tensor([1, 1, 0, 0, 0]), torch.arange(2, 5))[0].tolist() == [1, 1, 2, 3, 5]

    def without(x: Any, i: Any) -> Any:
        y = x.clone()
        y[i] = 0
        return y

    found = torch.func.vmap(without)(torch.ones(3, 4), torch.tensor([0, 3, 1]))
    assert found.tolist() == [[0, 1, 1, 1], [1, 1, 1, 0], [1, 0, 1, 1]]
