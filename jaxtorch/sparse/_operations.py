"""What the operations of `torch` give for sparse tensors: elementwise ones, and those that move indices."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from .._core.define.op import functions
from .._core.run import capture
from .._core.tensor import strides
from .._core.tensor.sparse_value import answers
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._ops import sparse as _ops
from .._ops.types import constants
from ._convert import coalesce, compress, flat_places, index_tensor, to_coo, to_dense
from ._refusals import refuse_layout, refuse_sizes
from ._tensor import (
    BLOCKED,
    COO,
    TITLES,
    SparseTensor,
    alias,
    batch_dims,
    become,
    coo,
    grad_name,
    host,
    make,
    with_values,
)

TABLE: dict[str, Callable[..., Any]] = {}
"""By the name of the public function that met a sparse tensor."""


def answer(public: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Compute `public(*args, **kwargs)`, of which some arguments are sparse; NotImplementedError where nothing does."""
    capture.break_capture("an operation on a sparse tensor")
    name = public.__name__
    handler = TABLE.get(name)
    if handler is None or (args and not isinstance(args[0], SparseTensor) and _wants_sparse(handler)):
        refuse_layout(public, args)
        refuse_sizes(public, args, kwargs)
        unsupported(name, args)
    try:
        out = handler(*args, **kwargs)
    except NotImplementedError:
        refuse_layout(public, args)
        raise
    if isinstance(out, SparseTensor):
        if not out._made_by:
            out._made_by = grad_name(name)
        first, values = args[0] if args else None, out._parts[-1]
        if isinstance(first, SparseTensor) and first is not out and first._parts[-1] is values and values.requires_grad:
            out._parts = (*out._parts[:-1], alias(values))  # a place of its own in the graph
    return out


def _wants_sparse(handler: Callable[..., Any]) -> bool:
    """Is the first argument the sparse one, and no other?"""
    return next(iter(getattr(handler, "__annotations__", {}).values()), "") == "SparseTensor"


answers.append(answer)
_FOLDER = os.path.dirname(os.path.dirname(__file__)) + os.sep


def unsupported(name: str, args: Any, exact: bool = False) -> NoReturn:
    """Raise for an operation without a form for sparse tensors; `exact`: that is the name to tell."""
    found: list[Any] = [a for a in args if isinstance(a, SparseTensor)]
    for a in args:
        found += [x for x in a if isinstance(x, SparseTensor)] if isinstance(a, (list, tuple)) else []
    name = name if exact else _outermost() or name.strip("_")
    backend = TITLES[found[0]._kind] if found and found[0]._kind is COO else "SparseCsr"
    place = "CUDA" if found and found[0].is_cuda else "CPU"
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}{place}' backend: there is no {name} of sparse "
        "tensors; see Tensor.to_dense()"
    )


def _outermost() -> str:
    """The name of the function of `torch` that the program called."""
    frame, name = sys._getframe(2), ""
    while frame is not None and (
        frame.f_code.co_filename.startswith("<jaxtorch op") or _FOLDER in frame.f_code.co_filename
    ):
        found = frame.f_code.co_name.strip("_")
        if found in functions or hasattr(Tensor, found):
            name = found
        frame = frame.f_back
    return name


