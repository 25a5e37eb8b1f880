"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import wrap
from ._functional import sgd as sgd
from ._options import check_number, check_switches, number, run_closure
from ._update_rules import rules, sparse_steps
from ._update_rules.differentiable import option
from .optimizer import Again, Optimizer, update


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Sutskever et al., 2013) and Nesterov's variant.

    g = gradient + weight_decay p; b = momentum b + (1 - dampening) g, at first g; p -= lr b (nesterov: lr (g + momentum b)).

    The switches of implementation (`foreach`, `fused`) are accepted: all parameters are updated in one program anyway.

        >>> p = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (p * p).sum().backward()
        ...     optimizer.step()
        >>> p.data
        tensor([0.4600])
    """

    def __init__(
        self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: Any = 0,
        nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        for name, value in (("learning rate", lr), ("momentum", momentum), ("weight_decay", weight_decay)):
            check_number(name, value, nan=True)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_switches(foreach, fused, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False),
                                ("fused", None)):  # fmt: skip
                group.setdefault(name, value)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            momentum = number(group["momentum"])
            graph = bool(group["differentiable"])
            fresh: tuple[list[Any], list[Any]] = ([], [])
            running: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
            states_of = self.state
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    continue
                if is_sparse(grad):
                    sparse_steps.sgd(self, p, group)
                    continue
                buffer = states_of[p].get("momentum_buffer") if momentum else None
                if buffer is not None:
                    running[0].append(p)
                    running[1].append(grad)
                    running[2].append(buffer)
                else:
                    fresh[0].append(p)
                    fresh[1].append(grad)
            static, numbers = self._numbers(group, 0.0)
            again = Again(self, group, [], static)
            if fresh[0]:
                states: list[list[Any]] = []
                if momentum:
                    for p in fresh[0]:
                        buffer = functions["zeros_like"](p) if graph else wrap(p._grad._read())
                        self.state[p]["momentum_buffer"] = buffer
                    states = [[self.state[p]["momentum_buffer"] for p in fresh[0]]]
                update("SGD", rules.sgd, (*static, True), fresh[0], fresh[1], states, numbers, again, graph)
            if running[0]:
                update("SGD", rules.sgd, (*static, False), running[0], running[1], [running[2]], numbers, again, graph)
        return loss

    def _numbers(self, group: dict[str, Any], count: float) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What is part of the update's program, and what enters it as numbers."""
        momentum, decay = number(group["momentum"]), option(group, "weight_decay")
        if momentum:
            1 - group["dampening"]  # its TypeError
        damped = bool(momentum and group["dampening"])
        numbers = {"lr": option(group, "lr")}
        if decay:
            numbers["weight_decay"] = decay
        if momentum:
            numbers["momentum"] = momentum
            if damped:
                numbers["dampening"] = float(group["dampening"])
        return (decay != 0, damped, bool(group["nesterov"]), bool(group["maximize"])), numbers
