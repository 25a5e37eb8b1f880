"""Grad mode and inference mode."""

from __future__ import annotations

import contextvars
import functools
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any, Self, TypeVar, overload

from jax._src import core as _jax_core

from .warn_once import warn

Function = TypeVar("Function", bound=Callable[..., Any])


class _State(threading.local):
    """What steers recording, of each thread its own. Read on the recording path."""

    grad = True
    graded = False
    """An operation is being recorded whose result requires a gradient, and that checks values."""
    capturing = False
    """Inside a backward pass for chosen inputs (`autograd.grad`, `backward(inputs=...)`)."""
    casts: Any = None
    """Under autocast, pairs (kind of device, type); see dispatch/autocast.py."""
    inference = False
    copying = False
    """A copy is written to a view with several elements in one place: the last one stays, as in PyTorch, changed or not."""
    off: Any = None
    """Weak reference to the JAX trace in which the user switched gradients off: what is computed in there is constant to it."""
    tangents: tuple[Any, ...] = ()
    """Weak references to the JAX traces of `torch.func.jvp`, innermost last, which take no notice of that."""
    transforms = 0
    """How many transformations of `torch.func` are at work."""
    taped = 0
    """How many of these are the engine's own (`func/_by_recording.py`), not JAX's."""

    def __init__(self) -> None:
        self.saved_hooks: list[Any] = []  # pairs (pack, unpack), or the message of an error
        self.working: list[
            Any
        ] = []  # the engine's own transformations at work: levels of `vmap`, "tangents", ids, or None


state = _State()
carried: list[threading.local] = [state]
"""What each thread has for itself, and hands on to one that goes on with its work."""


def in_another_thread(run: Callable[[], Any]) -> Any:
    """What `run` returns, or raises, in a new thread, whose stack is empty; this one waits."""
    held = [dict(vars(local)) for local in carried]
    found: list[Any] = []

    def work() -> None:
        for local, values in zip(carried, held, strict=True):
            vars(local).update(values)
        try:
            found.extend((True, run()))
        except BaseException as error:
            found.extend((False, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    thread.join()
    if found[0]:
        return found[1]
    raise found.pop()


UNKNOWN = (
    "this tensor is being traced by a JAX transformation (vmap, jit or another), so it has no value yet: printing, item(), "
    "numpy(), bool(), and results whose shape depends on values (nonzero, unique, masks as indices) need one"
)


class RestartUntaped(BaseException):
    """Something in a transformed function has to be left to JAX's transformations: the outermost one begins anew with these."""


def restart_untaped(why: str) -> None:
    """Raise that, where a transformation is at work that can begin anew; else RuntimeError."""
    if state.taped:
        raise RestartUntaped
    raise RuntimeError(why)


inferring: list[bool] = []
"""Not empty while some thread is in inference mode, so that the making of tensors need not ask for the thread's state."""

watch: list[str] = []
"""Why every new node must be looked at: "anomaly", "hooks" (on saved tensors), "inference" (there are inference tensors),
"invalid views" (there may be views without a place in the graph). Almost always empty, which is all that recording asks."""

finished: list[bool] = []
"""Not empty after a backward pass that keeps no graph, until the next node is made: what was recorded so far can run then, as
where a module is called."""


class Anomaly:
    """Anomaly detection, of the whole process."""

    enabled = False
    check_nan = True


def set_anomaly(enabled: bool, check_nan: bool) -> None:
    """Switch anomaly detection."""
    if enabled is not Anomaly.enabled:
        watch.append("anomaly") if enabled else watch.remove("anomaly")
    Anomaly.enabled, Anomaly.check_nan = enabled, check_nan


def constructor_of(kind: type) -> Callable[..., Any]:
    """A function that makes objects of a class, for a context that decorates it: as PyTorch does, and warns."""
    warn(
        "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or methods. "
        "To preserve the current behavior of class decoration, you can directly decorate the `__init__` method and nothing else.",
        FutureWarning,
    )
    return lambda *args, **kwargs: kind(*args, **kwargs)


class _Decorating:
    """A context manager that also decorates functions and generators, entering anew at each call."""

    def clone(self) -> Any:
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: Any) -> None:
        raise NotImplementedError

    def __call__(self, orig_func: Function) -> Function:
        fn: Any = constructor_of(orig_func) if inspect.isclass(orig_func) else orig_func
        if inspect.isgeneratorfunction(fn):

            @functools.wraps(fn)
            def generate(*args: Any, **kwargs: Any) -> Any:
                generator = fn(*args, **kwargs)
                value, error = None, None
                while True:
                    try:
                        with self.clone():
                            item = generator.send(value) if error is None else generator.throw(error)
                    except StopIteration as stop:
                        return stop.value
                    error = None
                    try:
                        value = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as e:
                        value, error = None, e

            return generate  # pyright: ignore[reportReturnType]

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]


