"""`torch.distributed.checkpoint.state_dict`: the states of models and optimizers by the parameters' plain names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ...nn import Module
from ...nn.modules.module import _IncompatibleKeys
from ...nn.parallel import DistributedDataParallel
from ...optim import Optimizer
from .. import get_rank, get_world_size, is_initialized

__all__ = [
    "OptimizerStateType", "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

OptimizerStateType = dict[str, Any]


@dataclass
class StateDictOptions:
    """How states are read and loaded. In one process a state is always full, and what is broadcast stays where it is."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _checked(options: StateDictOptions | None) -> StateDictOptions:
    options = options or StateDictOptions()
    if options.broadcast_from_rank0 and is_initialized() and get_world_size() > 1:
        raise NotImplementedError("StateDictOptions(broadcast_from_rank0=True): jaxtorch has it for one process only")
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def _names(model: Module, keys: Iterable[str] | None = None) -> Iterator[tuple[str, str]]:
    """Each name of the state, and the plain one: without what `torch.compile` and data parallelism put in between.

    keys: the names to take in place of the state's.
    """
    between: list[tuple[str, str]] = []
    for name, module in model.named_modules(remove_duplicate=False):
        start = f"{name}." if name else ""
        if isinstance(module, DistributedDataParallel):
            between.append((f"{start}module.", start))
        elif type(module).__name__ == "OptimizedModule":
            between.append((f"{start}_orig_mod.", start))
    for key in model.state_dict() if keys is None else keys:
        plain = key
        for long, short in reversed(between):  # the innermost first
            if plain.startswith(long):
                plain = short + plain[len(long) :]
        yield key, plain


