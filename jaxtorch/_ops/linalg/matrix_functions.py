"""Products and rearrangements of matrices: powers, the exponential, chains, cross products, tensor equations."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ..._core.define.op import Array, Arrays, function, functions, inner_op, methods, numpy_names, op
from ..._core.define.signature import checked, need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..._core.types import dtypes
from ..._core.types.size import need_sizes
from ..._core.types.warn_once import once
from ..common.primitives import linear_in, primitive
from ..common.rules import kind, refuse, scalar_name
from ..shapes.views import diagonal as _diagonal
from .checks import HALVES, batches, numbers, same_type, square
from .matmul import product
from .solve_and_lu import _tensor_inverse, linalg_inv, linalg_solve


def _power_name(operands: Any, statics: Any) -> str:
    n = statics[0]
    if n == 1:
        return "CloneBackward0"
    return "MmBackward0" if operands[0].ndim == 2 else "UnsafeViewBackward0"


@inner_op(grad=_power_name)
def _matrix_power(A: Array, n: int):
    """A to a power that is not negative, by repeated squaring."""
    square("linalg.matrix_power", A)
    if n == 0:
        return jnp.broadcast_to(jnp.eye(A.shape[-1], dtype=A.dtype), A.shape)
    found, power = None, A
    while True:
        if n & 1:
            found = power if found is None else product(found, power)
        n >>= 1
        if not n:
            return found
        power = product(power, power)


@numpy_names
@checked
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """A to an integer power; the inverse's where that is negative."""
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    n = operator.index(n)
    if n < 0 and input.dim() >= 2 and input.shape[-1] == input.shape[-2]:
        inverse = linalg_inv(input)
        found = inverse if n == -1 else _matrix_power(inverse, -n)
    else:
        found = _matrix_power(input, abs(n))
    return found if out is None else write_out(out, found, "linalg_matrix_power" if n not in (0, 1) else "_copied")


functions["matrix_power"] = methods["matrix_power"] = matrix_power


@inner_op(also={"input": "A"})
def linalg_matrix_exp(A: Array):
    """The exponential of square matrices."""
    square("linalg.matrix_exp", A)
    numbers("linalg.matrix_exp", A, halves=True)
    if A.size == 0:
        return A
    return _exponential(A.astype(jnp.complex128 if kind(A) == "complex" else jnp.float64)).astype(A.dtype)


_BLOCKS = 5  # Taylor's series to the power 4 * _BLOCKS - 1, exact for norms up to 1


@jax.custom_jvp
def _exponential(x: Any) -> Any:
    """The exponential of matrices in double precision: Taylor's series of a part of each, squared until it is the whole.

    What is squared is the exponential less 1 as long as its diagonal stays clear of -1: close to 1, digits would be lost.
    """
    norm = jnp.max(jnp.sum(jnp.abs(x), -2), -1)[..., None, None]
    halvings = jnp.where(jnp.isfinite(norm), jnp.maximum(jnp.ceil(jnp.log2(jnp.maximum(norm, 1))), 0), 0)
    part = x * jnp.exp2(-jnp.minimum(halvings, 1000)).astype(x.dtype)
    one = jnp.eye(x.shape[-1], dtype=x.dtype)
    second = part @ part
    powers = [one, part, second, second @ part]
    fourth = second @ second
    blocks = [sum(powers[j] / math.factorial(4 * i + j) for j in range(i == 0, 4)) for i in range(_BLOCKS)]
    less = blocks.pop()
    while blocks:
        less = less @ fourth + blocks.pop()

    def clear(less: Any) -> Any:
        diagonal = jnp.diagonal(less, axis1=-2, axis2=-1)
        return jnp.min(jnp.abs(1 + diagonal), -1)[..., None, None] > 0.5

    def square(state: Any) -> Any:
        done, is_less, total = state
        squared = total @ total
        doubled = jnp.where(is_less, 2 * total + squared, squared)
        still = is_less & clear(doubled)
        doubled = jnp.where(is_less & ~still, one + doubled, doubled)
        return done + 1, jnp.where(done < halvings, still, is_less), jnp.where(done < halvings, doubled, total)

    start = (jnp.zeros((), norm.dtype), jnp.ones_like(norm, bool), less)
    _, is_less, total = lax.while_loop(lambda state: state[0] < jnp.max(halvings), square, start)
    return jnp.where(is_less, one + total, total)


