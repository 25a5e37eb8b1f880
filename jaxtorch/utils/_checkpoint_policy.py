"""What the policies of selective checkpointing are told and answer."""

from __future__ import annotations

import enum
from typing import Any


class CheckpointPolicy(enum.Enum):
    """What selective checkpointing may decide for an operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy is told of an operation."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute = is_recompute
        self.op_output = op_output


CheckpointPolicy.__module__ = SelectiveCheckpointContext.__module__ = "jaxtorch.utils.checkpoint"
