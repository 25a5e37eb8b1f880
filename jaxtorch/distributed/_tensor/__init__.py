"""`torch.distributed._tensor`: the former name of `torch.distributed.tensor`, with its submodules."""

import sys as _sys

from ..device_mesh import DeviceMesh, init_device_mesh  # noqa: F401
from ..tensor import *  # noqa: F403
from ..tensor import _utils, experimental, placement_types
from ..tensor.placement_types import Partial, Placement, Replicate, Shard  # noqa: F401

for _module in (_utils, experimental, placement_types):
    _sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
