"""`torch.ao.nn`: fused layers, layers whose weight is rounded in training, and layers on integers."""

from . import intrinsic as intrinsic
from . import qat as qat
from . import quantized as quantized
