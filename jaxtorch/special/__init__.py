"""`torch.special`: special functions under the names they have there."""

# ruff: noqa: F401 - what is imported here is the namespace
from __future__ import annotations

from typing import Any

from .._core.define.op import functions as _functions
from .._core.define.op import names_of_its_own as _names_of_its_own
from .._core.define.op import numpy_names
from .._core.tensor.tensor import Tensor as _Tensor
from .._ops.elementwise.binary import xlogy
from .._ops.elementwise.unary import exp2, expm1, log1p, logit, sinc
from .._ops.elementwise.unary import round as _round
from .._ops.elementwise.unary import sigmoid as expit
from .._ops.special.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from .._ops.special.polynomials import polynomials as _polynomials
from .._ops.special.special import (
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    i0,
    i0e,
    i1,
    i1e,
    log_ndtr,
    ndtr,
    ndtri,
    polygamma,
    xlog1py,
    zeta,
)
from .._ops.special.special import igamma as gammainc
from .._ops.special.special import igammac as gammaincc
from .._ops.special.special import lgamma as gammaln
from .._ops.special.special import mvlgamma as multigammaln

psi = digamma

chebyshev_polynomial_t = _polynomials["chebyshev_polynomial_t"]
chebyshev_polynomial_u = _polynomials["chebyshev_polynomial_u"]
chebyshev_polynomial_v = _polynomials["chebyshev_polynomial_v"]
chebyshev_polynomial_w = _polynomials["chebyshev_polynomial_w"]
shifted_chebyshev_polynomial_t = _polynomials["shifted_chebyshev_polynomial_t"]
shifted_chebyshev_polynomial_u = _polynomials["shifted_chebyshev_polynomial_u"]
shifted_chebyshev_polynomial_v = _polynomials["shifted_chebyshev_polynomial_v"]
shifted_chebyshev_polynomial_w = _polynomials["shifted_chebyshev_polynomial_w"]
hermite_polynomial_h = _polynomials["hermite_polynomial_h"]
hermite_polynomial_he = _polynomials["hermite_polynomial_he"]
laguerre_polynomial_l = _polynomials["laguerre_polynomial_l"]
legendre_polynomial_p = _polynomials["legendre_polynomial_p"]


@numpy_names
def logsumexp(input: _Tensor, dim: Any, keepdim: bool = False, *, out: _Tensor | None = None) -> _Tensor:
    """The logarithm of the sum of exponentials over the given dimensions."""
    return _functions["logsumexp"](input, dim, keepdim, out=out)


@numpy_names
def round(input: _Tensor, *, decimals: int = 0, out: _Tensor | None = None) -> _Tensor:
    """Rounded to that many decimals; NotImplementedError for integers, as `torch.round` where it is given `decimals`."""
    return _round(input, decimals=decimals, out=out)


@numpy_names
def softmax(input: _Tensor, dim: int, dtype: Any = None) -> _Tensor:
    """Exponentials that sum to 1 along a dimension."""
    return _functions["softmax"](input, dim, dtype=dtype)


@numpy_names
def log_softmax(input: _Tensor, dim: int, *, dtype: Any = None) -> _Tensor:
    """The logarithm of `softmax`."""
    return _functions["log_softmax"](input, dim, dtype=dtype)


__all__ = [n for n in sorted(globals()) if n[0] != "_" and n not in ("Any", "annotations", "numpy_names")]  # pyright: ignore[reportUnsupportedDunderAll]

_names_of_its_own(globals(), __all__)
