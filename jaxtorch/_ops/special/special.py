"""Special functions: error functions, gamma functions, Bessel functions of imaginary argument, entropies."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.interpreters import batching
from jax.scipy import special as scipy

from ..._core.define.op import Array, Operand, op
from ..common.primitives import primitive, with_tangent
from ..common.rules import (
    HALVES,
    derivatives,
    full_precision,
    in_double,
    in_single,
    kind,
    masked,
    needs_tensor,
    no_derivative,
    refuse,
    unsupported,
)
from ..elementwise.binary import no_product_at_zero
from ..elementwise.unary import log1p_of
from . import gamma_functions

# -- error functions


@derivatives(lambda t, ans, x: t * (2 / math.sqrt(math.pi) * jnp.exp(-x * x)))
def _erf(x: Any) -> Any:
    return jnp.clip(lax.erf(x), -1, 1)  # XLA's exceeds 1 by a unit in the last place


@op(promote="float", inplace=True)
def erf(input: Array):
    """The error function."""
    refuse("erf_vml_cpu", input, "complex")
    return _erf(input)


@op(promote="float", inplace=True)
def erfc(input: Array):
    """`1 - erf(input)`, exact for large inputs."""
    if kind(input) == "complex" or input.dtype.itemsize == 1:  # float8, which XLA has no such function for
        unsupported("erfc_vml_cpu", input)
    return _erfc(input)


@in_single
def _exact_erfc(x: Any) -> Any:
    """XLA's takes the exponential of a square that was rounded, which costs digits far from 0: they are brought back."""
    size = jnp.clip(jnp.abs(x), 1, 30)
    rounded = jnp.round(size * 16) / 16  # whose square is exact
    lost = (rounded * rounded - size * size) + (size - rounded) * (size + rounded)
    found = lax.erfc(x)
    return jnp.where((x > 1) & (x < 30), found * (1 - lost), found)


_erfc_p = primitive("exact_erfc", lax.erfc, _exact_erfc, on_cuda=_exact_erfc)
with_tangent(_erfc_p, lambda moved, x: moved[0] * (-2 / math.sqrt(math.pi) * jnp.exp(-x * x)))
batching.defvectorized(_erfc_p)


def _erfc(x: Any) -> Any:
    return _erfc_p.bind(x)


@derivatives(lambda t, ans, x: t * (math.sqrt(math.pi) / 2 * jnp.exp(ans * ans)))
def _erfinv(x: Any) -> Any:
    return _inverse(x) if x.dtype in (jnp.float32, jnp.float64) else lax.erf_inv(x)


def _inverse(x: Any) -> Any:
    """XLA's inverse of the error function, which is not exact near -1 and 1; there with one of Newton's steps more."""
    y = lax.erf_inv(x)
    size = jnp.abs(x)
    far = (size > 0.5) & (size < 1)
    z = jnp.where(far, jnp.abs(y), 1)
    step = (_erfc(z) - (1 - jnp.where(far, size, 0.5))) * (math.sqrt(math.pi) / 2) * jnp.exp(z * z)
    return jnp.where(far, jnp.sign(x) * (z + step), y)


@op(promote="float", inplace=True)
def erfinv(input: Array):
    """The inverse of `erf`."""
    refuse("erfinv_vml_cpu", input, "complex")
    return _erfinv(input)


@derivatives(lambda t, ans, x: t * (2 * x * ans - 2 / math.sqrt(math.pi)))
@in_single
def _erfcx(x: Any) -> Any:
    far = jnp.maximum(x, 3)
    fraction = far
    for k in range(40, 0, -1):  # Laplace's continued fraction
        fraction = far + (k / 2) / fraction
    near = jnp.minimum(x, 3)
    rounded = jnp.round(jnp.maximum(near, -30) * 16) / 16  # whose square is exact
    squared = jnp.exp(rounded * rounded) * jnp.exp((near - rounded) * (near + rounded))
    return jnp.where(x > 3, 1 / (math.sqrt(math.pi) * fraction), squared * _erfc(near))


@op(name="special_erfcx", function=False, method=False, promote="float")
def erfcx(input: Array):
    """`exp(input^2) * erfc(input)`, without overflow in between."""
    full_precision("erfcx_cpu", input)
    return _erfcx(input)


@op(name="special_ndtr", function=False, method=False, promote="float", grad="MulBackward1", unsaved=["input"])
def ndtr(input: Array):
    """The share of the normal distribution below each element."""
    refuse("erf_vml_cpu", input, "complex")
    if input.dtype in HALVES:  # each step is rounded
        return (1 + in_single(lax.erf)(in_single(lambda x: x * math.sqrt(0.5))(input))) * 0.5
    return _erfc(input * -math.sqrt(0.5)) * 0.5


