"""`torch.backends.quantized`: which library quantised layers are meant for. XLA computes them; the choice decides the ranges of
`torch.ao.quantization.get_default_qconfig`."""

from __future__ import annotations

from typing import Any

from . import _flags

__all__ = []

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
engine: str


class _Engine(_flags.Flag):
    """The library; RuntimeError for one that is not known."""

    def __set__(self, module: Any, value: Any) -> None:
        if value not in ("none", *supported_engines):
            raise RuntimeError(f"{value} is not a valid value for quantized engine")
        super().__set__(module, value)


_flags.with_flags(__name__, engine=_Engine("x86"))
