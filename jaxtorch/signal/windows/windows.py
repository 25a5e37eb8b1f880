"""The window functions, computed on the host in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..._core.define.signature import need_kind
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._ops.creation import windows as shapes
from ..._ops.creation.filled import check_flags
from ..._ops.creation.ranges import placed

_Samples = np.ndarray[Any, Any]


def _window(
    name: str, M: int, sym: bool, shape: Callable[[_Samples, float], _Samples], dtype: Any, layout: Any, device: Any,
    requires_grad: bool,
) -> Tensor:  # fmt: skip
    """`shape` of the samples 0..M-1 and the period, which is M - 1 for a symmetric window and else M."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    found = dtypes.default() if dtype is None else dtype
    if found not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {found}")
    if getattr(layout, "name", "strided") != "strided":
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if M != 0 and (M != 1 or name in ("exponential", "cosine", "gaussian")):
        need_kind("linspace", "steps", "int", M)
    M = int(M)
    n = np.arange(M, dtype=np.float64)
    values = np.ones(M) if M < 2 else shape(n, float(M - 1 if sym else M))
    t = placed(values.astype(found.np), device)
    check_flags("empty", requires_grad)
    return t.requires_grad_(True) if requires_grad else t


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """exp(-|n - center| / tau); the center is the middle unless given."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(n: _Samples, period: float) -> _Samples:
        return np.exp(-np.abs(n - (period / 2 if center is None else center)) / tau)

    return _window("exponential", M, sym, shape, dtype, layout, device, requires_grad)


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Half a period of a sine: sin(pi (n + 0.5) / M)."""
    return _window(
        "cosine", M, sym, lambda n, p: np.sin(np.pi * (n + 0.5) / (p + 1)), dtype, layout, device, requires_grad
    )


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A normal density of standard deviation `std` samples, 1 at its middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return _window(
        "gaussian", M, sym, lambda n, p: np.exp(-(((n - p / 2) / std) ** 2) / 2), dtype, layout, device, requires_grad
    )


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The Kaiser window of shape `beta`."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, lambda n, p: shapes.kaiser(n, p, beta), dtype, layout, device, requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hamming window."""
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Hann window."""
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Blackman window."""
    return _window(
        "blackman", M, sym, lambda n, p: shapes.cosines(n, p, 0.42, 0.5, 0.08), dtype, layout, device, requires_grad
    )


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The Bartlett window: a triangle."""
    return _window("bartlett", M, sym, shapes.bartlett, dtype, layout, device, requires_grad)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A sum of cosines with alternating signs: a0 - a1 cos(2 pi n / period) + ..."""
    if M != 0 and not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    coefficients = list(a) if M != 0 else []
    if M != 0 and not coefficients:
        raise ValueError("Coefficients cannot be empty")
    return _window(
        "general_cosine", M, sym, lambda n, p: shapes.cosines(n, p, *coefficients), dtype, layout, device, requires_grad
    )


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """alpha - (1 - alpha) cos(2 pi n / period)."""
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Nuttall's minimum four-term Blackman-Harris window."""
    return general_cosine(
        M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip
