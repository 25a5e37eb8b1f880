"""`torch.ao.nn`: quantised layers."""

from . import quantized as quantized
