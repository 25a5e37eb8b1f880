"""Optimizers as functions of lists: `torch.optim.adam.adam(params, grads, exp_avgs, ...)`."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

from parity import attempt, parity_test

COMMON = {"lr": 0.1, "weight_decay": 0.1}
ADAM = {**COMMON, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("sgd", {**COMMON, "momentum": 0.9, "dampening": 0, "nesterov": False, "maximize": False}),
    ("sgd", {**COMMON, "momentum": 0.0, "dampening": 0, "nesterov": False, "maximize": True}),
    ("adam", {**ADAM, "amsgrad": True, "maximize": False}),
    ("adam", {**ADAM, "amsgrad": False, "maximize": True, "decoupled_weight_decay": True}),
    ("adamw", {**ADAM, "amsgrad": False, "maximize": False}),
    ("adadelta", {**COMMON, "rho": 0.9, "eps": 1e-6, "maximize": False}),
    ("adagrad", {**COMMON, "lr_decay": 0.1, "eps": 1e-8, "maximize": False}),
    ("adamax", ADAM),
    ("asgd", {**COMMON, "lambd": 0.1, "t0": 1.0, "alpha": 0.7}),
    ("nadam", {**ADAM, "momentum_decay": 0.01}),
    ("radam", ADAM),
    ("rmsprop", {**COMMON, "alpha": 0.9, "eps": 1e-8, "momentum": 0.9, "centered": True}),
    ("rprop", {"step_size_min": 1e-6, "step_size_max": 50, "etaminus": 0.5, "etaplus": 1.2}),
]
NUMBERS = {"state_steps": 0.0, "mus": 1.0, "etas": 1.0, "mu_products": 1.0}


def _function(torch: Any, name: str) -> Any:
    return getattr(importlib.import_module(f"{torch.__name__}.optim.{name}"), name)


@pytest.mark.parametrize(("name", "options"), CASES)
@parity_test
def test_steps(torch: Any, name: str, options: dict[str, Any]) -> Any:
    """Parameters and state after three steps; the state is the tensors that were given, but for what was None."""
    step = _function(torch, name)
    lists = [
        n for n, p in inspect.signature(step).parameters.items() if p.default is p.empty and p.kind != p.KEYWORD_ONLY
    ][2:]
    params = [torch.tensor([1.0, -2.0]), torch.tensor([[3.0]])]
    state = {}
    for n in lists:
        fill = 0.1 if n == "step_sizes" else 0.0
        state[n] = [torch.tensor(NUMBERS[n]) if n in NUMBERS else torch.full_like(p, fill) for p in params]
    if name == "sgd":
        state["momentum_buffer_list"] = [None, None]
    if name.startswith("adam") and not options.get("amsgrad", True):
        state["max_exp_avg_sqs"] = []
    given = {n: list(held) for n, held in state.items()}
    for k in range(3):
        step(params, [torch.tensor([0.5, 1.0]) * (k + 1), torch.tensor([[-1.0]])], *state.values(), **options)
    kept = [a is b or b is None for n in state for a, b in zip(state[n], given[n], strict=True)]
    return params, state, kept


@parity_test
def test_refusals(torch: Any) -> Any:
    sgd = _function(torch, "sgd")
    options = {**COMMON, "momentum": 0.0, "dampening": 0, "nesterov": False, "maximize": False}
    leaf = torch.ones(2, requires_grad=True)
    found = [
        attempt(lambda: sgd([leaf], [torch.ones(2)], [None], **options)),
        attempt(lambda: sgd([torch.ones(2)], [torch.ones(2)], [None])),
        attempt(lambda: sgd([torch.ones(2)], **options)),
        attempt(lambda: sgd([torch.ones(2)], [torch.ones(2)], [None], nothing=1, **options)),
    ]
    with torch.no_grad():
        sgd([leaf], [torch.ones(2)], [None], **options)
    return [f.kind for f in found], leaf.detach(), leaf.grad
