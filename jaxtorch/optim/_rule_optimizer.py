"""What most optimizers share: one rule, state of one form, counts that live on the host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.value import Value
from ._options import check_number, number, run_closure
from ._update_rules.differentiable import check_alpha
from .optimizer import Again, Optimizer, host_number, update

_ON_DEVICE = ("cuda", "xpu", "hpu", "privateuseone", "xla", "tpu")


class RuleOptimizer(Optimizer):
    """An optimizer of one update rule.

    A subclass names its state (`_arrays`, as large as the parameter; `_counts`, numbers on the host that begin with the
    step) and its rule, and turns options and counts into numbers of the program in `_numbers`.
    """

    _arrays: tuple[str, ...] = ()
    _counts: tuple[str, ...] = ("step",)
    _counted = "params and state_steps"
    _late: tuple[tuple[str, Any], ...] = ()
    _rule: Callable[..., Any]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._late:
                group.setdefault(name, value)
            for p in group["params"]:
                own = self.state.get(p, {})
                for name in self._counts:
                    if name in own and not isinstance(own[name], Tensor):
                        own[name] = host_number(float(own[name]))

    def _begin(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter that has none, in PyTorch's order."""
        zeros_like = functions["zeros_like"]
        return {name: host_number(0.0) for name in self._counts} | {name: zeros_like(p) for name in self._arrays}

    def _step_numbers(self, group: dict[str, Any], *counts: float) -> tuple[Any, dict[str, Any], tuple[float, ...]]:
        """`_numbers`, and the counts other than the step afterwards; `counts` are the step, advanced, and the others."""
        return (*self._numbers(group, counts[0]), ())

    def step(self, closure: Any = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is returned."""
        loss = run_closure(closure)
        for group in self.param_groups:
            params = [p for p in group["params"] if p._grad is not None]
            if not params:
                continue
            check_group(group, params, self._counted)
            states = []
            for p in params:
                state = self.state[p]
                if not state:
                    state.update(self._begin(p, group))
                states.append(state)
            for counts, where in _in_turn(states, self._counts):
                static, numbers, after = self._step_numbers(group, counts[0] + 1.0, *counts[1:])
                chosen = [states[i] for i in where]
                set_counts(chosen, self._counts, (counts[0] + 1.0, *after))
                update(
                    type(self).__name__,
                    type(self)._rule,
                    static,
                    [params[i] for i in where],
                    [params[i]._grad for i in where],
                    [[state[n] for state in chosen] for n in self._arrays],
                    numbers,
                    Again(self, group, chosen, static, self._counts),
                    bool(group.get("differentiable")),
                )
        return loss

    def _betas(self, group: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Both betas: part of the program as long as they stay what they were first, numbers of it once they vary."""
        b1, b2 = (number(b) for b in group["betas"])
        first = self.__dict__.setdefault("_first_betas", (b1, b2))
        if first == (b1, b2):
            return (float(b1), float(b2)), {}
        return None, {"beta1": b1, "beta2": b2, "complement1": 1.0 - b1, "complement2": 1.0 - b2}


def decay_of(group: dict[str, Any], numbers: dict[str, Any]) -> str:
    """How weight decay enters the rule: '', 'coupled' or 'decoupled'; its size goes into `numbers`."""
    decay = group["weight_decay"]
    if not isinstance(decay, Tensor) and decay == 0:
        return ""
    numbers["weight_decay"] = decay
    if group.get("decoupled_weight_decay"):
        numbers["weight_decay"] = float(number(decay))
        return "decoupled"
    check_alpha(decay)
    return "coupled"


def by_counts(states: list[dict[str, Any]], names: tuple[str, ...]) -> dict[tuple[float, ...], list[int]]:
    """The positions of the states that agree in the counts `names`, by those counts."""
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, state in enumerate(states):
        groups.setdefault(counts_of(state, names), []).append(i)
    return groups


def _in_turn(states: list[dict[str, Any]], names: tuple[str, ...]) -> Iterator[tuple[tuple[float, ...], list[int]]]:
    """`by_counts`; of a parameter that is named several times, one after the other, as each step counts."""
    if len({*map(id, states)}) == len(states):
        yield from by_counts(states, names).items()
        return
    for i, state in enumerate(states):
        yield counts_of(state, names), [i]


def counts_of(state: dict[str, Any], names: tuple[str, ...]) -> tuple[float, ...]:
    """The counts `names` of a parameter's state."""
    counts = []
    for name in names:
        count = state[name]
        if not isinstance(count, Tensor):
            count = state[name] = host_number(count)
        array = count._read().array
        counts.append(float(array if isinstance(array, np.ndarray) else count.item()))
    return tuple(counts)


def set_counts(states: list[dict[str, Any]], names: tuple[str, ...], counts: tuple[float, ...]) -> None:
    """Write new counts into the states."""
    shared: dict[Any, Value] = {}
    for state in states:
        for name, count in zip(names, counts, strict=True):
            aval = state[name]._read().aval
            value = shared.get((name, aval))
            if value is None:
                value = shared[name, aval] = Value(aval, np.asarray(count, aval.dtype.np))
            state[name]._write(value)


def rounded(x: float) -> float:
    """A number as a count stores it: in the default float type, single precision unless that is double."""
    return float(np.float64(x) if dtypes.default() is dtypes.float64 else np.float32(x))


def check_group(group: dict[str, Any], params: list[Tensor], counted: str = "params and state_steps") -> None:
    """Raise PyTorch's errors for switches that do not go together with each other or with the parameters."""
    if group.get("foreach") and group.get("differentiable"):
        raise AssertionError("_foreach ops don't support autograd")
    if group.get("capturable") and any(p.device.type not in _ON_DEVICE for p in params):
        raise AssertionError(
            f"If capturable=True, {counted} must be on supported devices: {list(_ON_DEVICE)}; got a parameter on cpu."
        )


def check_common(lr: Any, eps: Any = None, weight_decay: Any = None, betas: Any = None) -> None:
    """Raise PyTorch's errors for options outside their ranges."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not number(lr) >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if eps is not None and not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for i in range(2):
        if betas is not None and not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
    if weight_decay is not None:
        check_number("weight_decay", weight_decay)


LATE = (("foreach", None), ("maximize", False), ("differentiable", False), ("capturable", False))
"""Options that came to PyTorch's optimizers later than their first state dictionaries."""
