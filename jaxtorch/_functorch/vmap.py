"""`torch._functorch.vmap`: importable names. `torch.func.vmap` is `jax.vmap` and calls none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor as Tensor
from .._private_names.absent import absent as _absent
from ..func import vmap as vmap
from ..utils._pytree import _broadcast_to_and_flatten as _broadcast_to_and_flatten
from ..utils._pytree import tree_flatten as tree_flatten
from ..utils._pytree import tree_unflatten as tree_unflatten


def _get_name(func: Callable[..., Any]) -> str:
    """How messages name a function."""
    return getattr(func, "__name__", None) or repr(func)


globals().update(
    _absent(
        __name__,
        "_add_batch_dim _create_batched_inputs _maybe_remove_batch_dim _process_batched_inputs _remove_batch_dim _unwrap_batched",
        "torch.func.vmap is jax.vmap here",
    )
)
