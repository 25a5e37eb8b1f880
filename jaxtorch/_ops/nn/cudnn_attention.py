"""Attention by cuDNN's fused kernels on NVIDIA GPUs, which never hold the whole matrix of scores (flash attention).

Dao (2023), FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning. arXiv:2307.08691.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import dispatch
from jax.interpreters import ad

from ..._core.compile.context import target
from ..common.primitives import linear_in, primitive
from .activation import softmax_of

_WIDEST = 128  # entries of a head up to which every GPU that has the kernels takes it


def fits(query: Any, key: Any, value: Any) -> bool:
    """Are these (N, H, L, E) arrays, of one half precision type, for the fused kernels?"""
    same = query.ndim == key.ndim == value.ndim == 4 and query.shape[:2] == key.shape[:2] == value.shape[:2]
    width = query.shape[-1]
    return (
        target() == "cuda"
        and query.dtype in (jnp.float16, jnp.bfloat16)
        and same
        and width == value.shape[-1] <= _WIDEST
        and width % 8 == 0
        and query.size > 0
        and key.size > 0
    )


def attention(query: Any, key: Any, value: Any, causal: bool, scale: float) -> Any:
    """softmax(query @ key.T * scale) @ value for (N, H, L, E) queries and (N, H, S, E) keys and values."""
    turned = [jnp.swapaxes(x, 1, 2) for x in (query, key, value)]
    return jnp.swapaxes(_flash_p.bind(*turned, causal=causal, scale=scale), 1, 2)


def _in_jax(q: Any, k: Any, v: Any, *, causal: bool, scale: float) -> Any:
    """What the primitive means, for (N, L, H, E)."""
    scores = jnp.einsum("nlhe,nshe->nhls", q, k, preferred_element_type=jnp.float32) * np.float32(scale)
    if causal:
        scores = jnp.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
    return jnp.einsum("nhls,nshe->nlhe", softmax_of(scores, 3).astype(v.dtype), v)


def _tangent(dq: Any, dk: Any, dv: Any, q: Any, k: Any, v: Any, **params: Any) -> Any:
    return jax.jvp(lambda *qkv: _in_jax(*qkv, **params), (q, k, v), (dq, dk, dv))[1]


def _back(g: Any, q: Any, k: Any, v: Any, **params: Any) -> Any:
    return list(jax.vjp(lambda *qkv: _in_jax(*qkv, **params), q, k, v)[1](g))


def _fused(q: Any, k: Any, v: Any, *, causal: bool, scale: float) -> Any:
    """With what the backward kernel needs, so that XLA runs it once for both."""
    run = jax.nn.dot_product_attention
    return run(q, k, v, is_causal=causal, scale=scale, implementation="cudnn", return_residual=True)[0]


def _has_kernels() -> bool:
    """The kernels ask for compute capability 8.0 (Ampere)."""
    return float(getattr(jax.local_devices(backend="cuda")[0], "compute_capability", 0)) >= 8.0


def _on_cuda(q: Any, k: Any, v: Any, **params: Any) -> Any:
    return _fused(q, k, v, **params) if _has_kernels() else None


def _back_on_cuda(g: Any, q: Any, k: Any, v: Any, **params: Any) -> Any:
    if not _has_kernels():
        return None
    return list(jax.vjp(lambda *qkv: _fused(*qkv, **params), q, k, v)[1](g))


_flash_p = primitive("flash_attention", _in_jax, on_cuda=_on_cuda)
_tangent_p = primitive("flash_attention_tangent", _tangent)
_back_p = primitive("flash_attention_back", _back, several=True, on_cuda=_back_on_cuda)
dispatch.prim_requires_devices_during_lowering.update(
    (_flash_p, _back_p)
)  # cuDNN's kernels do, and are not seen inside
linear_in(_tangent_p, _tangent, 3, lambda g, *rest, **params: _back_p.bind(g, *rest, **params))
linear_in(_back_p, _back, 1)


def _rule(primals: Any, tangents: Any, **params: Any) -> Any:
    moved = [ad.instantiate_zeros(t) for t in tangents]
    return _flash_p.bind(*primals, **params), _tangent_p.bind(*moved, *primals, **params)


ad.primitive_jvps[_flash_p] = _rule
