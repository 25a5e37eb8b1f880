"""One tensor in, one of the same shape out: roots, exponentials, logarithms, rounding and signs."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import batching

from ..._core import native
from ..._core.define.op import Array, function, op
from ..._core.types.structseq import types
from ..common.exact_division import quotient
from ..common.primitives import natively, primitive, with_tangent
from ..common.rules import (
    HALVES,
    derivatives,
    in_single,
    kind,
    masked,
    no_derivative,
    real_only,
    refuse,
    unbroken,
    zeros_mask,
)

# -- complex functions at their cuts: on which side a number lies is told by the sign of zero, which JAX's functions do not see


def _upper(function: Callable[[Any], Any], x: Any) -> Any:
    """A function of complex numbers with a cut on the real axis and `f(conj(x)) = conj(f(x))`, computed in the upper half plane."""
    found = function(lax.complex(x.real, jnp.abs(x.imag)))
    return jnp.where(jnp.signbit(x.imag), jnp.conj(found), found)


def _right(function: Callable[[Any], Any], x: Any) -> Any:
    """A function of complex numbers with a cut on the imaginary axis and `f(-conj(x)) = -conj(f(x))`, computed to its right."""
    found = function(lax.complex(jnp.abs(x.real), x.imag))
    return jnp.where(jnp.signbit(x.real), -jnp.conj(found), found)


# -- roots, exponentials, logarithms


@derivatives(lambda t, ans, x: t / (2 * ans))
def complex_sqrt(x: Any) -> Any:
    """The square root of complex numbers."""
    return _upper(lax.sqrt, x)


@op(promote="float", inplace=True)
def sqrt(input: Array):
    """The square root; NaN for negative numbers."""
    return complex_sqrt(input) if kind(input) == "complex" else lax.sqrt(input)


@derivatives(lambda t, ans, x: t * (-0.5 * (ans * ans * ans)))
@in_single
def _rsqrt(x: Any) -> Any:
    return 1 / complex_sqrt(x) if kind(x) == "complex" else lax.rsqrt(x)


@op(promote="float", inplace=True)
def rsqrt(input: Array):
    """`1 / sqrt(input)`."""
    return _rsqrt(input)


@derivatives(lambda t, ans, x: t * ans)
def complex_exp(x: Any) -> Any:
    """The exponential, 0 at a real part of -inf whatever the imaginary one is; XLA's is NaN where that is not finite."""
    return jnp.where(x.real == -jnp.inf, jnp.zeros_like(x), lax.exp(x))


@op(promote="float", inplace=True)
def exp(input: Array):
    """The exponential."""
    return complex_exp(input) if kind(input) == "complex" else lax.exp(input)


@derivatives(lambda t, ans, x: t * (ans * math.log(2)))
def exp2_of(x: Any) -> Any:
    """2 ** x; `lax.exp2` loses a digit where x is large."""
    if kind(x) == "complex":  # part by part: infinity times a complex number is NaN
        return complex_exp(lax.complex(x.real * math.log(2), x.imag * math.log(2)))
    return lax.pow(jnp.full_like(x, 2), x)


@op(promote="float", inplace=True)
def exp2(input: Array):
    """2 to the power of each element."""
    return in_single(exp2_of)(input)


@derivatives(lambda t, ans, x: t * (ans + 1))
@in_single
def _expm1(x: Any) -> Any:
    return lax.expm1(x)


@op(promote="float", inplace=True)
def expm1(input: Array):
    """`exp(input) - 1`, exact near zero."""
    return _expm1(input)


@op(promote="float", inplace=True)
def log(input: Array):
    """The natural logarithm."""
    return lax.log(input)


@derivatives(lambda t, ans, x: t / (x * math.log(2)))
@in_single
def _log2(x: Any) -> Any:
    """Exact for powers of two, whose mantissa is 0."""
    found = jnp.log2(x)
    if kind(x) == "complex":
        return found
    info = jnp.finfo(x.dtype)
    bits = lax.bitcast_convert_type(x, np.int32 if info.bits == 32 else np.int64)
    return jnp.where(bits & ((1 << info.nmant) - 1) == 0, _nearest(found), found)


@op(promote="float", inplace=True)
def log2(input: Array):
    """The logarithm to base 2."""
    return _log2(input)


@functools.cache
def _powers_of_ten(dtype: Any) -> tuple[int, Any]:
    """The exponent of the first, and all of a type's normal numbers."""
    lowest, highest = (-37, 38) if dtype == np.float32 else (-307, 308)
    return lowest, np.array([float(f"1e{n}") for n in range(lowest, highest + 1)], dtype)


@derivatives(lambda t, ans, x: t / (x * math.log(10)))
@in_single
def _log10(x: Any) -> Any:
    """Exact for powers of ten."""
    found = jnp.log10(x)
    if kind(x) == "complex":
        return found
    lowest, powers = _powers_of_ten(x.dtype)
    nearest = _nearest(found)
    place = jnp.clip(nearest, lowest, lowest + len(powers) - 1).astype(np.int32) - lowest
    return jnp.where(x == jnp.asarray(powers).at[place].get(mode="promise_in_bounds"), nearest, found)


@op(promote="float", inplace=True)
def log10(input: Array):
    """The logarithm to base 10."""
    return _log10(input)


@op(promote="float", inplace=True)
def log1p(input: Array):
    """`log(1 + input)`, exact near zero."""
    return log1p_of(input)


def _exact_log1p(x: Any) -> Any:
    """XLA's is off by more than a hundred units in the last place near -0.4."""
    return jnp.where((x > -0.5) & (x < -0.3), jnp.log(1 + x), lax.log1p(x))


@derivatives(lambda t, ans, x: t / (x + 1))
@in_single
def _half_log1p(x: Any) -> Any:
    return lax.log1p(x)


def log1p_of(x: Any) -> Any:
    if x.dtype in HALVES:
        return _half_log1p(x)
    return _log1p_p.bind(x) if x.dtype == np.float64 else lax.log1p(x)


_log1p_p = primitive("exact_log1p", lax.log1p, _exact_log1p, on_cuda=_exact_log1p)
with_tangent(_log1p_p, lambda moved, x: moved[0] / (1 + x))
batching.defvectorized(_log1p_p)


@derivatives(lambda t, ans, x: t * (ans * (1 - ans)))
@in_single
def _half_sigmoid(x: Any) -> Any:
    """XLA's programs would round each step."""
    return lax.logistic(x)


@op(promote="float", inplace=True)
def sigmoid(input: Array):
    """`1 / (1 + exp(-input))`."""
    return _half_sigmoid(input) if input.dtype in HALVES else lax.logistic(input)


@derivatives(lambda t, ans, x: t * jnp.where((x < 0) | (x > 1), jnp.nan, 1 / (x * (1 - x))))
def _logit(x: Any) -> Any:
    return jnp.log(x / (1 - x))


@op(promote="float", inplace=True)
def logit(input: Array, eps: float | None = None):
    """`log(input / (1 - input))`, of the input clamped to [eps, 1 - eps] where eps is given."""
    refuse("logit_cpu", input, "complex")
    if eps is None or eps < 0:
        return _logit(input)

    @derivatives(lambda t, ans, x: masked((x >= eps) & (x <= 1 - eps), t, 1 / (x * (1 - x))))
    def clamped(x: Any) -> Any:  # in half precision each step is rounded, the limits too
        low = jnp.asarray(eps, x.dtype)
        y = jnp.where(x < low, low, jnp.where(x > 1 - low, 1 - low, x))
        return jnp.log(y / (1 - y))

    return clamped(input)


# -- trigonometry


@op(promote="float", inplace=True)
def sin(input: Array):
    """The sine."""
    return _sine_p.bind(input) if _is_large(input) else lax.sin(input)


@op(promote="float", inplace=True)
def cos(input: Array):
    """The cosine."""
    return _cosine_p.bind(input) if _is_large(input) else lax.cos(input)


def _is_large(x: Any) -> bool:
    """Is a kernel of its own faster than fusing with what is beside it?"""
    return x.dtype == np.float32 and x.size >= native.KERNEL_ELEMENTS


_sine_p = primitive("sine", lax.sin, natively(functools.partial(native.waves, cosine=False)))
_cosine_p = primitive("cosine", lax.cos, natively(functools.partial(native.waves, cosine=True)))
with_tangent(_sine_p, lambda moved, x: moved[0] * _cosine_p.bind(x))
with_tangent(_cosine_p, lambda moved, x: -moved[0] * _sine_p.bind(x))


@derivatives(lambda t, ans, x: t * (1 + ans * ans))
@in_single
def _half_tan(x: Any) -> Any:
    return lax.tan(x)


@op(promote="float", inplace=True)
def tan(input: Array):
    """The tangent."""
    return _half_tan(input) if input.dtype in HALVES else lax.tan(input)


@derivatives(lambda t, ans, x: t * lax.rsqrt(1 - x * x))
@in_single
def _asin(x: Any) -> Any:
    return _upper(lax.asin, x) if kind(x) == "complex" else lax.asin(x)


@op(promote="float", inplace=True, aliases=["arcsin"])
def asin(input: Array):
    """The inverse sine."""
    return _asin(input)


@derivatives(lambda t, ans, x: -t * lax.rsqrt(1 - x * x))
@in_single
def _acos(x: Any) -> Any:
    return _upper(lax.acos, x) if kind(x) == "complex" else lax.acos(x)


@op(promote="float", inplace=True, aliases=["arccos"])
def acos(input: Array):
    """The inverse cosine."""
    return _acos(input)


@derivatives(lambda t, ans, x: t / (x * x + 1))
def _atan(x: Any) -> Any:
    return _right(lax.atan, x) if kind(x) == "complex" else lax.atan(x)


@op(promote="float", inplace=True, aliases=["arctan"])
def atan(input: Array):
    """The inverse tangent."""
    return _atan(input)


@op(promote="float", inplace=True)
def sinh(input: Array):
    """The hyperbolic sine."""
    return lax.sinh(input) if kind(input) == "complex" else _sinh_p.bind(input)


@op(promote="float", inplace=True)
def cosh(input: Array):
    """The hyperbolic cosine."""
    return lax.cosh(input) if kind(input) == "complex" else _cosh_p.bind(input)


def _half_root(x: Any) -> tuple[Any, Any, Any]:
    """|x|, the root of its exponential, which does not overflow where half of that does not, and half of the exponential of -|x|."""
    size = jnp.abs(x)
    root = jnp.exp(size / 2)
    return size, root, 0.5 / root / root


@in_single
def _exact_sinh(x: Any) -> Any:
    """XLA's adds the logarithm of a half before it takes the exponential, which costs digits."""
    size, root, low = _half_root(x)
    small = jnp.expm1(jnp.minimum(size, 1))
    found = jnp.where(size < 1, (small + small / (small + 1)) / 2, (0.5 * root) * root - low)
    return jnp.where(x < 0, -found, jnp.where(x == 0, x, found))


@in_single
def _exact_cosh(x: Any) -> Any:
    _, root, low = _half_root(x)
    return (0.5 * root) * root + low


_sinh_p = primitive("exact_sinh", lax.sinh, _exact_sinh, on_cuda=_exact_sinh)
_cosh_p = primitive("exact_cosh", lax.cosh, _exact_cosh, on_cuda=_exact_cosh)
with_tangent(_sinh_p, lambda moved, x: moved[0] * _cosh_p.bind(x))
with_tangent(_cosh_p, lambda moved, x: moved[0] * _sinh_p.bind(x))
for _p in (_sinh_p, _cosh_p):
    batching.defvectorized(_p)


@op(promote="float", inplace=True)
def tanh(input: Array):
    """The hyperbolic tangent."""
    return lax.tanh(input)


@derivatives(lambda t, ans, x: t * lax.rsqrt(x * x + 1))
@in_single
def _asinh(x: Any) -> Any:
    return _right(lax.asinh, x) if kind(x) == "complex" else lax.asinh(x)


def _asinh_of(x: Any) -> Any:
    return _asinh(x) if kind(x) == "complex" or x.dtype in HALVES else lax.asinh(x)


@op(promote="float", aliases=["arcsinh"])
def asinh(input: Array):
    """The inverse hyperbolic sine."""
    return _asinh_of(input)


def _acosh_slope(x: Any) -> Any:
    size = jnp.abs(x) if kind(x) != "complex" else x  # PyTorch has one below -1 too
    return lax.rsqrt(size - 1) * lax.rsqrt(size + 1)


