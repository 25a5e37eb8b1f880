"""Indices that lie in bounds by how they are made (`argmax`, `topk`): no operation looks at them; any others are looked at."""

from __future__ import annotations

import pytest
import torch as reference

import jaxtorch as torch
from jaxtorch._core.record import program
from jaxtorch._core.types.device import cpu

MADE = {
    "argmax": lambda torch, x: x.argmax(1),
    "kept": lambda torch, x: x.argmax(1, keepdim=True)[:, 0],
    "argmin of all": lambda torch, x: x.argmin(),
    "max": lambda torch, x: x.max(1)[1],
    "topk": lambda torch, x: x.topk(2)[1],
    "argsort": lambda torch, x: x.argsort(1),
    "sort": lambda torch, x: x.sort(1, descending=True).indices,
    "turned": lambda torch, x: x.argsort(0).t().flip(0),
    "cast": lambda torch, x: x.argmax(1).int(),
    "cast twice": lambda torch, x: x.argmax(1).to(torch.int32).view(-1).long(),
    "arange": lambda torch, x: torch.arange(len(x)),
    "moved": lambda torch, x: x.argmax(1) - 2,
    "counted": lambda torch, x: (x > 0).sum(1),
}
USED = {
    "index": lambda table, k: table[k],
    "two": lambda table, k: table[k, k % 2],
    "put": lambda table, k: table.index_put((k,), table[0]),
    "add": lambda table, k: table.index_add(0, k.reshape(-1).long(), table[:1].expand(k.numel(), -1)),
    "embedding": lambda table, k: _library(table).nn.functional.embedding(k, table),
    "gather": lambda table, k: table.t().gather(1, k.reshape(1, -1).long()),
}


def _library(t):
    return torch if isinstance(t, torch.Tensor) else reference


def _tried(torch, made: str, used: str, rows: int) -> object:
    x = torch.tensor([[0.5, 2.0, -1.0, 3.5], [7.0, 0.1, 0.2, 0.3], [-1.0, -0.5, 2.5, 0.0]]) * 1.5
    table = torch.arange(2.0 * rows).reshape(rows, 2)
    try:
        return USED[used](table, MADE[made](torch, x + 1)).tolist()
    except (IndexError, RuntimeError) as error:
        return type(error)


@pytest.mark.parametrize("used", USED)
@pytest.mark.parametrize("made", MADE)
def test_indices_made_by_an_operation(made: str, used: str) -> None:
    for rows in (1, 2, 3, 4, 9):
        assert _tried(torch, made, used, rows) == _tried(reference, made, used, rows), rows


@pytest.mark.skipif(program.IMMEDIATE, reason="about recorded programs")
@pytest.mark.parametrize(
    "made", [name for name in MADE if name not in ("argmin of all", "moved", "counted", "arange", "cast twice")]
)
def test_what_fits_by_its_making_has_no_flag(made: str) -> None:
    x = torch.ones(3, 4)
    torch.arange(3.0).tolist()
    picked = torch.ones(4, 2)[MADE[made](torch, x + 1)]
    assert cpu.slot.program is not None and not cpu.slot.program.checks
    assert picked.sum() == picked.numel()
