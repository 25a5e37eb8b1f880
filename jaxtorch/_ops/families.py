"""Every family of operations, loaded; `install` gives their methods to `Tensor`."""

# ruff: noqa: F401 - an operation is known once its module is loaded
from __future__ import annotations

from .._core.define import op as _op
from .._core.tensor.tensor import Tensor
from . import sparse
from .creation import filled, from_data, legacy_constructors, ranges, windows
from .elementwise import arithmetic, binary, bitwise, clamp, comparison, complex_numbers, powers, unary
from .fft import fft, short_time
from .indexing import gather, getitem, index_put_at_once, scatter, setitem, where_and_masks
from .linalg import (
    checks,
    distance,
    eigen_and_svd,
    einsum,
    ldl,
    lowrank,
    matmul,
    matrix_functions,
    norms,
    qr_and_cholesky,
    solve_and_lu,
    vector_norm,
)
from .losses import classification, ctc, regression
from .nn import (
    activation,
    adaptive_pooling,
    attention,
    convolution,
    cudnn_attention,
    dropout,
    embedding,
    linear,
    normalization,
    packed_sequences,
    padding,
    pooling,
    recurrent,
    recurrent_loops,
    resampling,
    response_norm,
    standardize,
    weighted_gather,
)
from .other_forms import early_checks, native_functions, out_types, torch_forms
from .quantized import fake_quantize, quantize
from .random import random, sampling
from .reductions import histograms, reductions, scans, segments, sorting, statistics
from .shapes import as_strided, complex_views, joining, rearranging, splitting, transposes, views
from .special import bessel, gamma_functions, polynomials, special
from .types import casting, constants, typeinfo


def install() -> None:
    """Give `Tensor` the methods that the families define."""
    for name, method in {**_op.methods, **complex_views.PROPERTIES, **transposes.PROPERTIES}.items():
        if name in _op.functions and method.__doc__ is None:  # it was written after the method was made
            method.__doc__ = _op.functions[name].__doc__
        setattr(Tensor, name, method)