@derivatives(lambda t, ans, x: t * (math.sqrt(2 / math.pi) / _erfcx(x * -math.sqrt(0.5))))
@in_single
def _log_ndtr(x: Any) -> Any:
    low = jnp.log(_erfcx(jnp.minimum(x, 0) * -math.sqrt(0.5)) / 2) - x * (x / 2)
    return jnp.where(x < 0, low, log1p_of(_erfc(x * math.sqrt(0.5)) * -0.5))


@op(name="special_log_ndtr", function=False, method=False, promote="float", saved=["result"])
def log_ndtr(input: Array):
    """The logarithm of `ndtr`, exact far in the lower tail."""
    full_precision("log_ndtr_cpu", input)
    return _log_ndtr(input)


@derivatives(lambda t, ans, x: t * (math.sqrt(2 * math.pi) * jnp.exp(ans * ans / 2)))
@in_single
def _ndtri(x: Any) -> Any:
    return jnp.where(x == 0, -jnp.inf, jnp.where(x == 1, jnp.inf, scipy.ndtri(x)))


@op(name="special_ndtri", function=False, method=False, promote="float")
def ndtri(input: Array):
    """The inverse of `ndtr`."""
    full_precision("ndtri_cpu", input)
    return _ndtri(input)


# -- gamma functions


@derivatives(lambda t, ans, x: t * _digamma(x))
@in_double
def _lgamma(x: Any) -> Any:
    return gamma_functions.log_gamma(x)


@op(promote="float", inplace=True)
def lgamma(input: Array):
    """The logarithm of the absolute value of the gamma function."""
    refuse("lgamma_vml_cpu", input, "complex")
    return _lgamma(input)


@derivatives(lambda t, ans, x: t * _trigamma(x))
@in_double
def _digamma(x: Any) -> Any:
    return gamma_functions.digamma(x)


@op(promote="float", inplace=True)
def digamma(input: Array):
    """The derivative of the logarithm of the gamma function."""
    refuse("digamma", input, "complex")
    return _digamma(input)


def _of_order(n: int, x: Any) -> Any:
    """The polygamma function of order n."""
    if n == 0:
        return _digamma(x)
    return _trigamma(x) if n == 1 else _higher_gamma(n)(x)


@derivatives(lambda t, ans, x: t * _of_order(2, x))
@in_single
def _trigamma(x: Any) -> Any:
    left, right, turn = gamma_functions.mirrored(x.astype(jnp.float64), 0.5)
    value = gamma_functions.hurwitz(jnp.full_like(right, 2), right)
    at_pole = (math.pi / jnp.sin(math.pi * x)).astype(jnp.float64)  # some large number, as in PyTorch
    mirrored = jnp.where(turn == 0, at_pole, math.pi / jnp.sin(turn)) ** 2 - value
    return jnp.where(left, mirrored, value).astype(x.dtype)


def _higher_gamma(n: int) -> Any:
    @derivatives(lambda t, ans, x: t * _of_order(n + 1, x))
    @in_double
    def polygamma_n(x: Any) -> Any:
        factor = math.factorial(n) if n < 171 else math.inf if n < 2**31 else math.nan  # PyTorch counts in int32
        value = (-1) ** (n + 1) * float(factor) * gamma_functions.hurwitz(jnp.full_like(x, n + 1), x)
        return jnp.where(jnp.isposinf(x), jnp.nan, value)  # as PyTorch has it

    return polygamma_n


def _checked_polygamma(n: int, x: Any) -> Any:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    refuse(("digamma", "trigamma", "polygamma")[min(n, 2)], x, "complex")
    return _of_order(n, x)


@op(method=False, promote="float")
def polygamma(n: int, input: Array):
    """The n-th derivative of `digamma`."""
    return _checked_polygamma(n, input)


@op(
    function=False,
    name="_polygamma",
    promote="float",
    method="polygamma",
    inplace="polygamma_",
    grad="PolygammaBackward0",
)
def _polygamma_method(input: Array, n: int):
    """The n-th derivative of `digamma`."""
    return _checked_polygamma(n, input)


def _check_mvlgamma(input: Any) -> None:
    if kind(input) == "bool":
        raise RuntimeError("The input tensor may not be a boolean tensor.")


