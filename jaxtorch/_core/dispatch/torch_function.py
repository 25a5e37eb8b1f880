"""`__torch_function__`: objects that say themselves what the functions of `torch` do with them.

Recording must not pay for it, so nothing asks until there is somebody to ask: an instance of a `Tensor` subclass, a
`TorchFunctionMode`, or a stranger among the operands. `activate` then exchanges the code of every public function, in
place, for one that looks at its arguments first; functions that programs hold under other names change with them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from ..tensor.tensor import Tensor
from ..types.grad_mode import carried
from ..types.stranger import Stranger
from . import torch_dispatch


class _State(threading.local):
    disabled = 0
    all_disabled = 0
    skips = False
    """Is the next function to run without asking?"""

    def __init__(self) -> None:
        self.modes: list[Any] = []


state = _State()
carried.append(state)
collectors: list[Callable[[], Iterable[FunctionType]]] = []
"""Give the functions that ask, when `activate` needs them."""

_active: list[Any] = []
_overriding: dict[type, bool] = {Tensor: False}
_NESTING = (tuple, list)


OPERATORS = frozenset(
    """__eq__ __rsub__ __rdiv__ __floordiv__ __rfloordiv__ __rmod__ __rpow__ __rmatmul__ __and__ __or__ __xor__ __lshift__
    __rshift__ __rlshift__ __rrshift__ __iand__ __ior__ __ixor__ __ilshift__ __irshift__""".split()
)
"""Operators of two operands that ask under their own names; others as the operation that they stand for."""


def anybody() -> bool:
    """Has there been somebody to ask?"""
    return bool(_active)


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class has as its `__torch_function__` when functions treat it as a plain tensor."""
    with disable_subclass():
        return func(*args, **(kwargs or {}))


def overrides(kind: type) -> bool:
    """Do objects of this class say what functions do with them?"""
    found = _overriding.get(kind)
    if found is None:
        own = getattr(kind, "__torch_function__", None)
        found = own is not None and getattr(own, "__func__", own) is not disabled_torch_function
        if kind not in _NESTING:  # whose items are asked
            _overriding[kind] = found
    return found


