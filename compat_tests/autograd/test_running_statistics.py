"""Running statistics and backward: who may write them in between, what a derivative then reads, and how writes are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch

NORMS: dict[str, Callable[..., Any]] = {
    "batch": lambda nn: nn.BatchNorm1d(6),
    "batch, averaged": lambda nn: nn.BatchNorm1d(6, momentum=None),
    "instance": lambda nn: nn.InstanceNorm1d(6, affine=True, track_running_stats=True),
}


def _first_layer(norm: Any, x: Any) -> Any:
    return norm(x)


def _two_batches(norm: Any, x: Any) -> Any:
    return norm(x) * norm(2 * x)


def _evaluated_then_trained(norm: Any, x: Any) -> Any:
    y = norm.eval()(x)
    norm.train()(x)
    return y


def _reset(norm: Any, x: Any) -> Any:
    y = norm(x)
    norm.reset_running_stats()
    return y


def _as_data(norm: Any, x: Any) -> Any:
    y = norm.eval()(x)
    norm.running_mean.data.add_(1)
    return y


USES = [_first_layer, _two_batches, _evaluated_then_trained, _reset, _as_data]


def _outcome(module: Any, norm: str, use: Any, of_input: bool) -> Any:
    layer = NORMS[norm](module.nn)
    x = module.from_numpy(np.sin(np.arange(72, dtype=np.float32)).reshape(3, 6, 4)).requires_grad_(of_input)
    y = use(layer, x)
    try:
        y.pow(3).sum().backward()
    except RuntimeError as error:
        return str(error)[:80]
    gradients = [layer.weight.grad, layer.bias.grad, *([x.grad] if of_input else [])]
    return [g.numpy() for g in gradients], [(b.detach().numpy(), b._version) for b in layer.buffers()]


@pytest.mark.parametrize("of_input", [False, True])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("norm", NORMS)
def test_writes_between_forward_and_backward(norm: str, use: Any, of_input: bool) -> None:
    expected, found = (_outcome(m, norm, use, of_input) for m in (reference, torch))
    assert isinstance(found, str) == isinstance(expected, str), (found, expected)
    if isinstance(expected, str):
        assert found == expected
        return
    for f, e in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-4, atol=1e-5)
    for (f, count), (e, expected_count) in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(f, e, rtol=1e-5)
        assert count == expected_count


@pytest.mark.parametrize("compiled", [False, True])
def test_training_with_a_norm_as_the_first_layer(compiled: bool) -> None:
    def body(module: Any) -> Any:
        module.manual_seed(0)
        net = module.nn.Sequential(module.nn.BatchNorm1d(6), module.nn.Linear(6, 3), module.nn.BatchNorm1d(3))
        optimizer = module.optim.SGD(net.parameters(), lr=0.1)

        def step(x: Any) -> Any:
            optimizer.zero_grad()
            loss = net(x).pow(3).sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = module.compile(step) if compiled and module is torch else step
        losses = [float(run(module.randn(8, 6))) for _ in range(8)]
        return losses, net[0].running_mean.numpy(), [b._version for b in net.buffers()]

    (losses, mean, versions), (expected, expected_mean, expected_versions) = body(torch), body(reference)
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-6)
    assert versions == expected_versions
