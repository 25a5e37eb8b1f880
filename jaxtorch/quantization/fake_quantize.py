"""`torch.quantization.fake_quantize`: the old name of `torch.ao.quantization.fake_quantize`."""

from typing import Any

from ..ao.quantization import fake_quantize as _fake_quantize


def __getattr__(name: str) -> Any:
    return getattr(_fake_quantize, name)
