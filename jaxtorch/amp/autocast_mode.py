"""`torch.autocast`, and the decorators for autograd Functions under it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import device, jax_devices
from ._settings import KINDS, autocast_decrement_nesting, autocast_increment_nesting, known, settings

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]


def is_autocast_available(device_type: str) -> bool:
    """Does autocast know a kind of device? RuntimeError if it is none of PyTorch's names."""
    return device(device_type).type in KINDS


def autocast_decorator(autocast_instance: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """The function, run within a region."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """Context (or decorator) in which matrix products and convolutions compute in `dtype`, and what needs it in float32.

    The lists of operations are PyTorch's for the kind of device. Casts happen inside the operations, and XLA makes each
    one once in a program: `cache_enabled` has no effect, and `next_functions` of a node shows no casts.
    """

    def __init__(
        self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = known(device_type)
        self.fast_dtype = settings.types[self.device] if dtype is None else dtype
        self._cache_enabled = settings.cache if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled)
        self._before: list[Any] = []
        if self._enabled and self.device == "cuda" and not jax_devices("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            self._enabled = False
        if self._enabled and self.device == "cpu" and self.fast_dtype not in (dtypes.bfloat16, dtypes.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self) -> autocast:
        if not isinstance(self.fast_dtype, dtypes.dtype):
            raise TypeError(
                "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
                f"{type(self.fast_dtype).__name__}"
            )
        kind = self.device
        self._before.append((kind in settings.enabled, settings.types[kind], settings.cache))
        self._set(self._enabled, self.fast_dtype, self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, *exc: Any) -> None:
        autocast_decrement_nesting()
        self._set(*self._before.pop())

    def _set(self, enabled: bool, dtype: Any, cache: bool) -> None:
        (settings.enabled.add if enabled else settings.enabled.discard)(self.device)
        settings.types[self.device] = dtype
        settings.cache = cache
        settings.apply()

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, func)


def cast_floats(value: Any, device_type: str, dtype: Any) -> Any:
    """The floating-point tensors of a kind of device in `value`, also in lists and dictionaries, cast; float64 stays."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype is not dtypes.float64
        return value.to(dtype) if fits else value
    if isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Mapping):
        return {cast_floats(k, device_type, dtype): cast_floats(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        made = [cast_floats(v, device_type, dtype) for v in value]
        return type(value)(made) if type(value) in (list, tuple) else type(value)(*made)
    return value


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """`cast_floats`, as PyTorch names it: tensors of float32 and less, of a kind of device, in another type."""
    return cast_floats(value, device_type, dtype)


def _check_kind(device_type: Any) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorator of a Function's forward: within autocast, cast its inputs to `cast_inputs` and run it without autocast.

    With cast_inputs=None it runs as its surroundings are.
    """
    _check_kind(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        args[0]._dtype = settings.types[known(device_type)]
        enabled = device_type in settings.enabled
        args[0]._fwd_used_autocast = enabled if cast_inputs is None else False
        if cast_inputs is None or not enabled:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*cast_floats(args, device_type, cast_inputs), **cast_floats(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorator of a Function's backward: run it with autocast as it was in the forward that `custom_fwd` decorates."""
    _check_kind(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type=device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd
