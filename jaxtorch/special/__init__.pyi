# Made by scripts/make_stub.py; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportRedeclaration=false
from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, TypeAlias, overload

import numpy as np
from typing_extensions import TypeIs

from .. import return_types as _return_types
from .._core.types.device import device as _Device
from .._core.types.dtypes import dtype as _dtype
from .._core.random.generator import Generator
from .._core.types.size import Size
from .._core.tensor.tensor import Tensor

# Methods and element types are called int, float, bool, type, ...: where they are defined, these are the builtin ones.
_bool: TypeAlias = builtins.bool
_int: TypeAlias = builtins.int
_float: TypeAlias = builtins.float
_complex: TypeAlias = builtins.complex
_str: TypeAlias = builtins.str
_type: TypeAlias = builtins.type
_Number: TypeAlias = builtins.bool | builtins.int | builtins.float | builtins.complex

__all__: list[_str]
def _names_of_its_own(space: dict[_str, Any], names: Sequence[_str]) -> None:
    """Make functions of a module that `torch` or `Tensor` has as well its own: `torch.linalg.det` is not `torch.det`."""
def _round(input: Tensor, *, decimals: Any = ..., out: Any = ...) -> Tensor:
    """Rounded to that many decimals (0); halves go to the even neighbour. Integers take no `decimals`."""
def airy_ai(input: Tensor, *, out: Any = ...) -> Tensor:
    """The Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The Bessel function of the first kind, order 0."""
def bessel_j1(input: Tensor, *, out: Any = ...) -> Tensor:
    """The Bessel function of the first kind, order 1."""
def bessel_y0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The Bessel function of the second kind, order 0."""
def bessel_y1(input: Tensor, *, out: Any = ...) -> Tensor:
    """The Bessel function of the second kind, order 1."""
def chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Chebyshev polynomial of the first kind of degree n."""
def chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Chebyshev polynomial of the second kind of degree n."""
def chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Chebyshev polynomial of the third kind of degree n."""
def chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Chebyshev polynomial of the fourth kind of degree n."""
def digamma(input: Tensor, *, out: Any = ...) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
def entr(input: Tensor, *, out: Any = ...) -> Tensor:
    """`-input * log(input)`, 0 at zero and -inf below."""
def erf(input: Tensor, *, out: Any = ...) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 - erf(input)`, exact for large inputs."""
def erfcx(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(input^2) * erfc(input)`, without overflow in between."""
def erfinv(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of `erf`."""
def exp2(input: Tensor, *, out: Any = ...) -> Tensor:
    """2 to the power of each element."""
def expit(input: Tensor, *, out: Any = ...) -> Tensor:
    """`1 / (1 + exp(-input))`."""
def expm1(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(input) - 1`, exact near zero."""
def gammainc(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The regularised lower incomplete gamma function of order `input`; not differentiable in the order."""
def gammaincc(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor:
    """The regularised upper incomplete gamma function of order `input`; not differentiable in the order."""
def gammaln(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm of the absolute value of the gamma function."""
def hermite_polynomial_h(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The physicist's Hermite polynomial of degree n."""
def hermite_polynomial_he(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The probabilist's Hermite polynomial of degree n."""
def i0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def i0e(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(-|input|) * i0(input)`."""
def i1(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
def i1e(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(-|input|) * i1(input)`."""
def laguerre_polynomial_l(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Laguerre polynomial of degree n."""
def legendre_polynomial_p(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Legendre polynomial of degree n."""
def log1p(input: Tensor, *, out: Any = ...) -> Tensor:
    """`log(1 + input)`, exact near zero."""
def log_ndtr(input: Tensor, *, out: Any = ...) -> Tensor:
    """The logarithm of `ndtr`, exact far in the lower tail."""
def log_softmax(input: Any, dim: _int, *, dtype: Any = ...) -> Tensor:
    """The logarithm of `softmax`."""
def logit(input: Tensor, eps: Any = ..., *, out: Any = ...) -> Tensor:
    """`log(input / (1 - input))`, of the input clamped to [eps, 1 - eps] where eps is given."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor:
    """The logarithm of the sum of exponentials over the given dimensions."""
def modified_bessel_i0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind, order 0."""
def modified_bessel_i1(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: Tensor, *, out: Any = ...) -> Tensor:
    """The modified Bessel function of the second kind, order 1."""
def multigammaln(input: Tensor, p: Any, *, out: Any = ...) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
def ndtr(input: Tensor, *, out: Any = ...) -> Tensor:
    """The share of the normal distribution below each element."""
def ndtri(input: Tensor, *, out: Any = ...) -> Tensor:
    """The inverse of `ndtr`."""
def numpy_names(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function with NumPy's names for its parameters as well, and `self` for a number in the first place, as operations have them."""
def polygamma(n: Any, input: Tensor, *, out: Any = ...) -> Tensor:
    """The n-th derivative of `digamma`."""
def psi(input: Tensor, *, out: Any = ...) -> Tensor:
    """The derivative of the logarithm of the gamma function."""
def round(input: Any, *, decimals: _int = ..., out: Any = ...) -> Any:
    """Rounded to that many decimals; NotImplementedError for integers, as `torch.round` where it is given `decimals`."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(input) * modified_bessel_k0(input)`."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Any = ...) -> Tensor:
    """`exp(input) * modified_bessel_k1(input)`."""
def shifted_chebyshev_polynomial_t(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`chebyshev_polynomial_t` of `2 * input - 1`."""
def shifted_chebyshev_polynomial_u(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`chebyshev_polynomial_u` of `2 * input - 1`."""
def shifted_chebyshev_polynomial_v(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`chebyshev_polynomial_v` of `2 * input - 1`."""
def shifted_chebyshev_polynomial_w(input: Tensor | _Number, n: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`chebyshev_polynomial_w` of `2 * input - 1`."""
def sinc(input: Tensor, *, out: Any = ...) -> Tensor:
    """`sin(pi input) / (pi input)`, 1 at zero."""
def softmax(input: Any, dim: _int, dtype: Any = ...) -> Tensor:
    """Exponentials that sum to 1 along a dimension."""
def spherical_bessel_j0(input: Tensor, *, out: Any = ...) -> Tensor:
    """`sin(input) / input`, 1 at zero and 0 at infinity."""
def xlog1py(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input * log1p(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
def xlogy(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """`input * log(other)`, broadcast; 0 where `input` is 0 (unless `other` is NaN)."""
def zeta(input: Tensor | _Number, other: Tensor | _Number, *, out: Any = ...) -> Tensor:
    """The Hurwitz zeta function, the sum of `(other + k)^-input`; not differentiable in `input`."""
