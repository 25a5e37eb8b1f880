"""PyTorch's databases of functions that are defined in Python, on either module: their source, executed with `torch` bound to it.

`definitions(name)` is a namespace with the functions and classes of a database, made with jaxtorch; its list of entries holds
stand-ins that keep what they were made with. Samples are PyTorch's own, converted (`op_db_kit.py`).
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import types
from typing import Any

from parity import candidate
from quick_reference import databases


class Entry:
    """An entry of a database: the arguments that it was made with."""

    def __init__(self, name: str = "", **given: Any) -> None:
        self.name, self.given = name, given
        self.__dict__.update(given)


class Missing:
    """Stands for a name that jaxtorch has not. It may be called while the database is made; what that gives raises when called."""

    def __init__(self, name: str, final: bool = False) -> None:
        self.name, self.final = name, final

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.final:
            raise NotImplementedError(self.name)
        return Missing(self.name, True)


@functools.cache
def _stand_ins() -> dict[str, Any]:
    core = types.ModuleType("core")
    core.__dict__.update(OpInfo=Entry, SampleInput=None)
    kinds = types.ModuleType("kinds")
    kinds.__dict__.update(
        {n: lambda *types: types for n in ("all_types_and", "custom_types", "empty_types", "floating_types")}
    )
    return {"torch.testing._internal.opinfo.core": core, "torch.testing._internal.common_dtype": kinds}


def there(found: Any) -> Any:
    """What has been found under a name, or None if that only says that jaxtorch lacks it."""
    is_absent = any(getattr(x, "__module__", "") == "jaxtorch._private_names.absent" for x in (type(found), found))
    return None if is_absent else found


@functools.cache
def definitions(name: str) -> dict[str, Any]:
    """The namespace of a database with jaxtorch in PyTorch's place."""
    module = importlib.import_module(name)
    ours = candidate().__name__

    def load(wanted: str, scope: Any = None, local: Any = None, items: Any = (), level: int = 0) -> Any:
        if wanted in _stand_ins():
            return _stand_ins()[wanted]
        if wanted.startswith("torch.testing._internal."):
            return types.SimpleNamespace(**definitions(wanted))
        if wanted == "torch" or wanted.startswith("torch."):
            try:
                found = importlib.import_module(ours + wanted.removeprefix("torch"))
            except ModuleNotFoundError:
                found = None
            named = {item: there(getattr(found, item, None)) or Missing(f"{wanted}.{item}") for item in items or ()}
            return types.SimpleNamespace(**named) if named else candidate()
        if wanted == "functorch.experimental.control_flow":
            return importlib.import_module(f"{ours}._higher_order_ops")
        return builtins.__import__(wanted, scope, local, items, level)

    scope = {"__name__": f"{ours}_{name.rpartition('.')[2]}", "__builtins__": {**vars(builtins), "__import__": load}}
    code = compile(inspect.getsource(module), module.__file__ or name, "exec")
    exec(code, scope)
    return scope


def pairs(name: str, listed: str) -> dict[str, tuple[Any, Any]]:
    """The entries of a database: PyTorch's, and the one made with jaxtorch."""
    databases()  # what the samples of all of them share
    theirs, ours = getattr(importlib.import_module(name), listed), definitions(name)[listed]
    assert len(theirs) == len(ours)
    names = [t.name + (f"-{t.variant_test_name}" if t.variant_test_name else "") for t in theirs]
    return dict(zip(names, zip(theirs, ours, strict=True), strict=True))
