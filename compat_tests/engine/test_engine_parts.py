"""The engine lies in parts (`jaxtorch/_core/README.md`): what each may import, and what it shows to others."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import jaxtorch as torch
from conftest import ROOT

PACKAGE = ROOT / "jaxtorch"
ENGINE = PACKAGE / "_core"
# lowest first: each imports only what stands before it
PARTS = (
    "native", "types", "compile", "host", "run", "record", "graph", "define", "tensor", "random", "transforms", "autograd",
    "dispatch",
)  # fmt: skip
MODULES = {
    "jaxtorch._core." + ".".join(path.relative_to(ENGINE).with_suffix("").parts)
    for path in ENGINE.glob("*/*.py")
    if path.name != "__init__.py"
}


def imported(path: Path, text: str | None = None) -> Iterator[tuple[int, str, bool]]:
    """The line and the name of each module of a part that a file imports, and whether that stands inside a function."""
    tree = ast.parse(path.read_text(encoding="utf-8") if text is None else text)
    package = path.relative_to(ROOT).parts[:-1]
    skipped, inside = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(inner for statement in node.body for inner in ast.walk(statement))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inside.update(ast.walk(node))
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node in skipped:
            continue
        base = (
            (*package[: len(package) - node.level + 1], *(node.module or "").split("."))
            if node.level
            else [node.module]
        )
        for name in node.names:
            start = ".".join(filter(None, base))
            full = next((m for m in (f"{start}.{name.name}", start) if m in MODULES), None)
            if full:
                yield node.lineno, full, node in inside


def wrong_in(path: Path, text: str | None = None) -> list[str]:
    """What breaks the rules in a file of a part, or in one outside the engine."""
    where = path.relative_to(ENGINE).parts if path.is_relative_to(ENGINE) else ()
    own = where[0] if len(where) > 1 else ""
    found = []
    for line, module, inside in imports_of(path) if text is None else imported(path, text):
        part, name = module.split(".")[2:]
        if part == own:
            if inside:
                found.append(f"line {line}: {module} is imported inside a function")
            continue
        if own and PARTS.index(part) > PARTS.index(own):
            found.append(f"line {line}: {own} imports {module}, which stands above it")
        if own and inside:
            found.append(f"line {line}: {module} is imported inside a function")
        if name not in face(part):
            found.append(f"line {line}: {module} is not named in the __init__.py of {part}")
    return found


@cache
def imports_of(path: Path) -> list[tuple[int, str, bool]]:
    return list(imported(path))


@cache
def face(part: str) -> frozenset[str]:
    for node in ast.parse((ENGINE / part / "__init__.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return frozenset(ast.literal_eval(node.value))
    return frozenset()


FILES = sorted(path for path in PACKAGE.rglob("*.py"))


def test_the_parts_are_those_of_the_table():
    folders = [path.name for path in ENGINE.iterdir() if (path / "__init__.py").exists()]
    assert sorted(folders) == sorted(PARTS)
    text = (ENGINE / "README.md").read_text(encoding="utf-8")
    order = [text.index(f"| [`{part}`]") for part in PARTS]
    assert order == sorted(order)


def test_parts_import_one_way():
    wrong = {path.relative_to(PACKAGE).as_posix(): wrong_in(path) for path in FILES}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize(
    ("file", "text", "count"),
    [
        ("_core/run/x.py", "from ..types import value\nfrom ..types.value import Value\nfrom . import runner", 0),
        ("_core/run/x.py", "from ..record.program import emit", 1),
        ("_core/run/x.py", "from jaxtorch._core.record import program", 1),
        ("_core/run/x.py", "def f():\n    from ..types.value import Value", 1),
        ("_core/run/x.py", "def f():\n    from . import runner", 1),
        ("_core/run/x.py", "from ..compile import convolution", 1),
        ("_core/compile/x.py", "from . import convolution", 0),
        ("_ops/x.py", "from .._core.compile import kernel", 0),
        ("_ops/x.py", "from .._core.compile.convolution import lowered", 1),
    ],
)
def test_the_rule_sees_what_breaks_it(file: str, text: str, count: int):
    assert len(wrong_in(PACKAGE / file, text)) == count


@pytest.mark.parametrize("part", PARTS[1:])
def test_a_part_shows_what_it_has(part: str):
    """Its face names modules that are there and that others use; its README names every file, on one screen."""
    here = {path.stem for path in (ENGINE / part).glob("*.py")} - {"__init__"}
    used = {m.split(".")[3] for path in FILES if not path.is_relative_to(ENGINE / part) for _, m, _ in imports_of(path)
            if m.split(".")[2] == part}  # fmt: skip
    assert face(part) <= here
    assert face(part) == used
    text = (ENGINE / part / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(here) if f"`{name}`" not in text] == []
    assert len(text.splitlines()) <= 40


def calls_that_get(run: Any, objects: Any) -> list[tuple[str, str]]:
    """(file of the caller, file of the function) for each call to which one of the objects is passed, while `run` runs."""
    found = []

    def look(frame: Any, event: str, _: Any) -> None:
        name, code = frame.f_code.co_filename, frame.f_code
        if event != "call" or not name.startswith((f"{PACKAGE}/", "<jaxtorch")):
            return
        named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS)]
        given = [frame.f_locals.get(n) for n in named]
        wanted = {id(x) for x in objects()}
        if any(id(x) in wanted or (type(x) in (list, tuple) and any(id(y) in wanted for y in x)) for x in given):
            found.append((frame.f_back.f_code.co_filename, name))

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def height(file: str) -> int:
    """How far up a file stands: the surface, generated functions, `_ops`, the engine's parts."""
    if not file.startswith(f"{PACKAGE}/"):
        return len(PARTS) if file.startswith("<jaxtorch") else len(PARTS) + 2
    first, second, *_ = Path(file).relative_to(PACKAGE).parts
    return PARTS.index(second) if first == "_core" else len(PARTS) + 1


@pytest.mark.usefixtures("functions_as_written")
@pytest.mark.parametrize("name", ["F.relu(x)", "x[1:] = y", "loss.backward()"])
def test_a_tensor_passes_through_few_files_downwards(name: str):
    w = torch.randn(4, 4, requires_grad=True)
    x, y = (w, w) if "relu" in name else (torch.randn(4, 4), torch.randn(3, 4))
    losses: list[Any] = [torch.nn.functional.relu(w @ w).sum() for _ in range(4)]
    F, t = torch.nn.functional, x

    def run() -> None:
        nonlocal t
        match name:
            case "F.relu(x)":
                F.relu(x)
            case "x[1:] = y":
                x[1:] = y
            case _:
                t = losses.pop()
                t.backward()

    run()
    run()
    calls = calls_that_get(run, lambda: (t, t._value, t._node or t))
    assert len({callee for _, callee in calls if not callee.startswith("<")}) <= 8
    assert [(a, b) for a, b in calls if height(b) > height(a)] == []
