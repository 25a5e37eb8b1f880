"""`torch.distributed.fsdp._common_utils`: a class that libraries ask for by `isinstance`."""

from __future__ import annotations

from .._composable_state import _State


class _FSDPState(_State):
    """The state of a sharded module; jaxtorch shards none."""
