"""Names of PyTorch's compiled core that its test utilities and libraries ask for, where jaxtorch has an answer."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jax._src.core import trace_state_clean

from .._core.dispatch import torch_function as _overrides
from .._core.types.device import device as _device
from .._core.types.device import jax_devices as _jax_devices
from ..backends.cpu import get_cpu_capability as _get_cpu_capability  # noqa: F401
from ..utils._mode_utils import no_dispatch as _DisableTorchDispatch  # noqa: F401


class _TorchFunctionState(enum.Enum):
    """Who is asked about functions: classes and modes, modes only, or nobody."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    """Who is asked about functions now."""
    state = _overrides.state
    found = _TorchFunctionState.SUBCLASSES_DISABLED if state.disabled else _TorchFunctionState.ENABLED
    return _TorchFunctionState.ALL_DISABLED if state.all_disabled else found


def _set_torch_function_state(state: _TorchFunctionState) -> None:
    """Say who is asked about functions from now on."""
    _overrides.state.disabled = int(state is _TorchFunctionState.SUBCLASSES_DISABLED)
    _overrides.state.all_disabled = int(state is _TorchFunctionState.ALL_DISABLED)


def _len_torch_function_stack() -> int:
    """The number of modes in force."""
    return len(_overrides.state.modes)


def _get_function_stack_at(level: int, /) -> Any:
    """A mode in force; 0 is the outermost."""
    return _overrides.state.modes[level]


def _push_on_torch_function_stack(mode: Any, /) -> None:
    """Bring a mode into force."""
    _overrides.activate()
    _overrides.state.modes.append(mode)


def _pop_torch_function_stack() -> Any:
    """Take the innermost mode out of force, and give it."""
    return _overrides.state.modes.pop()


def _are_functorch_transforms_active() -> bool:
    """Is a function being transformed, by torch.func or by JAX?"""
    return not trace_state_clean()


class _DisableFuncTorch:
    """Context that leaves the transforms of `torch.func`: there is no layer of its own to leave outside of them."""

    __module__ = "jaxtorch._C"

    def __enter__(self) -> None:
        if _are_functorch_transforms_active():
            raise NotImplementedError("torch._C._DisableFuncTorch: inside a transform of torch.func")

    def __exit__(self, *exc: Any) -> None:
        pass


def _get_accelerator(check: bool = False, /) -> _device:
    """The kind of the devices that there are besides the CPU; 'cpu' without any."""
    return _device("cuda" if _jax_devices("cuda") else "cpu")


_switches: dict[str, Any] = {
    "_jit_set_profiling_executor": True, "_jit_set_profiling_mode": True, "_jit_set_autocast_mode": True,
    "_jit_set_num_profiled_runs": 1, "_jit_override_can_fuse_on_cpu": False, "_jit_override_can_fuse_on_gpu": False,
    "_jit_set_texpr_fuser_enabled": True, "_set_graph_executor_optimize": True, "_jit_set_nvfuser_enabled": False,
    "_jit_set_nvfuser_guard_mode": False,
}  # fmt: skip
"""Switches of TorchScript's compiler, by what sets them. They are kept and change nothing, as jaxtorch has no such compiler."""


_TELLING = (
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_set_autocast_mode",
    "_jit_set_num_profiled_runs",
)
"""Those that return what was set before."""


def _setter(name: str) -> Callable[[Any], Any]:
    tells = name in _TELLING

    def set(value: Any, /) -> Any:
        before, _switches[name] = _switches[name], type(_switches[name])(value)
        return before if tells else None

    set.__name__ = set.__qualname__ = name
    set.__doc__ = "The setting before; it changes nothing." if tells else "Keeps the setting, which changes nothing."
    return set


def _getter(name: str, setter: str) -> Callable[[], Any]:
    def get(value: bool | None = None, /) -> Any:
        return _switches[setter]

    get.__name__ = get.__qualname__ = name
    get.__doc__ = f"What `{setter}` has set; it changes nothing."
    return get


JIT = {name: _setter(name) for name in _switches} | {
    name: _getter(name, setter)
    for name, setter in {
        "_jit_can_fuse_on_cpu": "_jit_override_can_fuse_on_cpu",
        "_jit_can_fuse_on_gpu": "_jit_override_can_fuse_on_gpu",
        "_jit_texpr_fuser_enabled": "_jit_set_texpr_fuser_enabled",
        "_get_graph_executor_optimize": "_set_graph_executor_optimize",
    }.items()
}
"""What sets and tells those switches, by the names of `torch._C`."""
