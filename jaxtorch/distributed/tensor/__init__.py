"""`torch.distributed.tensor`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations

from .placement_types import Partial, Placement, Replicate, Shard  # noqa: F401
