"""Lists jaxtorch's public names, one a line, marking those that PyTorch does not have.

    python scripts/public_names.py > compat_tests/kits/tables/public_names.txt

A test compares the list with that file, so that no name comes or goes unseen.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from types import ModuleType

import jaxtorch


def public_modules() -> list[ModuleType]:
    names = [module.name for module in pkgutil.walk_packages(jaxtorch.__path__, "jaxtorch.")]
    # Walking has imported the packages, of which `distributions` gives its modules public paths.
    names += [name for name in sys.modules if name.startswith("jaxtorch.distributions.") and name not in names]
    public = [name for name in names if not any(part.startswith("_") for part in name.split("."))]
    return [jaxtorch, *map(importlib.import_module, public)]


def belongs(value: object, module: ModuleType) -> bool:
    """Whether `value` is part of the surface, and not something that a module imported for itself.

    A package gathers what is public; a plain module without `__all__` shows only what it defines.
    """
    if hasattr(module, "__all__") and module is not jaxtorch:
        return True
    is_package = bool(getattr(module, "__path__", None))
    if isinstance(value, ModuleType):
        return is_package and value.__name__.split(".")[0] == "jaxtorch"
    home = getattr(value, "__module__", None)
    if not is_package:
        return home == module.__name__
    return (home or "jaxtorch").split(".")[0] in ("jaxtorch", "torch")  # numbers have no home


def public_names() -> list[str]:
    lines = []
    pairs = [(module, in_pytorch(module.__name__)) for module in public_modules()]
    for module, theirs in pairs:  # all of them imported by now: a package has its submodules as attributes from then on
        own = getattr(module, "__all__", vars(module))
        names = {*vars(module), *own} if module is jaxtorch else own
        for name in names:
            if name.startswith("_") or not belongs(getattr(module, name), module):
                continue
            mark = "" if theirs is not None and hasattr(theirs, name) else "  (not in PyTorch)"
            lines.append(f"{module.__name__}.{name}{mark}")
    return sorted(set(lines))


def in_pytorch(name: str) -> ModuleType | None:
    try:
        return importlib.import_module("torch" + name.removeprefix("jaxtorch"))
    except ModuleNotFoundError:
        return None


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print("\n".join(public_names()))
