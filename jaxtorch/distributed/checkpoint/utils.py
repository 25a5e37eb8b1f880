"""`torch.distributed.checkpoint.utils`: the name that libraries import."""

from .api import CheckpointException  # pyright: ignore[reportAttributeAccessIssue]

__all__ = ["CheckpointException"]
