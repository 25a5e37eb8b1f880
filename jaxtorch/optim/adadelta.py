"""Adadelta."""

from __future__ import annotations

from typing import Any

from ._functional import adadelta as adadelta
from ._options import sent
from ._rule_optimizer import LATE, RuleOptimizer, check_common, decay_of
from ._update_rules import more_rules
from ._update_rules.differentiable import option


class Adadelta(RuleOptimizer):
    """Adadelta (Zeiler, 2012): rates from running averages of squared gradients and squared updates."""

    _arrays = ("square_avg", "acc_delta")
    _late = LATE
    _rule = staticmethod(more_rules.adadelta)

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_common(0.0, eps, weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        numbers = {"lr": option(group, "lr")}
        decay = decay_of(group, numbers)
        return (sent(group["rho"]), sent(group["eps"]), decay, bool(group["maximize"])), numbers
