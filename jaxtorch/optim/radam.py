"""RAdam."""

from __future__ import annotations

from typing import Any

from ._functional import radam as radam
from ._rule_optimizer import LATE, RuleOptimizer, check_common, decay_of
from ._update_rules import more_rules
from ._update_rules.differentiable import option


class RAdam(RuleOptimizer):
    """RAdam (Liu et al., 2020): Adam without its second moment until that is reliable, and rectified from then on."""

    _arrays = ("exp_avg", "exp_avg_sq")
    _late = (*LATE, ("decoupled_weight_decay", False))
    _rule = staticmethod(more_rules.radam)

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr, eps, weight_decay, betas)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        b1, b2 = group["betas"]
        correction2 = 1.0 - b2**count
        longest = 2.0 / (1.0 - b2) - 1.0
        length = longest - 2.0 * count * b2**count / correction2
        adaptive = length > 5.0
        rectified = 0.0
        if adaptive:
            top = (length - 4.0) * (length - 2.0) * longest
            rectified = (correction2 * top / ((longest - 4.0) * (longest - 2.0) * length)) ** 0.5
        lr = option(group, "lr")
        betas, numbers = self._betas(group)
        numbers |= {"lr": lr, "eps": float(group["eps"]), "rate": lr / (1.0 - b1**count)}
        numbers |= {"rectified": rectified, "adaptive": float(adaptive)}
        numbers |= {"lr": lr, "correction1": 1.0 - b1**count, "correction2": correction2}
        decay = decay_of(group, numbers)
        return (betas, decay, bool(group["maximize"])), numbers
