"""Norms of vectors and matrices as `torch.linalg` has them, and the condition number."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Ints, Number, Sizes, inner_op, numpy_names, op
from ..._core.define.signature import need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..._core.types.size import need_sizes
from ..common import nan_extremes
from ..reductions.reductions import bad_call
from .checks import checked_dtype, numbers
from .eigen_and_svd import svdvals_of
from .solve_and_lu import inverse_of
from .vector_norm import checked_norm, order_of, vector_norm


@op(function=False, method=False, saved=["result"], also={"input": "x"})
def linalg_vector_norm(
    x: Array, ord: Number = 2, dim: Ints | None = None, keepdim: bool = False, *, dtype: object = None
):
    """The p-norm over dimensions (an int, a tuple, None for all) of floating-point or complex numbers."""
    numbers("linalg.vector_norm", x, halves=True)
    return checked_norm(checked_dtype("linalg.vector_norm", x, dtype), order_of(ord), dim, bool(keepdim), None)


def singular_values(x: Any) -> Any:
    """The singular values of matrices, largest first."""
    return svdvals_of(x, "linalg.svd")


def _extreme(values: Any, axis: int, largest: bool, keepdim: bool) -> Any:
    if values.shape[axis] == 0:
        if largest:
            return jnp.sum(values, axis, keepdims=keepdim)
        raise IndexError(f"amin(): Expected reduction dim {axis} to have non-zero size.")
    return (nan_extremes.largest if largest else nan_extremes.smallest)(values, axis, keepdims=keepdim)


def matrix_norm_of(x: Any, ord: Any) -> Any:
    """The norm of matrices in the last two dimensions, which are dropped."""
    if ord == "fro":
        return checked_norm(x, 2.0, (-2, -1), False, None)
    if ord == "nuc":
        return jnp.sum(singular_values(x), -1)
    if abs(ord) == 2:
        return _extreme(singular_values(x), -1, ord > 0, False)
    axis = -2 if abs(ord) == 1 else -1
    sums = jnp.squeeze(vector_norm(x, 1.0, (axis,)), axis)  # jnp.abs has the slope 1 at 0
    return _extreme(sums, -1, ord > 0, False)


def _check_order(ord: Any) -> None:
    if isinstance(ord, str):
        bad = ord not in ("fro", "nuc")
    else:
        bad = not (abs(ord) in (1, 2) or math.isinf(ord))
    if bad:
        raise RuntimeError(
            f"linalg.matrix_norm: Order {ord if isinstance(ord, str) else format(ord, 'g')} not supported."
        )


def _norm_name(operands: Any, statics: Any) -> str:
    ord = statics[0][1] if isinstance(statics[0], tuple) else statics[0]
    if isinstance(ord, str):
        return "LinalgVectorNormBackward0" if ord == "fro" else "SumBackward1"
    return "AmaxBackward0" if ord > 0 else "AminBackward0"


@inner_op(grad=_norm_name, saved=["result"])
def _matrix_norm(A: Array, ord: Any, dim: Sizes, keepdim: bool, dtype: object):
    name = "linalg.matrix_norm"
    numbers(name, A, halves=True)
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    _check_order(ord)
    first, second = (strides.wrap_dim(d, A.ndim) for d in dim)
    if first == second:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "nuc" or (not isinstance(ord, str) and abs(ord) == 2):
        numbers(name, A)
    x = checked_dtype(name, A, dtype)
    found = matrix_norm_of(jnp.moveaxis(x, (first, second), (-2, -1)), ord)
    return jnp.expand_dims(found, tuple(sorted((first, second)))) if keepdim else found


@numpy_names
def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The norm of matrices: 'fro', 'nuc', or 1, -1, 2, -2, inf, -inf. Shapes: (..., m, n) to (...)."""
    if not isinstance(dim, (tuple, list)):
        bad_call(
            "linalg_matrix_norm", (input, ord, dim), {},
            ["Tensor input, Number ord, tuple of ints dim = {-2,-1}, bool keepdim = False, *, torch.dtype dtype = None, Tensor "
             "out = None", "Tensor input, str ord = \"fro\", tuple of ints dim = {-2,-1}, bool keepdim = False, *, torch.dtype "
             "dtype = None, Tensor out = None"],
        )  # fmt: skip
    if not isinstance(ord, str):
        need_kind("linalg_matrix_norm", "ord", "Number", ord)
    need_sizes("linalg_matrix_norm", "dim", dim)
    found = _matrix_norm(input, ord, tuple(dim), keepdim, dtype)
    return found if out is None else write_out(out, found, "linalg_matrix_norm")


@numpy_names
def norm(
    input: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
) -> Tensor:
    """A vector norm over one dimension (or all of them, with no `ord`), a matrix norm over two."""
    need_tensor(input, "linalg_norm", "A")
    if ord is None:
        found = linalg_vector_norm(input, 2, dim, keepdim, dtype=dtype)
    else:
        if dim is None:
            if input.dim() not in (1, 2):
                raise RuntimeError(
                    f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D."
                )
        else:
            dim = (dim,) if hasattr(dim, "__index__") else tuple(dim)
            if len(dim) not in (1, 2):
                raise RuntimeError(
                    f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got [{', '.join(map(str, dim))}]"
                )
        if isinstance(ord, str) or (dim is not None and len(dim) == 2) or (dim is None and input.dim() == 2):
            found = matrix_norm(
                input, ord, (-2, -1) if dim is None and input.dim() == 2 else dim or (0,), keepdim, dtype=dtype
            )
        else:
            found = linalg_vector_norm(input, ord, dim, keepdim, dtype=dtype)
    return found if out is None else write_out(out, found, "linalg_norm")


def _condition_name(operands: Any, statics: Any) -> str:
    p = statics[0][1] if isinstance(statics[0], tuple) else statics[0]
    if isinstance(p, str):
        return "NanToNumBackward0" if p == "fro" else "MulBackward0"
    return "SqueezeBackward1" if p is None or abs(p) == 2 else "NanToNumBackward0"


@inner_op(grad=_condition_name, unsaved=["A"])
def _condition(A: Array, p: Any):
    name = "linalg.cond"
    if A.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor must have at least 2 dimensions.")
    if p is not None and (p not in ("fro", "nuc") if isinstance(p, str) else not (abs(p) in (1, 2) or math.isinf(p))):
        raise RuntimeError(f"{name} got an invalid norm type: {p}")
    if p is None or (not isinstance(p, str) and abs(p) == 2):
        s = singular_values(A)
        if A.size == 0:
            return jnp.zeros(A.shape[:-2], s.dtype)
        largest, smallest = s[..., 0], s[..., -1]
        return smallest / largest if p == -2 else largest / smallest
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(f"{name}(ord={p if isinstance(p, str) else format(p, 'g')}): A must be batches of square matrices, "
                           f"but they are {A.shape[-2]} by {A.shape[-1]} matrices")  # fmt: skip
    numbers(name, A, halves=True)
    if A.size == 0:
        return jnp.zeros(A.shape[:-2], np.abs(np.zeros(0, A.dtype)).dtype)
    inverse, info = inverse_of(A)
    product = matrix_norm_of(A, p) * matrix_norm_of(inverse, p)
    return jnp.where(info != 0, jnp.inf, product).astype(product.dtype)


@numpy_names
def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number of matrices in a norm (2 by default); inf where they are singular."""
    if p is not None and not isinstance(p, str):
        need_kind("linalg_cond", "p", "Number", p)
    found = _condition(input, p)
    return found if out is None else write_out(out, found, "linalg_cond")
