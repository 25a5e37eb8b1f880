"""`torch.jit`: what would be compiled to TorchScript runs as Python.

Scripting and tracing in PyTorch make a program out of a function or a module, mainly to run it without Python or faster.
jaxtorch records and compiles what runs in any case, so `script`, `trace` and `freeze` give modules of the same Python and tensors,
with settings of their own, `script` with TorchScript's exceptions, and the decorators mark nothing. Unlike in PyTorch, a "traced"
function keeps its control flow, and errors that the TorchScript compiler would find appear when the function runs. `load` reads the
archives that PyTorch writes, `save` writes traced modules that `torch.fx` can trace.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

from .. import _jit_internal
from .._jit_internal import _overload as _overload
from .._jit_internal import _overload_method as _overload_method
from .._jit_internal import export, ignore, is_scripting, unused
from ..futures import Future
from ..nn.modules.module import Module
from . import _scripted, _state, _traced
from ._scripted import Error

annotations = importlib.import_module(".annotations", __name__)  # the name is that of a feature of Python's until here

__all__ = [
    "Attribute", "CompilationUnit", "Error", "Final", "Future", "RecursiveScriptModule", "ScriptFunction", "ScriptModule",
    "ScriptWarning", "TracerWarning", "TracingCheckError", "annotate", "annotations", "enable_onednn_fusion", "export",
    "fork", "freeze", "ignore", "interface", "is_scripting", "is_tracing", "isinstance", "load", "onednn_fusion_enabled",
    "optimize_for_inference", "optimized_execution", "save", "script", "script_if_tracing", "script_method",
    "set_fusion_strategy", "strict_fusion", "trace", "trace_module", "unused", "wait",
]  # fmt: skip


class _OfModules(type):
    """What `script` gives for a module counts as a script module, though its class is the module's own."""

    def __instancecheck__(cls, instance: Any) -> bool:
        scripted = cls in (ScriptModule, RecursiveScriptModule) and builtins.isinstance(instance, _scripted.Compiled)
        return scripted or super().__instancecheck__(instance)


class ScriptModule(Module, metaclass=_OfModules):
    """Base of modules written for TorchScript; here a plain Module. What `script` gives for a module is an instance."""


class RecursiveScriptModule(ScriptModule):
    """What `script(module)` gives is an instance."""


