"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp

from ..._core.define.op import Array, Scalar, op
from ..._core.tensor.strides import broadcast_shapes, wrap_dim
from ..._core.types import dtypes
from ..common.product_primitives import times
from ..common.rules import unsupported

_C_NAMES = {"Long": "long int", "Int": "int", "Float": "float", "Double": "double", "Half": "c10::Half",
            "BFloat16": "c10::BFloat16", "Bool": "bool"}  # fmt: skip


def _word(a: Any) -> str:
    return dtypes.scalar_name(dtypes.from_numpy(a.dtype))


def _added_type(input: Any, a: Any, b: Any) -> None:
    """What is added to a product has its element type."""
    if a.dtype != b.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {_word(a)} and {_word(b)}")
    if input.dtype != a.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {_word(input)} and {_word(b)}")


def _vector_type(input: Any, mat: Any, vec: Any) -> None:
    if not input.dtype == mat.dtype == vec.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {_word(input)}, {_word(mat)}, and {_word(vec)}"
        )


def _same_type(name: str, *arrays: Any) -> None:
    """Matrix products do not promote: PyTorch demands one element type."""
    first = arrays[0].dtype
    for a in arrays[1:]:
        if a.dtype != first:
            x, y = (dtypes.scalar_name(dtypes.from_numpy(t)) for t in (first, a.dtype))
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {_C_NAMES.get(x, x)} != {_C_NAMES.get(y, y)} (in {name})"
            )


def product(a: Any, b: Any) -> Any:
    """`a @ b`; booleans are refused as PyTorch does, and small integers wrap around in their own type."""
    if a.dtype == jnp.bool_ and a.size and b.size:
        many = a.ndim > 2 and b.ndim > 2
        name = (
            "bmm"
            if many
            else "dot"
            if a.ndim == b.ndim == 1
            else "addmv_impl_cpu"
            if b.ndim == 1
            else "addmm_impl_cpu_"
        )
        raise NotImplementedError(f"\"{name}\" not implemented for 'Bool'")
    return times(a, b)


def _shapes(a: Any, b: Any) -> str:
    return f"{'x'.join(map(str, a.shape))} and {'x'.join(map(str, b.shape))}"


def _matmul_name(operands: Any, statics: Any) -> str:
    a, b = operands[0].ndim, operands[1].ndim
    if a == 1 and b == 1:
        return "DotBackward0"
    if a == 2 and b == 2:
        return "MmBackward0"
    if a == 2 and b == 1:
        return "MvBackward0"
    if a == 1 and b == 2:
        return "SqueezeBackward4"
    if b <= 2 and a > 2:
        return "UnsafeViewBackward0" if b == 2 else "ViewBackward0"
    if a == 1:
        return "SqueezeBackward1"
    return "UnsafeViewBackward0"


@op(operator="matmul", grad=_matmul_name, aliases=[])
def matmul(input: Array, other: Array):
    """The matrix product of two tensors: of vectors, matrices, or batches of matrices (broadcast)."""
    if input.ndim == 0 or other.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {input.ndim}D and {other.ndim}D"
        )
    if input.dtype != other.dtype and other.ndim == 1 and input.ndim <= 2:
        x, y = (dtypes.scalar_name(dtypes.from_numpy(a.dtype)) for a in (input, other))
        if input.ndim == 1:
            raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {x} and {y}")
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {y}, {x}, and {y}")
    _same_type("matmul", input, other)
    inner, outer = input.shape[-1], other.shape[-2 if other.ndim > 1 else 0]
    if inner != outer:
        if input.ndim == 1 and other.ndim == 1:
            raise RuntimeError(
                f"inconsistent tensor size, expected tensor {list(input.shape)} and src {list(other.shape)} to have the same "
                f"number of elements, but got {inner} and {outer} elements respectively"
            )
        if input.ndim <= 2 and other.ndim <= 2:
            if other.ndim == 1:
                raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({_shape(input)}), vec ({outer})")
            left = input if input.ndim == 2 else input[None]
            raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shapes(left, other)})")
        if input.ndim > 2 and other.ndim <= 2:
            flat = input.reshape(-1, inner)
            if other.ndim == 2:
                raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shapes(flat, other)})")
            raise RuntimeError(f"size mismatch, got input ({flat.shape[0]}), mat ({_shape(flat)}), vec ({outer})")
        batch = math.prod(broadcast_shapes(input.shape[:-2], other.shape[:-2]))
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {inner}] but got: [{batch}, {outer}]."
        )
    try:
        return product(input, other)
    except (TypeError, ValueError):
        broadcast_shapes(input.shape[:-2], other.shape[:-2])
        raise


