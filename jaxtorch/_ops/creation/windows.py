"""Window functions of `torch`: Hann, Hamming, Blackman, Bartlett, Kaiser. Computed on the host, where they are made once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core.define.op import function
from ..._core.define.overloads import signed
from ..._core.define.signature import need_kind
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._core.types.size import check_long
from ..types.casting import as_dtype
from .filled import finish_factory, place
from .ranges import placed

Samples = np.ndarray[Any, Any]


def cosines(n: Samples, period: float, *coefficients: float) -> Samples:
    """a0 - a1 cos(2 pi n / period) + a2 cos(4 pi n / period) - ..."""
    total = np.zeros_like(n)
    for k, a in enumerate(coefficients):
        total += (-1) ** k * a * np.cos(n * (2 * np.pi * k / period))
    return total


def bartlett(n: Samples, period: float) -> Samples:
    """A triangle from 0 to 1 and back."""
    rising = n * (2 / period)
    return np.where(n <= period // 2, rising, 2 - rising)


def kaiser(n: Samples, period: float, beta: float) -> Samples:
    """The Kaiser window: I0(beta sqrt(1 - x^2)) / I0(beta) with x from -1 to 1."""
    x = 2 * n / period - 1
    return np.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / np.i0(beta)


def _window(
    name: str, length: Any, periodic: bool, shape: Callable[[Samples, float], Samples],
    dtype: Any, layout: Any, device: Any, requires_grad: bool, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A window of `length` samples of a function of (0, 1, ..., the period)."""
    if isinstance(length, (bool, np.ndarray)) or not hasattr(length, "__index__") or getattr(length, "ndim", 0):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type(length).__name__}")
    place(name, device, None, layout, pin_memory, requires_grad)
    need_kind(name, "periodic", "bool", periodic)
    found = dtypes.default() if dtype is None else as_dtype(dtype, name)
    if not found.is_floating_point:
        shown = {"int64": "long int", "int32": "int"}.get(found.name, found.name)
        raise RuntimeError(
            f"{name} expects floating point dtypes, got: TensorOptions(dtype={shown}, device=cpu, layout=Strided (default), "
            "requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"
        )
    if check_long(length) < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    n = np.arange(length, dtype=found.np if found.itemsize >= 4 else np.float32)
    values = np.ones(length) if length < 2 else shape(n, float(length if periodic else length - 1))
    return finish_factory(placed(values.astype(found.np), device), None, requires_grad, name)


def _float(name: str, argument: str, given: Any) -> float:
    need_kind(name, argument, "float", given)
    return float(given)


@function("hann_window")
@signed("hann_window")
def hann_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hann window; its period is the length, or one less if not `periodic`."""
    return _window(
        "hann_window",
        window_length,
        periodic,
        lambda n, p: cosines(n, p, 0.5, 0.5),
        dtype,
        layout,
        device,
        requires_grad,
        pin_memory,
    )


@function("hamming_window")
@signed("hamming_window")
def hamming_window(
    window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Hamming window: alpha - beta cos(2 pi n / period)."""
    alpha, beta = _float("hamming_window", "alpha", alpha), _float("hamming_window", "beta", beta)
    return _window(
        "hamming_window", window_length, periodic, lambda n, p: cosines(n, p, alpha, beta), dtype, layout, device,
        requires_grad, pin_memory,
    )  # fmt: skip


@function("blackman_window")
@signed("blackman_window")
def blackman_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Blackman window."""
    return _window(
        "blackman_window", window_length, periodic, lambda n, p: cosines(n, p, 0.42, 0.5, 0.08), dtype, layout, device,
        requires_grad, pin_memory,
    )  # fmt: skip


@function("bartlett_window")
@signed("bartlett_window")
def bartlett_window(
    window_length: int, periodic: bool = True, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Bartlett window: a triangle."""
    return _window(
        "bartlett_window", window_length, periodic, bartlett, dtype, layout, device, requires_grad, pin_memory
    )


@function("kaiser_window")
@signed("kaiser_window")
def kaiser_window(
    window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window of shape `beta`."""
    beta = _float("kaiser_window", "beta", beta)
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda n, p: kaiser(n, p, beta),
        dtype,
        layout,
        device,
        requires_grad,
        pin_memory,
    )
