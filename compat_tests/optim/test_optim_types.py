"""Optimizers whose parameters change their element type."""

from __future__ import annotations

from typing import Any

import pytest

from parity import attempt, parity_test


@pytest.mark.parametrize("kind", ["float64", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adafactor", "Muon", "SGD", "RMSprop", "Adagrad"]
)
@parity_test
def test_state_of_another_type_than_the_parameter(torch: Any, name: str, kind: str) -> Any:
    """`net.double()` after some steps: averages are not of the gradient's type any more."""
    p = torch.nn.Parameter(torch.ones(3, 3))
    optimizer = getattr(torch.optim, name)([p], lr=0.1)

    def step() -> Any:
        p.grad = p.detach() * 2
        optimizer.step()
        return p.detach().clone()

    step()
    p.grad = None
    p.data = p.data.to(getattr(torch, kind))
    found = attempt(step)
    return (found.kind, found.message) if hasattr(found, "kind") and hasattr(found, "message") else str(found.dtype)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@parity_test
def test_factors_of_lbfgs(torch: Any, search: str | None) -> Any:
    """`state["al"]`: the factors of the last step's first loop, and None where the history has not come to."""
    p = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    optimizer = torch.optim.LBFGS([p], lr=0.1, max_iter=5, history_size=3, line_search_fn=search)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (p**4).sum()
        loss.backward()
        return loss

    found = []
    for _ in range(3):
        optimizer.step(closure)
        found.append(list(optimizer.state[p].get("al", ())))
    return found
