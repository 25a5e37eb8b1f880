"""Training loops whose flags nobody looks at: no step waits for an earlier one, and nothing of a failed one can be read."""

from __future__ import annotations

from typing import Any

import pytest

from conftest import Run
from jaxtorch._core.record.program import IMMEDIATE

STEPS = """
import warnings
import jaxtorch as torch
from jaxtorch._core.record import deferred_errors
from torch import nn
warnings.simplefilter("ignore")  # create_graph warns
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
def step(x, y):
    optimizer.zero_grad()
    scores = model(x)
    bad = scores.detach().abs().max() > 1e4
    loss = {loss}
    {backward}
    optimizer.step()
    return loss
step = {step}
x, y, losses = torch.randn(64, 64), torch.arange(64) % 3, []
for k in range(60):
    losses.append(step(x * 1e6 if k == 50 else x, y))
assert len(deferred_errors._unread) > 6, len(deferred_errors._unread)
for t in [losses[50], losses[59], model[0].bias, model[0].bias.grad]:
    try:
        t.tolist()
        raise SystemExit("read")
    except Exception as error:
        assert "{said}" in str(error), error
assert losses[49].item() > 0
"""


LOSSES = {
    "nn.functional.cross_entropy(scores, y + 7 * bad)": "is out of bounds",
    "nn.functional.binary_cross_entropy(scores.sigmoid() + 2 * bad, torch.ones(64, 3))": "between 0 and 1",
    "nn.functional.gaussian_nll_loss(scores, torch.ones(64, 3), torch.ones(64, 3) - 3 * bad)": "negative entry/entries",
}
"""Losses, and what their errors say. The backward of two of them reads their operands alone."""
BACKWARDS = [
    "loss.backward()",
    "loss.backward(torch.tensor(2.0))",
    "loss.backward(create_graph=True)",
    "torch.autograd.backward([loss * 1, scores.mean() + loss])",
]


@pytest.mark.skipif(IMMEDIATE, reason="there the call raises")
@pytest.mark.parametrize(
    ("step", "loss", "backward"),
    [("step", loss, BACKWARDS[0]) for loss in LOSSES]
    + [("torch.compile(step)", loss, BACKWARDS[0]) for loss in list(LOSSES)[:2]]
    + [("step", list(LOSSES)[1], backward) for backward in BACKWARDS[1:]],
)
def test_steps_do_not_wait_for_the_flags_of_steps_before(
    step: str, loss: str, backward: str, run_python: Run, tmp_path: Any
) -> None:
    """They are started, and what depends on a flag that turns out raised cannot be read, however many steps later."""
    script = STEPS.format(step=step, loss=loss, backward=backward, said=LOSSES[loss])
    (tmp_path / "steps.py").write_text(script)
    run_python("-m", "jaxtorch", str(tmp_path / "steps.py"))
