"""Parametrizations: a parameter or buffer computed from others by modules, whenever it is read."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ..._core.tensor.tensor import Tensor
from ..._core.types.grad_mode import no_grad
from ..._running.install import shown
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cache_enabled = 0
_cache: dict[tuple[int, str], Tensor | None] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Within this context each parametrized tensor is computed once."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register_parameter_or_buffer(module: Module, name: str, X: Tensor) -> None:
    if isinstance(X, Parameter):
        module.register_parameter(name, X)
    else:
        module.register_buffer(name, X)


def _maybe_set(dest: Tensor, src: Tensor) -> None:
    """Give `dest`, which optimizers may hold, the content of `src`."""
    if dest is not src:
        dest.data = src.detach()


def _unlike(what: str, before: tuple[str, Any], after: tuple[str, Any]) -> ValueError:
    return ValueError(f"{what}\n{before[0]}: {before[1]}\n{after[0]}: {after[1]}")


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied one after the other, and the tensor or tensors that they start from:
    `original`, or `original0`, `original1`, ... where `right_inverse` of the first gives several.

    unsafe: shape and type may change, and are not checked.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new: Any = original
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if isinstance(new, Tensor) else len(new)
        if isinstance(new, Tensor):
            for name in ("dtype", "device"):
                if getattr(original, name) != getattr(new, name):
                    raise _unlike(
                        f"When `right_inverse` outputs one tensor, it may not change the {name}.",
                        (f"original.{name}", getattr(original, name)),
                        (f"right_inverse(original).{name}", getattr(new, name)),
                    )
            _maybe_set(original, new)
            _register_parameter_or_buffer(self, "original", original)
        else:
            for i, one in enumerate(new):
                if not isinstance(one, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                        f"{i} of the sequence with type {type(one).__name__}."
                    )
                if isinstance(original, Parameter):
                    one = Parameter(one, original.requires_grad)
                _register_parameter_or_buffer(self, f"original{i}", one)
        if not self.unsafe:
            Z = self()
            if not isinstance(Z, Tensor):
                raise ValueError(f"A parametrization must return a tensor. Got {type(Z).__name__}.")
            _check_same("Registering a parametrization", dtype, shape, Z)

    def right_inverse(self, value: Tensor) -> None:
        """Set the original tensors so that the parametrized one becomes `value`."""
        with no_grad():
            new: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                new = module.right_inverse(new)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                targets, given = [self.original], [new]
            else:
                if not isinstance(new, Sequence):
                    raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(new)}.")
                if len(new) != self.ntensors:
                    raise ValueError(
                        f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of "
                        f"length {len(new)}."
                    )
                targets, given = [getattr(self, f"original{i}") for i in range(self.ntensors)], list(new)
            for i, (target, one) in enumerate(zip(targets, given, strict=True)):
                if not isinstance(one, Tensor):
                    raise ValueError(f"Tensor {i} returned by `right_inverse` is not a tensor. Got {type(one)}.")
                if one.dtype != target.dtype:
                    raise ValueError(
                        f"The tensor returned by `right_inverse` has dtype {one.dtype} while `original` has dtype "
                        f"{target.dtype}"
                    )
                _maybe_set(target, one)

    def forward(self) -> Tensor:
        first, *rest = list(self)
        x = (
            first(self.original)
            if self.is_tensor
            else first(*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        )
        for module in rest:
            x = module(x)
        return x


def _check_same(what: str, dtype: Any, shape: Any, found: Tensor) -> None:
    for name, before, after in (("dtype", dtype, found.dtype), ("shape", shape, found.shape)):
        if before != after:
            raise _unlike(
                f"{what} may not change the {name} of the tensor, unless `unsafe` flag is enabled.",
                (f"unparametrized {name}", before),
                (f"parametrized {name}", after),
            )


def _inject_new_class(module: Module) -> None:
    """Give the module a class of its own, which can have properties of its own."""
    cls = module.__class__

    def __getstate__(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def __deepcopy__(self: Any, memo: Any) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        replica = self.__new__(self.__class__)
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    body: dict[str, Any] = {"__getstate__": __getstate__}
    if not hasattr(cls, "__deepcopy__"):
        body["__deepcopy__"] = __deepcopy__
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), body)
    module.__class__.__module__ = shown(__name__)


def _inject_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Any:
        if not _cache_enabled:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        found = _cache.get(key)
        if found is None:
            found = _cache[key] = self.parametrizations[tensor_name]()
        return found

    def put(self: Any, value: Any) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(module.__class__, tensor_name, property(get, put))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Have `module.tensor_name` be `parametrization(original)` from now on; more of them are applied after it.

    parametrization: may have `right_inverse(X)`, which gives the original, or a sequence of originals, for a value. ValueError where
    shape or type of the tensor would change, unless `unsafe`. The original is `module.parametrizations.tensor_name.original`.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        existing: Any = module.parametrizations[tensor_name]
        if not unsafe:
            _check_next(tensor_name, getattr(module, tensor_name), parametrization)
        existing.append(parametrization)
        existing.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_new_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_next(tensor_name: str, Y: Tensor, parametrization: Any) -> None:
    """Raise where one more parametrization would change shape or type."""
    X = parametrization(Y)
    if not isinstance(X, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(X).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(X, name) != getattr(Y, name):
            raise _unlike(
                f"Registering a parametrization may not change the {name} of the tensor, unless the `unsafe` flag is enabled.",
                (f"module.{tensor_name}.{name}", getattr(Y, name)),
                (f"parametrization(module.{tensor_name}).{name}", getattr(X, name)),
            )
    if hasattr(parametrization, "right_inverse"):
        try:
            Z = parametrization.right_inverse(X)
        except NotImplementedError:
            return
        if not isinstance(Z, Tensor):
            raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(Z).__name__}")
        for name in ("dtype", "shape"):
            if getattr(Z, name) != getattr(Y, name):
                raise ValueError(
                    f"The tensor returned by parametrization.right_inverse must have the same {name} as the tensor: "
                    f"expected {getattr(Y, name)}, got {getattr(Z, name)}"
                )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Has the module a parametrization, of this tensor where one is named?"""
    found = getattr(module, "parametrizations", None)
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor an ordinary one: with its present value, or without `leave_parametrized` its original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                t = getattr(module, tensor_name)
            _maybe_set(original, t)
    elif leave_parametrized:
        t = getattr(module, tensor_name)
        original = Parameter(t.detach()) if t.requires_grad else t
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    delattr(module.__class__, tensor_name)
    del module.parametrizations[tensor_name]
    _register_parameter_or_buffer(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = module.__class__.__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of the module without its parametrizations."""
    return module.__class__.__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Put the parametrizations of one module, or those of one of its tensors, onto another, with their parameters."""
    if is_parametrized(from_module):
        found: Any = from_module.parametrizations
        for name in found if tensor_name is None else [tensor_name]:
            if not is_parametrized(to_module, name):
                if not hasattr(to_module, name):
                    setattr(to_module, name, Parameter(found[name].original))
                for parametrization in found[name]:
                    register_parametrization(to_module, name, parametrization)
            target: Any = to_module.parametrizations[name]
            if hasattr(found[name], "original"):
                target.original = found[name].original
            else:
                for i in range(found[name].ntensors):
                    setattr(target, f"original{i}", getattr(found[name], f"original{i}"))
    return to_module
