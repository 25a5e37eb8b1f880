"""`torch.multiprocessing.reductions`: how tensors go to other processes."""

from __future__ import annotations

from .._tensor.sharing import reduced as reduce_tensor

__all__ = ["reduce_tensor"]
