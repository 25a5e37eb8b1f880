"""`torch.distributed.tensor._utils`: names that libraries import; using one raises NotImplementedError."""

from ..._absent import absent as _absent

globals().update(_absent(__name__, "compute_local_shape_and_global_offset", "jaxtorch has no distributed tensors"))