@derivatives(lambda t, ans, x: t * _acosh_slope(x))
@in_single
def _acosh(x: Any) -> Any:
    return _upper(lax.acosh, x) if kind(x) == "complex" else lax.acosh(x)


@op(promote="float", aliases=["arccosh"])
def acosh(input: Array):
    """The inverse hyperbolic cosine."""
    return _acosh(input)


@derivatives(lambda t, ans, x: t / (1 - x * x))
@in_single
def _atanh(x: Any) -> Any:
    if kind(x) == "complex":
        return _upper(lax.atanh, x)
    return _atanh_p.bind(x) if x.dtype == np.float64 else lax.atanh(x)


def _exact_atanh(x: Any) -> Any:
    return 0.5 * (_exact_log1p(x) - _exact_log1p(-x))


_atanh_p = primitive("exact_atanh", lax.atanh, _exact_atanh, on_cuda=_exact_atanh)
with_tangent(_atanh_p, lambda moved, x: moved[0] / (1 - x * x))
batching.defvectorized(_atanh_p)


@op(promote="float", aliases=["arctanh"])
def atanh(input: Array):
    """The inverse hyperbolic tangent."""
    return _atanh(input)


def _without_derivative(fn: Any) -> None:
    """Offer the in-place form of a function, which has no derivative, as in PyTorch."""
    name = fn.__name__
    refused = no_derivative(NotImplementedError, f"the derivative for 'inplace version of {name}' is not implemented.")

    def body(input: Array):
        return refused(lambda found, _: found)(_INVERSES[name](lax.stop_gradient(input)), input)

    made = op(
        name=f"_{name}_in_place", promote="float", function=False, method=False, out=False, inplace=f"{name}_",
        aliases=[f"arc{name[1:]}"], grad=f"{name.capitalize()}Backward1",
    )(body)  # fmt: skip
    for form in (name, f"arc{name[1:]}"):
        function(f"{form}_")(made.inplace)


_INVERSES: dict[str, Any] = {"asinh": _asinh_of}
_INVERSES |= {"acosh": _acosh, "atanh": _atanh}
for _fn in (asinh, acosh, atanh):
    _without_derivative(_fn)


def _sinc_slope(t: Any, ans: Any, x: Any) -> Any:
    safe = jnp.where(x == 0, jnp.ones_like(x), x)
    angle = math.pi * safe
    square = angle * safe
    slope = (angle * jnp.cos(angle) - jnp.sin(angle)) / jnp.where(square == 0, 1, square)
    return t * zeros_mask((x != 0) & (square != 0), slope)


@derivatives(_sinc_slope)
@in_single
def _sinc(x: Any) -> Any:
    angle = math.pi * jnp.where(x == 0, jnp.ones_like(x), x)
    return jnp.where(x == 0, jnp.ones_like(x), jnp.sin(angle) / angle)


@op(promote="float", inplace=True)
def sinc(input: Array):
    """`sin(pi input) / (pi input)`, 1 at zero."""
    return _sinc(input)


@op(promote="float", inplace=True)
def deg2rad(input: Array):
    """Degrees in radians."""
    real_only("deg2rad is not supported for complex tensors.", input)
    return in_single(lambda x: x * (math.pi / 180))(input)


@op(promote="float", inplace=True)
def rad2deg(input: Array):
    """Radians in degrees."""
    real_only("rad2deg is not supported for complex tensors.", input)
    return in_single(lambda x: x * (180 / math.pi))(input)


# -- rounding


def _whole(name: str, x: Any, fn: Any) -> Any:
    real_only(f"{name} is not supported for complex inputs", x, error=NotImplementedError)
    refuse(f"{name}_vml_cpu", x, "bool")
    return x if kind(x) == "int" else fn(x)


@op(inplace=True, elementwise=True)
def floor(input: Array):
    """Rounded down."""
    return _whole("floor", input, lax.floor)


@op(inplace=True, elementwise=True)
def ceil(input: Array):
    """Rounded up."""
    return _whole("ceil", input, lax.ceil)


@op(inplace=True, elementwise=True, aliases=["fix"])
def trunc(input: Array):
    """Rounded towards zero."""
    return _whole("trunc", input, jnp.trunc)


