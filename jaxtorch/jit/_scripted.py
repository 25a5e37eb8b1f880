"""What `torch.jit.script` gives: the function, or the module over again with the same tensors, and TorchScript's exceptions."""

from __future__ import annotations

import collections
import copy
import copyreg
import dis
import functools
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

from .._jit_internal import FunctionModifiers, get_torchscript_modifier
from ..nn.modules.module import Module
from ..nn.parameter import is_lazy

writer: Any = None
"""Gives the module that writes archives, `_writing`, which knows all kinds of modules. Set by `torch.jit`."""


class Error(Exception):
    """What TorchScript's interpreter raises where a scripted function raises or asserts something.

    Errors of operations are RuntimeErrors there. The exception itself is the `__cause__`.
    """

    __module__ = "jaxtorch.jit"


def missing(api: str) -> NotImplementedError:
    """The error of what needs TorchScript itself."""
    return NotImplementedError(f"{api}: jaxtorch has no TorchScript; run the Python program, or save a state_dict")


_PLAIN = (IndexError, KeyError, ZeroDivisionError, ValueError, TypeError, AttributeError, OverflowError)
"""Errors of operations and of Python's own, all RuntimeErrors in TorchScript."""
_RAISE = dis.opmap["RAISE_VARARGS"]
_OURS = (__file__.rsplit("jit", 1)[0], "<jaxtorch op")


class _Converting:
    """Context of a scripted call."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not isinstance(error, Exception) or isinstance(error, Error):
            return
        if isinstance(error, AssertionError) or _is_raised(trace):
            raise Error(_text(error, trace)) from error
        if type(error) in _PLAIN:
            raise RuntimeError(str(error)) from error


_converting = _Converting()


def _last(trace: Any) -> Any:
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace


def _is_raised(trace: Any) -> bool:
    """Does the traceback end at a `raise` of the program's?"""
    last = _last(trace)
    code = last.tb_frame.f_code
    return code.co_code[last.tb_lasti] == _RAISE and not code.co_filename.startswith(_OURS)


def _text(error: Exception, trace: Any) -> str:
    last = _last(trace)
    where = "".join(traceback.format_tb(last, 1))
    kind = type(error)
    if isinstance(error, AssertionError):
        said = f"RuntimeError: AssertionError: {error}"
    else:
        said = f"{kind.__module__}.{kind.__qualname__}: {error}"
    return (
        "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n"
        f"{where}{said}\n"
    )


functions: weakref.WeakSet[Any] = weakref.WeakSet()
"""What `torch.jit.script` has given for functions."""


def scripted_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function with TorchScript's exceptions."""

    @functools.wraps(fn)
    def scripted(*args: Any, **kwargs: Any) -> Any:
        with _converting:
            return fn(*args, **kwargs)

    scripted._scripted = True  # pyright: ignore[reportAttributeAccessIssue]
    return scripted


_kinds: weakref.WeakKeyDictionary[type, type] = weakref.WeakKeyDictionary()


class Compiled:
    """What the classes of scripted, traced and frozen modules have besides their own."""

    def __init_subclass__(cls) -> None:
        if issubclass(cls, Module):
            Module.__init_subclass__.__func__(cls)  # pyright: ignore[reportFunctionMemberAccess] - the program's own is for its classes

    @property
    def original_name(self) -> str:
        """The name of the class of the module that was scripted."""
        return type(self).__name__

    def save(self, f: Any, _extra_files: Any = None, **kwargs: Any) -> None:
        """Write it as `torch.jit.save` does."""
        writer().save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files: Any = None, **kwargs: Any) -> bytes:
        """The bytes of its archive."""
        return writer().content_of(self, "archive", _extra_files)


class Recursive:
    """What a module prints that stands for another: PyTorch's class of these, and the class of that one."""

    original_name: Any

    def _get_name(self) -> str:
        return "RecursiveScriptModule"

    def extra_repr(self) -> str:
        """The name of the class that was scripted or traced."""
        return f"original_name={self.original_name}"


class Scripted(Compiled):
    """What the classes of scripted modules have. What is copied by pickle is a module of the class that was scripted."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _converting:
            return super().__call__(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]

    def __deepcopy__(self, memo: Any) -> Any:
        copied = copy.deepcopy(_plain(self), memo)
        return _sharing(_kind(type(copied)), copied)

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = _plain(self)
        made = plain.__reduce_ex__(protocol)
        if made[0] is not copyreg.__newobj__:  # pyright: ignore[reportAttributeAccessIssue]
            return made
        return copyreg._reconstructor, (type(plain), object, None), *made[2:]  # pyright: ignore[reportAttributeAccessIssue]


def _sharing(kind: Any, module: Any) -> Any:
    """An object of a class that has another's attributes."""
    made = object.__new__(kind)  # not the class's own, by which a `GraphModule` makes another class
    made.__dict__ = module.__dict__
    return made


def _plain(module: Any) -> Any:
    """The module that was scripted."""
    return _sharing(type(module).__bases__[1], module)


def _kind(kind: type) -> type:
    found = _kinds.get(kind)
    if found is None:
        own = {n: v for c in reversed(kind.__mro__) for n, v in vars(c).items()}
        names = [n for n, v in own.items() if get_torchscript_modifier(v) == FunctionModifiers.EXPORT]
        body: dict[str, Any] = {n: scripted_function(own[n]) for n in ("forward", *names)}
        body |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
        found = _kinds[kind] = types.new_class(kind.__name__, (Scripted, kind), {}, lambda space: space.update(body))
    return found


def again(module: Any, made: dict[int, Any], kind: type | None = None, *, shared: bool = False) -> Any:
    """A module of the same attributes and modules, which has settings of its own (`training` among them) and the same tensors.

    made: the modules that have been made again, by the identity of the first ones. shared: later changes of which tensors are the
    parameters and buffers are seen on both sides.
    """
    if id(module) in made:
        return made[id(module)]
    new = made[id(module)] = object.__new__(type(module) if kind is None else kind)
    held = ("_parameters", "_buffers") if shared else ()
    new.__dict__ = {
        name: value if name in held else _again(value, made, shared) for name, value in vars(module).items()
    }
    return new


def _again(value: Any, made: dict[int, Any], shared: bool) -> Any:
    kind = type(value)
    if isinstance(value, Module):
        return again(value, made, shared=shared)
    if kind in (dict, collections.OrderedDict):
        return kind((name, _again(item, made, shared)) for name, item in value.items())
    if kind is list:
        return [_again(item, made, shared) for item in value]
    if kind is set:
        return set(value)
    if kind is types.MethodType and isinstance(value.__self__, Module):
        return types.MethodType(value.__func__, again(value.__self__, made, shared=shared))
    return value


def refuse_lazy(module: Module) -> None:
    """RuntimeError where a module has parameters or buffers without a shape."""
    for part in module.modules():
        lazy = [n for n, p in (*part._parameters.items(), *part._buffers.items()) if is_lazy(p)]
        if lazy:
            kind = type(part)
            raise RuntimeError(
                f"'{kind.__module__.replace('jaxtorch', 'torch', 1)}.{kind.__qualname__}' has uninitialized parameters "
                f"{', '.join(lazy)}. Did you forget to run a forward pass?"
            )


def scripted_module(module: Module) -> Module:
    """A module with the tensors of the given one and TorchScript's exceptions."""
    refuse_lazy(module)
    return module if isinstance(module, Compiled) else again(module, {}, _kind(type(module)))
