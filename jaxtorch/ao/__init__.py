"""`torch.ao`: quantization's names."""

from . import quantization as quantization
