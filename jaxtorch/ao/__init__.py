"""`torch.ao`: quantization."""

from . import quantization as quantization

# isort: split
# Layers take their observers from there.
from . import nn as nn
