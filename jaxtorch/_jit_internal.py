"""`torch._jit_internal`: the part of TorchScript's private names that libraries import. Nothing is compiled."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from typing import Any, Final

__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Final", "FunctionModifiers", "boolean_dispatch",
    "export", "get_torchscript_modifier", "ignore", "is_of", "is_scripting", "is_tracing", "unused",
]  # fmt: skip


class FunctionModifiers:
    """The words with which decorators tell the TorchScript compiler what to do with a function."""

    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from a exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _marking(word: str) -> Callable[[Any], Any]:
    def mark(fn: Any) -> Any:
        target: Any = fn.fget if isinstance(fn, property) else fn
        target._torchscript_modifier = word
        return fn

    return mark


def export(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, marked as one that TorchScript would compile."""
    return _marking(FunctionModifiers.EXPORT)(fn)


def unused(fn: Any) -> Any:
    """The function itself, marked as one that TorchScript would leave out."""
    return _marking(FunctionModifiers.UNUSED)(fn)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself (or a decorator), marked as one that TorchScript would leave to Python."""
    if callable(drop):
        return _marking(FunctionModifiers.IGNORE)(drop)
    return _marking(FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def get_torchscript_modifier(fn: Any) -> str:
    """How a function was marked."""
    fn = getattr(fn, "__func__", fn)
    return getattr(fn, "_torchscript_modifier", FunctionModifiers.DEFAULT)


def is_scripting() -> bool:
    """Is the TorchScript compiler reading this? Never."""
    return False


def is_tracing() -> bool:
    """Is a function being traced? Never."""
    return False


def _overload(func: Callable[..., Any]) -> Callable[..., Any]:
    """The declaration of an overload; the definition that follows replaces it."""
    return func


def _overload_method(func: Callable[..., Any]) -> Callable[..., Any]:
    """The declaration of an overload of a method."""
    return func


def _copy_to_script_wrapper(fn: Callable[..., Any]) -> Callable[..., Any]:
    return _marking(FunctionModifiers.COPY_TO_SCRIPT_WRAPPER)(fn)


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that is `if_true` or `if_false`, as the argument `arg_name` says."""

    def fn(*args: Any, **kwargs: Any) -> Any:
        chosen = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    fn.__name__ = func_name
    fn.__module__ = module_name
    fn.__doc__ = if_true.__doc__ or if_false.__doc__
    return fn


class _BroadcastingList:
    """`BroadcastingList2[int]` annotates a number, or a list of two of them."""

    def __getitem__(self, kind: Any) -> Any:
        return Sequence[kind] | kind


BroadcastingList1: Any = _BroadcastingList()
BroadcastingList2: Any = _BroadcastingList()
BroadcastingList3: Any = _BroadcastingList()


def is_of(obj: Any, kind: Any) -> bool:
    """Is `obj` of a type, which may be generic: `list[int]`, `tuple[int, str]`, `dict[str, int]`, `int | None`?"""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return True
    if origin is typing.Union or origin is types.UnionType:
        return any(is_of(obj, part) for part in parts)
    if origin is None:
        return obj is None if kind is None else isinstance(obj, kind)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(parts) == len(obj) and all(is_of(o, p) for o, p in zip(obj, parts, strict=True))
    if origin is dict:
        return all(is_of(k, parts[0]) and is_of(v, parts[1]) for k, v in obj.items())
    return all(is_of(o, parts[0]) for o in obj)


class ScriptObject:
    """TorchScript's objects; jaxtorch makes none."""

    __module__ = "jaxtorch._C"
