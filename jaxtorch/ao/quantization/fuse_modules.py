"""`fuse_modules`: layers that follow one another, made one in a model."""

from __future__ import annotations

import copy
from typing import Any

from ...nn import Identity, Module
from .fuser_method_mappings import get_fuser_method

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(mod_list: Any, is_qat: bool, additional_fuser_method_mapping: Any = None) -> list[Any]:
    """One module in the first's place and identities in the others'; hooks before the first and after the last stay."""
    kinds = tuple(type(m) for m in mod_list)
    method = get_fuser_method(kinds, additional_fuser_method_mapping)
    before, after = mod_list[0]._forward_pre_hooks, mod_list[-1]._forward_hooks
    moved = list(before.values()), list(after.values())
    before.clear()
    after.clear()
    fused = method(is_qat, *mod_list)
    for hook in moved[0]:
        fused.register_forward_pre_hook(hook)
    for hook in moved[1]:
        fused.register_forward_hook(hook)
    rest: list[Any] = []
    for _ in mod_list[1:]:
        rest.append(Identity())
        rest[-1].training = mod_list[0].training
    return [fused, *rest]


def _parent(model: Any, name: str) -> tuple[Any, str]:
    *path, last = name.split(".")
    for part in path:
        model = getattr(model, part)
    return model, last


def _fuse(model: Any, groups: Any, is_qat: bool, inplace: bool, fuser: Any, config: Any) -> Any:
    model = model if inplace else copy.deepcopy(model)
    if all(isinstance(name, str) for name in groups):
        groups = [groups]
    for names in groups:
        places = [_parent(model, name) for name in names]
        found = [getattr(parent, last) for parent, last in places]
        more = (config or {}).get("additional_fuser_method_mapping", {})
        for (parent, last), made in zip(places, fuser(found, is_qat, more), strict=True):
            setattr(parent, last, made)
    return model


def fuse_modules(
    model: Module, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The model, in evaluation, with the layers of each list of names made one, as `["conv", "bn", "relu"]`.

    AssertionError for other sequences than a convolution or linear layer with batch normalisation, `ReLU` or both, and
    batch normalisation with `ReLU`.
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Module, modules_to_fuse: Any, inplace: bool = False, fuser_func: Any = fuse_known_modules,
    fuse_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """The same for a model that is trained on: normalisation stays a layer of its own within."""
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
