"""`torch.distributed.rpc`: names that libraries import; using one raises NotImplementedError."""

from __future__ import annotations


def is_available() -> bool:
    """False: there are no remote procedure calls."""
    return False