@op(inplace=True, elementwise=True, grad=lambda keys, statics: f"RoundBackward{int(statics[0] is not None)}")
def round(input: Array, *, decimals: int | None = None):
    """Rounded to that many decimals (0); halves go to the even neighbour. Integers take no `decimals`."""
    refuse("round_cpu" if decimals else "round_vml_cpu", input, "complex", "bool")
    if decimals is None and kind(input) == "int":
        return input
    refuse("round_cpu" if decimals else "round_vml_cpu", input, "int")
    return _round_decimals(input, decimals) if decimals else _nearest(input)


def _nearest(x: Any) -> Any:
    return lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@in_single
def _round_decimals(x: Any, decimals: int) -> Any:
    fits = abs(decimals) <= math.log10(float(jnp.finfo(x.dtype).max))
    scale = jnp.asarray(10.0 ** abs(decimals) if fits else math.inf, x.dtype)
    if decimals > 0:
        return quotient(_nearest(x * scale), scale)
    return _nearest(quotient(x, scale)) * scale


@op(inplace=True, elementwise=True)
def frac(input: Array):
    """What is left after rounding towards zero; its derivative is 1."""
    refuse("frac_cpu", input, "bool", "int", "complex")
    return input - unbroken(jnp.trunc(input))


# -- signs


@op(inplace=True, elementwise=True)
def sign(input: Array):
    """-1, 0 or 1; NaN gives 0. Complex tensors are refused, `sgn` takes them."""
    real_only(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
        input,
        error=NotImplementedError,
    )
    return _sign(input)


def _sign(x: Any) -> Any:
    if kind(x) == "bool":
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype) if kind(x) == "float" else jnp.sign(x)


@op(inplace=True, elementwise=True, saved=["input", "result"])
def sgn(input: Array):
    """The sign of a real number; of a complex one, the unit circle's point in its direction (0 for 0)."""
    if kind(input) != "complex":
        return _sign(input)
    size = jnp.abs(input)
    here = size != 0
    return zeros_mask(here, jnp.where(here, input, jnp.ones_like(input)) / jnp.where(here, size, 1))


@op(elementwise=True)
def signbit(input: Array):
    """Is the sign bit set? True for -0.0; complex tensors are refused."""
    real_only("signbit is not implemented for complex tensors.", input, error=NotImplementedError)
    if kind(input) == "float":
        return jnp.signbit(input)
    return input < 0 if kind(input) == "int" else jnp.zeros_like(input)


@op(inplace=True, elementwise=True)
def nan_to_num(input: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None):
    """NaN replaced by `nan` (0), infinities by `posinf` and `neginf` (the outermost finite numbers)."""
    for name, number in (("nan", nan), ("posinf", posinf), ("neginf", neginf)):
        if not isinstance(number, (int, float, type(None))):
            raise TypeError(f"nan_to_num(): argument '{name}' must be float, not {type(number).__name__}")
    if kind(input) == "complex":
        return lax.complex(*[_replaced(part, nan, posinf, neginf) for part in (input.real, input.imag)])
    return _replaced(input, nan, posinf, neginf) if kind(input) == "float" else input


def _replaced(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    largest = jnp.finfo(x.dtype).max

    def full(number: Any, default: Any) -> Any:
        return jnp.asarray(default if number is None else number, x.dtype)

    out = jnp.where(jnp.isnan(x), full(nan, 0), x)
    out = jnp.where(x == jnp.inf, full(posinf, largest), out)
    return jnp.where(x == -jnp.inf, full(neginf, -largest), out)


@op(method=True)
def frexp(input: Array):
    """The mantissa in [0.5, 1) and the exponent (int32) of each number: `input = mantissa * 2^exponent`."""
    if kind(input) != "float":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponent = _exponent(unbroken(input))

    @derivatives(lambda t, ans, x: t / lax.exp2(_exponent(unbroken(x)).astype(t.dtype)))
    @in_single
    def mantissa(x: Any) -> Any:
        return jnp.where(jnp.isfinite(x), jnp.frexp(x)[0], x)

    return types.frexp((mantissa(input), exponent))


def _exponent(x: Any) -> Any:
    wide = x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
    return jnp.where(jnp.isfinite(wide), jnp.frexp(wide)[1], 0).astype(jnp.int32)
