"""Adam."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._functional import adam as adam
from ._options import check_number, check_switches, number, run_closure
from ._rule_optimizer import check_group
from ._update_rules import rules
from ._update_rules.differentiable import option
from .optimizer import Again, Optimizer, by_step, host_number, update


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015); `amsgrad` keeps the largest second moment (Reddi, Kale and Kumar, 2018).

    g = gradient + weight_decay p; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr m' / (sqrt(v') + eps), m' and v'
    being m and v divided by 1 - b1^t and 1 - b2^t.

    The switches of implementation (`foreach`, `fused`, `capturable`) are accepted: all parameters are updated in one program
    anyway.

        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.Adam([p], lr=0.1)
        >>> (p * p).sum().backward()
        >>> optimizer.step()
        >>> p.data
        tensor([0.9000])
    """

    _decoupled = False

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        check_number("learning rate", lr)
        if foreach and not capturable and isinstance(lr, Tensor):
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_number("epsilon", eps)
        for i, b in enumerate(betas):
            if not 0.0 <= number(b) < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {b}")
        check_number("weight_decay", weight_decay)
        if not any(isinstance(betas[0], kind) and isinstance(betas[1], kind) for kind in (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        if foreach and not capturable and isinstance(betas[0], Tensor):
            raise ValueError("betas[0] as a Tensor is not supported for capturable=False and foreach=True")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_switches(foreach, fused, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("amsgrad", False), ("maximize", False), ("foreach", None), ("capturable", False),
                                ("differentiable", False), ("decoupled_weight_decay", self._decoupled),
                                ("fused", None)):  # fmt: skip
                group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p, {})
                if "step" in own and not isinstance(own["step"], Tensor):
                    own["step"] = host_number(float(own["step"]))

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if not params:
                continue
            check_group(group, params)
            states = [self._state(p, group) for p in params]
            names = ["exp_avg", "exp_avg_sq"] + (["max_exp_avg_sq"] if group["amsgrad"] else [])
            for count, where in by_step(params, states).items():
                static, numbers = self._numbers(group, count)
                update(
                    type(self).__name__,
                    rules.adam,
                    static,
                    [params[i] for i in where],
                    [params[i]._grad for i in where],
                    [[states[i][n] for i in where] for n in names],
                    numbers,
                    Again(self, group, [states[i] for i in where], static),
                    bool(group["differentiable"]),
                )
        return loss

    def _state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = self.state[p]
        if not state:
            zeros_like = functions["zeros_like"]
            state["step"] = host_number(0.0)
            state["exp_avg"] = zeros_like(p)
            state["exp_avg_sq"] = zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_like(p)
        return state

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What is part of the update's program, and what enters it as numbers."""
        b1, b2 = group["betas"]
        graph = group["differentiable"] and (getattr(b1, "requires_grad", False) or getattr(b2, "requires_grad", False))
        if not graph:
            b1, b2 = number(b1), number(b2)
        numbers = {
            "lr": option(group, "lr", divided=True),
            "eps": number(group["eps"]),
            "correction1": 1.0 - b1**count,
            "correction2": 1.0 - b2**count,
        }
        betas: Any = None if graph else (float(b1), float(b2))
        first = (b1, b2) if graph else self.__dict__.setdefault("_first_betas", (b1, b2))
        if graph or first != (b1, b2):  # betas follow a schedule: numbers of the program from now on
            betas = None
            numbers |= {"beta1": b1, "beta2": b2, "complement1": 1.0 - b1, "complement2": 1.0 - b2}
        decay = ""
        if group["weight_decay"]:
            decay = "decoupled" if self._decoupled or group.get("decoupled_weight_decay") else "coupled"
            numbers["weight_decay"] = option(group, "weight_decay", divided=decay == "decoupled")
        return (betas, decay, bool(group["amsgrad"]), bool(group["maximize"])), numbers
