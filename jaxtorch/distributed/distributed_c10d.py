"""`torch.distributed.distributed_c10d`: the names of `torch.distributed` under their other address."""

from __future__ import annotations

from . import *  # noqa: F403
from .process_group import _get_default_group as _get_default_group
from .process_group import named_group as _resolve_process_group

__all__ = ["_get_default_group", "_resolve_process_group"]
