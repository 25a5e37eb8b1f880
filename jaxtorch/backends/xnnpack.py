"""`torch.backends.xnnpack`: kernels for mobile CPUs, which jaxtorch does not use."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _flags

enabled: bool


class _Never(_flags.Flag):
    def __set__(self, module: Any, value: Any) -> NoReturn:
        raise RuntimeError("Assignment not supported")


_flags.with_flags(__name__, enabled=_Never(False))
