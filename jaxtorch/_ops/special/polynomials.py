"""Orthogonal polynomials of `torch.special`, by their three-term recurrences; PyTorch has no derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Operand, op
from ..common.rules import full_precision, needs_tensor

Step = Callable[[Any, Any, Any, Any], Any]


def _by_recurrence(x: Any, n: Any, first: Any, step: Step) -> Any:
    """p_n(x) for each element's own n, from p_0 = 1, p_1 = first and p_(k+1) = step(k, x, p_k, p_(k-1))."""
    degree = jnp.trunc(n)
    whole = degree.astype(jnp.int64)
    last = jnp.max(whole, initial=0)

    def advance(state: Any) -> Any:
        k, before, here, found = state
        found = jnp.where(whole == k, here, found)
        return k + 1, here, step(k.astype(x.dtype), x, here, before), found

    def goes_on(state: Any) -> Any:
        k, _, here, _ = state
        return (k <= last) & jnp.any((whole >= k) & ~jnp.isnan(here))

    one = jnp.ones_like(x)
    found = jnp.where(degree < 0, jnp.zeros_like(x), one)
    k, _, here, found = lax.while_loop(goes_on, advance, (jnp.ones((), jnp.int64), one, first, found))
    return jnp.where(whole >= k, here, found)  # which is NaN, and stays so


def _chebyshev(
    x: Any, n: Any, first: Callable[[Any], Any], closed: Callable[[Any, Any], Any], at_ends: Callable[[Any], Any]
) -> Any:
    """A Chebyshev polynomial: by its trigonometric form for |x| < 1 and high degrees, else by recurrence.

    at_ends: its values at 1 and, but for the sign of odd degrees, at -1.
    """
    x, n = jnp.broadcast_arrays(x, n)
    inside = (jnp.abs(x) < 1) & (jnp.trunc(n) > 8)
    angle = jnp.arccos(jnp.where(inside, x, 0))
    at_end = (jnp.abs(x) == 1) & (n >= 0)
    low = jnp.where(inside | at_end, 0, n)
    by_steps = _by_recurrence(x, low, first(x), lambda k, x, here, before: 2 * x * here - before)
    degree = jnp.trunc(n)
    right, left = at_ends(degree)
    ends = jnp.where(x > 0, right, jnp.where(jnp.fmod(degree, 2) == 0, left, -left))
    return jnp.where(inside, closed(degree, angle), jnp.where(at_end, ends.astype(x.dtype), by_steps))


def chebyshev_t(x: Any, n: Any) -> Any:
    return _chebyshev(x, n, lambda x: x, lambda n, a: jnp.cos(n * a), lambda n: (1, 1))


def chebyshev_u(x: Any, n: Any) -> Any:
    return _chebyshev(x, n, lambda x: 2 * x, lambda n, a: jnp.sin((n + 1) * a) / jnp.sin(a), lambda n: (n + 1, n + 1))


def chebyshev_v(x: Any, n: Any) -> Any:
    return _chebyshev(
        x, n, lambda x: 2 * x - 1, lambda n, a: jnp.cos((n + 0.5) * a) / jnp.cos(a / 2), lambda n: (1, 2 * n + 1)
    )


def chebyshev_w(x: Any, n: Any) -> Any:
    return _chebyshev(
        x, n, lambda x: 2 * x + 1, lambda n, a: jnp.sin((n + 0.5) * a) / jnp.sin(a / 2), lambda n: (2 * n + 1, 1)
    )


def hermite_h(x: Any, n: Any) -> Any:
    x, n = jnp.broadcast_arrays(x, n)
    return _by_recurrence(x, n, 2 * x, lambda k, x, here, before: 2 * x * here - 2 * k * before)


def hermite_he(x: Any, n: Any) -> Any:
    x, n = jnp.broadcast_arrays(x, n)
    return _by_recurrence(x, n, x, lambda k, x, here, before: x * here - k * before)


def laguerre_l(x: Any, n: Any) -> Any:
    x, n = jnp.broadcast_arrays(x, n)
    return _by_recurrence(x, n, 1 - x, lambda k, x, here, before: ((2 * k + 1 - x) * here - k * before) / (k + 1))


def legendre_p(x: Any, n: Any) -> Any:
    x, n = jnp.broadcast_arrays(x, n)
    return _by_recurrence(x, n, x, lambda k, x, here, before: ((2 * k + 1) * x * here - k * before) / (k + 1))


def _define(name: str, polynomial: Callable[[Any, Any], Any], shifted: bool, sentence: str) -> Any:
    def body(input: Operand, n: Operand):
        full_precision(f"{name}_cpu", input)
        n = jnp.where((n >= -(2.0**63)) & (n < 2.0**63), n, -1)  # PyTorch counts with int64; more is negative there
        return polynomial(2 * input - 1 if shifted else input, n)

    body.__doc__ = sentence
    options: Any = {
        "promote": "float",
        "differentiable": False,
        "broadcast": True,
        "check": needs_tensor(f"special_{name}"),
        "also": {"x": "input"},
    }
    return op(name=f"special_{name}", function=False, method=False, **options)(body)


polynomials = {
    name: _define(name, polynomial, shifted, sentence)
    for name, polynomial, shifted, sentence in (
        (
            "chebyshev_polynomial_t",
            chebyshev_t,
            False,
            "The Chebyshev polynomial of the first kind of degree n.",
        ),
        (
            "chebyshev_polynomial_u",
            chebyshev_u,
            False,
            "The Chebyshev polynomial of the second kind of degree n.",
        ),
        (
            "chebyshev_polynomial_v",
            chebyshev_v,
            False,
            "The Chebyshev polynomial of the third kind of degree n.",
        ),
        (
            "chebyshev_polynomial_w",
            chebyshev_w,
            False,
            "The Chebyshev polynomial of the fourth kind of degree n.",
        ),
        ("shifted_chebyshev_polynomial_t", chebyshev_t, True, "`chebyshev_polynomial_t` of `2 * input - 1`."),
        ("shifted_chebyshev_polynomial_u", chebyshev_u, True, "`chebyshev_polynomial_u` of `2 * input - 1`."),
        ("shifted_chebyshev_polynomial_v", chebyshev_v, True, "`chebyshev_polynomial_v` of `2 * input - 1`."),
        ("shifted_chebyshev_polynomial_w", chebyshev_w, True, "`chebyshev_polynomial_w` of `2 * input - 1`."),
        ("hermite_polynomial_h", hermite_h, False, "The physicist's Hermite polynomial of degree n."),
        ("hermite_polynomial_he", hermite_he, False, "The probabilist's Hermite polynomial of degree n."),
        ("laguerre_polynomial_l", laguerre_l, False, "The Laguerre polynomial of degree n."),
        ("legendre_polynomial_p", legendre_p, False, "The Legendre polynomial of degree n."),
    )
}
"""The operations by their names in `torch.special`."""
