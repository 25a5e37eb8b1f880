"""A normalisation's result may be overwritten before backward, with and without parameters; what PyTorch has saved may not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch

NORMS: dict[str, Callable[..., Any]] = {
    "batch": lambda nn, affine: nn.BatchNorm2d(4, affine=affine),
    "batch, eval": lambda nn, affine: nn.BatchNorm2d(4, affine=affine).eval(),
    "instance": lambda nn, affine: nn.InstanceNorm2d(4, affine=affine),
    "instance, running": lambda nn, affine: nn.InstanceNorm2d(4, affine=affine, track_running_stats=True),
    "group": lambda nn, affine: nn.GroupNorm(2, 4, affine=affine),
    "layer": lambda nn, affine: nn.LayerNorm(6, elementwise_affine=affine),
}
ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "relu": lambda nn: nn.ReLU(inplace=True),
    "leaky": lambda nn: nn.LeakyReLU(0.2, inplace=True),
    "elu": lambda nn: nn.ELU(inplace=True),
    "hardtanh": lambda nn: nn.Hardtanh(inplace=True),
    "hardswish": lambda nn: nn.Hardswish(inplace=True),
    "silu": lambda nn: nn.SiLU(inplace=True),
    "rrelu": lambda nn: nn.RReLU(inplace=True),
}


def _gradient(torch: Any, norm: str, affine: bool, activation: str) -> Any:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 5, 6, requires_grad=True)
    weights = torch.rand(2, 4, 5, 6)
    y = ACTIVATIONS[activation](torch.nn)(NORMS[norm](torch.nn, affine)(x * 2))
    (y * weights).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_activation_in_place(norm: str, activation: str) -> None:
    for affine in (False, True):
        got, expected = _gradient(torch, norm, affine, activation), _gradient(reference, norm, affine, activation)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def _penalty(torch: Any, norm: str, affine: bool) -> Any:
    """The gradients of a gradient penalty, as critics have it."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, 5, 6, requires_grad=True)
    y = torch.nn.LeakyReLU(0.2, inplace=True)(NORMS[norm](torch.nn, affine)(x * 2))
    (slope,) = torch.autograd.grad(y, x, torch.rand(2, 4, 5, 6), create_graph=True)
    ((slope.norm(2, dim=1) - 1) ** 2).mean().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("norm", ["batch", "instance", "group", "layer"])
def test_activation_in_place_differentiated_twice(norm: str) -> None:
    for affine in (False, True):
        got, expected = _penalty(torch, norm, affine), _penalty(reference, norm, affine)
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("torch", [torch, reference], ids=["jaxtorch", "torch"])
@pytest.mark.parametrize("norm", ["batch", "instance", "group", "layer"])
def test_overwritten_input(torch: Any, norm: str) -> None:
    for affine in (False, True):
        x = torch.randn(2, 4, 5, 6, requires_grad=True) * 1
        y = NORMS[norm](torch.nn, affine)(x)
        x.mul_(2)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
