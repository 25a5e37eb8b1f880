"""Multi-head attention as one function, behind `nn.MultiheadAttention`."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .._core.define.op import functions
from .._core.dispatch import torch_dispatch
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types.dtypes import bool_
from .._ops.nn.activation import softmax
from .._ops.nn.attention import scaled_dot_product_attention
from .._ops.nn.dropout import dropout
from .._ops.nn.linear import linear
from .._ops.nn.padding import pad


def _none_or_dtype(input: Tensor | None) -> Any:
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: Any,
    other_name: str,
    target_type: Any,
    check_other: bool = True,
) -> Tensor | None:
    """A mask to add: a float mask as it is, a bool one as -inf where it is True."""
    if mask is None:
        return None
    need_tensor(mask, "is_floating_point")
    if mask.dtype is not bool_ and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return functions["zeros_like"](mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_shapes(query: Any, key: Any, value: Any, key_padding_mask: Any, attn_mask: Any, num_heads: int) -> bool:
    """Whether there is a batch dimension. AssertionError where the operands' dimensions do not go together."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D query tensor"
        )
    n = query.dim()
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and {value.dim()}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and need_tensor(key_padding_mask, "is_floating_point").dim() != n - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {n - 1}-D but found "
            f"{key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None:
        if need_tensor(attn_mask, "is_floating_point").dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D "
                "tensor instead"
            )
        if n == 2 and attn_mask.dim() == 3:
            expected = (num_heads, query.shape[0], key.shape[0])
            if tuple(attn_mask.shape) != expected:
                raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return n == 3


def _project(
    query: Any, key: Any, value: Any, width: int, weight: Any, separate: Any, bias: Any
) -> tuple[Tensor, Tensor, Tensor]:
    """The projections of query, key and value; as few products as the operands' identity and the weights allow."""
    if weight is not None:
        if key is value:
            if query is key:
                q, k, v = _cut(linear(query, weight, bias), 3, width)
                return q, k, v
            w_q, w_kv = weight.split([width, 2 * width])
            b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
            if torch_dispatch.opened and torch_dispatch.active():  # in PyTorch's order
                q = linear(query, w_q, b_q)
                return q, *_cut(linear(key, w_kv, b_kv), 2, width)
            k, v = _cut(linear(key, w_kv, b_kv), 2, width)
            return linear(query, w_q, b_q), k, v
        separate = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    for name, x, w in zip("qkv", (query, key, value), separate, strict=True):
        if tuple(w.shape) != (width, x.shape[-1]):
            raise AssertionError(f"expecting {name} weights shape of {(width, x.shape[-1])}, but got {w.shape}")
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), separate, biases, strict=True))
    return q, k, v