def get_model_state_dict(
    model: Module, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model by its plain names: the tensors that `state_dict` gives, on the host with `cpu_offload`.

    submodules: only the state of these. Of options, `ignore_frozen_params` leaves out the parameters that require no gradient,
    and `keep_submodule_prefixes=False` names what the submodules hold from there.
    """
    options = _checked(options)
    state = model.state_dict()
    frozen = {key for key, p in model.named_parameters(remove_duplicate=False) if not p.requires_grad}
    paths = None
    if submodules:
        warnings.warn(
            "Getting submodules only model/optim state_dict is deprecated: take a part of the whole state instead.",
            FutureWarning,
            stacklevel=2,
        )
        paths = [name + "." for name, module in model.named_modules() if module in submodules and name]
    found = type(state)()
    for key, plain in _names(model):
        if options.ignore_frozen_params and key in frozen:
            continue
        path = next((p for p in paths if key.startswith(p)), None) if paths is not None else ""
        if path is None:
            continue
        value = state[key]
        if options.cpu_offload and hasattr(value, "cpu"):
            value = value.cpu()
        found[plain if options.keep_submodule_prefixes else plain.removeprefix(path)] = value
    return found


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> _IncompatibleKeys:
    """Load a state that is named as `get_model_state_dict` names it; returns the names that are missing or not expected.

    `options.strict=False` lets those pass, and with `full_state_dict` what is missing stays as it is, unsaid. With that option, in a
    process group, parameters on the device meta become the tensors of the state. RuntimeError where a strict state is empty.
    """
    options = _checked(options)
    own = model.state_dict()
    on_meta = options.full_state_dict and any(getattr(value, "is_meta", False) for value in own.values())
    nothing = options.strict and not model_state_dict
    if (options.broadcast_from_rank0 or nothing or on_meta) and get_rank() == 0 and nothing:
        raise RuntimeError(f"set_model_state_dict: there is a model, but its state is empty: {model_state_dict}")
    if not model_state_dict:
        return _IncompatibleKeys([], [])
    wrapped = {plain: key for key, plain in _names(model)}
    state = {wrapped.get(plain, plain): value for plain, value in model_state_dict.items()}
    if options.full_state_dict:
        state = {**own, **state}
    return model.load_state_dict(state, strict=options.strict, assign=on_meta)


# -- optimizers


def _each(optimizers: Any) -> list[Any]:
    return [optimizers] if isinstance(optimizers, Optimizer) else list(optimizers)


def _parameter_names(model: Module) -> dict[int, str]:
    """The plain name of each parameter, by its id; of a shared one the first."""
    own = dict(model.named_parameters())
    return {id(own[key]): plain for key, plain in _names(model, own)}


def _with_state(optimizer: Any) -> None:
    """Have the optimizer make its state by a step that changes nothing, unless it has some or there are gradients."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(p.grad is not None for p in params):
        return
    rates = [group.get("lr") for group in optimizer.param_groups]
    for group in optimizer.param_groups:
        if "lr" in group:
            group["lr"] = functions["zeros_like"](group["lr"]) if isinstance(group["lr"], Tensor) else 0.0
    for p in params:
        if p.requires_grad:
            p.grad = functions["zeros_like"](p)
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        if "lr" in group:
            group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def _named(optimizer: Any, names: dict[int, str]) -> list[list[str]]:
    """The parameters' names by group. KeyError for one that is not the model's."""
    return [[names[id(p)] for p in group["params"]] for group in optimizer.param_groups]


def get_optimizer_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of one or several optimizers, with the model's plain names in place of numbers: 'state' and 'param_groups'.

    An optimizer without state makes it, without a change of the parameters. With `flatten_optimizer_state_dict` the keys are
    'state.NAME.KEY' and 'param_groups.NAME.OPTION'. submodules: no effect. RuntimeError without optimizers.
    """
    if not _each(optimizers):
        raise RuntimeError("Optimizers are not passed in but optim_only is set to True.")
    return _optimizer_state(model, _each(optimizers), _checked(options))


def _optimizer_state(model: Module, optimizers: list[Any], options: StateDictOptions) -> dict[str, Any]:
    names, state, groups = _parameter_names(model), {}, []
    for optimizer in optimizers:
        _with_state(optimizer)
        own = optimizer.state_dict()
        found = _named(optimizer, names)
        flat = [name for group in found for name in group]
        for i, values in own["state"].items():
            state[flat[i]] = {
                k: v.cpu() if options.cpu_offload and isinstance(v, Tensor) else v for k, v in values.items()
            }
        groups += [{**group, "params": own_names} for group, own_names in zip(own["param_groups"], found, strict=True)]
    if not optimizers:
        return {}
    if not options.flatten_optimizer_state_dict:
        return {"state": state, "param_groups": groups}
    flattened = {f"state.{name}.{k}": v for name, values in state.items() for k, v in values.items()}
    for group in groups:
        for name in group["params"]:
            flattened |= {f"param_groups.{name}.{k}": v for k, v in group.items() if k != "params"}
    return flattened


def set_optimizer_state_dict(
    model: Module, optimizers: Any, optim_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> None:
    """Load what `get_optimizer_state_dict` gave, options of groups included. What belongs to no parameter is left out.

    RuntimeError for an empty state, and for a parameter that has none unless `options.strict` is False.
    """
    options = _checked(options)
    if not optim_state_dict:
        raise RuntimeError(
            "The option indicates that model state_dict is required to save, or load but optim state_dict is empty. "
            f"{optim_state_dict}"
        )
    names = _parameter_names(model)
    for optimizer in _each(optimizers):
        _with_state(optimizer)
        _load(optimizer, _named(optimizer, names), optim_state_dict, options)


def _load(optimizer: Any, names: list[list[str]], given: dict[str, Any], options: StateDictOptions) -> None:
    own = optimizer.state_dict()
    params = [p for group in optimizer.param_groups for p in group["params"]]
    flat = [name for group in names for name in group]
    if options.flatten_optimizer_state_dict:
        states = {
            name: {k: given[f"state.{name}.{k}"] for k in own["state"].get(i, {})}
            for i, (p, name) in enumerate(zip(params, flat, strict=True))
            if p.requires_grad
        }
        kept = [
            {k: given[f"param_groups.{found[0]}.{k}"] for k in group if k != "params"}
            for group, found in zip(own["param_groups"], names, strict=True)
        ]
    else:
        states = given["state"]
        kept = []
        for group, found in zip(own["param_groups"], names, strict=True):
            loaded = next((g for g in given["param_groups"] if any(name in g["params"] for name in found)), group)
            kept.append({k: v for k, v in loaded.items() if k != "params"})
    for p, name in zip(params, flat, strict=True):
        if p.requires_grad and states and name not in states and options.strict and optimizer.state:
            raise RuntimeError(
                f"Missing optimizer state for parameter '{name}' in checkpoint. The parameter requires gradients but has no "
                "saved optimizer state. To load anyway, use StateDictOptions(strict=False)."
            )
    groups = [{**k, "params": group["params"]} for k, group in zip(kept, own["param_groups"], strict=True)]
    state = {i: dict(states[name]) for i, name in enumerate(flat) if name in states}
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def get_state_dict(
    model: Module, optimizers: Any, *, submodules: set[Module] | None = None, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """`get_model_state_dict` and `get_optimizer_state_dict`; the second is empty without optimizers."""
    state = get_model_state_dict(model, submodules=submodules, options=options)
    return state, _optimizer_state(model, _each(optimizers), _checked(options))


def set_state_dict(
    model: Module,
    optimizers: Any,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: dict[str, Any],
    options: StateDictOptions | None = None,
) -> _IncompatibleKeys:
    """`set_model_state_dict`, whose result it gives, and `set_optimizer_state_dict` where there are optimizers."""
    result = set_model_state_dict(model, model_state_dict, options=options)
    if _each(optimizers):
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return result
