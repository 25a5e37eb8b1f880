"""`torch.distributed.tensor.experimental`: names that libraries import; all but one raise NotImplementedError at use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "context_parallel local_map register_sharding",
        "jaxtorch has no distributed tensors; for several devices use jax.sharding",
    )
)


@contextmanager
def implicit_replication() -> Iterator[None]:
    """Tensors that meet distributed ones count as replicated. There are no distributed ones here, so nothing changes."""
    yield
