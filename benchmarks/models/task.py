"""What a model of the benchmark is made of, and its step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass
class Task:
    """A model with its loss and its optimizer: all that one training step needs."""

    model: Any
    loss: Any
    optimizer: Any
    precision: Any = None
    """A context to compute the loss in: autocast, or none."""


def train_step(task: Task, inputs: Any, targets: Any) -> Any:
    """One step of the plain training loop; returns the loss, unread."""
    task.optimizer.zero_grad()
    if task.precision is None:
        loss = task.loss(task.model(inputs), targets)
    else:
        with task.precision():
            loss = task.loss(task.model(inputs), targets)
    loss.backward()
    task.optimizer.step()
    return loss
