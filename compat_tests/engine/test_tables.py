"""Rows of a table that go through a layer: where the table is the shorter, it is mapped instead, with the same results."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as reference
from jax import lax

import jaxtorch as torch
from jaxtorch._core import native
from jaxtorch._core.compile import embedding_products
from jaxtorch._core.record import program
from jaxtorch._core.run import runner
from jaxtorch._ops.common.product_primitives import times, times_transposed
from jaxtorch._ops.nn.embedding import _picked_p

built = pytest.mark.skipif(not native.available(), reason="the kernels in C++ were not built here")
recorded = pytest.mark.skipif(program.IMMEDIATE, reason="there are no programs of several operations in immediate mode")


# -- the kernels ------------------------------------------------------------------------------------------------------------


@built
@pytest.mark.parametrize(
    ("count", "size", "columns"), [(1, 1, 1), (7, 3, 5), (300, 40, 64), (2000, 7, 200), (50, 3000, 130), (900, 1, 513)]
)
def test_kernels(count: int, size: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    index = rng.integers(0, size, count).astype(np.int32)
    table, g = (rng.standard_normal((n, columns), np.float32) for n in (size, count))
    np.testing.assert_array_equal(native.pick(table, index), table[index])
    for left_out in (False, True):
        if left_out:
            index = np.where(rng.random(count) < 0.3, -1, index).astype(np.int32)
        expected = np.zeros((size, columns))
        np.add.at(expected, index[index >= 0], g[index >= 0])
        np.testing.assert_allclose(
            native.add_picked(jnp.asarray(g), jnp.asarray(index), size), expected, rtol=1e-5, atol=1e-4
        )


@built
@pytest.mark.parametrize("valid", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", sorted(embedding_products.READERS))
def test_layers_read_a_table(name: str, reverse: bool, valid: bool) -> None:
    rng = np.random.default_rng(0)
    gates, size, steps, batch, units = {"l": 4, "g": 3, "r": 1}[name[0]], 20, 9, 21, 70

    def random(*shape: int) -> Any:
        return jnp.asarray(rng.standard_normal(shape, np.float32))

    index = jnp.asarray(rng.integers(0, size, (steps, batch)), jnp.int32)
    table, w = random(size, gates * units), random(gates * units, units) / 8
    rest = [
        random(batch, units),
        *([random(batch, units)] if gates == 4 else []),
        w,
        *([random(gates * units)] if gates == 3 else []),
    ]
    rest += [jnp.asarray(rng.integers(0, 2, (steps, batch)), jnp.float32)] if valid else []
    params: dict[str, Any] = {"reverse": reverse, **({"relu": False} if gates == 1 else {})}
    kernel = getattr(native, name)
    for got, expected in zip(
        jax.tree.leaves(kernel(table, *rest, index=index, **params)),
        jax.tree.leaves(kernel(table[index], *rest, **params)),
        strict=True,
    ):
        np.testing.assert_array_equal(got, expected)


# -- the reading of a program -----------------------------------------------------------------------------------------------


def looked_up(table: Any, index: Any, padding: int = -1) -> Any:
    return _picked_p.bind(table, index, size=len(table), padding=padding, zero=False)


def used_twice(table: Any, index: Any, w: Any) -> Any:
    rows = looked_up(table, index)
    return times_transposed(rows, w), rows.sum(1), rows[0]


def moved(table: Any, index: Any, w: Any) -> Any:
    rows = looked_up(table, index.reshape(20, 25)).transpose(1, 0, 2)
    return times_transposed(rows, w).transpose(1, 0, 2), rows


def turned(table: Any, index: Any, w: Any) -> Any:
    return (times(looked_up(table, index).T, jnp.ones((500, 40), jnp.float32)),)


def gradients(table: Any, index: Any, w: Any) -> Any:
    def loss(table: Any, w: Any) -> Any:
        rows = looked_up(table, index.reshape(20, 25), 3).transpose(1, 0, 2)
        return (times_transposed(rows, w) ** 2).sum()

    return jax.grad(loss, (0, 1))(table, w)


def summed_elsewhere(table: Any, index: Any, w: Any) -> Any:
    """The product whose rows are added up is a result as well, and another index than the one that was looked up adds it up."""
    product = times(looked_up(table, index) * 2, w.T)
    return product, jax.linear_transpose(lambda t: looked_up(t, index[::-1]), jnp.zeros((30, 200), jnp.float32))(
        product
    )[0]


@built
@pytest.mark.parametrize("fn", [used_twice, moved, turned, gradients, summed_elsewhere])
def test_a_program_means_the_same(fn: Any) -> None:
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        table = jnp.asarray(rng.standard_normal((30, 64), np.float32))
        w = jnp.asarray(rng.standard_normal((200, 64), np.float32))
        index = jnp.asarray(rng.integers(-2, 33, 500))
        expected = jax.jit(fn)(table, index, w)
        got = jax.jit(embedding_products.with_mapped_tables(fn))(table, index, w)
    assert jax.tree.structure(got) == jax.tree.structure(expected)
    for g, e in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        assert (g.shape, g.dtype) == (e.shape, e.dtype)
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4 * float(jnp.abs(e).max()))


def _multiplications(fn: Any, *args: Any) -> int:
    """Of the kernels' products in a function."""
    text = jax.jit(fn).lower(*args).as_text()
    calls = [line for line in text.splitlines() if "jaxtorch_product" in line or "jaxtorch_linear" in line]
    total = 0
    for line in calls:
        shapes = [[int(n) for n in found.split("x")] for found in re.findall(r"tensor<([0-9x]+)xf32>", line)]
        total += round(float(np.prod(shapes[0]) * np.prod(shapes[1]) * np.prod(shapes[-1])) ** 0.5)
    return total


