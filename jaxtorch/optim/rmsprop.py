"""RMSprop."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from ._functional import rmsprop as rmsprop
from ._options import check_number, check_switches, number, run_closure
from ._rule_optimizer import check_group
from ._update_rules import rules
from ._update_rules.differentiable import option
from .optimizer import Again, Optimizer, by_step, host_number, update


class RMSprop(Optimizer):
    """RMSprop (Tieleman and Hinton, 2012; centered: Graves, 2013), with momentum."""

    def __init__(
        self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_number("learning rate", lr)
        check_number("epsilon", eps)
        check_number("momentum", momentum)
        check_number("weight_decay", weight_decay)
        check_number("alpha", alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_switches(foreach, False, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("momentum", 0), ("centered", False), ("foreach", None), ("maximize", False),
                                ("differentiable", False), ("capturable", False)):  # fmt: skip
                group.setdefault(name, value)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        zeros_like = functions["zeros_like"]
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if not params:
                continue
            check_group(group, params)
            momentum, centered = number(group["momentum"]), bool(group["centered"])
            names = ["square_avg"] + (["momentum_buffer"] if momentum else []) + (["grad_avg"] if centered else [])
            states = []
            for p in params:
                state = self.state[p]
                if not state:
                    state["step"] = host_number(0.0)
                    for name in names:
                        state[name] = zeros_like(p)
                states.append(state)
            static, numbers = self._numbers(group, 0.0)
            by_step(params, states)
            update(
                "RMSprop",
                rules.rmsprop,
                static,
                params,
                [p._grad for p in params],
                [[s[n] for s in states] for n in names],
                numbers,
                Again(self, group, states, static),
                bool(group["differentiable"]),
            )
        return loss

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What is part of the update's program, and what enters it as numbers."""
        momentum, decay, alpha = number(group["momentum"]), option(group, "weight_decay"), group["alpha"]
        numbers = {"lr": option(group, "lr"), "eps": group["eps"], "alpha": alpha, "complement": 1 - alpha}
        if decay:
            numbers["weight_decay"] = decay
        if momentum:
            numbers["momentum"] = momentum
        return (decay != 0, bool(group["centered"]), momentum != 0, bool(group["maximize"])), numbers
