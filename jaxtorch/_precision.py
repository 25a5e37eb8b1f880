"""The precision of float32 matrix products."""

from __future__ import annotations

import warnings

from ._core import context as _context


def set_float32_matmul_precision(precision: str) -> None:
    """'highest' (float32, the default), 'high' (TF32 on GPUs) or 'medium' (JAX's fastest); programs are traced again.

    It acts where the hardware has a choice: not on the CPU. Anything else is ignored with a warning.
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no "
            "effect.",
            stacklevel=2,
        )
        return
    _context.set_matmul_precision(precision)


def get_float32_matmul_precision() -> str:
    """'highest', 'high' or 'medium'."""
    return _context._Precision.name
