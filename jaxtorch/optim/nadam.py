"""NAdam."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from ._functional import nadam as nadam
from ._rule_optimizer import LATE, RuleOptimizer, check_common, decay_of, rounded
from ._update_rules import more_rules
from ._update_rules.differentiable import option
from .optimizer import host_number


class NAdam(RuleOptimizer):
    """NAdam (Dozat, 2016): Adam with Nesterov's momentum."""

    _arrays = ("exp_avg", "exp_avg_sq")
    _counts = ("step", "mu_product")
    _counted = "params, mu_products and state_steps"
    _late = (*LATE, ("decoupled_weight_decay", False))
    _rule = staticmethod(more_rules.nadam)

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr, eps, weight_decay, betas)
        if not momentum_decay >= 0.0:
            raise ValueError(f"Invalid momentum_decay value: {momentum_decay}")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return super()._begin(p, group) | {"mu_product": host_number(1.0)}

    def _step_numbers(self, group: dict[str, Any], *counts: float) -> tuple[Any, dict[str, Any], tuple[float, ...]]:
        step, product = counts
        b1, b2 = group["betas"]
        momentum_decay = group["momentum_decay"]
        mu = b1 * (1.0 - 0.5 * 0.96 ** (step * momentum_decay))
        following = b1 * (1.0 - 0.5 * 0.96 ** ((step + 1.0) * momentum_decay))
        product = rounded(product * rounded(mu))
        lr = option(group, "lr", divided=True)
        betas, numbers = self._betas(group)
        numbers |= {
            "lr": lr,
            "eps": group["eps"],
            "correction2": 1.0 - b2**step,
            "grad_rate": lr * (1.0 - mu) / (1.0 - product),
            "mean_rate": lr * following / (1.0 - product * following),
        }
        decay = decay_of(group, numbers)
        return (betas, decay, bool(group["maximize"])), numbers, (product,)