@built
def test_fewer_multiplications() -> None:
    table, w, index = jnp.ones((128, 64)), jnp.ones((256, 64)), jnp.zeros((1024,), jnp.int32)
    plain = _multiplications(gradients_of_layer, table, index, w)
    assert plain == 3 * 1024 * 64 * 256
    assert _multiplications(embedding_products.with_mapped_tables(gradients_of_layer), table, index, w) == plain // 8


def gradients_of_layer(table: Any, index: Any, w: Any) -> Any:
    def loss(table: Any, w: Any) -> Any:
        return lax.square(times_transposed(looked_up(table, index), w)).sum()

    return jax.grad(loss, (0, 1))(table, w)


# -- beside PyTorch ---------------------------------------------------------------------------------------------------------


def _trained(torch: Any, kind: str, padding: int | None, bidirectional: bool, spoil: bool = False) -> list[Any]:
    """Losses, gradients and outputs of a model over bytes: 60 rows of a table read 768 times."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    embedding = torch.nn.Embedding(60, 64, padding_idx=padding)
    if spoil:
        with torch.no_grad():
            embedding.weight[7] = float("inf")  # never looked up
    layer: Any
    if kind == "Linear":
        layer = torch.nn.Linear(64, 96)
    else:
        layer = getattr(torch.nn, kind)(64, 96, batch_first=True, bidirectional=bidirectional)
    head = torch.nn.Linear(192 if bidirectional else 96, 60)
    parameters = [*embedding.parameters(), *layer.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    found: list[Any] = []

    def run(x: Any) -> Any:
        out = layer(embedding(x))
        return head(out if kind == "Linear" else out[0])

    for _ in range(4):
        x, y = (torch.from_numpy(rng.integers(8 * spoil, 60, (8, 96))) for _ in range(2))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(x).reshape(-1, 60), y.reshape(-1))
        loss.backward()
        found += [loss.item(), *(p.grad.clone().numpy() for p in parameters)]
        optimizer.step()
    with torch.no_grad():
        found += [run(x).numpy() for _ in range(3)]
    return found


@pytest.mark.parametrize(
    ("kind", "padding", "bidirectional", "spoil"),
    [
        ("LSTM", None, False, False),
        ("LSTM", 3, True, False),
        ("GRU", None, True, False),
        ("RNN", 59, False, False),
        ("Linear", None, False, False),
        ("Linear", 0, False, False),
        ("LSTM", None, False, True),
    ],
)
def test_models_over_few_symbols(kind: str, padding: int | None, bidirectional: bool, spoil: bool) -> None:
    got, expected = (_trained(t, kind, padding, bidirectional, spoil) for t in (torch, reference))
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=2e-6)


@built
@recorded
def test_a_training_step_is_read_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the tests above would show nothing."""
    seen = []
    runner._structures.clear()  # a program that another test has compiled is not compiled again
    add = native.add_picked
    monkeypatch.setattr(native, "add_picked", lambda g, *rest: (seen.append(g.shape), add(g, *rest))[1])
    _trained(torch, "LSTM", None, False)
    assert (768, 4 * 96) in seen


def test_higher_derivatives_with_padding() -> None:
    def run(torch: Any) -> list[Any]:
        weight = torch.arange(12, dtype=torch.float64).reshape(4, 3).requires_grad_()
        index = torch.tensor([[0, 2, 2], [1, 3, 0]])
        rows = torch.nn.functional.embedding(index, weight, padding_idx=2)
        (first,) = torch.autograd.grad((rows**3).sum(), weight, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), weight)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(weight.detach(), torch.ones_like(weight))
            moved = torch.autograd.forward_ad.unpack_dual(torch.nn.functional.embedding(index, dual)).tangent
        return [x.detach().numpy() for x in (rows, first, second, moved)]

    for got, expected in zip(run(torch), run(reference), strict=True):
        np.testing.assert_array_equal(got, expected)
