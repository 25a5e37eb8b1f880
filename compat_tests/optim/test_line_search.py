"""LBFGS with a line search: as many evaluations as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch as reference

import jaxtorch as torch


@pytest.mark.parametrize("max_iter, max_eval, lr", [(5, None, 1.0), (2, 3, 0.1), (20, 7, 1.0), (1, 1, 1.0)])
def test_line_search_stops_with_the_evaluations(max_iter: int, max_eval: int | None, lr: float) -> None:
    """A search takes as many evaluations as the step has left, no fixed number."""

    def run(m: Any) -> tuple[int, Any]:
        x = m.nn.Parameter(m.tensor([-1.2, 1.0], dtype=m.float64))
        optimizer = m.optim.LBFGS([x], lr=lr, max_iter=max_iter, max_eval=max_eval, line_search_fn="strong_wolfe")
        calls = []

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
            loss.backward()
            calls.append(loss)
            return loss

        for _ in range(4):
            optimizer.step(closure)
        return len(calls), x.tolist()

    (theirs, there), (ours, here) = run(reference), run(torch)
    assert ours == theirs
    assert here == pytest.approx(there, rel=1e-6)
