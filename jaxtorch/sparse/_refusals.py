"""Errors of sparse tensors that PyTorch raises before it looks up a kernel for them."""

from __future__ import annotations

from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from ._tensor import COO, TITLES, SparseTensor

_OWN_KERNELS = frozenset(
    ("angle", "logit", "nan_to_num", "floor_divide", "frexp", "logical_and", "logical_or", "logical_xor")
)
"""Elementwise operations of which PyTorch looks up a kernel for compressed tensors, and finds none."""
_SIZES_FIRST = frozenset(
    """conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d avg_pool1d adaptive_max_pool1d_with_indices group_norm
    prelu _batch_norm_train _batch_norm_eval cosine_embedding_loss _kl_div triplet_margin_loss max_pool1d_with_indices
    max_pool1d addmv""".split()
)
"""Operations whose sizes and types PyTorch looks at before it looks up a kernel."""


def refuse_layout(public: Any, args: Any) -> None:
    """RuntimeError for compressed tensors in an elementwise operation, which its loop does not take."""
    op = getattr(getattr(public, "source", public), "op", None)
    if op is None or not op.elementwise or op.name in _OWN_KERNELS:
        return
    for a in args:
        if isinstance(a, SparseTensor) and a._kind is not COO:
            raise RuntimeError(f"unsupported tensor layout: {TITLES[a._kind]}")


def refuse_sizes(public: Any, args: Any, kwargs: Any) -> None:
    """The error of an operation that looks at sizes and types first, where dense tensors of these had one."""
    op = getattr(public, "op", None)
    if op is not None and op.name in _SIZES_FIRST:
        dense = lambda a: functions["empty"](a.shape, dtype=a.dtype, device="meta") if isinstance(a, Tensor) else a  # noqa: E731
        public(*map(dense, args), **{k: dense(a) for k, a in kwargs.items()})
