"""All mathematics: pure functions on arrays, one file a family. `install` puts them on `Tensor`."""

from __future__ import annotations

import importlib

from .._core.define import op as _op
from .._core.tensor.tensor import Tensor

_FAMILIES = (
    "legacy",
    "typeinfo",
    "windows",
    "construction",
    "ranges",
    "sampling",
    "random",
    "views",
    "splitting",
    "complex_views",
    "complexes",
    "bitwise",
    "comparison",
    "extremes",
    "pairwise",
    "pointwise",
    "special",
    "bessel",
    "polynomials",
    "arithmetic",
    "powers",
    "casting",
    "creation",
    "ctc",
    "matmul",
    "einsum",
    "reductions",
    "scans",
    "sorting",
    "statistics",
    "histograms",
    "vector_norm",
    "linalg_norms",
    "linalg_factor",
    "linalg_solve",
    "linalg_spectral",
    "linalg_products",
    "linalg_indefinite",
    "linalg_distance",
    "indexing",
    "assignment",
    "activation",
    "linear",
    "conv",
    "pool",
    "pool_adaptive",
    "norm",
    "response_norm",
    "dropout",
    "embedding",
    "loss",
    "loss_distance",
    "attention",
    "packing",
    "recurrent",
    "padding",
    "resample",
    "joining",
    "masking",
    "gather",
    "scatter",
    "shape",
    "restride",
    "transposes",
    "fft",
    "fft_short_time",
    "native_functions",
    "torch_forms",
    "segments",
    "linalg_lowrank",
    "fake_quantize",
    "quantize",
    "sparse",
    "out_types",
    "first_looks",
)


def install() -> None:
    """Load every family, and give `Tensor` the methods they define."""
    for family in _FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    from . import complex_views, transposes

    for name, method in {**_op.methods, **complex_views.PROPERTIES, **transposes.PROPERTIES}.items():
        if name in _op.functions and method.__doc__ is None:  # it was written after the method was made
            method.__doc__ = _op.functions[name].__doc__
        setattr(Tensor, name, method)
