"""`torch.ao`: quantization."""

from . import nn as nn
from . import quantization as quantization
