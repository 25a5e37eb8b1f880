"""`torch.distributed.fsdp`: the settings of sharded models; what would shard one raises NotImplementedError."""

# ruff: noqa: F403, F405 - the names of these modules are the package's
from __future__ import annotations

from .api import *

__all__ = []
__all__ += api.__all__
