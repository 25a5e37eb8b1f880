"""What the operations of `linalg` share: checks of their arguments, and errors that only the data can show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.record.value_checks import flag
from ..._core.types import dtypes
from ..common.rules import kind, scalar_name

HALVES = (dtypes.float16.np, dtypes.bfloat16.np)


class LinAlgError(RuntimeError):
    """A matrix that the operation cannot work on: singular, not positive-definite, or without convergence."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = __name__.split(".")[0] + "._C"


def matrix(name: str, x: Any, argument: str = "A") -> None:
    """RuntimeError unless the array has at least two dimensions."""
    if x.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")


def square(name: str, x: Any, argument: str = "A") -> None:
    """RuntimeError unless the array is a matrix of equal sides, or a batch of them."""
    matrix(name, x, argument)
    if x.shape[-1] != x.shape[-2]:
        prefix = f"{name}: " if name else ""
        raise RuntimeError(
            f"{prefix}{argument} must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )


def numbers(name: str, x: Any, halves: bool = False) -> None:
    """RuntimeError for integers and, unless `halves`, for half precision: LAPACK has no routines for them."""
    if kind(x) in ("bool", "int"):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {scalar_name(x)}")
    if (x.dtype in HALVES or x.dtype.itemsize == 1) and not halves:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {scalar_name(x)}")


def checked_dtype(name: str, x: Any, dtype: Any) -> Any:
    """`x` in the type that `dtype=` asks for, with PyTorch's errors where it cannot be."""
    if dtype is None:
        return x
    shown = dtypes.scalar_name(dtype)
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {shown}")
    is_complex = kind(x) == "complex"
    if dtype.is_complex != is_complex:
        which = "complex" if is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {which} for {which} inputs, but got {shown}")
    if dtypes.promote(dtypes.from_numpy(x.dtype), dtype) is not dtype:
        raise RuntimeError(
            f"{name}: the dtype of the input ({scalar_name(x)}) should be convertible without narrowing to the specified "
            f"dtype ({shown})"
        )
    return x.astype(dtype.np)


def same_type(name: str, first: Any, second: Any, words: tuple[str, str] = ("A", "B")) -> None:
    """RuntimeError unless two arrays have one element type."""
    if first.dtype != second.dtype:
        raise RuntimeError(
            f"{name}: Expected {words[0]} and {words[1]} to have the same dtype, but found {words[0]} of type "
            f"{scalar_name(first)} and {words[1]} of type {scalar_name(second)} instead"
        )


def adjoint(x: Any) -> Any:
    """The conjugate transpose of matrices."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def transpose(x: Any) -> Any:
    return jnp.swapaxes(x, -1, -2)


def real_type(x: Any) -> Any:
    """The element type of the absolute values of an array."""
    return np.dtype(x.dtype).type(0).real.dtype


def batches(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The common batch shape of matrices."""
    common: tuple[int, ...] = ()
    for other in shapes:
        rank = max(len(common), len(other))
        a, b = (1,) * (rank - len(common)) + common, (1,) * (rank - len(other)) + other
        for dim in reversed(range(rank)):
            if a[dim] != b[dim] and 1 not in (a[dim], b[dim]):
                raise RuntimeError(
                    f"The size of tensor a ({a[dim]}) must match the size of tensor b ({b[dim]}) at non-singleton dimension "
                    f"{dim}"
                )
        common = np.broadcast_shapes(a, b)
    return common


def spread(x: Any, batch: tuple[int, ...]) -> Any:
    """Matrices broadcast over a batch shape."""
    return x if x.shape[:-2] == batch else jnp.broadcast_to(x, (*batch, *x.shape[-2:]))


def report(info: Any, name: str, text: Callable[[int], str], error: type[Exception] = LinAlgError) -> None:
    """Flag an error where a batch of LAPACK's codes is not 0: `text(code)` of the first that fails."""
    if not info.size:
        return
    wide = info.astype(jnp.int64).reshape(-1)
    first = jnp.argmax(wide != 0)
    code = jnp.where(wide[first] != 0, (first + 1) << 32 | wide[first], 0)
    single = info.ndim == 0

    def made(code: int) -> Exception:
        where = "" if single else f"(Batch element {(code >> 32) - 1}): "
        return error(f"{name}: {where}{text(code & 0xFFFFFFFF)}")

    made.at_once = True  # `try: cholesky(x)`, and more on the diagonal where that fails
    flag(code, made)


def zero_pivot(code: int) -> str:
    return f"The diagonal element {code} is zero, the inversion could not be completed because the input matrix is singular."


def first_bad(bad: Any) -> Any:
    """1 + the index of the first True along the last axis, 0 where there is none; int32, as LAPACK counts."""
    if bad.shape[-1] == 0:
        return jnp.zeros(bad.shape[:-1], jnp.int32)
    return jnp.where(jnp.any(bad, -1), jnp.argmax(bad, -1) + 1, 0).astype(jnp.int32)


@jax.custom_jvp
def reflected(x: Any) -> Any:
    """The Hermitian matrix that a lower triangle stands for. Like PyTorch, its derivative counts the input as Hermitian
    already: the tangent passes as it is."""
    lower = jnp.tril(x, -1)
    return jnp.where(jnp.eye(x.shape[-1], dtype=bool), jnp.real(x), lower + adjoint(lower)).astype(x.dtype)


@reflected.defjvp
def _reflected_rule(primals: Any, tangents: Any) -> Any:
    return reflected(*primals), tangents[0]
