"""Moving a module's tensors to another type or device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...._core.define.op import functions
from ...._core.tensor.tensor import Tensor
from ...._core.types.device import device as Device
from ...._core.types.dtypes import BUILTIN
from ...._core.types.dtypes import dtype as DType
from ...._core.types.grad_mode import no_grad
from ...._tensor.swapping import swap_tensors
from ...parameter import Parameter, settle


class Replacing:
    """How converted and loaded parameters replace a module's own; `torch.__future__` sets it."""

    overwrite = False
    """New parameters instead of new data in the old ones."""
    swap = False
    """The old objects become the new tensors (`torch.utils.swap_tensors`)."""


def swapped(parameter: Any, moved: Any, name: str) -> None:
    """Let a parameter become what it was converted to. RuntimeError naming it where the two cannot be exchanged."""
    try:
        swap_tensors(parameter, Parameter(moved, parameter.requires_grad))
    except RuntimeError as error:
        raise RuntimeError(f"_apply(): Couldn't swap {name}") from error


def apply(module: Any, fn: Callable[[Any], Any], recurse: bool) -> None:
    """Let every parameter, gradient and buffer become `fn` of it; parameters stay the same objects."""
    if recurse:
        for child in module.children():
            child._apply(fn)
    for name, parameter in module._parameters.items():
        if parameter is None:
            continue
        with no_grad():
            moved = fn(parameter)
        current, grad = parameter, parameter.grad
        if Replacing.swap:
            swapped(parameter, moved, f"{module._get_name()}.{name}")
        elif moved is not parameter or Replacing.overwrite:
            if moved.is_meta == parameter.is_meta and not Replacing.overwrite:
                parameter.data = moved
                del moved
                settle(parameter)
            else:
                current = module._parameters[name] = Parameter(moved, parameter.requires_grad)
        if grad is None:
            continue
        with no_grad():
            moved = fn(grad)
        if Replacing.swap:
            swap_tensors(grad, moved.requires_grad_(grad.requires_grad))
            parameter.grad = grad
        elif moved is grad:
            if current.grad is not grad:
                current.grad = grad
        elif moved.is_meta == grad.is_meta and current.grad is grad:
            grad.data = moved
        else:
            current.grad = moved.requires_grad_(grad.requires_grad)
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = fn(buffer)


_REST = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None"
_SIGNATURES = f"""
 * (torch.device device = None, torch.dtype dtype = None, {_REST})
 * (torch.dtype dtype, {_REST})
 * (Tensor tensor, {_REST})
"""


def _parse(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """device, dtype, non_blocking and memory_format from the arguments of `Module.to`."""
    given = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    error = TypeError(
        "to() received an invalid combination of arguments - got "
        f"({', '.join(given)}{', ' if len(given) == 1 else ''}), "
        f"but expected one of:{_SIGNATURES}"
    )
    rest = dict(kwargs)
    memory_format = rest.pop("memory_format", None)
    first = args[0] if args else rest.get("tensor", rest.get("device", rest.get("dtype")))
    if isinstance(first, Tensor):
        names = ("tensor", "non_blocking", "copy")
    elif isinstance(first, DType) and "device" not in rest:
        names = ("dtype", "non_blocking", "copy")
    else:
        names = ("device", "dtype", "non_blocking", "copy")
    if len(args) > len(names):
        raise error
    for name, value in zip(names, args, strict=False):
        if name in rest:
            raise error
        rest[name] = value
    tensor, device, dtype = rest.pop("tensor", None), rest.pop("device", None), rest.pop("dtype", None)
    non_blocking, copy = rest.pop("non_blocking", False), rest.pop("copy", None)
    if (
        isinstance(device, type) and device in BUILTIN and dtype is None
    ):  # Python's own types, which stand for element types
        device, dtype = None, BUILTIN[device]
    if (
        rest
        or not isinstance(non_blocking, bool)
        or not (copy is None or isinstance(copy, bool))
        or not (dtype is None or isinstance(dtype, DType))
        or not (device is None or (isinstance(device, (str, int, Device)) and not isinstance(device, bool)))
    ):
        raise error
    if copy is not None:
        raise RuntimeError(".to() does not accept copy argument")
    if tensor is not None:
        if not isinstance(tensor, Tensor) or device is not None or dtype is not None:
            raise error
        return tensor.device, tensor.dtype, non_blocking, memory_format
    return None if device is None else Device(device), dtype, non_blocking, memory_format


def converter(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[Any], Any]:
    """The function of a tensor that `Module.to(*args, **kwargs)` applies to all."""
    device, dtype, non_blocking, memory_format = _parse(args, kwargs)
    if dtype is not None:
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype.is_complex:
            warnings.warn(
                "Complex modules are a new feature under active development whose design may change, and "
                "some modules "
                "might not work as expected when using complex tensors as parameters or buffers. Please file "
                "an issue "
                "if a complex module does not work as expected.",
                stacklevel=3,
            )

    def convert(t: Any) -> Any:
        wanted = dtype if t.is_floating_point() or t.is_complex() else None
        try:
            if memory_format is not None and t.dim() in (4, 5):
                return t.to(device, wanted, non_blocking, memory_format=memory_format)
            return t.to(device, wanted, non_blocking)
        except NotImplementedError as error:
            if str(error) != "Cannot copy out of meta tensor; no data!":
                raise
            raise NotImplementedError(
                f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving "
                "module from "
                "meta to a different device."
            ) from None

    return convert


def empty_like(t: Any, device: Any) -> Any:
    """A tensor like `t` with arbitrary content on a device, where None means that of `t`."""
    return functions["empty_like"](t, device=device)
