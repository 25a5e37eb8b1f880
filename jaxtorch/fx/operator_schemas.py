"""`torch.fx.operator_schemas`: a call's arguments under the names of the function's parameters."""

from __future__ import annotations

import inspect
import numbers
import types
from collections.abc import Callable
from typing import Any, NamedTuple, Union, get_args, get_origin

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.dtypes import dtype

__all__ = ["ArgsKwargsPair", "create_type_hint", "normalize_function", "normalize_module", "type_matches"]


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


def create_type_hint(x: Any) -> Any:
    """The type `list[T]` of a list of types or `tuple[T, ...]` of a tuple of them, where T is the one among them that the others are
    derived from, or Any. What is neither, and a list that begins with what is no type, comes back as it is."""
    if not isinstance(x, (list, tuple)):
        return x
    if any(not isinstance(t, type) for t in x):
        return x
    base: Any = Any
    if x:
        base = next((t for t in x if all(issubclass(other, t) for other in x)), Any)
    return list[base] if isinstance(x, list) else tuple[base, ...]


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Can an argument of a type be given where a signature has another: one of its union, a number, or the items of a list?"""
    origin = get_origin(signature_type)
    if signature_type is argument_type or signature_type == argument_type:
        return True
    if origin in (Union, types.UnionType):
        return any(type_matches(t, argument_type) for t in get_args(signature_type))
    if origin is list:
        item, given = get_args(signature_type)[0], [t for t in get_args(argument_type) if t is not Ellipsis]
        if item is argument_type is int:
            return True  # one number for all sizes
        return (
            inspect.isclass(item) and get_origin(argument_type) in (list, tuple) and all(_below(t, item) for t in given)
        )
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    if signature_type is int and argument_type is dtype:
        return True
    plain = inspect.isclass(signature_type) and inspect.isclass(argument_type)
    return plain and origin is None and get_origin(argument_type) is None and issubclass(argument_type, signature_type)


def _below(kind: Any, item: Any) -> bool:
    return kind is item or issubclass(kind, item)
