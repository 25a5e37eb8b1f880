"""`torch.compile`: calls are captured once and replayed with no Python for each operation."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from .._core.types.warn_once import warn
from .._inductor import config as _inductor_config
from ..nn import Module
from . import calling
from .disabling import disable as _disable

_P = ParamSpec("_P")
_R = TypeVar("_R")

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")
BACKENDS = ("aot_eager", "cudagraphs", "eager", "inductor")
DEFAULT_BACKEND: list[Any] = ["inductor"]  # one item: what `torch.compiler.set_default_backend` has set


class InvalidBackend(RuntimeError):
    """`torch.compile` was given the name of a backend that does not exist."""


class OptimizedModule(Module):
    """What `torch.compile(module)` returns: the module, as `_orig_mod`, behind another object.

    Attributes are the module's own; in `state_dict` its names begin with `_orig_mod.`, as in PyTorch.
    """

    def __init__(self, mod: Module, run: Callable[..., Any] | None = None) -> None:
        super().__init__()
        self._orig_mod = mod
        self.__dict__["_run"] = run or mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_run"](*args, **kwargs)

    @property
    def training(self) -> bool:
        """The mode of the module."""
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, value: bool) -> None:
        if "_orig_mod" in self.__dict__.get("_modules", ()):  # not while Module.__init__ runs
            self._modules["_orig_mod"].training = value

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return self._modules["_orig_mod"]
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("_orig_mod", "training") or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._orig_mod)})


def _check_options(options: dict[str, Any]) -> None:
    """RuntimeError for an option that PyTorch's compiler has not, or of another type. None has an effect."""
    config: Any = _inductor_config
    for given, value in options.items():
        name = given.replace("-", "_")
        known = config.get_config_copy()
        if name not in known:
            raise RuntimeError(f"Unexpected optimization option {given}, known options are {list(known)}")
        if type(value) is not type(known[name]) and known[name] is not None:
            kinds = type(value).__name__, type(known[name]).__name__
            raise RuntimeError(f"Unexpected type of attr {given}, got {kinds[0]} should be {kinds[1]}")


@overload
def compile(
    model: Module,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    disable: bool = ...,
) -> OptimizedModule: ...
@overload
def compile(
    model: Callable[_P, _R],
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    disable: bool = ...,
) -> Callable[_P, _R]: ...
@overload
def compile(
    model: None = ...,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: dict[str, Any] | None = ...,
    name: str | None = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    disable: bool = ...,
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...
def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    disable: bool = False,
) -> Any:
    """A function or module whose calls are captured as XLA programs and replayed; without `model`, a decorator.

    A call of a new kind (shapes, types, Python arguments, modes) runs as ever; the next one is captured; from then on it is
    replayed without Python, as long as everything it depends on is as it was: module attributes, closures, globals, `train()`
    or `eval()`. A whole training step can be compiled, with its backward pass, optimizer and schedule. What cannot be
    captured (values read while it runs, printing, Python state that it changes) is recorded as without `torch.compile`; the
    reason is logged (`JAXTORCH_LOG=compile`). With `fullgraph=True` what PyTorch's tracer refuses (a branch that depends on a
    tensor, printing, clocks) raises `torch._dynamo.exc.Unsupported`, and the call has written nothing.
    `TORCHDYNAMO_DISABLE=1` in the environment switches it off.

    recompile_limit: captures that one kind of call may need before it is left to recording (8). The gradients of a captured
    call's results cannot be differentiated again. With `backend="eager"`, or a function as the backend, they can: calls whose
    results have a graph are recorded. The other arguments are checked and change nothing. A module comes back as an object with
    the module at `_orig_mod`. RuntimeError for an unknown mode or backend.

        >>> model = torch.nn.Linear(2, 1)
        >>> optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        >>> @torch.compile
        ... def step(x, y):
        ...     optimizer.zero_grad()
        ...     loss = torch.nn.functional.mse_loss(model(x), y)
        ...     loss.backward()
        ...     optimizer.step()
        ...     return loss
        >>> losses = [step(torch.ones(4, 2), torch.zeros(4, 1)).item() for _ in range(5)]
        >>> losses == sorted(losses, reverse=True)
        True
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    backend = DEFAULT_BACKEND[0] if backend is None else backend
    if isinstance(backend, str) and backend not in BACKENDS:
        raise InvalidBackend(f"Invalid backend: '{backend}', torch.compile in jaxtorch knows {', '.join(BACKENDS)}")
    if options is not None and backend == "inductor":
        _check_options(options)
    if model is None:
        return lambda fn: compile(
            fn,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            options=options,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if not isinstance(backend, str):
        warn(
            f"torch.compile: the backend {getattr(backend, '__name__', backend)} is not called: jaxtorch makes no GraphModule to "
            "give it, and captures calls by itself"
        )
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if not isinstance(dynamic, bool | None):
        raise AssertionError(f"Expected enable to be a bool, got {type(dynamic)}")
    if isinstance(model, OptimizedModule):
        return model
    if _is_off():
        return model
    if disable:
        return model
    again = backend == "eager" or not isinstance(backend, str)
    if isinstance(model, Module):
        return OptimizedModule(model, calling.compiled_module(model, fullgraph, recompile_limit, again))
    return calling.compiled(model, fullgraph, recompile_limit, again)


def _is_off() -> bool:
    """Has the user switched `torch.compile` off, in the environment or in `torch._dynamo.config`?"""
    config = sys.modules.get(
        f"{__name__.rpartition('.')[0]}._dynamo.config"
    )  # only who has imported it can have set it
    return os.environ.get("TORCHDYNAMO_DISABLE") == "1" or bool(getattr(config, "disable", False))


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """`torch.compiler.disable`, under the name by which PyTorch's own files ask for it and other packages' optimizers do too."""
    return _disable(fn, recursive)
