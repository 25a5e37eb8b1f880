"""Rprop."""

from __future__ import annotations

import math
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._functional import rprop as rprop
from ._options import number
from ._rule_optimizer import LATE, RuleOptimizer, check_common
from ._update_rules import more_rules


class Rprop(RuleOptimizer):
    """Resilient backpropagation (Riedmiller and Braun, 1993): only the signs of the gradients count."""

    _arrays = ("prev", "step_size")
    _late = LATE
    _rule = staticmethod(more_rules.rprop)

    def __init__(
        self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_common(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = number(group["lr"])
        size = functions["full_like"](p, complex(lr, lr) if p.is_complex() else lr)
        return super()._begin(p, group) | {"step_size": size}

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        (down, up), (low, high) = group["etas"], group["step_sizes"]
        if low is None and high is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        return (bool(group["maximize"]),), {"down": down, "up": up, "low": low, "high": high}
