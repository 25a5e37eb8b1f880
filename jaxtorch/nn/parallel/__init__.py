"""`torch.nn.parallel`: wrappers that spread a module over devices or processes. jaxtorch has one of each."""

from __future__ import annotations

from .data_parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter
from .distributed import DistributedDataParallel

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip
