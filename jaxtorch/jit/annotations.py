"""`torch.jit.annotations`: names that libraries import for annotations."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035

from .._jit_internal import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "List", "Optional", "Tuple", "Union",
]  # fmt: skip
