"""`torch.functional`: functions of `torch` under the name of the file that PyTorch defines them in."""

from __future__ import annotations

import sys

from ._core.define.op import functions as _functions
from ._core.tensor.tensor import Tensor as Tensor
from ._namespace.small_functions import broadcast_shapes
from .nn import functional as F  # noqa: F401

torch = sys.modules["jaxtorch"]  # editors add `from torch.functional import F, Tensor`

atleast_1d, atleast_2d, atleast_3d = (_functions[f"atleast_{n}d"] for n in (1, 2, 3))
block_diag, broadcast_tensors, cartesian_prod = (
    _functions[n] for n in ("block_diag", "broadcast_tensors", "cartesian_prod")
)
cdist, chain_matmul, einsum, meshgrid, norm = (
    _functions[n] for n in ("cdist", "chain_matmul", "einsum", "meshgrid", "norm")
)
lu, pca_lowrank, split, tensordot = (_functions[n] for n in ("lu", "pca_lowrank", "split", "tensordot"))
stft, istft, unique, unique_consecutive = (_functions[n] for n in ("stft", "istft", "unique", "unique_consecutive"))
unravel_index, svd_lowrank = _functions["unravel_index"], _functions["svd_lowrank"]

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "cdist",
    "chain_matmul", "einsum", "istft", "lu", "meshgrid", "norm", "pca_lowrank", "split", "stft", "svd_lowrank", "tensordot", "unique",
    "unique_consecutive", "unravel_index",
]  # fmt: skip
