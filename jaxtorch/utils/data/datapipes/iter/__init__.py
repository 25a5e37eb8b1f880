"""`torch.utils.data.datapipes.iter`: no DataPipes. Any name can be imported; using one raises NotImplementedError."""

from __future__ import annotations

from typing import Any

from ....._absent import absent as _absent
from . import combinatorics as combinatorics


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return _absent(__name__, name, "jaxtorch has no DataPipes; write an IterableDataset or a Dataset")[name]
