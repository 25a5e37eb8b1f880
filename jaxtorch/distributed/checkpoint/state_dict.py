"""`torch.distributed.checkpoint.state_dict`: a model's state by its plain names, in one process.

The functions for optimizers are names only; using one raises NotImplementedError.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._absent import absent as _absent
from ...nn import Module
from ...nn.modules.module import _IncompatibleKeys
from ...nn.parallel import DistributedDataParallel
from .. import get_rank, get_world_size, is_initialized

__all__ = ["StateDictOptions", "get_model_state_dict", "set_model_state_dict"]

globals().update(
    _absent(
        __name__,
        "get_optimizer_state_dict set_optimizer_state_dict get_state_dict set_state_dict",
        "jaxtorch has no distributed checkpoints; use torch.save, or Orbax",
    )
)


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


def _names(model: Module) -> Iterator[tuple[str, str]]:
    """Each name of the state, and the plain one: without what `torch.compile` and data parallelism put in between."""
    between: list[tuple[str, str]] = []
    for name, module in model.named_modules(remove_duplicate=False):
        start = f"{name}." if name else ""
        if isinstance(module, DistributedDataParallel):
            between.append((f"{start}module.", start))
        elif type(module).__name__ == "OptimizedModule":
            between.append((f"{start}_orig_mod.", start))
    for key in model.state_dict():
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
