"""Checks of `op_db` entries that do not pass, each with the reason: entry -> check -> reason."""

from __future__ import annotations

_BY_REASON: dict[str, dict[str, str]] = {
    "PyTorch gives the `out=` tensor other strides": {
        "cholesky_inverse": "out/float32",
        "geqrf": "out/float32",
        "ormqr": "out/float32",
        "triangular_solve": "out/float32",
    },
    "PyTorch is off by up to 2e-7 (relative 7e-6), where SciPy agrees with jaxtorch": {
        "special.bessel_j0": "forward/float64",
        "special.bessel_y1": "forward/float64",
    },
    "PyTorch resizes the tensor that it writes in place": {
        "addbmm": "inplace/float32",
    },
    "PyTorch's own gradient of the input is wrong: it is that of the part written over": {
        "as_strided_scatter": (
            "gradient/bfloat16 gradient/complex64 gradient/float16 gradient/float32 gradient/float64 second/float64"
        ),
    },
    "PyTorch's second derivative of a norm at 0 is NaN; it is 0 here": {
        "linalg.norm/subgradients_at_zero": "second/float64",
    },
    "complex32, which XLA lacks": {
        "chalf": (
            "forward/bfloat16 forward/bool forward/complex64 forward/float16 forward/float32 forward/float64 "
            "forward/int32 forward/int64 gradient/bfloat16 gradient/complex64 gradient/float16 gradient/float32 "
            "gradient/float64 method/float32 second/float64"
        ),
        "complex": "forward/float16 gradient/float16",
        "view_as_complex": "forward/float16 gradient/float16",
    },
    "rounding in half precision: more than twice PyTorch's error": {
        "cov": "gradient/float16",
        "nn.functional.embedding_bag": "forward/bfloat16",
        "nn.functional.linear_cross_entropy/chunked_none": "gradient/bfloat16 gradient/float16",
        "nn.functional.poisson_nll_loss": "gradient/bfloat16",
        "nn.functional.scaled_dot_product_attention": "gradient/bfloat16 gradient/float16",
    },
    "rounding: more than twice PyTorch's error": {
        "cdist": "gradient/float32",
        "special.hermite_polynomial_he": "out/float32",
    },
    "an `out=` of another type is refused that PyTorch takes for some samples": {
        "linalg.matrix_power": "out/float32",
    },
    "whether PyTorch's clamp to [-1, 1] cuts the gradient on the diagonal depends on rounding": {
        "corrcoef": "gradient/bfloat16 gradient/float16",
    },
    "which of equal elements comes first is not determined": {
        "argsort": "forward/bfloat16 forward/bool forward/float16",
        "mode": "gradient/bfloat16 gradient/float16",
        "msort": "gradient/bfloat16 gradient/float16",
        "sort": "gradient/bfloat16 gradient/float16",
        "topk": "gradient/bfloat16",
    },
}
"""Reason -> entry -> checks."""

EXCLUDED: dict[str, dict[str, str]] = {}
for _reason, _entries in _BY_REASON.items():
    for _key, _checks in _entries.items():
        EXCLUDED.setdefault(_key, {}).update(dict.fromkeys(_checks.split(), _reason))
