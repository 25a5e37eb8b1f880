"""ASGD."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._functional import asgd as asgd
from ._options import number
from ._rule_optimizer import LATE, RuleOptimizer, check_common, decay_of, rounded
from ._update_rules import more_rules
from .optimizer import host_number


class ASGD(RuleOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992): `state[p]["ax"]` is the average from step t0 on."""

    _arrays = ("ax",)
    _counts = ("step", "eta", "mu")
    _counted = "params, mus, etas, and state_steps"
    _late = LATE
    _rule = staticmethod(more_rules.asgd)

    def __init__(
        self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr, None, weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        eta, mu = host_number(number(group["lr"])), host_number(1.0)
        return {"step": host_number(0.0), "eta": eta, "mu": mu, "ax": functions["zeros_like"](p)}

    def _step_numbers(self, group: dict[str, Any], *counts: float) -> tuple[Any, dict[str, Any], tuple[float, ...]]:
        step, eta, mu = counts
        lambd = group["lambd"]
        numbers = {"eta": eta, "keep": 1.0 - lambd * eta, "mu": mu}
        decay = decay_of(group, numbers)
        lr = number(group["lr"])
        after = (rounded(lr / (1.0 + lambd * lr * step) ** group["alpha"]), rounded(1.0 / max(1.0, step - group["t0"])))
        return (decay, bool(group["maximize"])), numbers, after