def switch_off() -> None:
    """Record no gradients from here on; to JAX's transformations that run now, results are constants."""
    off = weakref.ref(_jax_core.trace_ctx.trace)  # nothing is called from here on, so that Ctrl-C cannot come between
    state.grad = False
    state.off = off


class no_grad(_Decorating):
    """Context in which results do not require a gradient."""

    __module__ = "jaxtorch.autograd.grad_mode"

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, orig_func: Function) -> Function: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __init__(self) -> None:
        self._before: list[tuple[bool, Any]] = []

    def __enter__(self) -> None:
        if not hasattr(self, "_before"):
            self._before = []
        self._before.append((state.grad, state.off))
        switch_off()

    def __exit__(self, *exc: Any) -> None:
        state.grad, state.off = self._before.pop()


class enable_grad(_Decorating):
    """Context in which results of inputs that require a gradient require one too."""

    __module__ = "jaxtorch.autograd.grad_mode"

    @overload
    def __new__(cls) -> Self: ...
    @overload
    def __new__(cls, orig_func: Function) -> Function: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        self = object.__new__(cls)
        self._before = []
        return self if orig_func is None else self(orig_func)

    def __init__(self, orig_func: Any = None) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(state.grad)
        state.grad = True

    def __exit__(self, *exc: Any) -> None:
        state.grad = self._before.pop()


class set_grad_enabled(_Decorating):
    """Switch gradient recording on or off: at once, and back at the end when used as a context."""

    __module__ = "jaxtorch.autograd.grad_mode"

    def __init__(self, mode: bool) -> None:
        if mode.__class__ is not bool:
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.prev = state.grad, state.off
        self.mode = mode
        self.__enter__()

    def __call__(self, orig_func: Function) -> Function:
        state.grad, state.off = self.prev
        return super().__call__(orig_func)

    def __repr__(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}(mode={self.mode})"

    def clone(self) -> set_grad_enabled:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        if self.mode:
            state.grad = True
        else:
            switch_off()

    def __exit__(self, *exc: Any) -> None:
        state.grad, state.off = self.prev


class inference_mode(_Decorating):
    """Context without gradient recording, whose results can never take part in autograd."""

    __module__ = "jaxtorch.autograd.grad_mode"

    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    @overload
    def __new__(cls, mode: Function) -> Function: ...
    def __new__(cls, mode: Any = True) -> Any:
        self = object.__new__(cls)
        if isinstance(mode, bool):
            return self
        self.__init__()
        return self(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self._before: list[tuple[bool, bool, Any]] = []

    def clone(self) -> inference_mode:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self._before.append((state.grad, state.inference, state.off))
        if self.mode:
            switch_off()
            state.inference = True
            inferring.append(True)
            if "inference" not in watch:
                watch.append("inference")
        else:
            if state.inference:
                state.grad = True
            state.inference = False

    def __exit__(self, *exc: Any) -> None:
        if self.mode:
            inferring.pop()
        state.grad, state.inference, state.off = self._before.pop()


def is_grad_enabled() -> bool:
    return state.grad


def is_inference_mode_enabled() -> bool:
    return state.inference
