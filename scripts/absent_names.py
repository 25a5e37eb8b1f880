"""Writes the table of what PyTorch has and jaxtorch has not, from the installed PyTorch.

    python scripts/absent_names.py > jaxtorch/_private_names/absent_names.txt

A line for each module: classes, exceptions, enumerations, functions, plain values (also settings) and other objects.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import importlib
import inspect
import io
import json
import pkgutil
import types
import typing
import warnings
from collections.abc import Iterator
from typing import Any

import torch

import jaxtorch
from jaxtorch._private_names import absent_names
from jaxtorch._running import finder

SKIPPED = (
    "torch.testing._internal", "torch._vendor", "torch._native", "torch._numpy", "torch.utils.hipify", "torch.contrib",
    "torch._inductor.kernel.vendored_templates", "torch.utils.benchmark.examples", "torch.fx.passes.tests", "torch.bin",
    "torch.lib", "torch.include", "torch.share", "torch.test", "torch._C._te", "torch._C._jit_tree_views",
    "torch.fx.experimental.migrate_gradual_types", "torch.fx.experimental.unification", "torch.onnx._internal",
)  # fmt: skip
"""Parts that are no API: tests, examples, tools that are run, what is written for one kind of GPU."""


def modules() -> Iterator[tuple[str, Any]]:
    """PyTorch's modules by name; those that need another package are left out."""
    yield "torch", torch
    names = [m.name for m in pkgutil.walk_packages(torch.__path__, "torch.", lambda name: None)]
    inner = ["torch._C"] + [f"torch._C.{n}" for n, v in vars(torch._C).items() if isinstance(v, types.ModuleType)]
    for name in sorted({*names, *inner}):
        if "__main__" in name or any(name == s or name.startswith(s + ".") for s in SKIPPED):
            continue
        with contextlib.suppress(BaseException):
            yield name, importlib.import_module(name) if name not in inner else eval(name)


COMPILER = (
    "torch._inductor", "torch._dynamo", "torch._functorch", "torch._export", "torch._refs", "torch._decomp",
    "torch._higher_order_ops", "torch._meta_registrations", "torch._subclasses", "torch._prims",
)  # fmt: skip
"""Parts of a compiler that is not here; of these no names with an underscore."""


def names(theirs: Any, name: str) -> Iterator[str]:
    """The names that are a module's own, and not what it imported for itself."""
    listed = getattr(theirs, "__all__", ())
    whole = name == "torch" or name.startswith("torch._C")
    gathers = not name.startswith(COMPILER)  # libraries import from wherever they see a name
    for n in sorted({*vars(theirs), *listed}):
        if n.startswith("__" if not name.startswith(COMPILER) else "_") or not n.isidentifier():
            continue
        try:
            value = getattr(theirs, n)
        except Exception:
            continue
        home = getattr(value, "__module__", None)
        if isinstance(value, types.ModuleType):
            if whole and value.__name__.startswith("torch._C."):
                yield n
        elif n in listed or (whole and (home is None or home.partition(".")[0] in ("torch", "builtins"))):
            yield n
        elif isinstance(home, str) and not isinstance(value, (typing.TypeVar, typing.ParamSpec)):
            if home == name or (gathers and home.startswith("torch.") and (n[0] != "_" or inspect.isbuiltin(value))):
                yield n
        elif home is None and not callable(value) and n not in ("annotations", "log", "logger", "TYPE_CHECKING"):
            yield n


def plain(value: Any) -> bool:
    """A value that can stand in a table and says nothing of the machine it was read on."""
    if isinstance(value, str):
        return "/" not in value and "\\" not in value and len(value) <= 100 and value.isprintable()
    if isinstance(value, (list, tuple)):
        return len(value) <= 20 and all(plain(v) for v in value)
    if isinstance(value, float):
        return value == value and abs(value) != float("inf")
    return value is None or type(value) in (bool, int)


