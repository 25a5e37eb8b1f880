"""Adagrad."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.sparse_value import is_sparse
from ._functional import adagrad as adagrad
from ._options import check_number, check_switches, run_closure
from ._rule_optimizer import check_group
from ._update_rules import rules, sparse_steps
from ._update_rules.differentiable import option
from .optimizer import Again, Optimizer, by_step, host_number, update


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011): each coordinate's rate falls with its summed squared gradients."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_number("learning rate", lr)
        check_number("lr_decay", lr_decay)
        check_number("weight_decay", weight_decay)
        check_number("initial_accumulator_value", initial_accumulator_value)
        check_number("epsilon", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_switches(foreach, fused, differentiable)
        for group in self.param_groups:
            self._start(group, group["params"])

    def _start(self, group: dict[str, Any], params: list[Any]) -> None:
        """Give parameters that have none their first state."""
        full_like = functions["full_like"]
        start = group["initial_accumulator_value"]
        for p in params:
            if "sum" not in self.state[p]:
                value = full_like(p, complex(start, start) if p.is_complex() else start)
                self.state[p] = {"step": host_number(0.0), "sum": value}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("foreach", None), ("maximize", False), ("differentiable", False), ("fused", None)):
                group.setdefault(name, value)

    def share_memory(self) -> None:
        """Accepted and without effect: jaxtorch does not share memory between processes."""

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if not params:
                continue
            check_group(group, params)
            self._start(group, params)
            for p in params:
                if is_sparse(p._grad):
                    sparse_steps.adagrad(self, p, group)
            params = [p for p in params if not is_sparse(p._grad)]
            states = [self.state[p] for p in params]
            for count, where in by_step(params, states).items():
                static, numbers = self._numbers(group, count)
                update(
                    "Adagrad",
                    rules.adagrad,
                    static,
                    [params[i] for i in where],
                    [params[i]._grad for i in where],
                    [[states[i]["sum"] for i in where]],
                    numbers,
                    Again(self, group, [states[i] for i in where], static),
                    bool(group["differentiable"]),
                )
        return loss

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What is part of the update's program, and what enters it as numbers."""
        decay = option(group, "weight_decay")
        numbers = {"rate": option(group, "lr") / (1 + (count - 1) * group["lr_decay"]), "eps": group["eps"]}
        if decay:
            numbers["weight_decay"] = decay
        return (decay != 0, bool(group["maximize"])), numbers
