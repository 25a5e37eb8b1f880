"""`torch.nn.utils._named_member_accessor`: exchanging a module's tensors and submodules by name, as functional calls do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..modules.module import Module

_MISSING: Any = object()
"""What a name that the module lacks stands for, where that is allowed."""


def _checked(module: Any, name: str, what: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def _place(module: Module, name: str) -> dict[str, Any]:
    """Where a module keeps the tensor of that name, or would."""
    for place in (module._parameters, module._buffers):
        if name in place:
            return place
    return module.__dict__


def _require_tensor(x: Any, name: str = "") -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}{x} is not an instance of torch.Tensor")


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor (None too, for a parameter or buffer) under that name, a parameter's place included; nothing is wrapped."""
    _checked(module, name, "tensor")
    if tensor is not None:
        _require_tensor(tensor)
    _place(module, name)[name] = tensor


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """As `set_tensor`; gives what was there. AttributeError where there was nothing, unless that is allowed."""
    _checked(module, name, "tensor")
    if tensor is not _MISSING and tensor is not None:
        _require_tensor(tensor)
    place = _place(module, name)
    if place is not module.__dict__:
        found = place[name]
    else:
        found = getattr(module, name, _MISSING)
        if found is _MISSING and not allow_missing:
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if found is not _MISSING and not isinstance(found, Tensor):
            raise TypeError(f"attribute `{name}`: {found} is not an instance of torch.Tensor")
    if tensor is _MISSING:
        place.pop(name, None)
    else:
        place[name] = tensor
    return found


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a submodule under a name that there is; gives the one that was there."""
    _checked(module, name, "submodule")
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    found = module._modules[name]
    if not isinstance(found, Module):
        raise TypeError(f"attribute `{name}`: {found} is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return found


class NamedMemberAccessor:
    """A module's tensors and submodules by their whole names ("layer.0.weight")."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _owner(self, name: str) -> tuple[Module, str]:
        path, _, last = name.rpartition(".")
        return self.get_submodule(path), last

    def get_submodule(self, name: str) -> Module:
        """The submodule of that name; the module itself for an empty one."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value: Module) -> Module:
        owner, last = self._owner(path)
        return swap_submodule(owner, last, value)

    def get_tensor(self, name: str) -> Any:
        owner, last = self._owner(name)
        found: Any = getattr(owner, last, _MISSING)
        if found is _MISSING:
            raise AttributeError(f"{type(owner).__name__} has no attribute `{name}`")
        if found is not None:
            _require_tensor(found, f"attribute `{name}`: ")
        return found

    def set_tensor(self, name: str, value: Tensor) -> None:
        owner, last = self._owner(name)
        set_tensor(owner, last, value)

    def del_tensor(self, name: str) -> None:
        self.swap_tensor(name, _MISSING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        owner, last = self._owner(name)
        return swap_tensor(owner, last, value, allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        names, values = list(names), list(values)
        assert len(names) == len(values), (
            f"names and values must have the same length, got {len(names)} names and {len(values)} values"
        )
        self.set_tensors_dict(dict(zip(names, values, strict=True)))

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False) -> list[Tensor]:
        names, values = list(names), list(values)
        assert len(names) == len(values), (
            f"names and values must have the same length, got {len(names)} names and {len(values)} values"
        )
        return [self.swap_tensor(name, value, allow_missing) for name, value in zip(names, values, strict=True)]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Swaps them all, or none where one cannot be; gives what was there and the names that were missing."""
        found: dict[str, Any] = {}
        try:
            for name, value in named_tensors.items():
                found[name] = self.swap_tensor(name, value, allow_missing=True)
                if found[name] is _MISSING and not allow_missing:
                    raise RuntimeError(f"Missing key(s): ['{name}'].")
        except Exception as error:
            for name, value in found.items():
                self.swap_tensor(name, value, allow_missing=True)
            raise error
        return found, [name for name, value in found.items() if value is _MISSING]

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among `keys`, and the keys that name none."""
        given, own = set(keys), {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(own - given), sorted(given - own)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
