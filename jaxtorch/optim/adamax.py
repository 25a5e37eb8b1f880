"""Adamax."""

from __future__ import annotations

from typing import Any

from ._functional import adamax as adamax
from ._rule_optimizer import LATE, RuleOptimizer, check_common, decay_of
from ._update_rules import more_rules
from ._update_rules.differentiable import option


class Adamax(RuleOptimizer):
    """Adamax (Kingma and Ba, 2015): Adam with the infinity norm."""

    _arrays = ("exp_avg", "exp_inf")
    _late = LATE
    _rule = staticmethod(more_rules.adamax)

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr, eps, weight_decay, betas)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        betas, numbers = self._betas(group)
        numbers["eps"] = group["eps"]
        numbers["rate"] = option(group, "lr") / (1.0 - group["betas"][0] ** count)
        decay = decay_of(group, numbers)
        return (betas, decay, bool(group["maximize"])), numbers