def _cut(joined: Any, n: int, width: int) -> Any:
    """A joint projection in its n parts; by PyTorch's operations where a mode sees these, which copy them."""
    if not torch_dispatch.opened or not torch_dispatch.active():
        return joined.chunk(n, dim=-1)
    whole = joined.unflatten(-1, (n, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return tuple(whole[i] for i in range(n))


def _in_projection_packed(q: Any, k: Any, v: Any, w: Tensor, b: Tensor | None = None) -> list[Tensor]:
    """The projections of query, key and value by one weight (3 * E, E)."""
    return list(_project(q, k, v, q.size(-1), w, None, b))


def _in_projection(
    q: Any,
    k: Any,
    v: Any,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The projections of query, key and value by a weight (E, own width) each."""
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _heads(x: Any, steps: int, batches: int, width: int) -> Tensor:
    """(steps, B, heads * width) -> (B * heads, steps, width)."""
    return x.reshape(steps, batches, width).transpose(0, 1)


def _heads_or(static: Tensor | None, name: str, x: Tensor, batches: int, width: int) -> Tensor:
    """The heads of x, or those that were given instead, (B * heads, steps, width)."""
    if static is None:
        return _heads(x, x.shape[0], batches, width)
    if static.size(0) != batches:
        raise AssertionError(f"expecting static_{name}.size(0) of {batches}, but got {static.size(0)}")
    if static.size(2) != width:
        raise AssertionError(f"expecting static_{name}.size(2) of {width}, but got {static.size(2)}")
    return static


def _additive(
    key_padding_mask: Tensor | None, attn_mask: Tensor | None, is_causal: bool, need_weights: bool, dtype: Any
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks as numbers to add, and whether to go by the hint `is_causal` in the second one's place."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, None, is_causal
    attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, False)
    return key_padding_mask, attn_mask, is_causal if key_padding_mask is None else False


def _check_weights(key: Any, value: Any, packed: Tensor | None, separate: Any) -> None:
    """AssertionError where weights are missing, or key and value do not fit the way they are projected."""
    if separate is None:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    for name, w in zip("qkv", separate, strict=True):
        if w is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")


def _for_each_head(mask: Tensor, batch: int, num_heads: int, keys: int) -> Tensor:
    """(B, S) -> (B * heads, 1, S)."""
    if tuple(mask.shape) != (batch, keys):
        dim = 0 if mask.shape[0] != batch else 1
        raise AssertionError(
            f"Expected key_padded_mask.shape[{dim}] to be {(batch, keys)[dim]}, but got {mask.shape[dim]}"
        )
    return mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1).reshape(-1, 1, keys)


def _as_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(L, E) -> (L, 1, E); what was one tensor stays one."""
    made: dict[int, Tensor] = {}
    query, key, value = (made.setdefault(id(t), t.unsqueeze(1)) for t in (query, key, value))
    return query, key, value


def _mask_of_heads(attn_mask: Tensor, steps: int, keys: int, heads: int) -> Tensor:
    """(1, L, S) for all heads of the batch alike, or (B * heads, L, S)."""
    expected = (steps, keys) if attn_mask.dim() == 2 else (heads, steps, keys)
    if tuple(attn_mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {expected}."
        )
    return attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask


def _with_one_more(mask: Tensor | None) -> Tensor | None:
    """A mask for one more key, which counts."""
    return None if mask is None else pad(mask, (0, 1))


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads (Vaswani et al., 2017): projections in, attention, projection out.

    query (L, B, E), key (S, B, Ek), value (S, B, Ev), or without B. key_padding_mask (B, S): True, or -inf, where a key counts
    for nothing; attn_mask (L, S) or (B * heads, L, S) likewise. Returns the result (L, B, E) and, with need_weights, the weights
    (B, L, S), averaged over the heads, or (B, heads, L, S).
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _as_batch(query, key, value)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    steps, batch, width = query.shape
    keys = key.shape[0]
    key_padding_mask, attn_mask, is_causal = _additive(
        key_padding_mask, attn_mask, is_causal, need_weights, query.dtype
    )
    if width != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}")
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    packed = None if use_separate_proj_weight else in_proj_weight
    _check_weights(key, value, packed, separate)
    q, k, v = _project(query, key, value, width, packed, separate, in_proj_bias)

    if attn_mask is not None:
        attn_mask = _mask_of_heads(attn_mask, steps, keys, batch * num_heads)
    if (bias_k is None) != (bias_v is None):
        raise AssertionError("bias_k and bias_v go together: one of them is None")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise AssertionError("bias cannot be added to static key or value")
        k, v = (functions["cat"]([x, bias.repeat(1, batch, 1)]) for x, bias in ((k, bias_k), (v, bias_v)))
        attn_mask, key_padding_mask = _with_one_more(attn_mask), _with_one_more(key_padding_mask)
    q = _heads(q, steps, batch * num_heads, head)
    k = _heads_or(static_k, "k", k, batch * num_heads, head)
    v = _heads_or(static_v, "v", v, batch * num_heads, head)
    if add_zero_attn:
        zero = functions["zeros"]((batch * num_heads, 1, head), dtype=k.dtype, device=k.device)
        k, v = functions["cat"]([k, zero], 1), functions["cat"]([v, zero], 1)
        attn_mask, key_padding_mask = _with_one_more(attn_mask), _with_one_more(key_padding_mask)
    keys = k.size(1)
    if key_padding_mask is not None:
        each = _for_each_head(key_padding_mask, batch, num_heads, keys)
        attn_mask = each if attn_mask is None else attn_mask + each
    if not training:
        dropout_p = 0.0
    sizes = (batch, num_heads, steps, keys, head)
    if need_weights:
        out, weights = _weighted(q, k, v, attn_mask, dropout_p, sizes)
    else:
        if attn_mask is not None:
            single = attn_mask.size(0) == 1 and attn_mask.dim() == 3
            attn_mask = attn_mask.unsqueeze(0) if single else attn_mask.view(batch, num_heads, -1, keys)
        q, k, v = (x.view(batch, num_heads, x.size(1), head) for x in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        out, weights = out.permute(2, 0, 1, 3), None
    out = linear(out.reshape(steps * batch, width), out_proj_weight, out_proj_bias)
    out = out.view(steps, batch, out.size(1))
    if weights is not None:
        weights = weights.view(batch, num_heads, steps, keys)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _weighted(q: Any, k: Any, v: Any, mask: Any, dropout_p: float, sizes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Attention that also gives its weights (B * heads, L, S); the result (L, B * heads, head)."""
    q, keyed = q * math.sqrt(1.0 / sizes[-1]), k.transpose(-2, -1)
    scores = functions["bmm"](q, keyed) if mask is None else functions["baddbmm"](mask, q, keyed)
    weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    out = functions["bmm"](weights, v).transpose(0, 1)
    return out, weights
