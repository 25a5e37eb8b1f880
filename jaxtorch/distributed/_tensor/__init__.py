"""`torch.distributed._tensor`: the former name of `torch.distributed.tensor`, with its submodules."""

import sys
from importlib import import_module
from typing import Any

from .. import tensor as _tensor
from ..device_mesh import DeviceMesh, init_device_mesh  # noqa: F401

for _name in ("_utils", "experimental", "placement_types"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"{_tensor.__name__}.{_name}")


def __getattr__(name: str) -> Any:
    return getattr(_tensor, name)