@op(promote="float", inplace=True, check=_check_mvlgamma)
def mvlgamma(input: Array, p: int):
    """The logarithm of the multivariate gamma function of dimension p."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    refuse("arange_cpu", input, "complex")
    halves = jnp.arange(1 - p, 1, dtype=input.dtype) / 2
    return _lgamma(input[..., None] + halves).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


def _without_derivative(name: str) -> Any:
    """The identity, through which no derivative passes: asking for it raises."""
    return no_derivative(NotImplementedError, f"the derivative for '{name}' is not implemented.")(lambda x: x)


def _reaches(t: Any, ans: Any, *_: Any) -> Any:
    """A derivative that passes on to `_without_derivative`, which raises."""
    return 0 * t


def _gamma_density(t: Any, a: Any, x: Any) -> Any:
    return t * jnp.exp((a - 1) * jnp.log(x) - x - lax.lgamma(a))


_LARGE = 1e5
_TEMME = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860),
)
"""Coefficients of Temme's expansion for large orders, in powers of `eta` and of 1 / a."""


def _of_large_order(a: Any, x: Any, upper: bool) -> Any:
    """Temme's expansion (1979) of an incomplete gamma function for orders above `_LARGE`."""
    apart = jnp.clip((x - a) / a, -1, 1e300)
    small = jnp.clip(apart, -0.15, 0.15)
    series = jnp.zeros_like(small)
    for k in range(24, 1, -1):
        series = series * small + (-1) ** k / k
    half = jnp.where(apart == small, series * small * small, apart - log1p_of(apart))  # of eta squared
    eta = jnp.sign(apart) * jnp.sqrt(2 * half)
    near = jnp.clip(eta, -0.2, 0.2)  # beyond, the exponential is 0
    first, second = (jnp.polyval(jnp.array(row[::-1], a.dtype), near) for row in _TEMME)
    rest = jnp.exp(-a * half) / jnp.sqrt(2 * math.pi * a) * (first + second / a)
    sign = 1 if upper else -1
    return lax.erfc(sign * jnp.sign(eta) * jnp.sqrt(a * half)) / 2 + sign * rest


def _incomplete(a: Any, x: Any, upper: bool) -> Any:
    """An incomplete gamma function: XLA's, but for large orders, where its series hardly ends, and where it has no number.

    All lies below x for a = 0 and x at infinity, nothing for x = 0 and a at infinity.
    """
    large = a > _LARGE
    xlas = (lax.igammac if upper else lax.igamma)(jnp.where(large, 1, a), jnp.where(large, 1, x))
    value = jnp.where(large, _of_large_order(jnp.where(large, a, 1), x, upper), xlas)
    value = jnp.where(jnp.isnan(a) | jnp.isnan(x), jnp.nan, value)
    value = jnp.where(((a == 0) & (x > 0)) | jnp.isposinf(x), 0.0 if upper else 1.0, value)
    value = jnp.where((x == 0) | jnp.isposinf(a), 1.0 if upper else 0.0, value)
    undefined = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (jnp.isposinf(a) & jnp.isposinf(x))
    return jnp.where(undefined, jnp.nan, value)


@derivatives(_reaches, lambda t, ans, a, x: _gamma_density(t, a, x))
@in_double
def _igamma(a: Any, x: Any) -> Any:
    return _incomplete(a, x, False)


@derivatives(_reaches, lambda t, ans, a, x: -_gamma_density(t, a, x))
@in_double
def _igammac(a: Any, x: Any) -> Any:
    return _incomplete(a, x, True)


def _gamma_arguments(name: str, input: Any, other: Any) -> Any:
    refuse(f"{name}_cpu", input, "bool", "int", "complex")
    if input.dtype.itemsize == 1:  # float8, whose series does not come to an end
        unsupported(f"{name}_cpu", input)
    return jnp.broadcast_arrays(_without_derivative(f"{name}: input")(input), other)


@op(promote=True, inplace=True, broadcast=True)
def igamma(input: Array, other: Array):
    """The regularised lower incomplete gamma function of order `input`; not differentiable in the order."""
    return _igamma(*_gamma_arguments("igamma", input, other))


@op(promote=True, inplace=True, broadcast=True)
def igammac(input: Array, other: Array):
    """The regularised upper incomplete gamma function of order `input`; not differentiable in the order."""
    return _igammac(*_gamma_arguments("igammac", input, other))


def _zeta_slope(t: Any, ans: Any, x: Any, q: Any) -> Any:
    return t * (-x * _zeta(x + 1, q))


