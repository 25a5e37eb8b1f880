"""`torch.nn.utils._per_sample_grad`: a gradient for each sample, as PyTorch's expanded weights give it."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import jaxtorch

LAYERS = {
    "linear": (lambda nn: nn.Linear(3, 2), (4, 6, 3)),
    "linear_without_bias": (lambda nn: nn.Linear(3, 2, bias=False), (4, 3)),
    "conv1d_same": (lambda nn: nn.Conv1d(2, 4, 3, padding="same"), (3, 2, 5)),
    "conv2d_groups": (lambda nn: nn.Conv2d(2, 4, 3, padding=1, groups=2), (3, 2, 5, 5)),
    "conv2d_circular": (lambda nn: nn.Conv2d(2, 4, 3, stride=2, padding=1, padding_mode="circular"), (3, 2, 5, 5)),
    "conv3d": (lambda nn: nn.Conv3d(1, 2, 2), (3, 1, 3, 3, 3)),
    "layer_norm": (lambda nn: nn.LayerNorm(4), (3, 2, 4)),
    "group_norm": (lambda nn: nn.GroupNorm(2, 4), (3, 4, 2)),
    "instance_norm": (lambda nn: nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
    "instance_norm_with_statistics": (
        lambda nn: nn.InstanceNorm1d(3, affine=True, track_running_stats=True),
        (2, 3, 4),
    ),
    "network": (lambda nn: nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2)), (3, 1, 4, 4)),
    "embedding": (lambda nn: nn.Embedding(5, 3, padding_idx=1), torch.tensor([[0, 1], [2, 2], [4, 1]])),
    "batch_norm": (lambda nn: nn.BatchNorm1d(3), (4, 3)),
    "prelu": (lambda nn: nn.PReLU(), (3, 2)),
    "without_batch": (lambda nn: nn.Linear(3, 2), (3,)),
    "attention": (lambda nn: nn.MultiheadAttention(4, 2), (3, 2, 4)),
}


def _called(torch: Any, make: Any, shape: Any, options: dict[str, Any]) -> Any:
    """What one call with a backward pass leaves, or the error."""
    call = __import__(f"{torch.__name__}.nn.utils._per_sample_grad", fromlist=["x"]).call_for_per_sample_grads
    torch.manual_seed(0)
    module = make(torch.nn)
    is_input = not isinstance(shape, tuple)
    x = torch.tensor(shape.tolist()) if is_input else torch.randn(shape, requires_grad=True)
    inputs = (x, x, x) if isinstance(module, torch.nn.MultiheadAttention) else (x,)
    try:
        out = call(module, **options)(*inputs)
    except RuntimeError as error:
        return str(error)
    (out * torch.arange(out.numel()).view_as(out)).sum().backward()
    found: dict[str, Any] = {n: p.grad_sample.tolist() for n, p in module.named_parameters()}
    assert all(p.grad is None and type(p.grad_sample) is torch.Tensor for p in module.parameters())
    found["input"] = None if is_input else x.grad.tolist()
    found["buffers"] = [b.tolist() for b in module.buffers()]
    with pytest.raises(RuntimeError, match="Current Expanded Weights accumulates the gradients"):
        call(module, **options)
    return found


@pytest.mark.parametrize("options", [{}, {"loss_reduction": "mean"}], ids=["sum", "mean"])
@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_samples(name: str, options: dict[str, Any]):
    make, shape = LAYERS[name]
    ours, theirs = _called(jaxtorch, make, shape, options), _called(torch, make, shape, options)
    if isinstance(theirs, str):
        assert ours == theirs
        return
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        if value is not None and key != "buffers":
            torch.testing.assert_close(torch.tensor(ours[key]), torch.tensor(value), rtol=1e-4, atol=1e-4)
    for mine, other in zip(ours["buffers"], theirs["buffers"], strict=True):
        torch.testing.assert_close(torch.tensor(mine), torch.tensor(other))


def _results(torch: Any) -> list[Any]:
    call = __import__(f"{torch.__name__}.nn.utils._per_sample_grad", fromlist=["x"]).call_for_per_sample_grads
    linear = torch.nn.Linear(3, 3)
    x = torch.ones(5, 3)

    def said(*args: Any, **options: Any) -> Any:
        try:
            return tuple(call(*args, **options)(x).shape)
        except RuntimeError as error:
            return str(error)

    found = [said(linear, loss_reduction="foo"), said(1), said(linear, batch_size="a"), said(linear, batch_size=0)]
    found += [said(linear, batch_size=3), said(linear, batch_size=5)]
    for fails in (lambda: call(linear)(1), lambda: call(torch.nn.Bilinear(3, 3, 2))(x, x[:2])):
        with pytest.raises(RuntimeError) as caught:
            fails()
        found.append(str(caught.value)[:100])

    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = linear

        def forward(self, x: Any) -> Any:
            return self.linear(self.linear(x))

    linear.bias.requires_grad_(False)
    linear.weight.detach().copy_(torch.eye(3))
    linear.bias.detach().zero_()
    call(Twice())(x).sum().backward()
    return [*found, linear.weight.grad_sample.tolist(), hasattr(linear.bias, "grad_sample")]


def test_errors_sizes_and_shared_parameters():
    assert _results(jaxtorch) == _results(torch)


def test_recurrent_layers_say_that_they_are_missing():
    call = __import__("jaxtorch.nn.utils._per_sample_grad", fromlist=["x"]).call_for_per_sample_grads
    for kind in (jaxtorch.nn.LSTM, jaxtorch.nn.GRU, jaxtorch.nn.RNN):
        with pytest.raises(RuntimeError, match="Expanded Weights encountered but cannot handle function"):
            call(kind(3, 2, batch_first=True))(jaxtorch.ones(4, 5, 3))