def disabled_torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class has as its `__torch_dispatch__` when operations are not to ask it."""
    return func(*args, **(kwargs or {}))


_admitted: set[type] = set()


def admit(kind: type) -> None:
    """An instance of a subclass of `Tensor` is being made: have functions ask from now on, if it wants to be asked.

    NotImplementedError for a class with a `__torch_dispatch__`, whose operations would go on without asking it.
    """
    if kind not in _admitted:
        own = getattr(kind, "__torch_dispatch__", None)
        if own is not None and getattr(own, "__func__", own) is not disabled_torch_dispatch:
            raise NotImplementedError(
                f"{kind.__name__}.__torch_dispatch__: jaxtorch asks no tensor's class below autograd. A class with a "
                "`__torch_function__`, or a TorchDispatchMode, can take its place"
            )
        _admitted.add(kind)
    if not _active and overrides(kind):
        activate()


def expect(kind: type) -> None:
    """A program has defined this class: have functions ask from now on, unless its instances are admitted one by one."""
    if not _active and not issubclass(kind, Tensor) and overrides(kind) and not kind.__module__.startswith("jaxtorch"):
        activate()


def refuse_stranger(x: Any) -> None:
    """Raise `Stranger` where an operand that is no tensor wants to be asked and nothing does so yet."""
    if not _active and overrides(type(x)):
        activate()
        raise Stranger


class disable_subclass:
    """Context in which the classes of arguments are not asked."""

    def __enter__(self) -> None:
        state.disabled += 1

    def __exit__(self, *exc: Any) -> None:
        state.disabled -= 1


class disable_all:
    """Context in which neither the classes of arguments nor modes are asked."""

    def __enter__(self) -> None:
        state.all_disabled += 1

    def __exit__(self, *exc: Any) -> None:
        state.all_disabled -= 1


@cache
def _trampoline(free: int) -> CodeType:
    """The code of a function that hands its arguments to the constant `"target"`, compiled with so many free variables.

    Python lays a frame out for the variables that its code was compiled with, so this one can take the place of the
    code of any function with as many, whatever reads its frame.
    """
    names = "".join(f"free{i}, " for i in range(free))
    text = f"""def outer({names}):
    def trampoline(*args, **kwargs):
        target = "target"
        return target(args, kwargs)
        {names}0
    return trampoline"""
    namespace: dict[str, Any] = {}
    exec(compile(text, __file__, "exec"), namespace)
    return namespace["outer"](*range(free)).__code__


class _Asking:
    """The body of a public function once its code has been exchanged."""

    __slots__ = ("impl", "public", "told")

    def __init__(self, public: FunctionType) -> None:
        self.public = public
        self.told: Any = getattr(public, "told", None)
        """Makes of `(args, kwargs)` what overrides are told, where that is not the arguments themselves."""
        impl = FunctionType(
            public.__code__, public.__globals__, public.__name__, public.__defaults__, public.__closure__
        )
        impl.__qualname__ = public.__qualname__  # which errors about arguments name
        impl.__kwdefaults__ = public.__kwdefaults__
        impl.__annotations__ = public.__annotations__
        self.impl = impl

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not state.all_disabled:
            if state.skips:
                state.skips = False
                return self.impl(*args, **kwargs)
            if state.modes:
                return self.asked(ask_mode, overloaded(args, kwargs), args, kwargs)
            if not state.disabled:
                for x in args:
                    kind = x.__class__
                    if _overriding.get(kind, True) and (kind in _NESTING or overrides(kind)):
                        found = overloaded(args, kwargs)
                        if found:
                            return self.asked(ask, found, args, kwargs)
                        break
                else:
                    if kwargs:
                        found = overloaded((), kwargs)
                        if found:
                            return self.asked(ask, found, args, kwargs)
        if torch_dispatch.opened and torch_dispatch.active():
            return torch_dispatch.ask(self.public, self.impl, args, kwargs)
        return self.impl(*args, **kwargs)

    def asked(self, ask: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The answer of those who are asked."""
        return ask(self.public, found, *self.seen(args, kwargs))

    def seen(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any] | None]:
        """The arguments as overrides see them."""
        return self.told(args, kwargs) if self.told is not None else (args, kwargs or None)


