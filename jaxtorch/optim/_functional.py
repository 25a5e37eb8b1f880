"""Optimizers as functions of lists of tensors: `torch.optim.adam.adam(params, grads, exp_avgs, ..., lr=...)`.

Each is one step of the class of the same name, on tensors that share the parameters' memory and with the lists as its state.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from .._core.types.grad_mode import state as _modes

_SWITCHES = {
    "foreach": None, "capturable": False, "differentiable": False, "fused": None, "grad_scale": None, "found_inf": None,
    "has_complex": False, "has_sparse_grad": False,
}  # fmt: skip
_ADAM = "exp_avgs exp_avg_sqs max_exp_avg_sqs state_steps"
_BETAS = "beta1 beta2 lr weight_decay eps"
_FORMS = {
    "adadelta": ("Adadelta", "square_avgs acc_deltas state_steps", "capturable foreach differentiable has_complex",
                 "lr rho eps weight_decay maximize"),
    "adagrad": ("Adagrad", "state_sums state_steps", "fused grad_scale found_inf has_sparse_grad foreach differentiable has_complex",
                "lr weight_decay lr_decay eps maximize"),
    "adam": ("Adam", _ADAM, "foreach capturable differentiable fused grad_scale found_inf has_complex decoupled_weight_decay",
             f"amsgrad {_BETAS} maximize"),
    "adamax": ("Adamax", "exp_avgs exp_infs state_steps", "foreach maximize differentiable capturable has_complex",
               "eps beta1 beta2 lr weight_decay"),
    "adamw": ("AdamW", _ADAM, "foreach capturable differentiable fused grad_scale found_inf has_complex",
              f"amsgrad {_BETAS} maximize"),
    "asgd": ("ASGD", "axs mus etas state_steps", "foreach maximize differentiable capturable has_complex",
             "lambd lr t0 alpha weight_decay"),
    "nadam": ("NAdam", "exp_avgs exp_avg_sqs mu_products state_steps",
              "decoupled_weight_decay foreach capturable differentiable has_complex maximize",
              "beta1 beta2 lr weight_decay momentum_decay eps"),
    "radam": ("RAdam", "exp_avgs exp_avg_sqs state_steps",
              "decoupled_weight_decay foreach differentiable capturable has_complex maximize", _BETAS),
    "rmsprop": ("RMSprop", "square_avgs grad_avgs momentum_buffer_list state_steps",
                "foreach maximize differentiable capturable has_complex", "lr alpha eps weight_decay momentum centered"),
    "rprop": ("Rprop", "prevs step_sizes state_steps", "foreach capturable maximize differentiable has_complex",
              "step_size_min step_size_max etaminus etaplus"),
    "sgd": ("SGD", "momentum_buffer_list", "has_sparse_grad foreach fused grad_scale found_inf",
            "weight_decay momentum lr dampening nesterov maximize"),
}  # fmt: skip
"""Of each function: the class, the lists of state, what has a default, and what must be named."""

_STATE = {"state_steps": "step", "state_sums": "sum", "momentum_buffer_list": "momentum_buffer"}
_PAIRS = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


def _parameters(lists: str, defaults: str, named: str, grads: str) -> list[inspect.Parameter]:
    kind = inspect.Parameter
    found = [kind(n, kind.POSITIONAL_OR_KEYWORD) for n in ("params", grads, *lists.split())]
    found += [kind(n, kind.POSITIONAL_OR_KEYWORD, default=_SWITCHES.get(n, False)) for n in defaults.split()]
    return [*found, *[kind(n, kind.KEYWORD_ONLY) for n in named.split()]]


def _options(given: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """The options of the class from the function's."""
    found = {n: v for n, v in given.items() if n in names}
    found |= {n: (given[a], given[b]) for n, (a, b) in _PAIRS.items() if a in given}
    return found


def _refuse_leaves(params: Any) -> None:
    if _modes.grad and any(p.requires_grad and p.is_leaf for p in params):
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def _form(name: str) -> Callable[..., None]:
    title, lists, defaults, named = _FORMS[name]
    grads = "d_p_list" if name == "sgd" else "grads"
    signature = inspect.Signature(_parameters(lists, defaults, named, grads))

    def step(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        for unused in ("grad_scale", "found_inf"):
            if given.get(unused) is not None:
                raise NotImplementedError(f"jaxtorch: {name}({unused}=...)")
        params = given["params"]
        _refuse_leaves(params)
        handles = [p.detach() for p in params]
        for h, g in zip(handles, given[grads], strict=True):
            h._grad = g
        kind: Any = getattr(sys.modules["jaxtorch.optim"], title)
        optimizer = kind(handles, **_options(given, set(inspect.signature(kind).parameters) - {"params"}))
        keys = {n: _STATE.get(n, n[:-1]) for n in lists.split()}
        for i, h in enumerate(handles):
            optimizer.state[h] = {
                k: given[n][i] for n, k in keys.items() if len(given[n]) > i and given[n][i] is not None
            }
        optimizer.step()
        for i, h in enumerate(handles):
            own = optimizer.state[h]
            for n, k in keys.items():
                if k in own and len(given[n]) > i and own[k] is not given[n][i]:
                    if given[n][i] is None:
                        given[n][i] = own[k]
                    else:
                        given[n][i].copy_(own[k])

    step.__name__ = step.__qualname__ = name
    step.__doc__ = f"One step of `{title}` on lists of parameters, gradients and state, all of which are written to."
    step.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return step


adadelta, adagrad, adam, adamax, adamw, asgd = map(_form, ("adadelta", "adagrad", "adam", "adamax", "adamw", "asgd"))
nadam, radam, rmsprop, rprop, sgd = map(_form, ("nadam", "radam", "rmsprop", "rprop", "sgd"))
