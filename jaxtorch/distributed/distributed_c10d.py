"""`torch.distributed.distributed_c10d`: the names of `torch.distributed` under their other address."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from .collectives import _all_gather_base as _all_gather_base
from .collectives import _reduce_scatter_base as _reduce_scatter_base
from .process_group import _get_default_group as _get_default_group
from .process_group import _rank_not_in_group as _rank_not_in_group
from .process_group import get_global_rank
from .process_group import named_group as _resolve_process_group

_package: Any = sys.modules[__package__]  # pyright: ignore[reportArgumentType]
__all__ = ["_get_default_group", "_resolve_process_group"]
__all__ += _package.__all__


def _get_global_rank(group: Any, rank: int) -> int:
    """`get_global_rank`, with PyTorch's FutureWarning."""
    warnings.warn(
        "`torch.distributed.distributed_c10d._get_global_rank` is deprecated, "
        "please use `torch.distributed.distributed_c10d.get_global_rank` instead",
        FutureWarning,
        stacklevel=2,
    )
    return get_global_rank(group, rank)


def __getattr__(name: str) -> Any:
    if name in _package.__all__:
        return getattr(_package, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
