"""Muon."""

from __future__ import annotations

import operator
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._options import number, run_closure, sent
from ._update_rules import more_rules
from .optimizer import Again, Optimizer, update


class Muon(Optimizer):
    """Muon (Jordan et al., 2024): momentum whose matrix is orthogonalized. For parameters with two dimensions.

    adjust_lr_fn: how the rate grows with a matrix (A, B): 'original' (the default), sqrt(max(1, A / B)), or
    'match_rms_adamw', 0.2 sqrt(max(A, B)) (Liu et al., 2025).
    """

    __module__ = "jaxtorch.optim"

    def __init__(
        self, params: Any, lr: Any = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95, nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7, ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not number(lr) >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if any(p.is_complex() for p in params):
                raise RuntimeError("Muon does not support complex parameters")
            if not params:
                continue
            for p in params:
                if "momentum_buffer" not in self.state[p]:
                    self.state[p]["momentum_buffer"] = functions["zeros_like"](p._grad)
            if group["ns_steps"] >= 100:
                raise ValueError("Number of steps must be less than 100 for computational efficiency")
            if len(group["ns_coefficients"]) != 3:
                raise ValueError("Coefficients must be a tuple of exactly 3 values")
            static, numbers = self._numbers(group, 0.0)
            update(
                "Muon",
                more_rules.muon,
                static,
                params,
                [p._grad for p in params],
                [[self.state[p]["momentum_buffer"] for p in params]],
                numbers,
                Again(self, group, [], static),
            )
        return loss

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        lr, momentum = number(group["lr"]), number(group["momentum"])
        coefficients = tuple([sent(c) for c in group["ns_coefficients"]])
        static = (
            bool(group["nesterov"]),
            coefficients,
            operator.index(group["ns_steps"]),
            sent(group["eps"]),
            group["adjust_lr_fn"],
        )
        keep = 1.0 - lr * group["weight_decay"]
        return static, {"lr": float(lr), "momentum": momentum, "complement": 1.0 - momentum, "keep": keep}
