"""Small functions of the torch namespace that are no operations."""

from __future__ import annotations

import importlib
from typing import Any

from ._core import strides as _strides
from ._core.device import device as _device
from ._core.device import jax_devices
from ._core.size import Size
from ._core.tensor import Tensor, need_tensor


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes (tuples, or numbers for one dimension) broadcast.

    RuntimeError where they do not.
    """
    for s in shapes:
        if isinstance(s, Tensor):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    given: list[Any] = [(s,) if isinstance(s, (int, float)) else tuple(s) for s in shapes if s is not None]
    if any(n < 0 for s in given for n in s):
        raise ValueError("Attempting to broadcast a dimension with negative length!")
    return Size([int(n) for n in _strides.broadcast_shapes(*given)])


def typename(obj: Any, /) -> str:
    """The name of an object's type, or of a class or function itself, with its module."""
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    if module in ("builtins", "__builtin__", ""):
        return named.__qualname__
    if module == "jaxtorch" or module.startswith("jaxtorch."):
        module = (
            "torch" if any(p.startswith("_") for p in module.split(".")) else "torch" + module.removeprefix("jaxtorch")
        )
    return f"{module}.{named.__qualname__}"


def get_device(input: Tensor) -> int:
    """The index of the tensor's device; -1 on the CPU."""
    return need_tensor(input, "get_device").get_device()


def get_device_module(device: Any = None) -> Any:
    """The module of a device's functions: `torch.cuda` for 'cuda'. By default, that of the accelerator there is."""
    kind = _device(device).type if device is not None else "cuda" if jax_devices("cuda") else "cpu"
    try:
        return importlib.import_module(f"{__package__}.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"jaxtorch has no torch.{kind} yet") from None


def is_inference(input: Tensor) -> bool:
    """Was the tensor made in inference mode?"""
    return need_tensor(input, "is_inference").is_inference()


def compiled_with_cxx11_abi() -> bool:
    """True, as for PyTorch's own builds; jaxtorch has no C++."""
    return True
