"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from .._core import dtypes
from .._core.op import Array, Arrays, Scalar, function, functions, op
from .._core.tensor import Tensor, write_out
from .products import times

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
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{_batch(input)}, {inner}] but got: "
            f"[{_batch(other)}, {outer}]."
        )
    try:
        return product(input, other)
    except (TypeError, ValueError):
        from .._core.strides import broadcast_shapes

        broadcast_shapes(input.shape[:-2], other.shape[:-2])
        raise


def _shape(a: Any) -> str:
    return "x".join(map(str, a.shape))


def _batch(a: Any) -> int:
    n = 1
    for s in a.shape[:-2]:
        n *= s
    return n


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


def _check_batches(name: str, a: Any, b: Any) -> None:
    if a.ndim != 3:
        raise RuntimeError("batch1 must be a 3D tensor")
    if b.ndim != 3:
        raise RuntimeError("batch2 must be a 3D tensor")
    if a.shape[0] != b.shape[0] or a.shape[2] != b.shape[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] but got: "
            f"[{b.shape[0]}, {b.shape[1]}]."
        )
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


@op(function=False, method=False, name="_inner", grad="InnerBackward0")
def _inner(input: Array, other: Array):
    return jnp.tensordot(input, other, axes=(-1, -1))


@function("inner", method=True)
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product over the last dimension of both; the plain product where one is a scalar."""
    if input.ndim and other.ndim:
        if input.shape[-1] != other.shape[-1]:
            raise RuntimeError(
                f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
                f"{list(other.shape)}"
            )
        if input.dtype is not other.dtype:
            raise RuntimeError("both inputs should have same dtype")
        result = _inner(input, other)
    else:
        result = functions["mul"](input, other)
    return result if out is None else write_out(out, result, "inner")


@op(promote=True, aliases=["ger"])
def outer(input: Array, vec2: Array):
    """The outer product of two vectors."""
    if input.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument self, but got {input.ndim}-D")
    if vec2.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D argument vec2, but got {vec2.ndim}-D")
    return input[:, None] * vec2[None, :]


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
    result = vec1.astype(common)[:, None] * vec2.astype(common)[None, :]
    return _scaled_sum(input.astype(common), result, beta, alpha, shape)


def _contracted_types(operands: Any, equation: str) -> None:
    """Products that are summed over do not promote; those of elements do."""
    given, arrow, out = equation.partition("->")
    specs = given.split(",")
    for j in range(1, len(operands)):
        if operands[j].dtype == operands[0].dtype:
            continue
        kept = out if arrow else "".join(c for c in given if given.count(c) == 1)
        for i in range(len(operands)):
            both = set(specs[i]) & set(specs[j]) - {"."} if i != j and operands[i].dtype != operands[j].dtype else ()
            if any(
                c not in kept and 1 not in (_size(operands[i], specs[i], c), _size(operands[j], specs[j], c))
                for c in both
            ):
                first, second = sorted((i, j))
                raise RuntimeError(f"expected scalar type {_word(operands[first])} but found {_word(operands[second])}")


def _size(a: Any, spec: str, letter: str) -> int:
    head = spec.partition("...")[0]
    return a.shape[head.index(letter)] if letter in head else a.shape[spec.rindex(letter) - len(spec)]


@op(function=False, method=False, out=False, name="_einsum", grad="EinsumBackward0")
def _einsum(operands: Arrays, equation: str):
    _contracted_types(operands, equation)
    return jnp.einsum(equation, *operands)


@function("einsum")
def einsum(*args: Any) -> Tensor:
    """Sums of products by Einstein's convention: `einsum('ij,jk->ik', a, b)`, or operands with lists of indices."""
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(args[0], Tensor):
        operands, parts = [], []
        rest = list(args)
        while len(rest) >= 2:
            operands.append(rest.pop(0))
            parts.append(_letters(rest.pop(0)))
        equation = ",".join(parts) + ("->" + _letters(rest[0]) if rest else "")
    else:
        equation = args[0].replace(" ", "")
        operands = list(args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else list(args[1:])
    given = equation.split("->")[0].split(",")
    if len(given) != len(operands):
        more = "more" if len(operands) > len(given) else "fewer"
        raise RuntimeError(f"einsum(): {more} operands were provided than specified in the equation")
    for k, (spec, t) in enumerate(zip(given, operands, strict=True)):
        letters = spec.replace("...", "")
        if "..." not in spec and len(letters) != t.ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(letters)}) does not match the number of dimensions "
                f"({t.ndim}) for operand {k} and no ellipsis was given"
            )
    sizes: dict[str, int] = {}
    for k, (spec, t) in enumerate(zip(given, operands, strict=True)):
        if "..." in spec:
            continue
        for d, letter in enumerate(spec):
            n = t.shape[d]
            if sizes.setdefault(letter, n) != n and 1 not in (n, sizes[letter]):
                raise RuntimeError(
                    f"einsum(): subscript {letter} has size {n} for operand {k} which does not broadcast with previously seen "
                    f"size {sizes[letter]}"
                )
    if _sums_alone(equation, operands):  # as `sum` does, which PyTorch calls here
        operands = [t if t.is_floating_point() or t.is_complex() else t.to(dtypes.int64) for t in operands]
    return _einsum(operands, equation)