def _shape(a: Any) -> str:
    return "x".join(map(str, a.shape))


@op(inplace=False)
def mm(input: Array, mat2: Array):
    """The product of two matrices, (n, m) and (m, p)."""
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    if input.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shapes(input, mat2)})")
    _same_type("mm", input, mat2)
    return product(input, mat2)


@op(inplace=False, method=False, differentiable=False)
def _int_mm(input: Array, mat2: Array):
    """The product of two int8 matrices, (n, m) and (m, p), in int32; the first one may be uint8."""
    for name, a in (("self", input), ("mat2", mat2)):
        if a.ndim != 2:
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} to be of dimension 2 but got {a.ndim}")
    if input.shape[1] != mat2.shape[0]:
        sizes = f"{input.shape[1]} and {mat2.shape[0]}"
        raise RuntimeError(f"int_mm_out_cpu: self.size(1) needs to match mat2.size(0) but got {sizes}")
    for name, a, kind in (("self", input, "to be int8 or uint8"), ("mat2", mat2, "to be of type int8")):
        if a.dtype != jnp.int8 and not (a is input and a.dtype == jnp.uint8):
            raise RuntimeError(f"int_mm_out_cpu: Expected {name} dtype {kind} but got {_word(a).lower()}")
    return jnp.matmul(input.astype(jnp.int32), mat2.astype(jnp.int32))


def _check_batches(name: str, a: Any, b: Any) -> None:
    if a.ndim < 2 and name != "bmm":  # PyTorch asks for its sizes first
        raise IndexError(f"Dimension out of range (expected to be in range of [-{a.ndim}, {a.ndim - 1}], but got 2)")
    if b.ndim < 3 and name != "bmm":
        raise IndexError(f"Dimension out of range (expected to be in range of [{-b.ndim}, {b.ndim - 1}], but got 2)")
    if a.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if b.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
    if name == "bmm" and a.dtype == jnp.bool_:
        unsupported("bmm", a)
    if a.dtype != b.dtype and name != "addbmm":
        raise RuntimeError(f"expected scalar type {_word(a)} but found {_word(b)}")


@op()
def bmm(input: Array, mat2: Array):
    """The products of two batches of matrices, (b, n, m) and (b, m, p)."""
    _check_batches("bmm", input, mat2)
    return product(input, mat2)


@op()
def mv(input: Array, vec: Array):
    """The product of a matrix (n, m) and a vector (m)."""
    if not input.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({input.shape[0]}), mat ({_shape(input)}), vec ({vec.shape[0]})")
    _vector_type(vec, input, vec)
    return product(input, vec)


def _check_vectors(a: Any, b: Any) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        x, y = (dtypes.scalar_name(dtypes.from_numpy(t.dtype)) for t in (a, b))
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {x} and {y}")
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor {list(a.shape)} and src {list(b.shape)} to have the same number of "
            f"elements, but got {a.size} and {b.size} elements respectively"
        )


@op()
def dot(input: Array, tensor: Array):
    """The inner product of two vectors, without conjugation."""
    _check_vectors(input, tensor)
    return product(input, tensor)


@op()
def vdot(input: Array, other: Array):
    """The inner product of two vectors, the first conjugated."""
    _check_vectors(input, other)
    return product(jnp.conj(input), other)


def _wide_product(a: Any, b: Any) -> Any:
    """`a @ b`, of half precision in float32: so `_scaled_sum` rounds once."""
    if a.dtype in (jnp.float16, jnp.bfloat16) and a.dtype == b.dtype:
        return jnp.matmul(a, b, preferred_element_type=jnp.float32)
    return product(a, b)


def _scaled_sum(input: Any, result: Any, beta: Any, alpha: Any, shape: tuple[int, ...]) -> Any:
    """`beta * input + alpha * result`; `input` is not read at all (NaN or not) where beta is 0."""
    dtype = input.dtype if input.dtype in (jnp.float16, jnp.bfloat16) else None
    if dtype is not None:
        input = input.astype(result.dtype)
    if not isinstance(alpha, (int, float)):
        result = result * alpha.astype(result.dtype)
    if isinstance(beta, (int, float)):
        total = jnp.broadcast_to(input, shape) + result
    else:
        scale = beta.astype(result.dtype)
        total = jnp.where(scale == 0, jnp.zeros((), result.dtype), jnp.broadcast_to(input, shape) * scale) + result
    return total if dtype is None else total.astype(dtype)


