"""Whole training runs, step by step against PyTorch from the same seed: initial values, dropout masks, shuffling, updates.

Each program is written once as a function of the module `torch`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch

Program = Callable[[Any], list[float]]


def dropout_mlp(torch: Any) -> list[float]:
    """A network with dropout and batch norm, 30 steps of SGD with momentum and weight decay."""
    torch.manual_seed(7)
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(64, 64), nn.Tanh(), nn.Dropout(0.2), nn.Linear(64, 5),
    )  # fmt: skip
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    x, y = torch.randn(32, 20), torch.randint(0, 5, (32,))
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        losses.append(nn.functional.cross_entropy(net(x), y).item())
    return losses


def shuffled_loader(torch: Any) -> list[float]:
    """Two epochs through a shuffling DataLoader, Adam, a learning rate that changes each step."""
    torch.manual_seed(3)
    nn = torch.nn
    data = torch.utils.data.TensorDataset(torch.randn(50, 8), torch.randn(50, 2))
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(2):
        for x, y in loader:
            optimizer.param_groups[0]["lr"] *= 0.97
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


def convolutions(torch: Any) -> list[float]:
    """Convolutions, pooling, batch norm in two dimensions and AdamW."""
    torch.manual_seed(11)
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, bias=False), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 4),
    )  # fmt: skip
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3)
    x, y = torch.randn(8, 3, 16, 16), torch.randint(0, 4, (8,))
    losses = []
    for _ in range(15):
        loss = nn.CrossEntropyLoss(label_smoothing=0.1)(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def embeddings(torch: Any) -> list[float]:
    """A bag of embeddings under Adagrad, then the same under RMSprop, with gradient accumulation and clipping."""
    torch.manual_seed(5)
    nn = torch.nn
    losses = []
    for make in (torch.optim.Adagrad, torch.optim.RMSprop):
        table, head = nn.Embedding(30, 12, padding_idx=0), nn.Linear(12, 3)
        parameters = [*table.parameters(), *head.parameters()]
        optimizer = make(parameters, lr=0.01)
        words, y = torch.randint(0, 30, (16, 6)), torch.randint(0, 3, (16,))
        for _ in range(6):
            optimizer.zero_grad()
            for part in range(2):
                rows = slice(8 * part, 8 * part + 8)
                loss = nn.functional.nll_loss(head(table(words[rows]).mean(1)).log_softmax(-1), y[rows]) / 2
                loss.backward()
                losses.append(loss.item())
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
    return losses


def by_hand(torch: Any) -> list[float]:
    """The manual update of the tutorials, on `.data` and on the parameter under `no_grad`."""
    torch.manual_seed(1)
    net = torch.nn.Linear(4, 1)
    x = torch.rand(16, 4)
    y = x.sum(1, keepdim=True) + 0.1 * torch.randn(16, 1)
    losses = []
    for step in range(12):
        net.zero_grad()
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        lr = 0.1 / (1 + step)
        if step % 2:
            for p in net.parameters():
                p.data.sub_(p.grad.data * lr)
        else:
            with torch.no_grad():
                for p in net.parameters():
                    p -= lr * p.grad
        losses.append(float(loss.detach()))
    return losses


@pytest.mark.parametrize("program", [dropout_mlp, shuffled_loader, convolutions, embeddings, by_hand])
def test_losses_are_pytorchs(program: Program) -> None:
    expected, found = program(pytorch), program(jaxtorch)
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
