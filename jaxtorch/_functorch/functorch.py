"""What `import functorch` gives: `torch.func` under its older names, each saying that it is deprecated, and functional modules."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .. import func
from ..nn import Module

__path__: list[str] = []  # `functorch.experimental` is found by its name

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
    "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "vjp", "vmap",
]  # fmt: skip


def _warn(name: str, instead: str) -> None:
    warnings.warn(
        f"We've integrated functorch into PyTorch. `functorch.{name}` is deprecated as of PyTorch 2.0; use `{instead}` instead.",
        FutureWarning,
        stacklevel=3,
    )


def _older(name: str, instead: str) -> Callable[..., Any]:
    """A function of torch.func that warns first."""
    function = getattr(func, name)

    @wraps(function)
    def older(*args: Any, **kwargs: Any) -> Any:
        _warn(name, instead)
        return function(*args, **kwargs)

    return older


vmap = _older("vmap", "torch.vmap")
functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp = (
    _older(name, f"torch.func.{name}")
    for name in ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp")
)


class FunctionalModuleWithBuffers(Module):
    """A module called with its parameters and its buffers before its arguments."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)
        self.buffer_names = tuple(buffer_names)

    def forward(self, params: Any, buffers: Any, *args: Any, **kwargs: Any) -> Any:
        state = dict(zip(self.param_names + self.buffer_names, (*params, *buffers), strict=True))
        return func.functional_call(self.stateless_model, state, args, kwargs)


class FunctionalModule(FunctionalModuleWithBuffers):
    """A module without buffers, called with its parameters before its arguments."""

    def forward(self, params: Any, *args: Any, **kwargs: Any) -> Any:
        return super().forward(params, (), *args, **kwargs)


def _taken_apart(kind: type[Any], model: Module, disable_autograd_tracking: bool) -> tuple[Any, Any, Any]:
    """The functional form of a copy of the model, its parameters and its buffers."""
    model = copy.deepcopy(model)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    if disable_autograd_tracking:
        for p in parameters.values():
            p.requires_grad_(False)
    return kind(model, list(parameters), list(buffers)), tuple(parameters.values()), tuple(buffers.values())


def make_functional(model: Module, disable_autograd_tracking: bool = False) -> Any:
    """A function `f(params, *args)` that computes what the model does, and copies of its parameters.

    RuntimeError for a model with buffers.
    """
    _warn("make_functional", "torch.func.functional_call")
    if list(model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return _taken_apart(FunctionalModule, model, disable_autograd_tracking)[:2]


def make_functional_with_buffers(model: Module, disable_autograd_tracking: bool = False) -> Any:
    """A function `f(params, buffers, *args)` that computes what the model does, and copies of its parameters and buffers."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    return _taken_apart(FunctionalModuleWithBuffers, model, disable_autograd_tracking)


def combine_state_for_ensemble(models: Sequence[Module]) -> Any:
    """A function `f(params, buffers, *args)` for models of one kind, and their parameters and buffers, stacked, for `vmap`."""
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    parameters, buffers = func.stack_module_state(list(models))
    functional, _, _ = _taken_apart(FunctionalModuleWithBuffers, models[0], False)
    in_order = [parameters[name].detach() for name in functional.param_names]
    return functional, tuple(in_order), tuple(buffers[name] for name in functional.buffer_names)
