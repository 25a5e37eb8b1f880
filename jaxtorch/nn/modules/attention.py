"""`MultiheadAttention`, the layer; `torch.nn.modules.activation` has it too, as in PyTorch."""

from __future__ import annotations

from typing import Any

from ..._core.tensor.tensor import Tensor
from ..._ops.creation.filled import empty
from .. import functional as F
from ..init import constant_, xavier_normal_, xavier_uniform_
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of several heads (Vaswani et al., 2017).

    query (L, B, E), key (S, B, kdim), value (S, B, vdim); (B, L, E) and so on with batch_first; or without B. Returns the result,
    of the query's shape, and the weights (B, L, S), averaged over the heads, (B, heads, L, S) without average_attn_weights, or
    None without need_weights. key_padding_mask (B, S) and attn_mask (L, S) or (B * heads, L, S): True where attention is not
    allowed, or a float added to the scores.
    """

    __module__ = "jaxtorch.nn.modules.activation"

    __constants__ = ["batch_first"]

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        place: dict[str, Any] = {"device": device, "dtype": dtype}
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        shapes: dict[str, Any] = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim),
        }
        used = ["in_proj_weight"] if self._qkv_same_embed_dim else ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
        for name in used:
            self.register_parameter(name, Parameter(empty(shapes[name], **place)))
        for name in shapes:
            if name not in used:
                self.register_parameter(name, None)
        self.register_parameter("in_proj_bias", Parameter(empty(3 * embed_dim, **place)) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **place))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **place))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            xavier_uniform_(self.in_proj_weight)
        else:
            xavier_uniform_(self.q_proj_weight)
            xavier_uniform_(self.k_proj_weight)
            xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            constant_(self.in_proj_bias, 0.0)
            constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            xavier_normal_(self.bias_v)

    def __setstate__(self, state: Any) -> None:
        state.setdefault("_qkv_same_embed_dim", True)  # saved before 1.1
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        turned = self.batch_first and query.dim() == 3
        if turned:
            same_key, same_value = query is key, key is value
            query = query.transpose(1, 0)
            key_ = query if same_key else key.transpose(1, 0)
            value = key_ if same_value else value.transpose(1, 0)
            key = key_
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one (B, heads, L, S), and its kind: 0 attention, 1 padding, 2 both; None without masks."""
        merged, kind = key_padding_mask, None if key_padding_mask is None else 1
        if attn_mask is not None:
            batch, steps, _ = query.shape
            if attn_mask.dim() == 3:
                merged = attn_mask.view(batch, -1, steps, steps)
            else:
                merged = attn_mask.view(1, 1, steps, steps).expand(batch, self.num_heads, -1, -1)
            if key_padding_mask is not None:
                merged = merged + key_padding_mask.view(batch, 1, 1, steps).expand(-1, self.num_heads, -1, -1)
            kind = 2
        return merged, kind