def on(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what operations give."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name] = fn
        return fn

    return register


# -- one by one

_UNARY = """abs absolute neg negative sin arcsin asin sinh asinh arcsinh tan atan arctan tanh atanh arctanh sqrt expm1 log1p sign
sgn signbit floor ceil trunc fix round erf erfinv deg2rad rad2deg relu isnan isinf isposinf isneginf nan_to_num frac""".split()
_LINEAR = ("neg", "negative", "deg2rad", "rad2deg")


def _unary(name: str) -> None:
    def apply(t: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        t = t if name in _LINEAR or t._kind is not COO else coalesce(t)
        return with_values(t, getattr(Tensor, name)(t._parts[-1], *args, **kwargs))

    def change(t: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        if t._kind is COO and not t._merged and name not in ("neg", "negative"):
            raise RuntimeError(f"{name}_: in-place on uncoalesced tensors is not supported")
        getattr(Tensor, name + "_")(t._parts[-1], *args, **kwargs)
        return t

    TABLE[name] = apply
    TABLE[name + "_"] = change


for _name in _UNARY:
    _unary(_name)


@on("angle")
def _angle(t: SparseTensor) -> SparseTensor:
    if t._kind is COO:
        unsupported("angle", (t,))
    return with_values(t, functions["angle"](t._parts[-1]))


@on("_conj", "_conj_physical")
def _conjugate(t: SparseTensor) -> SparseTensor:
    return with_values(t, t._parts[-1].conj_physical())


@on("conj_physical_")
def _conjugate_in_place(t: SparseTensor) -> SparseTensor:
    if t._kind is COO and t.is_complex():
        raise RuntimeError("conj_physical_: unsupported tensor layout: Sparse")
    t._parts[-1].conj_physical_()
    return t


@on("_clone")
def _clone(t: SparseTensor) -> SparseTensor:
    return make(t._kind, tuple([p.clone() for p in t._parts]), t.shape, t._sparse, t._merged, "CloneBackward0")


@on("_cast")
def _cast(t: SparseTensor, dtype: Any) -> SparseTensor:
    return with_values(t, t._parts[-1].to(dtype), made_by="ToCopyBackward0")


@on("_pow_number", "_pow")
def _pow(t: Any, exponent: Any) -> SparseTensor:
    if not isinstance(t, SparseTensor) or (isinstance(exponent, Tensor) and exponent.dim()):
        unsupported("pow", (t, exponent))
    exponent = exponent.item() if isinstance(exponent, Tensor) else exponent
    if exponent == 0:
        raise RuntimeError("pow: Sparse tensors do not support an exponent of 0: the result would be dense")
    t = coalesce(t) if t._kind is COO else t
    return with_values(t, t._parts[-1] ** exponent, made_by="PowBackward0")


@on("square")
def _square(t: SparseTensor) -> SparseTensor:
    return _pow(t, 2)


@on("any")
def _any(t: SparseTensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        unsupported("any", (t,))
    return (coalesce(t) if t._kind is COO else t)._parts[-1].any()


@on("_norm", "norm", "linalg_vector_norm", "vector_norm", "frobenius_norm")
def _norm(t: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
    values = (coalesce(t) if t._kind is COO else t)._parts[-1]
    given = dict(zip(("p", "dim", "keepdim", "dtype"), args, strict=False)) | kwargs
    dim, p = given.get("dim"), given.get("p", given.get("ord", 2))
    dims = [dim] if isinstance(dim, int) else list(dim or ())
    if dims and {d % t.dim() for d in dims} != {*range(t.dim())}:
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must either be empty or contain all dimensions of "
            "the input"
        )
    for name, what in (("keepdim", "keepdim=True"), ("dtype", "'dtype' argument")):
        if given.get(name):
            raise RuntimeError(f"norm_sparse currently does not support {what}")
    return functions["norm"](values.reshape(-1), p)


@on("_zero", "zero_")
def zero_(t: SparseTensor) -> SparseTensor:
    """Remove all values."""
    parts = [p.detach() for p in t._parts]
    if t._kind is COO:
        parts = [parts[0][:, :0], parts[1][:0]]
    else:
        n = batch_dims(t)
        parts = [functions["zeros_like"](parts[0]), parts[1].narrow(-1, 0, 0), parts[2].narrow(n, 0, 0)]
    return become(t, make(t._kind, tuple(p.clone() for p in parts), t.shape, t._sparse, t._kind is COO))


# -- two by two


def _is_number(x: Any) -> bool:
    return not isinstance(x, Tensor) or (x.dim() == 0 and not isinstance(x, SparseTensor))


def _same_size(name: str, a: Tensor, b: Tensor) -> None:
    if a.shape != b.shape:
        raise RuntimeError(
            f"{name}: expected sizes of 'self' and 'other' to match, but {list(a.shape)} != {list(b.shape)}"
        )


def _scaled(values: Tensor, alpha: Any) -> Tensor:
    return values if isinstance(alpha, (int, float)) and alpha == 1 else values * alpha


@on("add")
def add(a: Any, b: Any, *, alpha: Any = 1, made_by: str = "AddBackward0") -> Tensor:
    """a + alpha b: of two sparse tensors, or of a dense and a sparse one."""
    if not isinstance(b, SparseTensor):
        if a._kind is COO:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
        return functions["add"](to_dense(a), b, alpha=alpha)
    if not isinstance(a, SparseTensor):
        if _is_number(a):
            raise RuntimeError("add(dense, sparse): expected a dense tensor of the sparse one's size, but got a number")
        return functions["add"](a, to_dense(b), alpha=alpha)
    _same_size("add", a, b)
    if a._kind is not b._kind:
        raise RuntimeError(f"add: expected tensors of one layout, but got {a._kind} and {b._kind}")
    if a._kind is not COO:
        if a._kind in BLOCKED or batch_dims(a):
            unsupported("add", (a,))
        out = add(to_coo(a), to_coo(b), alpha=alpha)
        return compress(coalesce(out), a._kind)
    if a._sparse != b._sparse:
        raise RuntimeError("add: expected 'self' and 'other' to have same number of sparse dimensions")
    first, second = a._parts[1], _scaled(b._parts[1], alpha)
    if host(a._parts[0]).shape == host(b._parts[0]).shape and (host(a._parts[0]) == host(b._parts[0])).all():
        return coo(a._parts[0].clone(), first + second, a.shape, a._merged and b._merged, made_by)
    common = dtypes.promote(first.dtype, second.dtype)
    both = functions["cat"]([first.to(common), second.to(common)])
    out = coo(functions["cat"]([a._parts[0], b._parts[0]], 1), both, a.shape)
    out = coalesce(out) if a._merged and b._merged else out
    out._made_by = made_by
    return out


@on("sub", "subtract")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    """a - alpha b."""
    return add(a, b, alpha=-alpha, made_by="SubBackward0")


@on("rsub")
def _rsub(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    return sub(b, a, alpha=alpha)


@on("add_")
def add_(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    """a += alpha b."""
    if not isinstance(a, SparseTensor):
        return Tensor.add_(a, to_dense(b), alpha=alpha)
    out: Any = add(a, b, alpha=alpha)
    if out.dtype is not a.dtype:
        out = with_values(out, out._parts[-1].to(a.dtype))
    return become(a, out)


@on("sub_", "subtract_")
def sub_(a: Any, b: Any, *, alpha: Any = 1) -> Tensor:
    """a -= alpha b."""
    return add_(a, b, alpha=-alpha)


@on("mul", "multiply")
def mul(a: Any, b: Any) -> Tensor:
    """a b: a sparse tensor times a number, a dense tensor or a sparse one."""
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if _is_number(b):
        return with_values(a, a._parts[-1] * b)
    if a._kind is not COO:
        if a._kind in BLOCKED or batch_dims(a):
            unsupported("mul", (a,))
        other = to_coo(b) if isinstance(b, SparseTensor) else b
        return compress(coalesce(mul(to_coo(a), other)), a._kind)
    if not isinstance(b, SparseTensor):
        return coo(a._parts[0], a._parts[1] * _ops._sparse_gather(b.expand(a.shape), a._parts[0]), a.shape, a._merged)
    _same_size("mul", a, b)
    a, b = coalesce(a), coalesce(to_coo(b))
    at, bt = host(a._parts[0]), host(b._parts[0])
    sizes = a.shape[: a._sparse]
    _, i, j = np.intersect1d(flat_places(at, sizes), flat_places(bt, sizes), assume_unique=True, return_indices=True)
    pick = functions["index_select"]
    values = pick(a._parts[1], 0, index_tensor(i, a)) * pick(b._parts[1], 0, index_tensor(j, b))
    return coo(index_tensor(at[:, i], a), values, a.shape, True)


@on("mul_", "multiply_")
def _mul_(a: Any, b: Any) -> Tensor:
    if not isinstance(a, SparseTensor):
        if b._kind is not COO:
            unsupported("mul_", (b,))
        return Tensor.mul_(a, to_dense(b))
    if _is_number(b):
        return become(a, with_values(a, (a._parts[-1] * b).to(a.dtype)))
    return become(a, mul(a, b))


@on("div", "divide", "true_divide")
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    """a / b, with a number for b."""
    if not isinstance(a, SparseTensor):
        unsupported("reciprocal" if isinstance(b, SparseTensor) else "div", (a, b))
    if a._kind is not COO:
        raise RuntimeError(f"unsupported tensor layout: {TITLES[a._kind]}")
    if isinstance(b, SparseTensor) or not _is_number(b):
        kind = "sparse" if isinstance(b, SparseTensor) else "dense"
        raise RuntimeError(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{list(b.shape)} for a {kind} divisor)"
        )
    a = coalesce(a) if rounding_mode is not None else a
    return with_values(a, functions["div"](a._parts[-1], b, rounding_mode=rounding_mode))


@on("div_", "divide_", "true_divide_")
def _div_(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    if not isinstance(a, SparseTensor):
        unsupported("div_", (b,))
    if not _is_number(b):
        div(a, b)
    a._parts[-1].div_(b, rounding_mode=rounding_mode)
    return a


@on("floor_divide")
def _floor_divide(a: Any, b: Any) -> Tensor:
    if not isinstance(a, SparseTensor) or a._kind is not COO:
        unsupported("floor_divide", (a, b))
    return div(a, b, rounding_mode="floor")


@on("floor_divide_")
def _floor_divide_(a: Any, b: Any) -> Tensor:
    return become(a, _floor_divide(a, b))


@on("copy_", "_copy", "_copy_")
def copy_(a: Any, b: Any, non_blocking: bool = False) -> Tensor:
    """Make `a` hold what `b` does, in a's element type."""
    if not isinstance(a, SparseTensor) or not isinstance(b, SparseTensor):
        raise RuntimeError(
            "copy_() between dense and sparse Tensors is not implemented! Found self type = "
            + _kind_name(a)
            + " and src type = "
            + _kind_name(b)
        )
    _same_size("copy_", a, b)
    return become(a, with_values(_clone(b), b._parts[-1].detach().clone().to(a.dtype)))


def _kind_name(t: Tensor) -> str:
    return ("torch.sparse." if isinstance(t, SparseTensor) else "torch.") + f"{dtypes.scalar_name(t.dtype)}Tensor"


# -- what moves indices


def _need_coo(name: str, t: SparseTensor) -> None:
    if t._kind is not COO:
        unsupported(name, (t,))


_TURNED = {
    constants.sparse_csr: constants.sparse_csc, constants.sparse_csc: constants.sparse_csr,
    constants.sparse_bsr: constants.sparse_bsc, constants.sparse_bsc: constants.sparse_bsr,
}  # fmt: skip


@on("transpose", "swapdims")
def transpose(t: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Swap two dimensions, both sparse or both dense."""
    a, b = (strides.wrap_dim(d, t.dim()) for d in (dim0, dim1))
    size = list(t.shape)
    size[a], size[b] = size[b], size[a]
    if t._kind is not COO:
        n = batch_dims(t)
        if a == b:
            return t
        if {a, b} != {n, n + 1}:
            raise RuntimeError(
                f"transpose(): can only transpose the two sparse dimensions of {TITLES[t._kind]} tensors"
            )
        compressed, plain, values = t._parts
        if t._kind in BLOCKED:
            values = values.transpose(n + 1, n + 2)
        return make(_TURNED[t._kind], (compressed, plain, values), size, 2, t._merged)
    if a == b:
        return with_values(t, t._parts[1])
    if (a < t._sparse) != (b < t._sparse):
        raise RuntimeError(f"transpose: can't transpose sparse and dense dimensions, but got {dim0} and {dim1}")
    if a >= t._sparse:
        return coo(t._parts[0], t._parts[1].transpose(a - t._sparse + 1, b - t._sparse + 1), size, t._merged)
    order = list(range(t._sparse))
    order[a], order[b] = b, a
    return coo(t._parts[0][order], t._parts[1], size)


@on("t")
def t_(t: SparseTensor) -> SparseTensor:
    """The transposed matrix."""
    if t.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {t._sparse} sparse")
    return transpose(t, 0, 1) if t.dim() == 2 else t


@on("permute")
def permute(t: SparseTensor, dims: Any) -> SparseTensor:
    """Reorder the dimensions; sparse ones stay before dense ones."""
    order = [strides.wrap_dim(d, t.dim()) for d in dims]
    if t._kind is not COO:
        if order == list(range(t.dim())):
            return t
        return transpose(t, 0, 1) if order == [1, 0] else unsupported("permute", (t,))
    n = t._sparse
    if sorted(order) != list(range(t.dim())):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {t.dim()} is not equal to len(dims) = {len(dims)}"
        )
    if any(d >= n for d in order[:n]):
        raise RuntimeError(
            f"permute(sparse_coo): a sparse dimension cannot be permuted with a dense one, but got dims = {order}"
        )
    values = t._parts[1].permute(0, *[d - n + 1 for d in order[n:]]) if n < t.dim() else t._parts[1]
    return coo(t._parts[0][order[:n]], values, [t.shape[d] for d in order], t._merged and order[:n] == list(range(n)))


def _in_place(name: str, fn: Callable[..., SparseTensor]) -> None:
    TABLE[name] = lambda t, *args, **kwargs: become(t, fn(t, *args, **kwargs))


_in_place("t_", t_)
_in_place("transpose_", transpose)


@on("unsqueeze")
def unsqueeze(t: SparseTensor, dim: int) -> SparseTensor:
    """One more dimension of size 1."""
    _need_coo("unsqueeze", t)
    dim = strides.wrap_dim(dim, t.dim() + 1)
    size = [*t.shape[:dim], 1, *t.shape[dim:]]
    indices, values = t._parts
    if dim <= t._sparse:
        row = (
            functions["zeros_like"](indices[:1])
            if t._sparse
            else functions["zeros"](1, values.shape[0], dtype=dtypes.int64, device=values.device)
        )
        return coo(functions["cat"]([indices[:dim], row, indices[dim:]]), values, size, t._merged)
    return coo(indices, values.unsqueeze(dim - t._sparse + 1), size, t._merged)


def _selected(t: SparseTensor, kept: Any, indices: np.ndarray[Any, Any], size: Any, merged: bool) -> SparseTensor:
    """The values numbered `kept`, at new indices."""
    values = functions["index_select"](t._parts[1], 0, index_tensor(kept, t))
    return coo(index_tensor(indices, t), values, size, merged)


@on("select", "_select")
def select(t: SparseTensor, dim: int, index: int) -> Tensor:
    """Without the dimension `dim`: what is at `index` of it."""
    t = t if t._kind is COO else to_coo(t)
    dim = strides.wrap_dim(dim, t.dim())
    n = t.shape[dim]
    index = int(index)
    if not -n <= index < n:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(t.shape)} at dimension {dim}")
    index %= n
    size = [*t.shape[:dim], *t.shape[dim + 1 :]]
    if dim >= t._sparse:
        return coo(t._parts[0], t._parts[1].select(dim - t._sparse + 1, index), size, t._merged)
    at = host(t._parts[0])
    kept = np.flatnonzero(at[dim] == index)
    if t._sparse == 1:
        return functions["index_select"](t._parts[1], 0, index_tensor(kept, t)).sum(0)
    return _selected(t, kept, np.delete(at[:, kept], dim, 0), size, t._merged)


@on("unbind")
def unbind(t: SparseTensor, dim: int = 0) -> tuple[Tensor, ...]:
    """What is at each index of a dimension."""
    return tuple([select(t, dim, i) for i in range(t.shape[dim])])


@on("index_select", "_index_select")
def index_select(t: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """The slices numbered by `index`, which may repeat."""
    _need_coo("index_select", t)
    dim = strides.wrap_dim(dim, t.dim())
    wanted = host(index).reshape(-1)
    n = t.shape[dim]
    if wanted.size and (wanted.min() < -n or wanted.max() >= n):
        wrong = wanted.max() if wanted.max() >= n else wanted.min()
        raise IndexError(
            f"index_select(): index {wrong} is out of range for tensor of size {list(t.shape)} at dimension {dim}"
        )
    size = [*t.shape[:dim], len(wanted), *t.shape[dim + 1 :]]
    if dim >= t._sparse:
        return coo(t._parts[0], t._parts[1].index_select(dim - t._sparse + 1, index % n), size, t._merged)
    at, wanted = host(t._parts[0]), wanted % n
    order = np.argsort(at[dim], kind="stable")
    low = np.searchsorted(at[dim], wanted, "left", order)
    counts = np.searchsorted(at[dim], wanted, "right", order) - low
    kept = order[np.repeat(low - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(counts.sum())]
    found = at[:, kept].copy()
    found[dim] = np.repeat(np.arange(len(wanted)), counts)
    return _selected(t, kept, found, size, t._merged and dim == 0)


@on("_slice")
def _slice(t: SparseTensor, dim: int, length: int, step: int, start: int = 0) -> SparseTensor:
    """Every `step`-th slice of a dimension, from `start` on; what `narrow` and its kin are made of."""
    return index_select(t, dim, index_tensor(np.arange(length) * step + start, t))


@on("cat")
def cat(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors one after the other."""
    if not all(isinstance(t, SparseTensor) and t._kind is COO for t in tensors):
        raise RuntimeError("cat(): all tensors must be sparse, of layout torch.sparse_coo, if one is")
    first = tensors[0]
    dim = strides.wrap_dim(dim, first.dim())
    for t in tensors:
        if [*t.shape[:dim], *t.shape[dim + 1 :]] != [
            *first.shape[:dim],
            *first.shape[dim + 1 :],
        ] or t._sparse != first._sparse:
            raise RuntimeError(
                f"cat(): all sizes but that of dimension {dim} must agree, but got {list(first.shape)} and {list(t.shape)}"
            )
    size = [*first.shape[:dim], sum(t.shape[dim] for t in tensors), *first.shape[dim + 1 :]]
    indices, values, start = [], [], 0
    for t in tensors:
        at, held = t._parts
        if dim < first._sparse:
            indices.append(functions["cat"]([at[:dim], at[dim : dim + 1] + start, at[dim + 1 :]]))
            values.append(held)
        else:
            before = [held.shape[0], *size[first._sparse :]]
            k = dim - first._sparse + 1
            before[k] = start
            after = [*before]
            after[k] = size[dim] - start - t.shape[dim]
            zeros = functions["zeros"]
            pads = [zeros(n, dtype=held.dtype, device=held.device) for n in (before, after)]
            indices.append(at)
            values.append(functions["cat"]([pads[0], held, pads[1]], k))
        start += t.shape[dim]
    merged = dim == 0 and first._sparse > 0 and all(t._merged for t in tensors)
    return coo(functions["cat"](indices, 1), functions["cat"](values), size, merged)


@on("stack")
def stack(tensors: Any, dim: int = 0) -> SparseTensor:
    """Sparse tensors along a new dimension."""
    return cat([unsqueeze(t, dim) for t in tensors], strides.wrap_dim(dim, tensors[0].dim() + 1))
