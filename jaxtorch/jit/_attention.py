"""The two operations that scripted attention and encoder layers of PyTorch call in evaluation, from smaller ones."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from ..nn import functional as F


class Padded:
    """The nested tensor that an encoder works on where a mask is given: what it was made of. mask: True for what it keeps."""

    is_nested = True

    def __init__(self, of: Tensor, mask: Tensor, mask_check: bool = True) -> None:
        if mask_check and not is_left_aligned(of, mask):
            raise RuntimeError("Mask must have contiguous 1s at the left: it is not left aligned")
        self.of, self.mask = of, mask

    def __getattr__(self, name: str) -> Any:
        if name not in ("dtype", "device", "requires_grad", "is_cuda", "is_cpu", "dim"):
            raise NotImplementedError(f"{name} of a nested tensor, in a TorchScript archive")
        return getattr(self.of, name)


def is_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Does every row of the mask keep the first elements, and none after one that it leaves out?"""
    kept = mask.long()
    return bool((kept.cummin(1).values == kept).all())


def padded(self: Padded, padding: float, output_size: Any = None) -> Tensor:
    """`torch.to_padded_tensor`."""
    if not isinstance(self, Padded) or (output_size is not None and list(output_size) != list(self.of.shape)):
        raise NotImplementedError("torch.to_padded_tensor to another size, in a TorchScript archive")
    return self.of.masked_fill(self.mask.logical_not()[..., None], padding)


def _mask(mask: Any, mask_type: Any, heads: int) -> Any:
    """What is added to or keeps from the scores, broadcast to (batch, heads, queries, keys). mask: True where nothing is seen."""
    if mask is None:
        return None
    if mask_type == 0:
        shaped = mask if mask.dim() == 2 else mask.view(-1, heads, *mask.shape[-2:])
    elif mask_type == 1:
        shaped = mask[:, None, None, :]
    else:
        shaped = mask
    return shaped.logical_not() if shaped.dtype is dtypes.bool_ else shaped


def native_attention(
    query: Tensor, key: Tensor, value: Tensor, embed_dim: int, num_head: int, qkv_weight: Tensor, qkv_bias: Tensor,
    proj_weight: Tensor, proj_bias: Tensor, mask: Any = None, need_weights: bool = True, average_attn_weights: bool = True,
    mask_type: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """`torch._native_multi_head_attention`: attention of batches first, and its weights or None."""
    weights, biases = qkv_weight.chunk(3), qkv_bias.chunk(3)
    q, k, v = (
        F.linear(x, w, b).unflatten(-1, (num_head, -1)).transpose(1, 2)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    seen = _mask(mask, mask_type, num_head)
    if not need_weights:
        found, shown = F.scaled_dot_product_attention(q, k, v, seen), None
    else:
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        if seen is not None:
            scores = (
                scores.masked_fill(seen.logical_not(), float("-inf")) if seen.dtype is dtypes.bool_ else scores + seen
            )
        shown = scores.softmax(-1)
        found = shown @ v
        shown = shown.mean(1) if average_attn_weights else shown
    return F.linear(found.transpose(1, 2).flatten(2), proj_weight, proj_bias), shown


def encoder_layer(
    src: Any, embed_dim: int, num_heads: int, qkv_weight: Tensor, qkv_bias: Tensor, proj_weight: Tensor, proj_bias: Tensor,
    use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Tensor, norm_bias_1: Tensor, norm_weight_2: Tensor,
    norm_bias_2: Tensor, ffn_weight_1: Tensor, ffn_bias_1: Tensor, ffn_weight_2: Tensor, ffn_bias_2: Tensor, mask: Any = None,
    mask_type: Any = None,
) -> Any:  # fmt: skip
    """`torch._transformer_encoder_layer_fwd`: a layer of an encoder in evaluation."""
    kept: Tensor | None = None
    given: Any = src
    if isinstance(src, Padded):
        kept, given = src.mask, src.of
        mask, mask_type = kept.logical_not(), 1

    def attended(x: Tensor) -> Tensor:
        of = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        return native_attention(x, x, x, *of)[0]

    def fed(x: Tensor) -> Tensor:
        inner = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), ffn_weight_2, ffn_bias_2)

    def first(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def second(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = given + attended(first(given))
        found = x + fed(second(x))
    else:
        x = first(given + attended(given))
        found = second(x + fed(x))
    return found if kept is None else Padded(found, kept, False)
