"""`torch._functorch`: the inside of PyTorch's transforms. Here they are JAX's; libraries import these names to patch them."""

from . import vmap as vmap