def _turned_with(t: Any, x: Any) -> Any:
    """The derivative of the exponential at x in the direction t: a corner of the exponential of the matrix of both."""
    n = x.shape[-1]
    rows = [jnp.concatenate([x, t], -1), jnp.concatenate([jnp.zeros_like(x), x], -1)]
    return _exponential(jnp.concatenate(rows, -2))[..., :n, n:]


_turned_p = primitive("matrix_exp_tangent", _turned_with)
linear_in(_turned_p, _turned_with, 1, lambda g, x: [_turned_p.bind(g, jnp.swapaxes(x, -1, -2))])


@_exponential.defjvp
def _exponential_rule(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _exponential(x), _turned_p.bind(t, x)


functions["matrix_exp"] = methods["matrix_exp"] = linalg_matrix_exp


# -- chains


def _chain_error(text: str) -> RuntimeError:
    return RuntimeError(f"multi_dot(): {text}")


_WORDS = {
    "Float": "float", "Double": "double", "Half": "c10::Half", "BFloat16": "c10::BFloat16", "Long": "long int", "Int": "int",
    "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>",
}  # fmt: skip


def _check_chain(tensors: Arrays) -> None:
    n = len(tensors)
    if n < 2:
        raise _chain_error(f"expected at least 2 tensors but got {n}")
    if tensors[0].ndim not in (1, 2):
        raise _chain_error(f"the first tensor must be 1D or 2D but got {tensors[0].ndim}D")
    if tensors[-1].ndim not in (1, 2):
        raise _chain_error(f"the last tensor must be 1D or 2D but got {tensors[-1].ndim}D")
    for i, x in enumerate(tensors[1:-1], 1):
        if x.ndim != 2:
            raise _chain_error(f"tensor {i} must be 2D but got {x.ndim}D")
    first = tensors[0]
    for i, x in enumerate(tensors[1:], 1):
        if x.dtype != first.dtype:
            a, b = (_WORDS.get(scalar_name(y), scalar_name(y)) for y in (first, x))
            raise _chain_error(f"all tensors must have be the same dtype but tensor 0 is {a} and tensor {i} {b}")
    for i, (a, b) in enumerate(itertools.pairwise(tensors)):
        if a.shape[-1] != b.shape[0]:
            raise _chain_error(
                f"tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied"
            )


def _best_splits(sizes: list[int]) -> list[list[int]]:
    """Where to split each run of matrices so that the number of multiplications is least."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)
    return split


def chained(tensors: Arrays) -> Any:
    """The product of matrices (vectors at the ends allowed) in the cheapest order."""
    rows, columns = tensors[0].ndim == 1, tensors[-1].ndim == 1
    xs = list(tensors)
    xs[0] = xs[0][None] if rows else xs[0]
    xs[-1] = xs[-1][:, None] if columns else xs[-1]
    split = _best_splits([x.shape[0] for x in xs] + [xs[-1].shape[1]])

    def run(i: int, j: int) -> Any:
        if i == j:
            return xs[i]
        k = split[i][j]
        return product(run(i, k), run(k + 1, j))

    found = run(0, len(xs) - 1)
    return found.reshape(tensors[0].shape[:-1] + tensors[-1].shape[1:])


@op(function=False, method=False, grad="ViewBackward0")
def linalg_multi_dot(tensors: Arrays):
    """The product of two or more matrices in the cheapest order; the first and the last may be vectors."""
    _check_chain(tensors)
    return chained(tensors)


@function("chain_matmul")
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of matrices in the cheapest order."""
    once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, with a list."
    )
    for i, x in enumerate(matrices):
        if not isinstance(x, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}")
        if x.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {x.dim()}, expected 2 instead.")
    if len(matrices) == 1:
        return matrices[0] if out is None else write_out(out, matrices[0], "chain_matmul")
    return linalg_multi_dot(list(matrices), out=out)


# -- products of vectors