class _AskingOperator(_Asking):
    """The same for an operator: where nobody answers, it is the turn of the other side's."""

    __slots__ = ()

    def asked(self, ask: Any, found: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.public.__name__ == "__eq__" and not state.modes and not overrides(args[0].__class__):
            return self.impl(*args, **kwargs)  # which asks as `eq`
        try:
            return ask(self.public, found, *self.seen(args, kwargs))
        except TypeError:
            return NotImplemented


class _Showing(_Asking):
    """The same for functions that are not public, which only modes with a `__torch_dispatch__` need to know of."""

    __slots__ = ()

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if torch_dispatch.opened and torch_dispatch.active():
            return torch_dispatch.ask(self.public, self.impl, args, kwargs)
        return self.impl(*args, **kwargs)


def _walk(items: Iterable[Any]) -> Iterable[Any]:
    for x in items:
        if x.__class__ in _NESTING:
            yield from (y for y in x if y.__class__ not in _NESTING)
        else:
            yield x


def overloaded(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments to ask, one of each class: subclasses before their bases, else from left to right."""
    return ordered(_walk((*args, *kwargs.values())))


def ordered(items: Iterable[Any]) -> list[Any]:
    """Of these objects those to ask, one of each class."""
    found: list[Any] = []
    for x in items:
        kind = x.__class__
        if overrides(kind) and not isinstance(x, type) and all(kind is not f.__class__ for f in found):
            place = next((i for i, f in enumerate(found) if issubclass(kind, f.__class__)), len(found))
            found.insert(place, x)
    return found


def asks(relevant: Iterable[Any]) -> bool:
    """Is one of these objects of a class with a `__torch_function__` of its own, or a mode in force? Asked by functions in their own
    text."""
    if not _active or state.all_disabled:
        return False
    if state.skips:
        state.skips = False
        return False
    return bool(state.modes) or (not state.disabled and any(overrides(type(x)) for x in relevant))


def answer(func: Any, relevant: Iterable[Any], args: Any, kwargs: Any) -> Any:
    """What those who are asked say that `func(*args, **kwargs)` is; TypeError where none answers."""
    found = ordered(relevant)
    return ask_mode(func, found, args, kwargs) if state.modes else ask(func, found, args, kwargs)


def ask_mode(func: Any, found: list[Any], args: Any, kwargs: Any) -> Any:
    """Ask the innermost mode, which is not in force meanwhile, then the arguments."""
    mode = state.modes.pop()
    try:
        answer = mode.__torch_function__(func, tuple(map(type, found)), args, kwargs)
    finally:
        state.modes.append(mode)
    if answer is not NotImplemented:
        return answer
    if found and not state.disabled:
        return ask(func, found, args, kwargs)
    raise _nobody(func, [mode])


def ask(func: Any, found: list[Any], args: Any, kwargs: Any) -> Any:
    """The answer of the first argument that has one; TypeError where none has."""
    types = tuple(map(type, found))
    for x in found:
        answer = x.__torch_function__(func, types, args, kwargs)
        if answer is not NotImplemented:
            return answer
    raise _nobody(func, found)


def _nobody(func: Any, found: list[Any]) -> TypeError:
    name = f"torch.{getattr(func, '__name__', func)}"
    return TypeError(
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented: "
        f"{[x if isinstance(x, type) else type(x) for x in found]}"
    )


def activate() -> bool:
    """Have the public functions ask their arguments, for as long as the process runs. Did they not until now?"""
    if _active:
        return False
    _active.append(True)
    for collect in collectors:
        for function in collect():
            _exchange(function, _AskingOperator if function.__name__ in OPERATORS else _Asking)
    return True


def show(functions: Iterable[FunctionType]) -> None:
    """Have functions that are not public tell modes with a `__torch_dispatch__` of their calls."""
    activate()
    for function in functions:
        _exchange(function, _Showing)


def _exchange(function: FunctionType, kind: type[_Asking] = _Asking) -> None:
    if any(isinstance(c, _Asking) for c in function.__code__.co_consts):
        return
    if hasattr(function, "source"):
        source: Any = function.source
        source.write()
        if function.__code__ is source.first_of_methods:
            source.write_method()
    target = kind(function)
    free = function.__code__.co_freevars
    code = _trampoline(len(free))
    constants = tuple(target if c == "target" else c for c in code.co_consts)
    function.__code__ = code.replace(co_consts=constants, co_name=function.__name__, co_freevars=free)
    function.__defaults__ = function.__kwdefaults__ = None
    if hasattr(function, "__wrapped__"):  # whose signature it shows
        target.impl.__wrapped__ = function.__wrapped__
    function.__wrapped__ = target.impl  # pyright: ignore[reportFunctionMemberAccess]


def wrapped_grad(wrap: Callable[[Any, Any], Any], unwrap: Callable[[Any], Any]) -> property:
    """A subclass's `grad`, kept as a plain tensor: read as `wrap(self, plain)`, and stored as `unwrap(value)`."""
    plain: Any = Tensor.grad

    def read(self: Any) -> Any:
        with disable_subclass():
            found = plain.__get__(self)
            return None if found is None else wrap(self, found)

    def store(self: Any, value: Any) -> None:
        with disable_subclass():
            plain.__set__(self, None if value is None else unwrap(value))

    return property(read, store)


def convert(result: Any, cls: type) -> Any:
    """A result's tensors as instances of a subclass."""
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return _become(result, cls)
    if isinstance(result, (tuple, list)):
        converted = [convert(x, cls) for x in result]
        return type(result)(*converted) if hasattr(result, "_fields") else type(result)(converted)
    return result


def _become(t: Tensor, cls: type) -> Any:
    with disable_all():
        return t.as_subclass(cls)


_plain: set[Any] = set()
"""Functions whose results stay what they are: those that hand out another object, such as `Tensor.grad`."""


def default_torch_function(cls: type, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__torch_function__`: the function as it is, with its results of the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with disable_subclass():
        result = func(*args, **(kwargs or {}))
    return result if func in _plain else convert(result, cls)


Tensor.__torch_function__ = classmethod(default_torch_function)  # pyright: ignore[reportAttributeAccessIssue]
