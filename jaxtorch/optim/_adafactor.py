"""Adafactor."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._options import number, run_closure, sent
from ._rule_optimizer import by_counts, check_group, set_counts
from ._update_rules import more_rules
from .optimizer import Again, Optimizer, host_number, update


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018): the second moment of a matrix from those of its rows and columns."""

    __module__ = "jaxtorch.optim"

    def __init__(
        self, params: Any, lr: Any = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not number(lr) >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)
            for p in group["params"]:
                own = self.state.get(p, {})
                if "step" in own and not isinstance(own["step"], Tensor):
                    own["step"] = host_number(float(own["step"]))

    def _begin(self, p: Tensor) -> dict[str, Any]:
        zeros = functions["zeros"]
        grad = p._grad
        kind = {"dtype": grad.dtype, "device": grad.device}
        if p._grad.dim() > 1:
            shape = tuple(grad.shape)
            rows, columns = zeros((*shape[:-1], 1), **kind), zeros((*shape[:-2], 1, shape[-1]), **kind)
            return {"step": host_number(0.0), "row_var": rows, "col_var": columns}
        return {"step": host_number(0.0), "variance": functions["zeros_like"](grad)}

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if any(p.is_complex() for p in params):
                raise RuntimeError("Adafactor does not support complex parameters")
            check_group(group, params)
            for p in params:
                if not self.state[p]:
                    self.state[p].update(self._begin(p))
            matrices = [p for p in params if p.dim() > 1]
            self._update(group, matrices, ("row_var", "col_var"))
            self._update(group, [p for p in params if p.dim() <= 1], ("variance",))
        return loss

    def _update(self, group: dict[str, Any], params: list[Tensor], names: tuple[str, ...]) -> None:
        states = [self.state[p] for p in params]
        for (count,), where in by_counts(states, ("step",)).items():
            some, chosen = [params[i] for i in where], [states[i] for i in where]
            set_counts(chosen, ("step",), (count + 1.0,))
            static, numbers = self._numbers(group, count + 1.0)
            update(
                "Adafactor",
                more_rules.adafactor,
                static,
                some,
                [p._grad for p in some],
                [[state[n] for state in chosen] for n in names],
                numbers,
                Again(self, group, chosen, static),
            )

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        lr = number(group["lr"])
        eps1, eps2 = group["eps"]
        numbers = {
            "weight": count ** group["beta2_decay"],
            "rho": min(lr, 1.0 / count**0.5),
            "eps2": float(eps2),
            "clip": float(group["d"]),
            "keep": 1.0 - lr * group["weight_decay"] if group["weight_decay"] else 1.0,
        }
        return (bool(group["maximize"]), eps1 if eps1 is None else sent(eps1)), numbers
