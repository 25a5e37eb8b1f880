"""What a module holds: parameters, buffers and submodules, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from ...._core.tensor.tensor import Tensor
from ...parameter import Buffer, Parameter, settle
from . import hooks


def typename(x: Any) -> str:
    """The type of `x` as PyTorch's messages show it, such as 'torch.FloatTensor'."""
    if isinstance(x, Tensor):
        return x.type()
    kind = x if hasattr(x, "__qualname__") else type(x)
    module = kind.__module__ or "builtins"
    if module == "builtins":
        return kind.__qualname__
    return f"{'torch' + module[8:] if module.partition('.')[0] == 'jaxtorch' else module}.{kind.__qualname__}"


def check_name(kind: str, name: Any, *, tell: bool = False) -> None:
    if not isinstance(name, str):
        raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
    if "." in name:
        raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if tell else ""))
    if name == "":
        raise KeyError(f'{kind} name can\'t be empty string ""')


_FAMILIES = """_AdaptiveAvgPoolNd _AdaptiveMaxPoolNd _AvgPoolNd _BatchNorm _DropoutNd _InstanceNorm _LPPoolNd _Loss _MaxPoolNd
    _NormBase _WeightedLoss""".split()
"""Private classes that PyTorch has, too, and whose constructors its messages name."""


def own_constructors(classes: Iterable[type]) -> None:
    """Give classes constructors of their own name where they inherit one from a private class, as messages show it."""
    for cls in classes:
        found = cls.__init__
        owner = found.__qualname__.rpartition(".")[0]
        if not isinstance(found, FunctionType) or not owner.startswith("_") or owner in _FAMILIES:
            continue
        made = FunctionType(found.__code__, found.__globals__, "__init__", found.__defaults__, found.__closure__)
        made.__kwdefaults__, made.__annotations__, made.__doc__ = (
            found.__kwdefaults__,
            found.__annotations__,
            found.__doc__,
        )
        made.__module__, made.__qualname__ = cls.__module__, f"{cls.__name__}.__init__"
        cls.__init__ = made


class Registry:
    """The part of `Module` that registers what is assigned to attributes, and finds it again."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]

    def _get_name(self) -> str:
        return type(self).__name__

    # -- registration

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Register a tensor that is no parameter. persistent: is it saved in the state_dict?"""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = hooks.replaced(hooks._global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Register a parameter under a name; None keeps the name for one that is absent."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError(f"attribute '{name}' already exists")
        if param is None:
            self._parameters[name] = None
            return
        if not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                "explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() "
                "method."
            )
        settle(param)
        self._parameters[name] = hooks.replaced(hooks._global_parameter_registration_hooks, self, name, param)

    def add_module(self, name: str, module: Any) -> None:
        """Register a submodule under a name; None keeps the name for one that is absent."""
        if not isinstance(module, Registry) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        if isinstance(name, str) and hasattr(self, name) and name not in self._modules:
            raise KeyError(f"attribute '{name}' already exists")
        check_name("module", name, tell=True)
        self._modules[name] = hooks.replaced(hooks._global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Any) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    # -- by dotted name

    def get_submodule(self, target: str) -> Any:
        """The submodule with a dotted name; AttributeError if there is none."""
        found: Any = self
        for name in target.split(".") if target != "" else ():
            if not hasattr(found, name):
                raise AttributeError(f"{found._get_name()} has no attribute `{name}`")
            found = getattr(found, name)
            if not isinstance(found, Registry):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put a module at a dotted name. strict: AttributeError if there is none yet."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Registry):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Registry):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_tensor(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter with a dotted name; AttributeError if there is none."""
        _, name, found = self._get_tensor(target)
        if not isinstance(found, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer with a dotted name; AttributeError if there is none."""
        owner, name, found = self._get_tensor(target)
        if owner._buffers.get(name) is None:
            raise AttributeError(f"`{name}` is not a buffer")
        return found

    def get_extra_state(self) -> Any:
        """What else to save in the state_dict; modules that define it define `set_extra_state` too."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: define it in the subclass."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: define it in the subclass."
        )

    # -- attributes

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            items = own.get(table)
            if items is not None and name in items:
                return items[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        tensor = isinstance(value, Tensor)
        parameters = own.get("_parameters")
        if tensor and isinstance(value, Parameter):
            if parameters is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "__dict__", "_buffers", "_modules", "_non_persistent_buffers_set")
            self.register_parameter(name, value)
            return
        if parameters is not None and name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
            return
        modules = own.get("_modules")
        if isinstance(value, Registry):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "__dict__", "_parameters", "_buffers", "_non_persistent_buffers_set")
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
        elif (buffers := own.get("_buffers")) is not None and name in buffers:
            if value is not None and not tensor and not hasattr(value, "__torch_function__"):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._set_buffer(name, value)
            return
        elif tensor and isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._set_buffer(name, value)
            return
        else:
            super().__setattr__(name, value)
            return
        modules[name] = hooks.replaced(hooks._global_module_registration_hooks, self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        persistent = (
            value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set  # pyright: ignore[reportAttributeAccessIssue]
        )
        # Subclasses written for older versions of PyTorch override register_buffer without `persistent`.
        if (
            type(self).register_buffer is Registry.register_buffer
            or "persistent" in inspect.signature(self.register_buffer).parameters
        ):
            self.register_buffer(name, value, persistent)
        else:
            if not persistent:
                raise RuntimeError(
                    "Registering a non-persistent buffer on a Module subclass that implements "
                    "register_buffer() without "
                    "the persistent argument is not allowed."
                )
            self.register_buffer(name, value)

    def _forget(self, name: str, *tables: str) -> None:
        """Take a name out of the dictionaries where another kind of attribute may hold it."""
        for table in tables:
            items = self.__dict__ if table == "__dict__" else self.__dict__[table]
            if name in items:
                if isinstance(items, set):
                    items.discard(name)
                else:
                    del items[name]

    def __delattr__(self, name: str) -> None:
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        # Items of containers are numbered: no attribute names, so no use in completion.
        return sorted({name for name in names if not name[0].isdigit()})

    # -- iteration

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else ((prefix, self),)
        for path, module in modules:
            for name, item in get_members_fn(module):
                if item is None or item in seen:
                    continue
                if remove_duplicate:
                    seen.add(item)
                yield path + ("." if path else "") + name, item

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """All parameters, each once; recurse: those of submodules too."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """All parameters with their dotted names, which begin with `prefix`."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """All buffers, each once; recurse: those of submodules too."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted names, which begin with `prefix`."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self) -> Iterator[Any]:
        """The immediate submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The immediate submodules with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module and all below it, with dotted names. memo: those to leave out; it is added to."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)


for _method in vars(Registry).values():
    if isinstance(_method, FunctionType):
        _method.__qualname__ = f"Module.{_method.__name__}"  # as `Module`, whose methods they are, is shown
