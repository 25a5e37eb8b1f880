"""`torch.distributed._tensor`: the former name of `torch.distributed.tensor`, with its submodules."""

import sys as _sys

from .. import tensor as _tensor
from ..device_mesh import DeviceMesh, init_device_mesh  # noqa: F401
from ..tensor import _utils, experimental, placement_types

globals().update({_name: _x for _name, _x in vars(_tensor).items() if not _name.startswith("_")})
for _module in (_utils, experimental, placement_types):
    _sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module
