"""A module's state_dict: how it is saved, and how it is loaded."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from typing import Any

from ...._core.tensor.tensor import Tensor
from ...._core.types.grad_mode import no_grad
from ...parameter import Parameter, is_lazy
from .conversion import Replacing, swap_tensors

EXTRA_STATE = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What `load_state_dict` did not find, and what it found no place for."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


IncompatibleKeys.__name__ = IncompatibleKeys.__qualname__ = "_IncompatibleKeys"


def persistent_buffers(module: Any) -> dict[str, Any]:
    excluded = module._non_persistent_buffers_set
    return {name: b for name, b in module._buffers.items() if name not in excluded}


def save_own(module: Any, destination: Any, prefix: str, keep_vars: bool, has_extra: bool) -> None:
    """Put the module's own parameters and persistent buffers into `destination`."""
    for name, t in (*module._parameters.items(), *persistent_buffers(module).items()):
        if t is not None:
            destination[prefix + name] = t if keep_vars or is_lazy(t) else t.detach()
    if has_extra:
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def save(module: Any, destination: Any, prefix: str, keep_vars: bool) -> Any:
    """`Module.state_dict` with its arguments sorted out."""
    if destination is None:
        destination = OrderedDict()
        destination._metadata = OrderedDict()
    local_metadata = {"version": module._version}
    if hasattr(destination, "_metadata"):
        destination._metadata[prefix[:-1]] = local_metadata
    for hook in module._state_dict_pre_hooks.values():
        hook(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._state_dict_hooks.values():
        result = hook(module, destination, prefix, local_metadata)
        if result is None:
            continue
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("state_dict post-hook must return None")
        destination = result
    return destination


def load_own(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: Any,
    strict: bool,
    missing_keys: list[str],
    unexpected_keys: list[str],
    error_msgs: list[str],
    has_extra: bool,
) -> None:
    """Load the module's own parameters and persistent buffers, and note what does not fit."""
    for hook in module._load_state_dict_pre_hooks.values():
        hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
    own = {name: t for name, t in (*module._parameters.items(), *persistent_buffers(module).items()) if t is not None}
    assign = local_metadata.get("assign_to_params_buffers", False)
    for name, target in own.items():
        key = prefix + name
        if key in state_dict:
            _load_one(module, name, key, target, state_dict[key], assign, error_msgs)
        elif strict:
            missing_keys.append(key)

    extra_key = prefix + EXTRA_STATE
    if has_extra:
        if extra_key in state_dict:
            module.set_extra_state(state_dict[extra_key])
        elif strict:
            missing_keys.append(extra_key)
    elif strict and extra_key in state_dict:
        unexpected_keys.append(extra_key)

    if strict:
        for key in state_dict:
            if not key.startswith(prefix) or key == extra_key:
                continue
            name, dot, _ = key[len(prefix) :].partition(".")
            if name not in (module._modules if dot else own):
                unexpected_keys.append(key)


def _load_one(module: Any, name: str, key: str, target: Any, given: Any, assign: bool, error_msgs: list[str]) -> None:
    if not isinstance(given, Tensor):
        error_msgs.append(
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
            f"checkpoint but received {type(given)}"
        )
        return
    if is_lazy(target) and is_lazy(given):
        return
    if not is_lazy(target):
        if target.ndim == 0 and tuple(given.shape) == (1,):  # checkpoints of PyTorch before 0.4
            given = given[0]
        if given.shape != target.shape:
            error_msgs.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the "
                "shape in current "
                f"model is {target.shape}."
            )
            return
        if target.is_meta and not given.is_meta and not assign:
            warnings.warn(
                f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the "
                "current "
                "model, which is a no-op. (Did you mean to pass `assign=True` to assign items in the state "
                "dictionary to "
                "their corresponding key in the module instead of copying them in place?)",
                stacklevel=5,
            )
    try:
        with no_grad():
            if Replacing.swap:
                _swap_in(target, given, assign)
                return
            if not assign:
                target.copy_(given)
                return
            if isinstance(target, Parameter):
                if isinstance(given, Parameter):
                    given.requires_grad_(target.requires_grad)
                else:
                    given = Parameter(given, requires_grad=target.requires_grad)
            setattr(module, name, given)
    except Exception as error:
        here, there = target.size(), given.size()
        error_msgs.append(
            f'While copying the parameter named "{key}", whose dimensions in the model are {here} and whose '
            f"dimensions in the checkpoint are {there}, an exception occurred : {error.args}."
        )


def _swap_in(target: Any, given: Any, assign: bool) -> None:
    """Let a parameter or buffer become what its `module_load` makes of the loaded tensor."""
    found = target.module_load(given, assign=assign)
    if found is target or found is given:
        raise RuntimeError(
            "module_load returned one of self or other, please .detach() the result if returning one of the inputs"
        )
    if isinstance(target, Parameter):
        if isinstance(found, Parameter):
            found.requires_grad_(target.requires_grad)
        else:
            found = Parameter(found, requires_grad=target.requires_grad)
    swap_tensors(target, found)


def load(module: Any, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """`Module.load_state_dict`."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    missing: list[str] = []
    unexpected: list[str] = []
    errors: list[str] = []
    metadata = getattr(state_dict, "_metadata", None)
    entries: Any = OrderedDict(state_dict)
    if metadata is not None:
        entries._metadata = metadata

    def visit(module: Any, entries: Any, prefix: str) -> None:
        local_metadata = {} if metadata is None else metadata.get(prefix[:-1], {})
        if assign:
            local_metadata["assign_to_params_buffers"] = assign
        module._load_from_state_dict(entries, prefix, local_metadata, True, missing, unexpected, errors)
        for name, child in module._modules.items():
            if child is not None:
                inner = f"{prefix}{name}."
                visit(child, {k: v for k, v in entries.items() if k.startswith(inner)}, inner)
        found = IncompatibleKeys(missing, unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, found) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return "
                    "new values, "
                    "if incompatible_keys need to be modified, it should be done inplace."
                )

    visit(module, entries, "")
    if strict:
        if unexpected:
            errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
        if missing:
            errors.insert(0, f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    if errors:
        raise RuntimeError("\n\t".join([f"Error(s) in loading state_dict for {type(module).__name__}:", *errors]))
    return IncompatibleKeys(missing, unexpected)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)
