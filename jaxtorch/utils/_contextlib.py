"""`torch.utils._contextlib`: context managers that are also decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .._core.types.grad_mode import constructor_of
from .._private_names.absent import undefined

__all__ = ["_DecoratorContextManager", "_NoParamDecoratorContextManager", "context_decorator"]


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` within the context, made anew for each call where `ctx` is a function. Generators are within it while they run."""
    make: Any = ctx if callable(ctx) else (lambda: ctx)
    if inspect.isclass(func):
        raise RuntimeError(
            f"Cannot decorate classes; it is ambiguous whether or not only the constructor or all methods should have the "
            f"context manager applied; got {func}"
        )
    if inspect.isgeneratorfunction(func):

        @functools.wraps(func)
        def generating(*args: Any, **kwargs: Any) -> Any:
            generator = func(*args, **kwargs)
            reply: Any = None
            while True:
                with make():
                    try:
                        item = generator.send(reply)
                    except StopIteration as stop:
                        return stop.value
                try:
                    reply = yield item
                except GeneratorExit:
                    with make():
                        generator.close()
                    raise
                except BaseException as error:
                    with make():
                        reply = generator.throw(error)

        return generating

    @functools.wraps(func)
    def within(*args: Any, **kwargs: Any) -> Any:
        with make():
            return func(*args, **kwargs)

    return within


class _DecoratorContextManager:
    """Base of context managers that decorate functions and generators."""

    def __call__(self, orig_func: Callable[..., Any]) -> Callable[..., Any]:
        return context_decorator(self.clone, constructor_of(orig_func) if inspect.isclass(orig_func) else orig_func)

    def __enter__(self) -> Any:
        raise undefined(self, "__enter__")

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        raise undefined(self, "__exit__")

    def clone(self) -> Any:
        """Another one like this; for classes without arguments."""
        return self.__class__()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that also decorates without parentheses."""

    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)
