"""`torch.distributed.tensor.experimental`: names that libraries import; all but one raise NotImplementedError at use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Tensors that meet distributed ones count as replicated. There are no distributed ones here, so nothing changes."""
    yield
