"""Flax modules trained by jaxtorch, next to Flax and optax themselves, and jaxtorch modules trained by optax."""

from __future__ import annotations

from typing import Any

import flax.linen as linen
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from test_jax_interop import near, network, randn

import jaxtorch as torch
from jaxtorch import interop

F = torch.nn.functional


# -- training: Flax modules with jaxtorch's optimizers, jaxtorch modules with optax


class LinenNet(linen.Module):
    @linen.compact
    def __call__(self, x: Any, train: bool = True) -> Any:
        x = linen.BatchNorm(use_running_average=not train, momentum=0.9)(linen.Dense(8, use_bias=False)(x))
        return linen.Dense(3)(linen.Dropout(0.0, deterministic=not train)(linen.relu(x)))


class NNXNet(nnx.Module):
    def __init__(self, rate: float) -> None:
        rngs = nnx.Rngs(0)
        self.first, self.norm = nnx.Linear(4, 8, use_bias=False, rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.drop, self.last = nnx.Dropout(rate, rngs=rngs), nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.last(self.drop(nnx.relu(self.norm(self.first(x)))))


X, Y = randn(16, 4), torch.arange(16) % 3


def trained(model: Any, steps: int = 5) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(X), Y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def flax_loss(logits: Any) -> Any:
    return optax.softmax_cross_entropy_with_integer_labels(logits, Y.jax()).mean()


def test_linen_trains_as_in_flax():
    net = LinenNet()
    variables = net.init(jax.random.key(0), X.jax())
    model = interop.from_linen(net, variables=variables)
    losses = trained(model)
    params, stats, tx = variables["params"], variables["batch_stats"], optax.adam(0.05)
    state, expected = tx.init(params), []

    @jax.jit
    def step(params: Any, stats: Any, state: Any) -> Any:
        def loss(params: Any) -> Any:
            out, new = net.apply({"params": params, "batch_stats": stats}, X.jax(), mutable=["batch_stats"])
            return flax_loss(out), new["batch_stats"]

        (value, stats), gradients = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = tx.update(gradients, state)
        return optax.apply_updates(params, updates), stats, state, value

    for _ in range(5):
        params, stats, state, value = step(params, stats, state)
        expected.append(float(value))
    np.testing.assert_allclose(losses, expected, 1e-4)
    near(model.collections.batch_stats.BatchNorm_0.mean, stats["BatchNorm_0"]["mean"], 1e-4)
    near(model.eval()(X), net.apply({"params": params, "batch_stats": stats}, X.jax(), train=False), 1e-4)


def test_nnx_trains_as_in_flax():
    net = NNXNet(0.0)
    model = interop.from_nnx(net)
    losses = trained(model)
    optimizer, expected = nnx.Optimizer(net, optax.adam(0.05), wrt=nnx.Param), []
    for _ in range(5):
        value, gradients = nnx.value_and_grad(lambda m: flax_loss(m(X.jax())))(net)
        optimizer.update(net, gradients)
        expected.append(float(value))
    np.testing.assert_allclose(losses, expected, 1e-4)
    near(model.variables.norm.mean, net.norm.mean[...], 1e-4)
    net.eval()
    near(model.eval()(X), net(X.jax()), 1e-4)


def test_dropout_of_flax_modules():
    class Drop(linen.Module):
        @linen.compact
        def __call__(self, x: Any, deterministic: bool = False) -> Any:
            return linen.Dropout(0.5)(x, deterministic=deterministic)

    ones = torch.ones(200)
    for model in (interop.from_linen(Drop(), ones), interop.from_nnx(nnx.Dropout(0.5, rngs=nnx.Rngs(0)))):
        first, second = model(ones), model(ones)
        assert not torch.equal(first, second)
        assert set(first.tolist()) == {0.0, 2.0} and 60 < first.count_nonzero().item() < 140
        assert torch.equal(model.eval()(ones), ones)
    model = interop.from_linen(Drop(), ones)
    torch.manual_seed(3)
    first = model(ones)
    torch.manual_seed(3)
    assert torch.equal(model(ones), first), "the mask follows manual_seed"


def test_a_flax_module_that_draws_nothing_leaves_the_generator_alone():
    model = interop.from_linen(linen.Dense(3), X)
    torch.manual_seed(0)
    model(X)
    drawn = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(drawn, torch.rand(1))


def test_a_flax_module_is_part_of_a_model():
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), interop.from_linen(linen.Dense(6), torch.ones(1, 5)))
    names = ["0.weight", "0.bias", "1.params.bias", "1.params.kernel"]
    assert sorted(model.state_dict()) == sorted(names)
    model(X).sum().backward()
    near(model[1].params.kernel.grad, (model[0](X).sum(0)[:, None] * torch.ones(6)), 1e-5)
    other = torch.nn.Sequential(torch.nn.Linear(4, 5), interop.from_linen(linen.Dense(6), torch.ones(1, 5), seed=1))
    assert not torch.equal(other(X), model(X))
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(X), model(X))


def test_a_jaxtorch_module_trains_with_optax():
    model = network()
    params, tx = interop.params_of(model), optax.adam(0.05)
    assert {k: sorted(v) for k, v in params.items()} == {"0": ["bias", "weight"], "2": ["bias", "weight"]}

    @jax.jit
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        def loss(params: Any) -> Any:
            return F.cross_entropy(interop.apply(model, params, x), torch.from_jax(y)).jax()

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = tx.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    state, losses = tx.init(params), []
    for _ in range(5):
        params, state, value = step(params, state, X.jax(), Y.jax())
        losses.append(float(value))
    other = network()
    np.testing.assert_allclose(losses, trained(other), 1e-5)
    interop.load_params(model, params)
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        near(a, b, 1e-4)


def test_optax_works_on_modules_themselves():
    model, tx = network(), optax.adam(0.05)
    state, losses = tx.init(model), []

    @jax.jit
    def step(model: Any, state: Any) -> Any:
        value, gradients = jax.value_and_grad(lambda m: F.cross_entropy(m(X), Y).jax())(model)
        updates, state = tx.update(gradients, state, model)
        return optax.apply_updates(model, updates), state, value

    trained_one = model
    for _ in range(5):
        trained_one, state, value = step(trained_one, state)
        losses.append(float(value))
    np.testing.assert_allclose(losses, trained(network()), 1e-5)


def test_load_params_refuses_what_does_not_fit():
    model = network()
    before = interop.params_of(model)
    with pytest.raises(KeyError, match=r"no parameter or buffer '7.weight'"):
        interop.load_params(model, {"0": {"bias": jnp.zeros(8)}, "7": {"weight": jnp.ones(2)}})
    with pytest.raises(RuntimeError, match=r"'2.bias' has shape"):
        interop.load_params(model, {"0": {"bias": jnp.zeros(8)}, "2": {"bias": jnp.ones(2)}})
    with pytest.raises(KeyError, match="no parameter or buffer 'weight'"):
        interop.apply(model, {"weight": jnp.ones(2)}, X)
    near(model[0].bias, before["0"]["bias"])
