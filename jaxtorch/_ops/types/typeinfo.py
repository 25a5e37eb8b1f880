"""What types can hold (`finfo`, `iinfo`), the defaults of factory functions, and questions about tensors."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import function
from ..._core.run import capture
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import device as devices
from ..._core.types import dtypes
from .casting import LEGACY_TYPES


def _short(number: float) -> str:
    return f"{number:g}"


def _element_type(name: str, given: Any) -> dtypes.dtype:
    """A dtype, given as itself or as Python's `float`, `int`, `bool` or `complex`."""
    if isinstance(given, dtypes.dtype):
        return given
    if isinstance(given, type) and given in dtypes.BUILTIN:
        return dtypes.BUILTIN[given]
    raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {type(given).__name__}")


class finfo:
    """The limits of a floating point type (of the parts, for a complex one); of the default type unless one is given."""

    __module__ = "jaxtorch"

    __slots__ = ("_dtype", "bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: Any = ...) -> None:
        found = dtypes.default() if type is ... else _element_type("finfo", type)
        if not (found.is_floating_point or found.is_complex):
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        found = found.to_real()
        info = jnp.finfo(found.np)
        self._dtype = found
        self.bits: int = found.itemsize * 8
        self.eps = float(info.eps)
        self.max = float(info.max)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.min = self.tiny if found is dtypes.float8_e8m0fnu else float(info.min)
        self.resolution = _RESOLUTION.get(found.name, 1.0)

    @property
    def dtype(self) -> str:
        """The name of the type."""
        return self._dtype.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and other._dtype is self._dtype

    def __hash__(self) -> int:
        return hash(self._dtype)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        return f"finfo({', '.join(f'{n}={_short(getattr(self, n))}' for n in names)}, dtype={self.dtype})"


_RESOLUTION = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15}


class iinfo:
    """The limits of an integer type."""

    __module__ = "jaxtorch"

    __slots__ = ("_dtype", "bits", "max", "min")

    def __init__(self, type: Any) -> None:
        type = _element_type("iinfo", type)
        if type is dtypes.bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = np.iinfo(type.np)
        self._dtype = type
        self.bits: int = info.bits
        self.max = int(info.max)
        self.min = int(info.min)

    @property
    def dtype(self) -> str:
        """The name of the type."""
        return self._dtype.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and other._dtype is self._dtype

    def __hash__(self) -> int:
        return hash(self._dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={_short(self.min)}, max={_short(self.max)}, dtype={self.dtype})"


function("finfo")(finfo)
function("iinfo")(iinfo)


# -- defaults


@function("get_default_dtype")
def get_default_dtype() -> dtypes.dtype:
    """The type of floating point factories, and of Python floats."""
    return dtypes.default()


@function("set_default_dtype")
def set_default_dtype(d: dtypes.dtype) -> None:
    """Set the type of floating point factories, and of Python floats."""
    dtypes.set_default(d)


_warned: list[bool] = []


@function("set_default_tensor_type")
def set_default_tensor_type(t: Any) -> None:
    """Set the default type, and the default device, by the name of a legacy tensor type. Deprecated in PyTorch."""
    if not _warned:
        _warned.append(True)  # once a process, as in PyTorch
        warnings.warn(
            "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
            "torch.set_default_device() as alternatives.",
            UserWarning,
            stacklevel=2,
        )
    name = t if isinstance(t, str) else getattr(t, "__name__", "")
    parts = name.split(".")
    if isinstance(t, dtypes.dtype) or parts[-1] not in LEGACY_TYPES:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    dtypes.set_default(LEGACY_TYPES[parts[-1]])
    devices.set_default_device("cuda" if "cuda" in (*parts, *getattr(t, "__module__", "").split(".")) else None)


@function("get_default_device")
def get_default_device() -> devices.device:
    """Where factories put tensors when no device is named."""
    return devices.default_device()


@function("set_default_device")
def set_default_device(device: Any) -> None:
    """Set where factories put tensors when no device is named; None is the CPU."""
    devices.set_default_device(device)


# -- questions


@function("is_tensor")
def is_tensor(obj: Any) -> bool:
    """Is it a tensor?"""
    return isinstance(obj, Tensor)


@function("is_floating_point")
def is_floating_point(input: Tensor) -> bool:
    """Is the element type a floating point one?"""
    return need_tensor(input, "is_floating_point")._value.aval.dtype.is_floating_point


@function("is_complex")
def is_complex(input: Tensor) -> bool:
    """Is the element type a complex one?"""
    return need_tensor(input, "is_complex")._value.aval.dtype.is_complex


@function("is_signed")
def is_signed(input: Tensor) -> bool:
    """Does the element type have negative numbers?"""
    return need_tensor(input, "is_signed")._value.aval.dtype.is_signed


@function("is_nonzero", method=True)
def is_nonzero(input: Tensor) -> bool:
    """Is a tensor of one element not zero?"""
    capture.refuse_fullgraph(capture.GUARD)
    return bool(need_tensor(input, "is_nonzero"))


@function("numel")
def numel(input: Tensor) -> int:
    """How many elements the tensor has."""
    return need_tensor(input, "numel")._value.aval.numel


@function("_has_compatible_shallow_copy_type")
def _has_compatible_shallow_copy_type(input: Tensor, from_: Tensor) -> bool:
    """Could one tensor's content be taken over by the other as it is? Where both have one layout, and both content or neither."""
    return input.layout == from_.layout and input.is_meta == from_.is_meta
