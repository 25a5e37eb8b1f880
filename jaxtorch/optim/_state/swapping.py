"""`swap_in_optimizer_params_and_state`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..optimizer import Optimizer


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """For a while, let an optimizer work on other parameters with another state; then it has its own again.

    swapin_parameters: tensors by name, in the order of the optimizer's parameters.
    swapin_optim_state: what `state_dict()` of such an optimizer returns; its tensors are changed in place by steps.
    RuntimeError where the numbers of parameters or groups differ, or the optimizer has no state yet.
    """
    own_groups, own_state = optimizer.param_groups, optimizer.state
    if not own_state:
        raise RuntimeError("swap_in_optimizer_params_and_state requires initialized optimizer state.")
    groups = swapin_optim_state.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            "swap_in_optimizer_params_and_state requires swapin_optim_state['param_groups'] to be a list of param-group "
            f"dicts, got {type(groups).__name__}."
        )
    if len(groups) != len(own_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    tensors = list(swapin_parameters.values())
    if len(tensors) != sum(len(g["params"]) for g in own_groups):
        raise RuntimeError(
            "swap_in_optimizer_params_and_state requires the explicit parameter state to match optimizer.param_groups "
            "ordering."
        )
    rest = iter(tensors)
    state: defaultdict[Any, Any] = defaultdict(dict)
    swapped = []
    for group, own in zip(groups, own_groups, strict=True):
        params = [next(rest) for _ in own["params"]]
        for number, p in zip(group["params"], params, strict=True):
            state[p] = dict(swapin_optim_state["state"].get(number, {}))
        swapped.append({**own, **group, "params": params})
    optimizer.param_groups, optimizer.state = swapped, state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own_groups, own_state