def _expandable(input: Any, shape: tuple[int, ...]) -> None:
    try:
        fits = jnp.broadcast_shapes(input.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        target, own = list(shape), list(input.shape)
        lead = len(target) - len(own)
        if lead < 0:
            raise RuntimeError(
                f"expand({own}, size={target}): the number of sizes provided ({len(target)}) must be greater or equal to the "
                f"number of dimensions in the tensor ({len(own)})"
            )
        d = next(i for i in range(len(target)) if i >= lead and own[i - lead] not in (1, target[i]))
        raise RuntimeError(
            f"The expanded size of the tensor ({target[d]}) must match the existing size ({own[d - lead]}) at non-singleton "
            f"dimension {d}.  Target sizes: {target}.  Tensor sizes: {own}"
        )


@op(inplace=True, numbers_first=["beta", "alpha"])
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * (mat1 @ mat2)`."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        which = "mat1" if mat1.ndim != 2 else "mat2"
        raise RuntimeError(f"{which} must be a matrix, got {(mat1 if which == 'mat1' else mat2).ndim}-D tensor")
    _added_type(input, mat1, mat2)
    if mat1.shape[1] != mat2.shape[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({_shapes(mat1, mat2)})")
    shape = (mat1.shape[0], mat2.shape[1])
    _expandable(input, shape)
    return _scaled_sum(input, _wide_product(mat1, mat2), beta, alpha, shape)


@op(inplace=True, numbers_first=["beta", "alpha"])
def addmv(input: Array, mat: Array, vec: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * (mat @ vec)`."""
    if mat.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if mat.shape[1] != vec.shape[0]:
        raise RuntimeError(f"size mismatch, got input ({mat.shape[0]}), mat ({_shape(mat)}), vec ({vec.shape[0]})")
    _vector_type(input, mat, vec)
    _expandable(input, (mat.shape[0],))
    return _scaled_sum(input, _wide_product(mat, vec), beta, alpha, (mat.shape[0],))


@op(inplace=True, numbers_first=["beta", "alpha"])
def baddbmm(input: Array, batch1: Array, batch2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * (batch1 @ batch2)` for each matrix of the batches."""
    wrap_dim(1, batch1.ndim)
    wrap_dim(2, batch2.ndim)
    if input.dtype != batch1.dtype:
        kinds = ", ".join(
            [f"{k}: {_C_NAMES.get(_word(x), _word(x))}" for k, x in (("batch1", batch1), ("batch2", batch2))]
        )
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {_C_NAMES.get(_word(input), _word(input))}, {kinds}"
        )
    _check_batches("baddbmm", batch1, batch2)
    shape = (batch1.shape[0], batch1.shape[1], batch2.shape[2])
    _expandable(input, shape)
    return _scaled_sum(input, _wide_product(batch1, batch2), beta, alpha, shape)


@op(inplace=True, numbers_first=["beta", "alpha"])
def addbmm(input: Array, batch1: Array, batch2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * sum_i(batch1[i] @ batch2[i])`."""
    wrap_dim(1, batch1.ndim)
    wrap_dim(2, batch2.ndim)
    _check_batches("addbmm", batch1, batch2)
    if input.dtype != batch1.dtype or batch1.dtype != batch2.dtype:
        other = batch1 if input.dtype != batch1.dtype else batch2
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {_word(input)} and {_word(other)}")
    shape = (batch1.shape[1], batch2.shape[2])
    _expandable(input, shape)
    return _scaled_sum(input, jnp.einsum("bnm,bmp->np", batch1, batch2), beta, alpha, shape)


@op(inplace=True, numbers_first=["beta", "alpha"])
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Scalar = 1, alpha: Scalar = 1):
    """`beta * input + alpha * outer(vec1, vec2)`."""
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise RuntimeError(f"addr: Expected 1-D argument vec{1 if vec1.ndim != 1 else 2}")
    shape = (vec1.shape[0], vec2.shape[0])
    _expandable(input, shape)
    common = jnp.promote_types(jnp.promote_types(vec1.dtype, vec2.dtype), input.dtype)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if common != jnp.bool_ and getattr(factor, "dtype", None) == jnp.bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
    result = vec1.astype(common)[:, None] * vec2.astype(common)[None, :]
    return _scaled_sum(input.astype(common), result, beta, alpha, shape)


@op(promote=True, grad="UnsafeViewBackward0")
def kron(input: Array, other: Array):
    """The Kronecker product."""
    if input.dtype == jnp.bool_:
        return jnp.kron(input.astype(jnp.int8), other.astype(jnp.int8)).astype(jnp.bool_)
    return jnp.kron(input, other)
