"""Small functions of the torch namespace that are no operations."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types.device import device as _device
from .._core.types.device import jax_devices
from .._core.types.size import Size


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape to which tensors of these shapes (tuples, or numbers for one dimension) broadcast.

    RuntimeError where they do not. None counts for nothing.
    """
    given: list[Any] = [(s,) if isinstance(s, int) else s for s in shapes if s is not None]
    for s in given:
        if not isinstance(s, Sequence):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
    common = [1] * max([len(s) for s in given], default=0)
    for place, s in enumerate(given):
        for i in range(-1, -1 - len(s), -1):
            if _same(s[i], common[i]) or _same(s[i], 1):
                continue
            if common[i] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {s[i]} at {i}! Mismatching argument at index {place} "
                    f"had {s}; but expected shape should be broadcastable to {common}"
                )
            if s[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            common[i] = s[i]
    return Size(common)


def _same(a: Any, b: Any) -> bool:
    """`a == b`; AssertionError where that is no flag, as for a tensor."""
    if not isinstance(same := a == b, bool):
        raise AssertionError(f"Expected bool, got {type(same)}")
    return same


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
        return importlib.import_module(f"jaxtorch.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"jaxtorch has no torch.{kind} yet") from None


def is_inference(input: Tensor) -> bool:
    """Was the tensor made in inference mode?"""
    return need_tensor(input, "is_inference").is_inference()


def compiled_with_cxx11_abi() -> bool:
    """True, as for PyTorch's own builds; jaxtorch has no C++."""
    return True
