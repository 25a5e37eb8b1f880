"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ..nn.modules.batchnorm import _BatchNorm
from ..nn.modules.module import Module
from ..nn.utils.stateless import _functional_call


def _merged(given: Any) -> dict[str, Any]:
    if isinstance(given, dict):
        return given
    if isinstance(given, (list, tuple)):
        if not all([isinstance(d, dict) for d in given]):  # noqa: C419
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [k for d in given for k in d]
        repeated = [k for i, k in enumerate(keys) if k in keys[:i]]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        return {k: v for d in given for k, v in d.items()}
    raise ValueError(
        f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
    )


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, by name; those left out are its own.

    tie_weights: what is given for a tensor counts under all its names. strict: RuntimeError if a name is missing or unknown.
    """
    given = _merged(parameter_and_buffer_dicts)
    return _functional_call(module, given, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of models of one class, stacked along a new first dimension, for `vmap` over them."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    tables = [[dict(m.named_parameters()) for m in models], [dict(m.named_buffers()) for m in models]]
    stacked = []
    for dicts in tables:
        made = {}
        for name in dicts[0]:
            held = [d[name] for d in dicts]
            wants = [t.requires_grad for t in held]
            if len(set(wants)) > 1:
                raise RuntimeError(
                    f"Expected {name} to have requires_grad={not wants[-1]} or {wants[-1]} in all models, got both"
                )
            made[name] = functions["stack"]([t.detach() for t in held]).requires_grad_(wants[0])
        stacked.append(made)
    return stacked[0], stacked[1]


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """The module, with the running statistics of every batch normalisation in it given up: those are written in place, which
    `vmap` over samples cannot do."""
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that does what `func` does.

    In PyTorch a program traced from it has no writes in place (nor views, with remove='mutations_and_views'). Here no recorded
    program has any: values never change, and a write is a new value under the old tensor. RuntimeError for another `remove`.
    """

    @functools.wraps(func)
    def functional(*args: Any, **kwargs: Any) -> Any:
        if remove not in ("mutations", "mutations_and_views"):
            raise RuntimeError(
                f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
                "'mutations' and 'mutations_and_views'."
            )
        return func(*args, **kwargs)

    return functional


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The tensor itself: within a transformation it already shows what the function sees of one sample."""
    if not isinstance(tensor, Tensor):
        raise RuntimeError(f"Expected Tensor, got {type(tensor)}")
    return tensor
