"""`torch._C`: the names of PyTorch's compiled core that libraries touch."""

# ruff: noqa: F401 - what is imported here is the namespace
from __future__ import annotations

import contextlib
import importlib
import sys
from typing import Any

from .._core.autograd import backward as _backward
from .._core.define.op import functions as _functions
from .._core.dispatch import torch_function as _overrides
from .._core.graph import nodes as _tape
from .._core.random.generator import Generator as Generator
from .._core.tensor.tensor import Tensor
from .._core.types.device import device as device
from .._core.types.dtypes import dtype as dtype
from .._core.types.grad_mode import is_grad_enabled as is_grad_enabled
from .._core.types.size import Size as Size
from .._jit_internal import ScriptObject as ScriptObject
from .._library.tags import Tag as Tag
from .._ops.linalg.checks import LinAlgError as _LinAlgError
from .._ops.types.constants import layout as layout
from .._ops.types.constants import memory_format as memory_format
from .._private_names import absent_names as _absent_names
from ..jit import Future as Future
from ..jit import ScriptFunction as ScriptFunction
from ..overrides import DisableTorchFunction as DisableTorchFunction
from ..overrides import DisableTorchFunctionSubclass as DisableTorchFunctionSubclass
from ..overrides import _disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl
from ..overrides import _disabled_torch_function_impl as _disabled_torch_function_impl
from . import _functorch as _functorch
from . import _nn as _nn
from ._asked import (
    JIT,
    _are_functorch_transforms_active,
    _DisableFuncTorch,
    _DisableTorchDispatch,
    _get_accelerator,
    _get_cpu_capability,
    _get_function_stack_at,
    _get_torch_function_state,
    _len_torch_function_stack,
    _pop_torch_function_stack,
    _push_on_torch_function_stack,
    _set_torch_function_state,
    _TorchFunctionState,
)

globals().update(JIT)
TensorBase = Tensor
_TensorMeta = type(Tensor)
has_cuda = has_cudnn = has_mps = has_xpu = False
has_lapack = has_mkl = has_openmp = True


def _empty(name: str) -> Any:
    return type(name, (), {"__module__": __name__, "__doc__": "A part of TorchScript's programs; jaxtorch makes none."})


ScriptModule, ScriptMethod, TensorType = map(_empty, ("ScriptModule", "ScriptMethod", "TensorType"))
Graph, Node, Value = map(_empty, ("Graph", "Node", "Value"))


class DispatchKey:
    """The kernels between which PyTorch's dispatcher chooses; jaxtorch has no dispatcher."""

    AutocastCPU = "AutocastCPU"
    AutocastCUDA = "AutocastCUDA"
    AutocastXPU = "AutocastXPU"
    CPU = "CPU"
    CUDA = "CUDA"
    Meta = "Meta"


class DispatchKeySet:
    """Some of those keys."""

    def __init__(self, *keys: Any) -> None:
        self.keys = keys

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self.keys, *other.keys)


class _ExcludeDispatchKeyGuard:
    """Context without some of those kernels; without autocast, where they are its."""

    def __init__(self, keys: DispatchKeySet) -> None:
        self._kinds = {str(k).removeprefix("Autocast").lower() for k in keys.keys if str(k).startswith("Autocast")}

    def __enter__(self) -> None:
        autocast = importlib.import_module("jaxtorch.amp").autocast
        self._off = contextlib.ExitStack()
        for kind in self._kinds:
            self._off.enter_context(autocast(kind, enabled=False))

    def __exit__(self, *exc: Any) -> None:
        self._off.close()


def _log_api_usage_once(event: str) -> None:
    """Nothing to do: nothing is logged."""


def _get_tracing_state() -> None:
    """None: nothing is traced."""


def _is_tracing() -> bool:
    """False: nothing is traced."""
    return False


def _is_torch_function_mode_enabled() -> bool:
    """Is a `torch.overrides.TorchFunctionMode` in force?"""
    return bool(_overrides.state.modes)


def _get_cudnn_enabled() -> bool:
    """`torch.backends.cudnn.enabled`."""
    return importlib.import_module("jaxtorch.backends.cudnn").enabled


def _current_graph_task_id() -> int:
    """The number of the backward pass that runs now, the innermost one; -1 outside."""
    return _backward.running_passes[-1].number if _backward.running_passes else -1


def _is_alias_of(a: Tensor, b: Tensor) -> bool:
    """Do two tensors share memory?"""
    return a.untyped_storage() == b.untyped_storage()


def _cuda_isInBadFork() -> bool:
    """False."""
    return False


def _get_privateuse1_backend_name() -> str:
    """The name under which a backend of somebody else would be known."""
    return "privateuseone"


def _current_autograd_node() -> Any:
    """The node of the backward pass that runs the caller, a hook or a `Function.backward`; None outside.

    Found among the frames that Python is in, so that the pass does not have to keep it anywhere.
    """
    frame = sys._getframe(1) if _backward.running_passes else None
    while frame is not None:
        if frame.f_code is _backward._BackwardPass.visit.__code__:
            return _tape.shown(frame.f_locals["node"])
        if frame.f_code is _backward._BackwardPass.finish_leaf.__code__:
            return _tape.accumulator(frame.f_locals["leaf"])
        frame = frame.f_back
    return None


class _Space:
    """`torch._C._linalg`: the functions of `torch.linalg` under another address, `linalg_norm`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if not name.startswith(f"{self._name}_"):
            raise AttributeError(f"module 'torch._C._{self._name}' has no attribute '{name}'")
        module = importlib.import_module(f"..{self._name}", __name__)
        return getattr(module, name.removeprefix(f"{self._name}_"))


_linalg, _fft, _special = _Space("linalg"), _Space("fft"), _Space("special")


def __getattr__(name: str) -> Any:
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):
        return getattr(importlib.import_module(".._serialization.archives", __name__), name)
    found = None if name.startswith("__") else _functions.get(name)
    if found is None and _absent_names.named("torch._C", name):  # PyTorch's functions are often defined here
        found = getattr(importlib.import_module("..", __name__), name, None)
    if found is None:
        raise AttributeError(f"module 'torch._C' has no attribute '{name}': jaxtorch has no compiled core")
    return found
