"""The stub through which editors see a Tensor's methods."""

from __future__ import annotations

import ast
import inspect
import json
import os
from pathlib import Path

import pytest

import jaxtorch as torch
from conftest import ROOT, TABLES, Run

STUB = ROOT / "jaxtorch" / "_core" / "tensor" / "tensor.pyi"


def members() -> dict[str, ast.stmt]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor").body
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
    return found


@pytest.mark.skipif(
    os.environ.get("JAXTORCH_EXECUTION") == "immediate",
    reason="the stub is made, by trying methods, in the default mode",
)
def test_stubs_are_fresh(run_python: Run):
    """After a change of what a Tensor or a namespace has: python scripts/make_stub.py. In a process with nothing else imported."""
    script = str(ROOT / "scripts" / "make_stub.py")
    text = f"import json, runpy; print(json.dumps({{str(p): s for p, s in runpy.run_path({script!r})['stubs']().items()}}))"
    for path, made in json.loads(run_python("-c", text).stdout).items():
        assert Path(path).read_text(encoding="utf-8") == made, path


def test_every_member_is_there():
    known = members()
    hidden = {"__module__", "__doc__", "__slots__", "__dict__", "__weakref__", "__annotations__", "__firstlineno__",
              "__static_attributes__", "__slotnames__"}  # fmt: skip
    missing = [n for n in vars(torch.Tensor) if n not in known and n not in hidden]
    assert not missing


@pytest.mark.parametrize(
    "name, signature",
    [
        ("add", "(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None=..., out: Any=...) -> Tensor"),
        ("add_", "(self, other: Tensor | _Number, *, alpha: Tensor | _Number | None=...) -> Self"),
        ("__add__", "(self, other: Any) -> Tensor"),
        ("__iadd__", "(self, other: Any) -> Self"),
        ("size", "(self, dim: None=...) -> Size"),
        ("cummax", "(self, dim: Any, *, axis: Any=..., out: Any=...) -> return_types.cummax"),
        ("shape", "(self) -> Size"),
        ("requires_grad", "(self) -> _bool"),
        ("relu", "(self) -> Tensor"),
        ("is_cuda", "(self) -> _bool"),
    ],
)
def test_signatures(name: str, signature: str):
    node = members()[name]
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    assert f"({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}" == signature


def test_an_operation_with_two_results_is_not_called_one_tensor():
    node = members()["sort"]
    assert (
        isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) == "return_types.sort"
    )


def test_every_public_name_is_in_the_stub():
    """A name that the stub lacks is an error to checkers."""
    text = (ROOT / "jaxtorch" / "__init__.pyi").read_text(encoding="utf-8")
    said = {n.name for n in ast.walk(ast.parse(text)) if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    said |= {a.asname or a.name for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom) for a in n.names}
    said |= {
        n.target.id for n in ast.parse(text).body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    }
    names = {line.split(".")[1] for line in (TABLES / "public_names.txt").read_text().split() if "." in line}
    assert not names - said


@pytest.mark.usefixtures("functions_as_written")
def test_signatures_take_what_the_methods_take():
    for name, node in members().items():
        function = inspect.getattr_static(torch.Tensor, name, None)
        if not inspect.isfunction(function) or not isinstance(node, ast.FunctionDef) or node.decorator_list:
            continue
        positional = [p for p in inspect.signature(function).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        assert [a.arg for a in node.args.args][1:] == [p.name for p in positional][1:], name
