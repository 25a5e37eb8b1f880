"""Training steps with batch normalisation and Adam from two images: equal to PyTorch's in float64, and in float32 no less precise.

Such steps amplify rounding: where a gradient is nothing but rounding, Adam makes of it a step of the whole learning rate. So losses
in float32 drift apart from the second step on, PyTorch's own from those in float64 just as far. What can be compared in float32 is
one step: gradients, against those in float64 at the same parameters.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest


def network(torch: Any, kind: str) -> Any:
    """Those of EfficientNet (depthwise convolutions, squeeze-excite, SiLU), as in Inception-ResNet (flat kernels, a scaled
    sum, a normalised embedding), or one convolution of nearly constant images, whose variances are tiny."""
    nn, functional = torch.nn, torch.nn.functional

    def normalised(inputs: int, outputs: int, size: Any, **options: Any) -> list[Any]:
        return [
            nn.Conv2d(inputs, outputs, size, bias=False, **options),
            nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01),
        ]

    class Excited(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.squeeze, self.excite = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

        def forward(self, x: Any) -> Any:
            pooled = functional.silu(self.squeeze(x.mean((2, 3), keepdim=True)))
            return x * torch.sigmoid(self.excite(pooled))

    class Residual(nn.Module):
        def __init__(self, scale: float, *layers: Any) -> None:
            super().__init__()
            self.scale, self.layers = scale, nn.Sequential(*layers)

        def forward(self, x: Any) -> Any:
            return x + self.scale * self.layers(x)

    class Pooled(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.mean((2, 3))

    if kind == "constant":
        body = [
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1),
            nn.BatchNorm2d(8),
        ]
        return nn.Sequential(*body, nn.ReLU(), Pooled(), nn.Linear(8, 5))
    if kind == "mobile":
        depthwise = normalised(24, 24, 5, padding=2, groups=24)
        block = [*normalised(8, 24, 1), nn.SiLU(), *depthwise, nn.SiLU(), Excited(24), *normalised(24, 8, 1)]
        down = [*normalised(8, 24, 3, stride=2, padding=1, groups=8), nn.SiLU(), *normalised(24, 16, 1)]
        stem = [*normalised(3, 8, 3, stride=2, padding=1), nn.SiLU()]
        return nn.Sequential(*stem, Residual(1.0, *block), *down, Pooled(), nn.Linear(16, 5))
    flat = [*normalised(16, 8, 1), nn.ReLU(), *normalised(8, 8, (1, 7), padding=(0, 3)), nn.ReLU()]
    tall = [*normalised(8, 8, (7, 1), padding=(3, 0)), nn.ReLU(), nn.Conv2d(8, 16, 1)]
    stem = [*normalised(3, 16, 3, stride=2), nn.ReLU(), nn.MaxPool2d(3, 2)]
    last = [Pooled(), nn.Linear(16, 8, bias=False), nn.BatchNorm1d(8, eps=1e-3, momentum=0.1), nn.Linear(8, 5)]
    return nn.Sequential(*stem, Residual(0.17, *flat, *tall), nn.ReLU(), *last)


def images(kind: str) -> np.ndarray[Any, Any]:
    noise = np.random.default_rng(3).standard_normal((2, 3, 24, 24))
    return np.float32(1 + 1e-5 * noise if kind == "constant" else noise)


def steps(
    name: str, kind: str, dtype: str, start: list[Any], count: int, given: list[list[Any]] | None = None
) -> list[Any]:
    """What training steps from these parameters give: each its loss, the parameters before it and the gradients.

    given: parameters to be set before each step instead of those that Adam has made.
    """
    torch = importlib.import_module(name)
    net = network(torch, kind).to(getattr(torch, dtype))
    parameters = list(net.parameters())

    def put(arrays: list[Any]) -> None:
        with torch.no_grad():
            for p, a in zip(parameters, arrays, strict=True):
                p.copy_(torch.from_numpy(a))

    put(start)
    x, y = torch.from_numpy(images(kind)).to(getattr(torch, dtype)), torch.arange(2)
    optimizer, found = torch.optim.Adam(parameters, lr=1e-3), []
    for step in range(count):
        if given is not None:
            put(given[step])
        before = [p.detach().numpy().copy() for p in parameters]
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        found.append((loss.item(), before, [p.grad.numpy().copy() for p in parameters]))
    return found


def start(kind: str) -> list[Any]:
    """Parameters, numbers of float32."""
    rng, found = np.random.default_rng(5), []
    for p in network(importlib.import_module("torch"), kind).parameters():
        fan = max(int(np.prod(p.shape[1:])), 1)
        found.append(
            np.float32(rng.standard_normal(tuple(p.shape)) * (2 / fan) ** 0.5 if p.dim() > 1 else p.detach().numpy())
        )
    return found


KINDS = ["mobile", "inception", "constant"]


@pytest.mark.parametrize("kind", KINDS)
def test_losses_in_float64_are_pytorchs(kind: str) -> None:
    begin = start(kind)
    ours, theirs = (steps(name, kind, "float64", begin, 3) for name in ("jaxtorch", "torch"))
    np.testing.assert_allclose([s[0] for s in ours], [s[0] for s in theirs], rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_in_float32_are_as_precise(kind: str) -> None:
    begin, errors = start(kind), {}
    for name in ("jaxtorch", "torch"):
        found = steps(name, kind, "float32", begin, 4)
        exact = steps("torch", kind, "float64", begin, 4, [before for _, before, _ in found])
        rows = []
        for (_, _, grads), (_, _, true) in zip(found, exact, strict=True):
            pairs = [(g, t) for g, t in zip(grads, true, strict=True) if np.linalg.norm(t) > 1e-9]
            rows += [np.log(np.linalg.norm(g - t) / np.linalg.norm(t) + 1e-9) for g, t in pairs]
        errors[name] = float(np.exp(np.mean(rows)))
    assert errors["jaxtorch"] < 3 * errors["torch"], errors
