"""`torch.backends.quantized`: which library quantised layers are meant for. XLA computes them; the choice decides the ranges of
`torch.ao.quantization.get_default_qconfig`."""

from __future__ import annotations

__all__: list[str] = []

supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
engine = "x86"
