"""What `torch.jit.trace` and `freeze` give: modules that run the Python of another one, with the settings it had."""

from __future__ import annotations

import copy
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._scripted import Compiled, Recursive, again, functions


class _Running(Compiled):
    """A module that runs another, `_program`, which is none of its submodules."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the program gives."""
        return self.__dict__["_program"](*args, **kwargs)


class Traced(_Running):
    """What the classes of traced modules have.

    Their parameters, buffers and submodules are to be seen, and changed; the settings, such as `training`, have no effect any more.
    """

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__dict__["_program"].__reduce_ex__(protocol)

    def __deepcopy__(self, memo: Any) -> Any:
        made = memo[id(self)] = object.__new__(type(self))
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made


class Frozen(Recursive, _Running, Module):
    """A module whose parameters have become constants."""

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return type(self.__dict__["_program"]).__name__


_kinds: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


def _kind(kind: type) -> type:
    found = _kinds.get(kind)
    if found is None:
        body = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
        found = _kinds[kind] = types.new_class(kind.__name__, (Traced, kind), {}, lambda space: space.update(body))
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    if isinstance(value, dict):
        return {name: _copied(item) for name, item in value.items()}
    return value


def run(fn: Callable[..., Any], inputs: Any, keywords: Any, checked: bool, strict: bool = False) -> None:
    """Call a function as often as PyTorch's tracer: once, and three times more where it compares (two of these are traces too).

    strict: refuse results in dictionaries."""
    if inputs is None and keywords is None:
        return
    args, kwargs = (), keywords or {}
    if isinstance(inputs, dict):
        kwargs = inputs
    elif inputs is not None:
        args = tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,)
    for _ in range(4 if checked else 1):
        result = fn(*_copied(args), **_copied(kwargs))
        if strict and _has_dict(result):
            raise RuntimeError(
                "Encountering a dict at the output of the tracer might cause the trace to be incorrect, this is only valid if the "
                "container structure does not change based on the module's inputs; pass strict=False to trace() to allow it"
            )


def _has_dict(result: Any) -> bool:
    return type(result) is dict or (isinstance(result, (tuple, list)) and any(map(_has_dict, result)))


def positional(inputs: Any, keywords: Any) -> tuple[Any, ...] | None:
    """An example of positional arguments, as a tuple of tensors that nobody else writes to; None where there are others."""
    if inputs is None or keywords is not None or isinstance(inputs, dict):
        return None
    return _copied(tuple(inputs) if isinstance(inputs, (list, tuple)) else (inputs,))


def traced_module(module: Any, methods: Any = (), example: Any = None) -> Any:
    """A module with the tensors of the given one that runs as this would now. methods: which other ones are to run so.

    example: the arguments it was traced with, by which `save` knows the types of its values.
    """
    if isinstance(module, Compiled):
        return module
    made = again(module, {}, _kind(type(module)))
    program = again(made, {}, type(module), shared=True)
    for inner in [made, *(m for m in made.modules() if m is not made)]:
        for name, value in vars(inner).items():
            if "_hooks" in name and isinstance(value, dict):
                value.clear()  # they run in the program
    made.__dict__["_program"] = program
    made.__dict__["_example"] = example
    for name in methods:
        made.__dict__[name] = getattr(program, name)
    return made


def traced_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function as an object of its own, which counts as one of TorchScript's."""
    if getattr(fn, "_scripted", False):
        return fn

    def traced(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    functools.update_wrapper(traced, fn)
    traced._scripted = True  # pyright: ignore[reportFunctionMemberAccess]
    functions.add(traced)
    return traced


def frozen_module(module: Any, kept: Any = None) -> Any:
    """A module that computes as the given one does now, whose parameters are constants. kept: names of attributes that it has too."""
    if module.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before freezing."
        )
    program = again(module.__dict__.get("_program", module), {})
    constants: dict[int, Any] = {}
    for inner in program.modules():
        for name, parameter in inner._parameters.items():
            if parameter is not None:
                if id(parameter) not in constants:
                    constants[id(parameter)] = Parameter(parameter.detach(), requires_grad=False)
                inner._parameters[name] = constants[id(parameter)]
    made = Frozen().eval()
    made.__dict__["_program"] = program
    for name in kept or ():
        made.__dict__[name] = getattr(program, name)
    return made
