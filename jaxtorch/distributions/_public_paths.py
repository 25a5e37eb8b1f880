"""Public paths of distributions: `torch.distributions.normal` is the module `_continuous/normal.py`.

PyTorch has its distributions side by side, a module each; here they lie in folders by kind. The public path is a second entry of
the same module in `sys.modules`, and the module and its classes say that they are from there.
"""

from __future__ import annotations

import sys
from types import ModuleType

from .._running import finder

_FOLDERS = ("_continuous", "_discrete", "_multivariate")


def public_path(module: str) -> str:
    """A module's public path; any module but those in the folders has only one."""
    package, _, name = module.rpartition(".")
    above, _, folder = package.rpartition(".")
    return f"{above}.{name}" if above == __package__ and folder in _FOLDERS else module


def publish(folder: ModuleType) -> dict[str, ModuleType]:
    """Put the modules of a folder under their public paths, and return them by their names."""
    found = {name: item for name, item in vars(folder).items() if isinstance(item, ModuleType)}
    for module in found.values():
        module.__name__ = public_path(module.__name__)
        sys.modules[module.__name__] = module
        vars(module).pop("__getattr__", None)  # it answers under the folder's name for names that the module lacks
        finder.complete(module, module.__name__)
    return found
