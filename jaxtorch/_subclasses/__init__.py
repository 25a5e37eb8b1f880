"""`torch._subclasses`: tensors without content. jaxtorch's are on the device 'meta'."""

from .fake_tensor import FakeTensor, FakeTensorMode

__all__ = ["FakeTensor", "FakeTensorMode"]
