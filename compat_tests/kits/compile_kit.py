"""Shared by the tests of `torch.compile`: running a step plainly and compiled, and comparing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jaxtorch as torch
import jaxtorch.nn.functional as F
from jaxtorch import nn


def trials(compiled: Any) -> list[Any]:
    run = compiled.__dict__.get("_run") or compiled._compiled
    return list(run.trials.values())


def variants(compiled: Any) -> int:
    return sum(len(t.variants) for t in trials(compiled))


def reasons(compiled: Any) -> list[str]:
    return [t.reason for t in trials(compiled) if t.reason]


def flat(x: Any) -> list[Any]:
    if isinstance(x, torch.Tensor):
        return [x.detach().tolist()]
    if isinstance(x, dict):
        return [y for v in x.values() for y in flat(v)]
    if isinstance(x, (list, tuple)):
        return [y for v in x for y in flat(v)]
    return [x]


def close(a: Any, b: Any) -> None:
    for x, y in zip(flat(a), flat(b), strict=True):
        np.testing.assert_allclose(np.asarray(x, dtype=float), np.asarray(y, dtype=float), rtol=2e-5, atol=4e-6)


Build = Callable[[], tuple[Callable[..., Any], Callable[[], Any]]]


def compare(build: Build, calls: int = 6, captures: int | None = 1, make: Any = None) -> Any:
    """Run the built step plainly and compiled, from the same seed; all results and the final state must agree."""
    make = make or (lambda i: (torch.linspace(-1, 1, 32).reshape(8, 4) * (i + 1), torch.arange(8) % 3))

    def run(compile_it: bool) -> Any:
        torch.manual_seed(3)
        step, state = build()
        called = torch.compile(step) if compile_it else step
        results = [flat(called(*make(i))) for i in range(calls)]
        return results, flat(state()), called

    plain, compiled = run(False), run(True)
    for a, b in zip(plain[0], compiled[0], strict=True):
        close(a, b)
    close(plain[1], compiled[1])
    assert captures is None or variants(compiled[2]) == captures, reasons(compiled[2])
    return compiled[2]


def network(*extra: Any) -> Any:
    return nn.Sequential(nn.Linear(4, 8), *extra, nn.Tanh(), nn.Linear(8, 3))


def training(net: Any, optimizer: Any, scheduler: Any = None, clip: bool = False) -> Any:
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), 0.1)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
        return loss

    def state():
        grads = [p.grad for p in net.parameters() if p.grad is not None]
        buffers = [v for s in optimizer.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
        return [net.state_dict(), grads, buffers, [g["lr"] for g in optimizer.param_groups]]

    return step, state