class _OfFunctions(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type(instance) is FunctionType and instance in _scripted.functions


class ScriptFunction(metaclass=_OfFunctions):
    """What `script(function)` gives is an instance."""


class CompilationUnit:
    """TorchScript functions compiled from text. NotImplementedError: there is no TorchScript compiler."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _missing("torch.jit.CompilationUnit")


class TracingCheckError(Exception):
    """What PyTorch's tracer raises where two traces differ. Nothing is traced here, so it is not raised."""


class ScriptWarning(Warning):
    """A warning of the TorchScript compiler."""


class TracerWarning(Warning):
    """A warning of PyTorch's tracer: something was made a constant. Nothing is here."""


class Attribute:
    """A value with the type that TorchScript should give it."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


_missing = _scripted.missing


def _deprecated(name: str, instead: str = "Please switch to `torch.compile` or `torch.export`.") -> None:
    """PyTorch's warning, which Python hides by default: it names a line of the library's own."""
    warnings.warn(f"`torch.jit.{name}` is deprecated. {instead}", DeprecationWarning, stacklevel=2)


_COMPILE, _EXPORT = "Please use `torch.compile` instead.", "Please switch to `torch.export`."


def _get_trace_graph(*args: Any, **kwargs: Any) -> Any:
    """TorchScript's graph of a call, by which fvcore counts operations: NotImplementedError."""
    raise _missing("torch.jit._get_trace_graph")


_BUILT_IN = (bool, int, float, complex, str, bytes, tuple, set, range, BuiltinFunctionType)
"""Types of what cannot be scripted."""


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """`obj` as it is: a function or module runs as Python, with TorchScript's exceptions; a module shares all attributes with `obj`.

    What it raises or asserts is a `torch.jit.Error`, other errors are RuntimeErrors. Classes are given back, and everything where
    scripting is off (PYTORCH_JIT=0). RuntimeError for a class of modules and for a lambda, OSError for a function without source.
    """
    _deprecated("script")
    if not _state._enabled:
        return obj
    if builtins.isinstance(obj, Module):
        return _scripted.scripted_module(obj)
    if type(obj) is FunctionType and not obj.__module__.startswith("jaxtorch") and not hasattr(obj, "_scripted"):
        _look_at_source(obj)
        made = _scripted.scripted_function(obj)
        _scripted.functions.add(made)
        return made
    if builtins.isinstance(obj, type) and issubclass(obj, Module):
        raise RuntimeError(
            f"Type '{obj}' cannot be compiled since it inherits from nn.Module, pass an instance instead"
        )
    if obj is None or builtins.isinstance(obj, _BUILT_IN) or type(obj) is object:
        raise TypeError(f"{type(obj)} is a built-in class")
    return obj


def _look_at_source(function: Callable[..., Any]) -> None:
    """OSError for a function whose source cannot be read, RuntimeError for a lambda: TorchScript is made from the source."""
    try:
        inspect.getsource(function)
    except (OSError, TypeError):
        raise OSError(
            f"Can't get source for {function}. TorchScript requires source access in order to carry out compilation, make sure "
            "original .py files are available."
        ) from None
    if function.__name__ == "<lambda>":
        code = function.__code__
        raise RuntimeError(f"Expected a single top-level function: {code.co_filename}:{code.co_firstlineno}")


def trace(
    func: Any, example_inputs: Any = None, optimize: Any = None, check_trace: bool = True, *args: Any,
    example_kwarg_inputs: Any = None, **kwargs: Any
) -> Any:  # fmt: skip
    """`func` with the settings that it has now, a module with the same tensors.

    Control flow stays as it is: PyTorch's tracer would fix the path that the example takes.

    `func` runs on the example, once or with `check_trace` four times, as in PyTorch.
    """
    _deprecated("trace")
    if not _state._enabled:
        return func
    owner = getattr(func, "__self__", None)
    if builtins.isinstance(owner, Module) and func.__name__ == "forward":
        func = owner
    if builtins.isinstance(func, Module):
        _scripted.refuse_lazy(func)
    for _ in range(1 + bool(check_trace) if builtins.isinstance(func, Module) else bool(check_trace)):
        _deprecated("trace_method" if builtins.isinstance(func, Module) else "trace")
    strict = args[2] if len(args) > 2 else kwargs.get("strict", True)
    _traced.run(func, example_inputs, example_kwarg_inputs, check_trace, strict)
    if not builtins.isinstance(func, Module):
        return _traced.traced_function(func)
    return _traced.traced_module(func, example=_traced.positional(example_inputs, example_kwarg_inputs))


def trace_module(
    mod: Any, inputs: dict[str, Any], optimize: Any = None, check_trace: bool = True, *args: Any, **kwargs: Any
) -> Any:
    """`mod` as by `trace`, with the methods that `inputs` names."""
    _deprecated("trace_method")
    if not _state._enabled:
        return mod
    if check_trace:
        _deprecated("trace_method")
    for name, example in inputs.items():
        _traced.run(mod if name == "forward" else getattr(mod, name), example, None, check_trace)
    return _traced.traced_module(mod, [name for name in inputs if name != "forward"])


def script_method(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The method, with TorchScript's exceptions."""
    _deprecated("script_method")
    if not _state._enabled:
        return fn
    return _scripted.scripted_function(fn)


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself: nothing is traced."""
    return fn


_script_if_tracing = script_if_tracing


def interface(obj: type) -> type:
    """The class itself."""
    _deprecated("interface", _COMPILE)
    return obj


def freeze(mod: Any, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Any:
    """A module that computes as `mod` does, a scripted or traced one in evaluation, and whose parameters are constants.

    preserved_attrs: names of its attributes and methods that the new one has too.
    """
    _deprecated("freeze", _COMPILE)
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    return _traced.frozen_module(mod, preserved_attrs)


def optimize_for_inference(mod: Any, other_methods: Any = None) -> Any:
    """`freeze` of the module in evaluation, or the module itself where that was done: XLA optimises what runs."""
    _deprecated("optimize_for_inference", _COMPILE)
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError(
            "optimize_for_inference expects a ScriptModule as input. "
            "Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'."
        )
    return mod if builtins.isinstance(mod, _traced.Frozen) else freeze(mod.eval(), other_methods)


def is_tracing() -> bool:
    """Is a function being traced? Never."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """`the_value`; its type is a matter of the TorchScript compiler."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Is `obj` of a type, also a generic one such as `list[int]`? Containers are looked into."""
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, kind) for kind in target_type)
    return _jit_internal.is_of(obj, target_type)


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
    """A future with the function's result, which is computed at once."""
    _deprecated("fork", _COMPILE)
    made = Future()
    try:
        made.set_result(func(*args, **kwargs))
    except Exception as error:
        made.set_exception(error)
    return made


_fork = fork


def wait(future: Future) -> Any:
    """The result of a future of `fork`."""
    _deprecated("wait", _COMPILE)
    return future.wait()


_wait = wait


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Write a traced module, or one that `load` gave, as an archive that PyTorch and jaxtorch load.

    f: a path, or an object with `write`. NotImplementedError, which names it, for what cannot be written: scripted and frozen
    modules, control flow that depends on values, layers and functions whose TorchScript is not known.
    """
    _deprecated("save", _EXPORT)
    if not builtins.isinstance(m, ScriptModule):
        raise TypeError(f"torch.jit.save expects a ScriptModule, not {type(m).__name__}")
    _writer().save(m, f, _extra_files)


def _writer() -> ModuleType:
    from . import _writing  # heavy, and few programs write archives

    return _writing


_scripted.writer = _writer


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """The module that a TorchScript archive holds, written by PyTorch or by `save`.

    f: a path, or an object with `read`. map_location: None (where it was saved), a string or a device. _extra_files: a dict whose
    values are replaced by the bytes of the archive's extra files of its keys' names.

    The source in the archive is compiled to Python once. It can call operations and what the archive defines, nothing else: files
    that ask for more raise RuntimeError. An operation that jaxtorch lacks raises NotImplementedError where it is called.
    """
    _deprecated("load", _EXPORT)
    from . import _reading  # heavy, and few programs read archives

    return _reading.load(f, map_location, _extra_files)


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A context that changes nothing."""
    yield


class strict_fusion:
    """A context that changes nothing: what is fused is XLA's decision."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: Any) -> None:
        pass


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Returns the strategy that was set before; none has an effect."""
    _deprecated("set_fusion_strategy", _COMPILE)
    global _strategy
    before, _strategy = _strategy, strategy
    return before


_strategy: list[tuple[str, int]] = [("STATIC", 2), ("DYNAMIC", 10)]
_onednn = False


def enable_onednn_fusion(enabled: bool) -> None:
    """Remembers the switch, which has no effect."""
    global _onednn
    _onednn = enabled


def onednn_fusion_enabled() -> bool:
    """What `enable_onednn_fusion` was last told."""
    return _onednn
