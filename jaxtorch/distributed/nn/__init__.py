"""`torch.distributed.nn`: collectives that autograd knows."""

from . import functional as functional
