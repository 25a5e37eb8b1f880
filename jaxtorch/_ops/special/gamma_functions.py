"""What the gamma functions are made of: the logarithm of the gamma function, its derivative, and the Hurwitz zeta function.

XLA's own lose digits where their results are near 0, and up to a hundred units in the last place elsewhere.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax

_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


def hurwitz(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function: first terms until the argument has passed 9, then Euler-Maclaurin.

    Unlike XLA's, exact for q far below zero too, where `polygamma` needs it.
    """

    def more(state: Any) -> Any:
        k, a, _ = state
        return jnp.any((k < 9) | (a <= 9))

    def add(state: Any) -> Any:
        k, a, total = state
        here = (k < 9) | (a <= 9)
        return k + 1, jnp.where(here, a + 1, a), jnp.where(here, total + jnp.power(a, -x), total)

    wanted = (q > 0) | (q != jnp.floor(q))
    start = jnp.where(wanted, q, 1)
    _, a, total = lax.while_loop(more, add, (jnp.zeros((), jnp.int32), start, jnp.zeros_like(q)))
    order = jnp.minimum(x, 1e4)  # beyond, the last term is 0
    rest, factor = a / (x - 1) + 0.5, order / a  # in units of that term, which may be nearly as small as numbers can be
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        rest = rest + bernoulli / math.factorial(2 * j) * factor
        factor = factor / a * (order + 2 * j - 1) / a * (order + 2 * j)
    last = jnp.power(a, -x)
    total = total + jnp.where(last == 0, 0, last * rest)
    power_of_negative = (q <= 0) & (x != jnp.floor(x))
    total = jnp.where(wanted, jnp.where(power_of_negative, jnp.nan, total), jnp.inf)
    return jnp.where(x == 1, jnp.inf, jnp.where(x < 1, jnp.nan, total))


def _zeta_above_one(k: int) -> float:
    """Riemann's zeta function of a whole number, less 1."""
    end = (
        60.0 ** (1 - k) / (k - 1)
        + 60.0**-k / 2
        + k * 60.0 ** (-k - 1) / 12
        - math.prod(range(k, k + 3)) * 60.0 ** (-k - 3) / 720
        + math.prod(range(k, k + 5)) * 60.0 ** (-k - 5) / 30240
    )
    return math.fsum([*(n**-k for n in range(2, 60)), end])


_FROM_TWO = [1 - 0.57721566490153286061, *((-1) ** k * _zeta_above_one(k) / k for k in range(2, 30))]
"""The Taylor series of `log_gamma` at 2, from its linear term on, exact up to a distance of 1/2."""
_STEPS = 12
"""The argument is brought to between 1.5 and 2.5 by so many steps of 1 at most."""


def mirrored(x: Any, below: float) -> tuple[Any, Any, Any]:
    """Is x left of `below`? 1 - x there, else x; and pi times its distance from the nearest whole number."""
    left = x < below
    return left, jnp.where(left, 1 - x, x), math.pi * (x - jnp.round(x))


def log_gamma(x: Any) -> Any:
    """The logarithm of the absolute value of the gamma function, of numbers in double precision.

    Near 0 by `gamma(x + 1) = x gamma(x)` from a Taylor series, further by Stirling's series, from numbers far below 0 mirrored.
    """
    left, right, turn = mirrored(x, -9.5)
    y, up, down = jnp.clip(right, -10, 14), jnp.ones_like(x), jnp.ones_like(x)
    for _ in range(_STEPS):
        low, high = y < 1.5, y > 2.5
        up = jnp.where(low, up * y, up)
        down = jnp.where(high, down * (y - 1), down)
        y = jnp.where(low, y + 1, jnp.where(high, y - 1, y))
    z = jnp.where((right > 0.5) & (right < 1.5), right - 1, y - 2)  # both exact
    series = jnp.zeros_like(z)
    for coefficient in reversed(_FROM_TWO):
        series = (series + coefficient) * z
    large = right > 13
    far = jnp.where(large, right, 1)
    stirling = jnp.zeros_like(x)
    for j, bernoulli in reversed([*enumerate(_BERNOULLI[:8], 1)]):
        stirling = stirling / (far * far) + bernoulli / (2 * j * (2 * j - 1))
    logarithm = jnp.log(jnp.where(large, far, jnp.abs(up / down)))
    distant = (far - 0.5) * (logarithm - 1) - 0.5 + (0.5 * math.log(2 * math.pi) + stirling / far)
    value = jnp.where(large, distant, series - logarithm)
    other = jnp.log(math.pi / jnp.abs(jnp.sin(jnp.where(left, turn, 1)))) - value
    return jnp.where(x == -jnp.inf, jnp.inf, jnp.where(left, other, value))


def digamma(x: Any) -> Any:
    """The derivative of `log_gamma`, of numbers in double precision: ten steps up, from where its asymptotic series holds."""
    left, right, turn = mirrored(x, 0.5)
    total, a = jnp.zeros_like(x), right
    for _ in range(10):
        low = a < 10
        total = jnp.where(low, total + 1 / a, total)
        a = jnp.where(low, a + 1, a)
    series = jnp.zeros_like(x)
    for j, bernoulli in reversed([*enumerate(_BERNOULLI[:8], 1)]):
        series = (series + bernoulli / (2 * j)) / (a * a)
    value = jnp.log(a) - 0.5 / a - series - total
    value = value - jnp.where(left, math.pi / jnp.tan(jnp.where(left, turn, 1)), 0)
    pole = jnp.where(jnp.signbit(x), jnp.inf, -jnp.inf)
    return jnp.where(x == 0, pole, jnp.where(left & (turn == 0), jnp.nan, value))
