"""`torch.distributed.fsdp.fully_sharded_data_parallel`: the names of `torch.distributed.fsdp`, which cannot be used."""

from typing import Any

from .. import fsdp as _fsdp


def __getattr__(name: str) -> Any:
    return getattr(_fsdp, name)
