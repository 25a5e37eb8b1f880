"""Scaled dot-product attention as one operation."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.interpreters import ad

from ..._core import native
from ..._core.define.op import Array, inner_op
from ..._core.define.signature import need_kind
from ..._core.tensor.layouts import normal, strides_of
from ..._core.tensor.strides import broadcast_shapes, preserved, wrap_dim
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..._core.types.device import cpu
from ..common.primitives import linear_in, natively, primitive
from ..common.product_primitives import on_cpu, times
from ..common.rules import kind, refuse, scalar_name
from ..random.random import keep_mask
from . import cudnn_attention
from .activation import softmax_of
from .dropout import check_probability
from .linear import c_name

_HALF = (jnp.float16, jnp.bfloat16)
lacking: list[bool] = []
"""Not empty while only implementations are asked for that PyTorch has not on the CPU (`nn.attention.sdpa_kernel`)."""


def _name(operands: Any, statics: Any) -> str:
    query, key, value, mask, keep = operands
    is_causal, enable_gqa = statics[0], statics[2]
    fused = (
        keep is None
        and (mask is None or not is_causal)
        and _by_one_kernel(query.shape, key.shape, value.shape, enable_gqa)
    )
    return "ScaledDotProductFlashAttentionForCpuBackward0" if fused else "UnsafeViewBackward0"


def _by_one_kernel(query: Any, key: Any, value: Any, enable_gqa: bool) -> bool:
    """Does PyTorch compute shapes like these by its kernel for the CPU?"""
    return (
        len(query) == len(key) == len(value) == 4
        and query[-1] == value[-1]
        and query[0] == key[0]
        and (enable_gqa or query[1] == key[1])
    )


def _saved(operands: Any, statics: Any) -> dict[str, str]:
    fused = _name(operands, statics) != "UnsafeViewBackward0"
    return {"value": "query key"} | ({"result": ""} if fused else {})


@inner_op(grad=_name, unsaved=["query", "key"], saved=_saved)
def _attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    keep: Array | None,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
    dropout_p: float,
):
    """softmax(query @ key.T * scale + mask) @ value; rows that are masked entirely give 0."""
    _check(query, key, value, attn_mask, is_causal)
    if enable_gqa:
        if key.shape[-3] != value.shape[-3] or query.shape[-3] % key.shape[-3]:
            raise RuntimeError(
                "Number of heads in key and value must divide the number of heads in query, got "
                f"{key.shape[-3]} and {value.shape[-3]} for {query.shape[-3]}"
            )
        groups = query.shape[-3] // key.shape[-3]
        key, value = (jnp.repeat(x, groups, axis=-3) for x in (key, value))
    _check_products(query, key, value)
    if attn_mask is not None:
        _check_mask(query, key, attn_mask)
    dtype = query.dtype
    factor: Any = 1.0 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    if keep is None and attn_mask is None and cudnn_attention.fits(query, key, value):
        return cudnn_attention.attention(query, key, value, is_causal, factor)
    if dtype in _HALF and on_cpu():
        query, key = query.astype(jnp.float32), key.astype(jnp.float32)
    query = query * np.asarray(factor, query.dtype)
    whole = 0 not in (*query.shape, *key.shape, *value.shape)
    if keep is None and query.dtype == dtype == jnp.float32 and on_cpu() and whole:
        batch = broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
        if attn_mask is None or _spans((*batch, query.shape[-2], key.shape[-2]), attn_mask.shape):
            return _headwise(query, key, value, attn_mask, batch, is_causal)
    keys = jnp.swapaxes(key, -1, -2)
    if query.dtype in _HALF:
        scores = jnp.matmul(query, keys, preferred_element_type=jnp.float32)
    else:
        scores = times(query, keys)
    if is_causal:
        scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    if attn_mask is None:
        weights = softmax_of(scores, scores.ndim - 1)
    elif attn_mask.dtype == jnp.bool_:
        weights = _masked_softmax(jnp.where(attn_mask, scores, -jnp.inf))
    else:
        weights = _masked_softmax(scores + attn_mask.astype(scores.dtype))
    weights = weights.astype(dtype)
    if keep is not None:
        kept = 0.0 if dropout_p == 1 else 1 / (1 - dropout_p)
        weights = weights * (keep.astype(dtype) * np.asarray(kept, dtype))
    return times(weights, value)


def _masked_softmax(scores: Any) -> Any:
    """Rows that are masked entirely give 0."""
    empty = jnp.all(jnp.isneginf(scores), axis=-1, keepdims=True)
    return jnp.where(empty, 0, softmax_of(jnp.where(empty, 0, scores), scores.ndim - 1))


def _spans(scores: tuple[int, ...], mask: tuple[int, ...]) -> bool:
    """Does a mask of this shape leave the shape of what it is added to?"""
    return len(mask) >= 2 and broadcast_shapes(scores, mask) == scores


def _headwise(query: Any, key: Any, value: Any, mask: Any, batch: Any, causal: bool) -> Any:
    """Attention in single precision, each head by itself."""
    split = (math.prod(batch[:-1]), *batch[-1:]) if batch else (1, 1)
    heads = [jnp.broadcast_to(x, (*batch, *x.shape[-2:])).reshape(*split, *x.shape[-2:]) for x in (query, key, value)]
    inner = 1
    if mask is not None:
        if mask.dtype == jnp.bool_:
            mask = jnp.where(mask, np.float32(0), np.float32(-np.inf))
        own = (1,) * (len(batch) + 2 - mask.ndim) + mask.shape[:-2]
        varying = [d for d, n in enumerate(own) if n != 1]
        first, last = (varying[0], varying[-1] + 1) if varying else (0, 0)
        inner = math.prod(batch[last:])
        rows = query.shape[-2] if mask.shape[-2] > 1 else 1
        mask = mask.reshape(*own[first:last], *mask.shape[-2:])
        mask = jnp.broadcast_to(mask, (*batch[first:last], rows, key.shape[-2]))
        heads.append(mask.astype(jnp.float32).reshape(-1, rows, key.shape[-2]))
    out = _heads_p.bind(*heads, causal=causal, inner=inner)
    return out.reshape(*batch, *out.shape[2:])


def _heads(q: Any, k: Any, v: Any, mask: Any = None, *, causal: bool, inner: int) -> Any:
    """`native.attention` in JAX."""
    if causal and mask is None and attends_in_blocks(q, k):
        return causal_in_blocks(q, k, v, q.dtype)
    scores = jnp.matmul(q, jnp.swapaxes(k, -1, -2))
    if causal:
        scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    if mask is None:
        return jnp.matmul(softmax_of(scores, 3), v)
    n = mask.shape[0]
    parted = scores.reshape(math.prod(scores.shape[:2]) // (n * inner), n, inner, *scores.shape[2:]) + mask[:, None]
    return jnp.matmul(_masked_softmax(parted).reshape(scores.shape), v)


def _heads_tangent(dq: Any, dk: Any, dv: Any, q: Any, k: Any, v: Any, *mask: Any, **params: Any) -> Any:
    return jax.jvp(lambda *qkv: _heads(*qkv, *mask, **params), (q, k, v), (dq, dk, dv))[1]


def _heads_back(g: Any, q: Any, k: Any, v: Any, *mask: Any, **params: Any) -> Any:
    return list(jax.vjp(lambda *qkv: _heads(*qkv, *mask, **params), q, k, v)[1](g))


_heads_p = primitive("attention", _heads, natively(native.attention))
_heads_tangent_p = primitive("attention_tangent", _heads_tangent)
_heads_back_p = primitive("attention_back", _heads_back, natively(native.attention_back), several=True)
linear_in(_heads_tangent_p, _heads_tangent, 3, lambda g, *rest, **params: _heads_back_p.bind(g, *rest, **params))
linear_in(_heads_back_p, _heads_back, 1)


def _heads_rule(primals: Any, tangents: Any, **params: Any) -> Any:
    if any(type(t) is not ad.Zero for t in tangents[3:]):  # a mask that is learnt
        moved = tuple(ad.instantiate_zeros(t) for t in tangents)
        return jax.jvp(lambda *args: _heads(*args, **params), tuple(primals), moved)
    moved = [ad.instantiate_zeros(t) for t in tangents[:3]]
    return _heads_p.bind(*primals, **params), _heads_tangent_p.bind(*moved, *primals, **params)


ad.primitive_jvps[_heads_p] = _heads_rule


def attends_in_blocks(query: Any, key: Any) -> bool:
    rows = query.shape[-2]
    return on_cpu() and rows == key.shape[-2] and rows >= 128


def causal_in_blocks(query: Any, key: Any, value: Any, dtype: Any) -> Any:
    """Causal attention where each block of rows is multiplied with no more columns than it may see."""
    rows = query.shape[-2]
    blocks = 2 if rows < 512 else 4
    ends = [rows * (i + 1) // blocks for i in range(blocks)]
    sizes = [e - s for s, e in zip([0, *ends], ends)]
    outs = []
    for part, start, end in zip(lax.split(query, sizes, query.ndim - 2), [0, *ends], ends):
        k, v = (lax.slice_in_dim(x, 0, end, axis=x.ndim - 2) if end < rows else x for x in (key, value))
        scores = jnp.matmul(part, jnp.swapaxes(k, -1, -2))
        seen = np.arange(end) <= np.arange(start, end)[:, None]
        weights = softmax_of(jnp.where(seen, scores, -jnp.inf), scores.ndim - 1)
        outs.append(jnp.matmul(weights.astype(dtype), v))
    return jnp.concatenate(outs, axis=-2)


def _check(query: Any, key: Any, value: Any, mask: Any, is_causal: bool) -> None:
    if is_causal and mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_name(query)} key.dtype: {c_name(key)} and value.dtype: {c_name(value)} "
            "instead."
        )
    if kind(query) in ("int", "bool"):
        if query.ndim == 4:
            raise RuntimeError(f"expected scalar type Float but found {scalar_name(query)}")
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: float != {c_name(query)}")
    refuse("softmax_lastdim_kernel_impl", query, "complex")
    if mask is not None and mask.dtype != jnp.bool_ and mask.dtype not in (query.dtype, jnp.float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_name(mask)} and  query.dtype: {c_name(query)} instead."
        )


def _check_mask(query: Any, key: Any, mask: Any) -> None:
    """A mask is broadcast to the scores, and may not enlarge them."""
    size = (*broadcast_shapes(query.shape[:-2], key.shape[:-2]), query.shape[-2], key.shape[-2])
    if query.ndim == 4:
        wrap_dim(-2, mask.ndim)
    found = broadcast_shapes(size, mask.shape)
    if found != size:
        raise RuntimeError(f"output with shape {list(size)} doesn't match the broadcast shape {list(found)}")


def _check_products(query: Any, key: Any, value: Any) -> None:
    """The shape errors of the two matrix products."""
    broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    batch = math.prod(query.shape[:-2])
    rows, width = query.shape[-2:]
    columns = key.shape[-2]
    for (r, w), (a, b) in (
        ((rows, width), (key.shape[-1], columns)),
        ((rows, columns), value.shape[-2:]),
    ):
        if w != a:
            if query.ndim == 2:
                raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({r}x{w} and {a}x{b})")
            raise RuntimeError(
                f"Expected size for first two dimensions of batch2 tensor to be: [{batch}, {w}] but got: "
                f"[{batch}, {a}]."
            )


def _causal(mask: Tensor, rows: int, columns: int) -> Tensor:
    """A mask that lets a query see what this one does of the keys up to its own place."""
    seen = mask.new_ones((rows, columns), dtype=dtypes.bool_).tril()
    return mask & seen if mask.dtype is dtypes.bool_ else mask.masked_fill(~seen, -math.inf)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """(..., L, E) queries attend to (..., S, E) keys with (..., S, Ev) values: (..., L, Ev); Vaswani et al. (2017).

    A bool mask is True where attention is allowed, a float mask is added. Dropout is applied whatever the
    mode.
    """
    for place, (name, x) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        if type(x) is not Tensor:
            need_tensor(x, "scaled_dot_product_attention", name, place)
    if lacking and query._value.aval.slot is cpu.slot:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math "
            "kernel and the fused kernels."
        )
    for position, (name, given) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        need_tensor(given, "scaled_dot_product_attention", name, position)
    keep = None
    if dropout_p.__class__ is not float:
        need_kind("scaled_dot_product_attention", "dropout_p", "float", dropout_p)
    for name, given in (("is_causal", is_causal), ("enable_gqa", enable_gqa)):
        if given.__class__ is not bool:
            need_kind("scaled_dot_product_attention", name, "bool", given)
    if dropout_p > 0.0 and min(query.ndim, key.ndim, value.ndim) > 1:
        check_probability(dropout_p, RuntimeError)
        aval = query._value.aval
        batch = np.broadcast_shapes(aval.shape[:-2], () if enable_gqa else key._value.aval.shape[:-2])
        shape = (*batch, aval.shape[-2], key._value.aval.shape[-2])
        keep = keep_mask(aval.slot, dropout_p, shape)
    q, k, v = [x._value.aval.shape for x in (query, key, value)]
    masks = is_causal and attn_mask is not None
    if (masks or not dropout_p >= 0.0) and keep is None and _by_one_kernel(q, k, v, enable_gqa):
        if not dropout_p >= 0.0:
            raise RuntimeError("scaled_dot_product_attention_flash_attention: Currently do not support dropout > 0")
        if attn_mask is not None and attn_mask.ndim in (2, 4) and not attn_mask.requires_grad:
            attn_mask, is_causal = _causal(attn_mask, q[-2], k[-2]), False  # other kernels of PyTorch refuse both
    out = _attention(query, key, value, attn_mask, keep, is_causal, scale, enable_gqa, dropout_p)
    if (
        query._layout is not None
        and keep is None
        and strides_of(query)[-1] == 1
        and _by_one_kernel(q, k, v, enable_gqa)
    ):
        size = (
            out._value.aval.shape
        )  # PyTorch's kernel gives the query's order of dimensions, so that `transpose` and `view` follow
        if attn_mask is None or not attn_mask.requires_grad:
            out._layout = normal(size, preserved(size, strides_of(query)), 0)
    return out
