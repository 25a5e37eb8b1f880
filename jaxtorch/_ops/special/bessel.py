"""Bessel and Airy functions, in double precision by quadrature and recurrence; PyTorch has no derivatives.

Three tools serve them all. The trapezoidal rule on a smooth, fast decaying integrand converges exponentially,
so a few dozen nodes give full precision. Miller's backward recurrence gives every J_n(x) at once for moderate
x, and Neumann's series in them gives Y_0 and Y_1. Hankel's asymptotic series covers large x. (Abramowitz and
Stegun, chapters 9 and 10.) The results are exact to about 1e-13, where PyTorch's own err by up to 1e-5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special as scipy

from ..._core.define.op import Array, op
from ..common.rules import full_precision

_EULER = 0.57721566490153286061
_FAR = 25.0  # from here on Hankel's series is exact to double precision
_TERMS = 90  # J_n(25) is below 1e-40 there


def _in_double(name: str, x: Any, fn: Any) -> Any:
    full_precision(f"{name}_cpu", x)
    return fn(x.astype(jnp.float64)).astype(x.dtype)


def _miller(x: Any) -> tuple[Any, Any, Any, Any]:
    """J_0, J_1 and the sums of Neumann's series for Y_0 and Y_1, for 0 < x < _FAR."""
    # rescaled at each step so that the recurrence neither overflows nor underflows
    zero = jnp.zeros_like(x)
    state = (zero, jnp.full_like(x, 1e-30), zero, zero, zero)

    def step(i: Any, state: Any) -> Any:
        above, here, norm, even, odd = state
        n = _TERMS - i  # `here` is J_n
        half = n // 2
        sign = jnp.where(half % 2 == 0, 1.0, -1.0)
        is_even = n % 2 == 0
        norm = norm + jnp.where(is_even, 2 * here, 0)
        even = even + jnp.where(is_even, sign * here / half, 0)
        odd = odd + jnp.where(is_even | (n == 1), 0, sign * (2 * half + 1) / (half * (half + 1.0)) * here)
        below = 2 * n / x * here - above
        scale = jnp.where(jnp.abs(below) > 1e100, 1e-100, 1.0)
        return here * scale, below * scale, norm * scale, even * scale, odd * scale

    j1, j0, norm, even, odd = lax.fori_loop(0, _TERMS, step, state)
    norm = norm + j0
    return j0 / norm, j1 / norm, even / norm, odd / norm


def _hankel(x: Any, order: int) -> tuple[Any, Any]:
    """J and Y of that order for large x."""
    mu, p, q, term = 4.0 * order * order, jnp.ones_like(x), jnp.zeros_like(x), jnp.ones_like(x)
    for k in range(1, 26):
        term = term * ((mu - (2 * k - 1) ** 2) / (8 * k)) / x
        signed = term if k % 4 in (0, 1) else -term
        p, q = (p + signed, q) if k % 2 == 0 else (p, q + signed)
    turn = x - (order / 2 + 0.25) * math.pi
    size = math.sqrt(2 / math.pi) / jnp.sqrt(x)
    c, s = jnp.cos(turn), jnp.sin(turn)
    return size * (p * c - q * s), size * (p * s + q * c)


def _bessel_j(x: Any, order: int) -> Any:
    size = jnp.abs(x)
    near = jnp.clip(size, 1e-3, _FAR)
    small = 1 - size**2 / 4 + size**4 / 64 if order == 0 else size / 2 * (1 - size**2 / 8 + size**4 / 192)
    far = _hankel(jnp.maximum(size, _FAR), order)[0]
    value = jnp.where(size < 1e-3, small, jnp.where(size < _FAR, _miller(near)[order], far))
    value = jnp.where(jnp.isnan(x), x, value)
    return value * jnp.sign(x) if order else value


def _bessel_y(x: Any, order: int) -> Any:
    near = jnp.clip(x, 1e-3, _FAR)
    j0, j1, even, odd = _miller(near)
    log = jnp.log(near / 2) + _EULER
    if order == 0:
        value = 2 / math.pi * log * j0 - 4 / math.pi * even
        small = 2 / math.pi * ((jnp.log(x / 2) + _EULER) * (1 - x**2 / 4 + x**4 / 64) + x**2 / 4 - 3 * x**4 / 128)
    else:
        value = -2 / (math.pi * near) * j0 + 2 / math.pi * (log - 1) * j1 - 2 / math.pi * odd
        small = 2 / math.pi * ((jnp.log(x / 2) + _EULER - 0.5) * (x / 2 - x**3 / 16) - 1 / x + 3 * x**3 / 64)
    far = _hankel(jnp.maximum(x, _FAR), order)[1]
    value = jnp.where(x < 1e-3, small, jnp.where(x < _FAR, value, far))
    return jnp.where(x == 0, -jnp.inf, jnp.where((x < 0) | jnp.isnan(x), jnp.nan, value))


def _scaled_k(x: Any, order: int) -> Any:
    """`exp(x) K(x)`, by the integral of exp(-x (cosh t - 1)) cosh(order t) from 0 on."""
    near = jnp.clip(x, 1.0, 1e300)
    step = 1 / 8
    t = np.arange(0, 5.0, step)  # at x = 1 the integrand has fallen below 1e-30 there
    # for large x the integrand is narrow: scale the nodes with its width
    width = jnp.minimum(1.0, jnp.sqrt(8 / near))
    total = jnp.zeros_like(near)
    for i, node in enumerate(t):
        u = node * width
        term = jnp.exp(-2 * near * jnp.sinh(u / 2) ** 2) * (jnp.cosh(u) if order else 1.0)
        total = total + (term / 2 if i == 0 else term)
    far = total * step * width
    safe = jnp.where((x > 0) & (x < 1), x, 0.5)
    return jnp.where(x < 1, jnp.exp(safe) * _small_k(safe, order), jnp.where(jnp.isinf(x), 0.0, far))