@op(function=False, method=False, grad="SumBackward1")
def linalg_vecdot(x: Array, y: Array, *, dim: int = -1):
    """The sum of conj(x) * y along a dimension, broadcast."""
    numbers("linalg.vecdot", x, halves=True)
    same_type("linalg.vecdot", x, y, ("x", "y"))
    shape = batches(x.shape, y.shape)
    axis = 0 if x.ndim == y.ndim == 1 else strides.wrap_dim(dim, len(shape))
    terms = jnp.conj(x) * y if kind(x) == "complex" else x * y
    wide = terms.astype(jnp.float32) if x.dtype in HALVES else terms
    return jnp.sum(wide, axis).astype(x.dtype) if wide.ndim else terms


def _cross(input: Any, other: Any, dim: Any) -> Any:
    name = "linalg.cross"
    if input.ndim != other.ndim:
        raise RuntimeError(f"{name}: inputs must have the same number of dimensions.")
    shape = batches(input.shape, other.shape)
    axis = strides.wrap_dim(dim, len(shape))
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"{name}: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    refuse("cross", input, "bool")
    if input.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {scalar_name(input)} but found {scalar_name(other)}")
    a, b = (jnp.moveaxis(jnp.broadcast_to(x, shape), axis, 0) for x in (input, other))
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack(parts, axis)


@op(function=False, method=False)
def linalg_cross(input: Array, other: Array, *, dim: int = -1):
    """The cross product of vectors of three elements, broadcast."""
    return _cross(input, other, dim)


@op(grad="LinalgCrossBackward0")
def cross(input: Array, other: Array, dim: int | None = None):
    """The cross product along a dimension, by default the first of size 3."""
    if dim is None:
        once(
            "Using torch.cross without specifying the dim arg is deprecated.\nGive the dim, or use torch.linalg.cross, whose "
            "default is the last dimension."
        )
        if input.ndim != other.ndim:
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _cross(input, other, dim)


# -- Vandermonde matrices


@inner_op(grad="CatBackward0", saved=["x"])
def _vander(x: Array, N: int | None):
    if kind(x) == "bool" or x.dtype in HALVES:
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {scalar_name(x)}"
        )
    n = x.shape[-1] if x.ndim and N is None else N if N is not None else 0
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = jnp.atleast_1d(x)
    repeated = jnp.broadcast_to(x[..., None], (*x.shape, n - 1))
    return jnp.concatenate([jnp.ones((*x.shape, 1), x.dtype), jnp.cumprod(repeated, -1, dtype=x.dtype)], -1)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element along a new last dimension; N is the length of x by default."""
    need_tensor(x, "linalg_vander", "x")
    return _vander(x if x.dtype.is_floating_point or x.dtype.is_complex or x.dtype is dtypes.bool_ else x.long(), N)


# -- tensor equations and parts


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices, as a view."""
    return _diagonal(A, offset, dim1, dim2)


@numpy_names
def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of the map from the dimensions of `A` from `ind` on to those before."""
    need_kind("linalg_tensorinv", "ind", "int", ind)
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    after, before = tuple(input.shape[ind:]), tuple(input.shape[:ind])
    if math.prod(after) != math.prod(before):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{math.prod(after)} != {math.prod(before)}"
        )
    found = _tensor_inverse(input.reshape(math.prod(before), math.prod(after))).reshape(*after, *before)
    return found if out is None else write_out(out, found, "linalg_tensorinv")


@numpy_names
@checked
def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """X of tensordot(A, X, X.ndim) = B; `dims` of A are moved to its end first."""
    if dims is not None:
        need_sizes("linalg_tensorsolve", "dims", dims)
        input = input.movedim(tuple(dims), tuple(range(input.dim() - len(dims), input.dim())))
    after, before = tuple(input.shape[other.dim() :]), tuple(input.shape[: other.dim()])
    if math.prod(after) != math.prod(before):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(after)} != {math.prod(before)}"
        )
    found = linalg_solve(input.reshape(math.prod(before), math.prod(after)), other.flatten()).reshape(after)
    return found if out is None else write_out(out, found, "linalg_tensorsolve")
