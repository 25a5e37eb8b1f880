"""`torch.fx.operator_schemas`: a call's arguments under the names of the function's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from .._core.op import functions
from .._core.tensor import Tensor

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments by position, and by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def _parameters(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of PyTorch's, without `out` and NumPy's names."""
    found = list(inspect.signature(target).parameters.values())
    if not getattr(target, "__module__", "").startswith(__name__.split(".")[0]):
        return found
    return [p for p in found if p.kind is not p.KEYWORD_ONLY or p.name not in ("out", "axis", "keepdims", "x2")]


def _is_operation(target: Any) -> bool:
    return functions.get(getattr(target, "__name__", "")) is target


def _pair(parameters: list[inspect.Parameter], args: Any, kwargs: Any, only_kwargs: bool) -> ArgsKwargsPair:
    try:
        bound = inspect.Signature(parameters).bind(*args, **kwargs)
    except TypeError as error:
        text = str(error).replace("missing a required argument: ", "missing required argument ")
        raise TypeError(text[:1].upper() + text[1:]) from None
    bound.apply_defaults()
    first = 0 if only_kwargs else len(args)
    values = list(bound.arguments.items())
    return ArgsKwargsPair(tuple([v for _, v in values[:first]]), dict(values[first:]))


def normalize_function(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of a function of torch or of Python's, those with defaults too: by position as many as were given so,
    or all by name. None where an operation does not take them, and for what has no names of parameters.

    An operation has one signature here, so that types, which choose an overload in PyTorch, are not looked at. NotImplementedError
    for reductions without a dimension, whose overload it would depend on; ValueError for methods.
    """
    if not callable(target):
        raise AssertionError(f"target_for_analysis must be callable, got {type(target)}")
    name = getattr(target, "__name__", "")
    if getattr(Tensor, name, None) is target:
        raise ValueError(f"no signature found for builtin <method '{name}' of 'torch._C.TensorBase' objects>")
    try:
        parameters = _parameters(target)
    except ValueError:
        return None
    if inspect.isbuiltin(target) or any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    try:
        found = _pair(parameters, args, kwargs or {}, normalize_to_only_use_kwargs)
    except TypeError:
        if _is_operation(target):
            return None
        raise
    if _is_operation(target) and found.kwargs.get("dim", 0) is None and "dim" not in (kwargs or {}):
        raise NotImplementedError(
            f"normalize_function: torch.{name} without a dimension is another overload in PyTorch"
        )
    return found


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments of a call of the module `target` within `root`, as `normalize_function` gives them."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    parameters = list(inspect.signature(type(module).forward).parameters.values())[1:]
    return _pair(parameters, args, kwargs or {}, normalize_to_only_use_kwargs)
