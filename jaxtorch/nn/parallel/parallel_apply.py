"""`torch.nn.parallel.parallel_apply`: modules called side by side."""

from .data_parallel import parallel_apply

__all__ = ["parallel_apply"]