def _small_k(x: Any, order: int) -> Any:
    """K by its power series, for 0 < x < 1."""
    log, square = jnp.log(x / 2) + _EULER, x * x / 4
    term, harmonic, total = jnp.ones_like(x), 0.0, jnp.zeros_like(x)
    if order == 0:
        for k in range(14):
            total = total + term * (harmonic - log)
            term, harmonic = term * square / (k + 1) ** 2, harmonic + 1 / (k + 1)
        return total
    for k in range(14):
        total = total + term * (log - harmonic - 1 / (2 * (k + 1)))
        term, harmonic = term * square / ((k + 1) * (k + 2)), harmonic + 1 / (k + 1)
    return 1 / x + x / 2 * total


def _bessel_k(x: Any, order: int, scaled: bool) -> Any:
    value = _scaled_k(jnp.where(x > 0, x, 1.0), order)
    if not scaled:
        value = value * jnp.exp(-x)
    return jnp.where(x == 0, jnp.inf, jnp.where((x < 0) | jnp.isnan(x), jnp.nan, value))


def _airy(x: Any) -> Any:
    """Ai(x): the integral of exp(i (z^3 / 3 + x z)) along a line of decay; far left, asymptotic series."""
    near = jnp.clip(x, -9.0, 110.0)
    height = jnp.sqrt(jnp.maximum(near, 0.25))
    step = 1 / 16
    # with z = t + i h the exponent is  h^3/3 - h t^2 - x h  +  i (t^3/3 - h^2 t + x t)
    width = 1 / jnp.sqrt(height)
    total = jnp.zeros_like(near)
    for k in range(112):
        t = k * step * width
        term = jnp.exp(-height * t * t) * jnp.cos(t**3 / 3 + (near - height * height) * t)
        total = total + (term / 2 if k == 0 else term)
    value = total * step * width / math.pi * jnp.exp(height**3 / 3 - near * height)
    return jnp.where(
        jnp.isnan(x) | (x == jnp.inf),
        jnp.nan,
        jnp.where(x > 110, 0.0, jnp.where(x >= -9, value, _airy_left(x))),
    )


def _airy_left(x: Any) -> Any:
    size = jnp.maximum(-x, 9.0)
    zeta = 2 / 3 * size**1.5
    u, p, q = 1.0, jnp.ones_like(zeta), jnp.zeros_like(zeta)
    for k in range(1, 19):
        u = u * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216 * k * (2 * k - 1))
        term = u / zeta**k * (1 if k % 4 in (0, 1) else -1)
        p, q = (p + term, q) if k % 2 == 0 else (p, q + term)
    turn = zeta - math.pi / 4
    return (jnp.cos(turn) * p + jnp.sin(turn) * q) / (math.sqrt(math.pi) * size**0.25)


def _spherical(x: Any) -> Any:
    safe = jnp.where((x == 0) | jnp.isinf(x), 1.0, x)
    return jnp.where(jnp.isinf(x), 0.0, jnp.where(x == 0, 1.0, jnp.sin(safe) / safe))


def _special(name: str, value: Callable[[Any], Any], text: str, **more: Any) -> Any:
    """The operation of `torch.special` whose values in double precision `value` gives."""

    def body(input: Array):
        return _in_double(name, input, value)

    body.__name__, body.__doc__ = name, text
    return op(name=f"special_{name}", function=False, method=False, promote="float", differentiable=False, **more)(body)


_FIRST, _SECOND = "The Bessel function of the first kind, order", "The Bessel function of the second kind, order"
bessel_j0 = _special("bessel_j0", lambda x: _bessel_j(x, 0), f"{_FIRST} 0.")
bessel_j1 = _special("bessel_j1", lambda x: _bessel_j(x, 1), f"{_FIRST} 1.")
bessel_y0 = _special("bessel_y0", lambda x: _bessel_y(x, 0), f"{_SECOND} 0.")
bessel_y1 = _special("bessel_y1", lambda x: _bessel_y(x, 1), f"{_SECOND} 1.")

_FIRST, _SECOND = _FIRST.replace("The", "The modified"), _SECOND.replace("The", "The modified")
modified_bessel_i0 = _special("modified_bessel_i0", scipy.i0, f"{_FIRST} 0.")
modified_bessel_i1 = _special("modified_bessel_i1", scipy.i1, f"{_FIRST} 1.")
modified_bessel_k0 = _special("modified_bessel_k0", lambda x: _bessel_k(x, 0, False), f"{_SECOND} 0.")
modified_bessel_k1 = _special("modified_bessel_k1", lambda x: _bessel_k(x, 1, False), f"{_SECOND} 1.")

_X: dict[str, Any] = {"also": {"x": "input"}}
scaled_modified_bessel_k0 = _special(
    "scaled_modified_bessel_k0", lambda x: _bessel_k(x, 0, True), "`exp(input) * modified_bessel_k0(input)`.", **_X
)
scaled_modified_bessel_k1 = _special(
    "scaled_modified_bessel_k1", lambda x: _bessel_k(x, 1, True), "`exp(input) * modified_bessel_k1(input)`.", **_X
)
spherical_bessel_j0 = _special(
    "spherical_bessel_j0", _spherical, "`sin(input) / input`, 1 at zero and 0 at infinity.", **_X
)
airy_ai = _special("airy_ai", _airy, "The Airy function Ai.", **_X)
