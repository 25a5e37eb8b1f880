"""Writing in place before backward: never an error where PyTorch raises none, and the same gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from parity import candidate

X = np.random.default_rng(0).normal(size=(2, 2, 6, 6)).astype(np.float32)

OPERATIONS = {
    "exp": lambda t, x: x.exp(),
    "mul": lambda t, x: x * x,
    "relu": lambda t, x: t.relu(x),
    "max_pool1d": lambda t, x: t.nn.functional.max_pool1d(x[0], 2),
    "max_pool2d": lambda t, x: t.nn.functional.max_pool2d(x, 2),
    "max_pool2d with indices": lambda t, x: t.nn.functional.max_pool2d(x, 2, return_indices=True)[0],
    "max_pool3d": lambda t, x: t.nn.functional.max_pool3d(x, 2),
    "adaptive_max_pool2d": lambda t, x: t.nn.functional.adaptive_max_pool2d(x, 3),
    "avg_pool2d": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "max along": lambda t, x: x.max(1)[0],
    "min along": lambda t, x: x.min(1)[0],
    "amax": lambda t, x: x.amax(1),
    "sort": lambda t, x: x.sort(1)[0],
    "msort": lambda t, x: x.msort(),
    "kthvalue": lambda t, x: x.kthvalue(2)[0],
    "mode": lambda t, x: x.mode()[0],
    "cov": lambda t, x: x[0, 0].cov(),
    "quantile": lambda t, x: x.quantile(0.3),
    "masked_scatter": lambda t, x: x.masked_scatter(x.detach() > 0, x),
    "cross_entropy": lambda t, x: t.nn.functional.cross_entropy(x, t.ones(2, 6, 6, dtype=t.long)),
    "l1_loss": lambda t, x: t.nn.functional.l1_loss(x, t.zeros(2, 2, 6, 6), reduction="none"),
    "mse_loss": lambda t, x: t.nn.functional.mse_loss(x, t.zeros(2, 2, 6, 6), reduction="none"),
    "soft_margin_loss": lambda t, x: t.nn.functional.soft_margin_loss(x, t.ones(2, 2, 6, 6), reduction="none"),
    "triplet_margin_loss": lambda t, x: t.nn.functional.triplet_margin_loss(x, 2 * x, 3 * x),
    "tanhshrink": lambda t, x: t.nn.functional.tanhshrink(x),
    "trace": lambda t, x: x[0, 0].trace(),
    "kl_div": lambda t, x: t.nn.functional.kl_div(x, x.exp(), reduction="sum"),
    "pairwise_distance": lambda t, x: t.nn.functional.pairwise_distance(x, x * 2),
    "inverse": lambda t, x: t.linalg.inv(x[0, 0] + 9 * t.eye(6)),
    "svdvals": lambda t, x: t.linalg.svdvals(x[0, 0]),
    "trapezoid": lambda t, x: t.trapezoid(x),
    "cholesky": lambda t, x: t.linalg.cholesky(x[0, 0] @ x[0, 0].mT + t.eye(6)),
    "masked_select": lambda t, x: x.masked_select(x.detach() > 0),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x.cos(), x.sin()),
}


def outcome(t: Any, name: str, written: str) -> Any:
    leaf = t.from_numpy(X.copy()).requires_grad_()
    x = leaf + 0
    y = OPERATIONS[name](t, x)
    loss = y.sum() if written == "input" else (y + 0).sum()
    with t.no_grad():
        (x if written == "input" else y).mul_(2)
    try:
        loss.backward()
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return leaf.grad.detach().numpy()


@pytest.mark.parametrize("written", ["input", "result"])
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_write_before_backward(name: str, written: str):
    expected, found = outcome(torch, name, written), outcome(candidate(), name, written)
    if isinstance(found, bool):
        assert found is True
        assert expected is True
    elif not isinstance(expected, bool):  # PyTorch keeps more than it needs here and there: averages keep their input
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_relu_in_place_after_pooling():
    def body(t: Any) -> Any:
        t.manual_seed(0)
        net = t.nn.Sequential(t.nn.Conv2d(2, 3, 3), t.nn.MaxPool2d(2, stride=2), t.nn.ReLU(True), t.nn.Flatten())
        net(t.from_numpy(X)).square().sum().backward()
        return net[0].weight.grad.numpy()

    np.testing.assert_allclose(body(candidate()), body(torch), rtol=1e-4, atol=1e-5)


def _written(name: str) -> Any:
    return lambda t, x: getattr(t.nn.functional, name)(x + 0)


def _of_lstm(**options: Any) -> Any:
    return lambda t, x: t.nn.LSTM(6, 6, **options)(x[0])[0]


KEPT = {
    **{name: _written(name) for name in ("elu_", "selu_", "celu_", "leaky_relu_", "rrelu_", "relu_", "hardtanh_")},
    "elu": lambda t, x: t.nn.functional.elu(x),
    "leaky_relu": lambda t, x: t.nn.functional.leaky_relu(x),
    "rrelu_ in training": lambda t, x: t.nn.functional.rrelu_(x + 0, training=True),
    "ELU(inplace=True)": lambda t, x: t.nn.ELU(inplace=True)(x + 0),
    "masked_select": lambda t, x: x.masked_select(x.detach() > 0),
    "attention": lambda t, x: t.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True),
    "attention of three dimensions": lambda t, x: t.nn.functional.scaled_dot_product_attention(x[0], x[0], x[0]),
    "LSTM": _of_lstm(),
    "LSTM without bias": _of_lstm(bias=False, batch_first=True),
    "LSTM of two layers": _of_lstm(num_layers=2),
    "LSTM both ways": _of_lstm(bidirectional=True),
    "LSTM with projections": _of_lstm(proj_size=2),
    "GRU": lambda t, x: t.nn.GRU(6, 6)(x[0])[0],
}


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("name", list(KEPT))
def test_results_that_pytorch_keeps(name: str):
    """Whether a result may be overwritten before backward is as in PyTorch."""

    def raises(t: Any) -> bool:
        leaf = t.from_numpy(X.copy()).requires_grad_()
        y = KEPT[name](t, leaf + 0)
        loss = y.sum()
        with t.no_grad():
            y.mul_(2)
        try:
            loss.backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return False

    assert raises(candidate()) is raises(torch)


def test_a_write_through_a_view_of_memory_that_numpy_shares():
    def body(t: Any) -> Any:
        leaf = t.tensor(-2.0, requires_grad=True)
        x = leaf.exp().clamp(0, 3)
        view = x[...]
        array = view.detach().numpy()
        view[...].expand(1, 1)[-1] = x.clone()
        x.sum().backward()
        return leaf.grad.item(), array.item()

    assert body(candidate()) == pytest.approx(body(torch))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "cumprod"])
def test_a_result_that_backward_needs(name: str, dtype: str):
    """Written to, it is an error, with PyTorch's name for its type, in whatever precision the derivative is computed."""
    said = []
    for t in (torch, candidate()):
        x = t.ones(3, requires_grad=True).to(getattr(t, dtype))
        y = getattr(x, name)(0)
        y.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation") as error:
            y.abs().sum().backward()
        said.append(str(error.value).split(" is at version")[0])
    assert said[0] == said[1]