@derivatives(_reaches, _zeta_slope)
@in_double
def _zeta(x: Any, q: Any) -> Any:
    """NaN, as in PyTorch, for q at infinity, and for huge x where the first term is 0."""
    undefined = (x != 1) & (jnp.isposinf(q) | ((x > 1e12) & (q > 1)))
    return jnp.where(undefined, jnp.nan, gamma_functions.hurwitz(x, q))


def _zeta_name(operand_keys: Any, statics: Any) -> str:
    x, q = operand_keys
    return f"SpecialZetaBackward{1 if x.wrapped else 2 if q.wrapped else 0}"


@op(
    name="special_zeta",
    function=False,
    method=False,
    promote="float",
    grad=_zeta_name,
    check=needs_tensor("special_zeta"),
    broadcast=True,
)
def zeta(input: Operand, other: Operand):
    """The Hurwitz zeta function, the sum of `(other + k)^-input`; not differentiable in `input`."""
    full_precision("zeta_cpu", input)
    return _zeta(*jnp.broadcast_arrays(_without_derivative("zeta")(input), other))


# -- Bessel functions of imaginary argument


def _i1_slope(i1: Any, i0: Any, x: Any) -> Any:
    safe = jnp.where(x == 0, jnp.ones_like(x), x)
    return jnp.where(x == 0, 0.5, i0 - i1 / safe).astype(x.dtype)


def _i1_change(t: Any, ans: Any, x: Any) -> Any:
    return t * _i1_slope(ans, _i0(x), x)


def _i1e_change(t: Any, ans: Any, x: Any) -> Any:
    return t * (_i1_slope(ans, _i0e(x), x) - jnp.sign(x) * ans)


@derivatives(lambda t, ans, x: t * _i1(x))
@in_single
def _i0(x: Any) -> Any:
    return scipy.i0(x)


@derivatives(_i1_change)
@in_single
def _i1(x: Any) -> Any:
    return scipy.i1(x)


@derivatives(lambda t, ans, x: t * (_i1e(x) - jnp.sign(x) * ans))
@in_single
def _i0e(x: Any) -> Any:
    return scipy.i0e(x)


@derivatives(_i1e_change)
@in_single
def _i1e(x: Any) -> Any:
    return scipy.i1e(x)


@op(promote="float", inplace=True)
def i0(input: Array):
    """The modified Bessel function of the first kind, order 0."""
    refuse("i0_vml_cpu", input, "complex")
    return _i0(input)


@op(name="special_i0e", function=False, method=False, promote="float", grad="SpecialI0EBackward0")
def i0e(input: Array):
    """`exp(-|input|) * i0(input)`."""
    refuse("i0e_cpu", input, "complex")
    return _i0e(input)


@op(name="special_i1", function=False, method=False, promote="float")
def i1(input: Array):
    """The modified Bessel function of the first kind, order 1."""
    refuse("i1_cpu", input, "complex")
    return _i1(input)


@op(name="special_i1e", function=False, method=False, promote="float", grad="SpecialI1EBackward0")
def i1e(input: Array):
    """`exp(-|input|) * i1(input)`."""
    refuse("i1e_cpu", input, "complex")
    return _i1e(input)


# -- entropies


@derivatives(lambda t, ans, x: t * (-jnp.log(x) - 1))
def _entr(x: Any) -> Any:
    value = jnp.where(x > 0, -x * jnp.log(jnp.where(x > 0, x, 1)), jnp.where(x == 0, 0, -jnp.inf))
    return jnp.where(jnp.isnan(x), x, value)


@op(name="special_entr", function=False, method=False, promote="float")
def entr(input: Array):
    """`-input * log(input)`, 0 at zero and -inf below."""
    refuse("entr_cpu", input, "complex")
    return _entr(input)


@derivatives(
    lambda t, ans, x, y: masked(~((x == 0) & (y <= -1)), t, log1p_of(y)),
    lambda t, ans, x, y: t * (x / (y + 1)),
)
def _xlog1py(x: Any, y: Any) -> Any:
    return no_product_at_zero(x, y, log1p_of(y))


def _xlog1py_name(operand_keys: Any, statics: Any) -> str:
    x, y = operand_keys
    return f"SpecialXlog1PyBackward{1 if x.wrapped else 2 if y.wrapped else 0}"


@op(
    name="special_xlog1py",
    function=False,
    method=False,
    promote="float",
    grad=_xlog1py_name,
    check=needs_tensor("special_xlog1py"),
    broadcast=True,
)
def xlog1py(input: Operand, other: Operand):
    """`input * log1p(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
    refuse("xlog1py_cpu", input, "complex")
    return _xlog1py(input, other)