def described(name: str, value: Any, listed: bool) -> tuple[str, Any]:
    """A value's kind, and what the table says of it besides its name."""
    if isinstance(value, type) and issubclass(value, BaseException):
        base = next(b.__name__ for b in value.__mro__ if b.__module__ == "builtins")
        return "exception", base
    if isinstance(value, type) and issubclass(value, enum.Enum):
        members = {m.name: m.value for m in value}
        if members and all(type(v) in (int, str) for v in members.values()):
            return "enum", members
    if isinstance(value, (type, types.GenericAlias, types.UnionType)):
        return "class", None
    if (
        typing.get_origin(value) is not None
        or type(value).__name__ == "TypeAliasType"
        or isinstance(value, (typing.TypeVar, typing.NewType))
    ):
        return "class", None
    if inspect.isroutine(value) or inspect.isfunction(value):
        return "function", None
    if plain(value) and (name.isupper() or listed):  # a constant; any other may be state
        return "value", value
    return ("function" if callable(value) else "object"), None


def settings(theirs: Any) -> dict[str, Any]:
    """The settings of a module of settings and their defaults; those of a group are named `group.name`."""
    found = {}
    for key, entry in theirs._config.items():
        if entry.alias is not None:
            found[key] = f"={entry.alias.removeprefix(theirs.__name__ + '.')}"
            continue
        text = repr(entry.default)
        with contextlib.suppress(ValueError, SyntaxError):
            ast.literal_eval(text)
            found[key] = text if "/" not in text else "None"
        found.setdefault(key, "None")
    return found


ASKED = {
    "torch.distributed._composable.fsdp": "UnshardHandle",
    "torch.distributed.checkpoint.format_utils": "_EmptyStateDictLoadPlanner _load_state_dict",
    "torch.distributed.tensor.placement_types": "DTensorSpec TensorMeta",
    "torch.onnx.operators": "shape_as_tensor reshape_from_tensor_shape",
}
"""Names beside these that libraries import from a module: of an older PyTorch, or what it imported for itself."""


def has(ours: Any, name: str) -> bool:
    try:
        getattr(ours, name)
    except Exception:
        return False
    return True


def imported(name: str) -> Any:
    """A module of jaxtorch; None where it is only in the table. It may import what is only there."""
    absent_names._hidden.clear()
    try:
        found = importlib.import_module(name)
    except ImportError:
        return None
    finally:
        absent_names._hidden.append(True)
    return None if isinstance(found, finder.Absent) else found


def table() -> Iterator[str]:
    for name, theirs in modules():
        ours = imported("jax" + name)
        line: dict[str, Any] = {}
        if "_config" in vars(theirs) and hasattr(theirs, "codegen_config"):
            line["setting"] = settings(theirs)
        for n in names(theirs, name):
            value = getattr(theirs, n)
            known = ("setting" in line and (n[0] == "_" or n in line["setting"])) or (ours is not None and has(ours, n))
            if known or (isinstance(value, types.ModuleType) and value.__name__ == f"{name}.{n}"):
                continue
            kind, content = described(n, value, n in getattr(theirs, "__all__", ()))
            if content is None and kind != "value":
                line[kind] = f"{line[kind]} {n}" if kind in line else n
            else:
                line.setdefault(kind, {})[n] = content
        for n in ASKED.get(name, "").split():
            kind = "class" if n.lstrip("_")[0].isupper() else "function"
            line[kind] = f"{line[kind]} {n}" if kind in line else n
        if line or ours is None:
            yield f"{name} {json.dumps(line)}"
    yield "torch.testing._internal {}"
    operators: dict[str, set[str]] = {}
    for n in torch._ops._higher_order_ops:
        if not has(jaxtorch.ops.higher_order, n):
            operators.setdefault("higher_order", set()).add(n)
    for full in torch._C._dispatch_get_all_op_names():
        space, _, n = full.partition("::")
        packet = n.partition(".")[0]
        if not has(getattr(jaxtorch.ops, space), packet):
            operators.setdefault(space, set()).add(packet)
    for space, packets in sorted(operators.items()):
        yield f"@{space} {json.dumps({'operator': ' '.join(sorted(packets))})}"


if __name__ == "__main__":
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        lines = list(table())
    print("\n".join(lines))