def _sums_alone(equation: str, operands: list[Tensor]) -> bool:
    """Does an index that is summed over belong to one operand only?"""
    given, arrow, out = equation.partition("->")
    counts: dict[Any, int] = {}
    seen: dict[Any, int] = {}
    for spec, t in zip(given.split(","), operands, strict=True):
        head, dots, tail = spec.partition("...")
        rest = range(t.ndim - len(head) - len(tail), 0, -1) if dots else ()
        labels = [*head, *rest, *tail]
        sizes = dict(zip(labels, t.shape, strict=True))
        for label, size in sizes.items():
            counts[label] = counts.get(label, 0) + (size != 1 or len(operands) == 1)
        for label in labels:
            seen[label] = seen.get(label, 0) + 1
    if not arrow:
        return any(n > 1 and counts[label] == 1 for label, n in seen.items() if isinstance(label, str))
    return any(
        n == 1 for label, n in counts.items() if (label not in out if isinstance(label, str) else "..." not in out)
    )


def _letters(subscripts: Any) -> str:
    return "".join("..." if s is Ellipsis else chr(65 + s) if s < 26 else chr(71 + s) for s in subscripts)


@op(function=False, method=False, name="_tensordot", grad="TensordotBackward0")
def _tensordot(a: Array, b: Array, dims: Any):
    for i, j in zip(*dims, strict=True):  # a contracted dimension of size 1 is broadcast: the other side is summed
        if a.shape[i] != b.shape[j]:
            a = a if a.shape[i] == 1 else a.sum(i, a.dtype, keepdims=True)
            b = b if b.shape[j] == 1 else b.sum(j, b.dtype, keepdims=True)
    return jnp.tensordot(a, b, axes=(list(dims[0]), list(dims[1])))


@function("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """The product of two tensors summed over `dims`: a number of dimensions, or two lists of them."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims = (tuple(range(-dims, 0)), tuple(range(dims)))
    else:
        dims = tuple(tuple(d) if isinstance(d, (list, tuple)) else (d,) for d in dims)
        if len(dims[0]) != len(dims[1]):
            raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    for i, j in zip(dims[0], dims[1], strict=True):
        if a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]):
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {i} and second has size "
                f"{b.shape[j]} in dim {j}"
            )
    result = _tensordot(a, b, dims)
    if out is None:
        return result
    return write_out(out, result, "tensordot")


@op(promote=True, grad="UnsafeViewBackward0")
def kron(input: Array, other: Array):
    """The Kronecker product."""
    if input.dtype == jnp.bool_:
        return jnp.kron(input.astype(jnp.int8), other.astype(jnp.int8)).astype(jnp.bool_)
    return jnp.kron(input, other)
