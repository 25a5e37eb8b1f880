"""`torch.ao.nn.quantized`: layers that compute on integers; so far the dynamic ones."""

from . import dynamic as dynamic
