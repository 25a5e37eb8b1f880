"""The rules that carry the code base, held by reading its sources and importing it in a fresh interpreter."""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from conftest import ROOT, TABLES, Run
from sources import FILES, PACKAGE, PACKAGE_FILES, label, tree

LIMIT = 600  # lines of a file


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path) for path in PACKAGE_FILES}


def imported_modules(module: ast.Module, path: Path) -> Iterator[tuple[int, str]]:
    """The line and the full name of every module that a file imports, but not under TYPE_CHECKING."""
    package = module_name(path) if path.name == "__init__.py" else module_name(path).rpartition(".")[0]
    skipped: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped.update(inner for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(module):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            for name in node.names:
                full = f"{base}.{name.name}"
                yield node.lineno, full if full in MODULES else base


LAYERS = ("_core", "_ops", "the surface (nn, optim, utils, ...)", "__init__")


def layer(module: str) -> int:
    """0: the engine, 1: the mathematics, 2: the surface, 3: the package itself, which gathers them."""
    parts = module.split(".")
    if len(parts) == 1 or parts[1] == "__main__":
        return 3
    return {"_core": 0, "_ops": 1}.get(parts[1], 2)


def upward_imports(module: ast.Module, path: Path) -> list[str]:
    own = layer(module_name(path))
    return [
        f"{label(path)}:{line}: {LAYERS[own]} imports {name}, of {LAYERS[layer(name)]}"
        for line, name in imported_modules(module, path)
        if name.split(".")[0] == "jaxtorch" and layer(name) > own
    ]


def test_imports_go_one_way():
    assert not [line for path in PACKAGE_FILES for line in upward_imports(tree(path), path)]


@pytest.mark.parametrize(
    "file, text, count",
    [
        ("_core/x.py", "from jaxtorch._core.types import value\nimport jax", 0),
        ("_core/x.py", "def f():\n    from jaxtorch._ops import creation", 1),
        ("_core/x.py", "from .. import _ops", 1),
        ("_core/x.py", "from .types import value\nfrom .types.value import Value", 0),
        ("_core/x.py", "import jaxtorch", 1),
        ("_core/x.py", "if TYPE_CHECKING:\n    from jaxtorch._ops import creation", 0),
        ("_ops/x.py", "from jaxtorch._core.types import value\nfrom jaxtorch.nn import Linear", 1),
        ("_ops/x.py", "from ..nn.modules import linear", 1),
        ("nn/x.py", "from jaxtorch import _ops\nfrom jaxtorch._core.tensor.tensor import Tensor", 0),
        ("__init__.py", "from . import nn\nfrom ._core.types import value", 0),
    ],
)
def test_the_import_rule_sees_what_breaks_it(file: str, text: str, count: int):
    assert len(upward_imports(ast.parse(text), PACKAGE / file)) == count


def test_the_package_never_imports_pytorch():
    assert not [
        f"{label(path)}:{line}: {name}"
        for path in PACKAGE_FILES
        for line, name in imported_modules(tree(path), path)
        if name.split(".")[0] == "torch"
    ]


@pytest.mark.parametrize("name", ["_core", "_ops", "distributions", "nn/modules", "optim"])
def test_a_readme_names_each_file(name: str):
    """That of its folder, or else that of the folder above."""
    missing = []
    for path in sorted((PACKAGE / name).rglob("[!_]*.py")):
        readme = next(p / "README.md" for p in path.parents if (p / "README.md").is_file())
        text = readme.read_text(encoding="utf-8")
        missing += [label(path)] * (f"`{path.stem}`" not in text and f"`{path.name}`" not in text)
    assert missing == []


def arrows(module: ast.Module, path: Path) -> set[str]:
    """The other modules that a file imports, at once or inside a function. The face of the package it lies in is none: it shows what
    is inside."""
    own = module_name(path)
    found = {name for _, name in imported_modules(module, path) if name in MODULES}
    return {name for name in found if not f"{own}.".startswith(f"{name}.")}


def test_no_modules_import_each_other_in_a_circle():
    """What stands lower says what it needs, and is handed it by what stands above."""
    sorter = TopologicalSorter({module_name(path): arrows(tree(path), path) for path in PACKAGE_FILES})
    list(sorter.static_order())  # raises CycleError, which names the modules of a circle


@pytest.mark.parametrize(
    "file, text, expected",
    [
        ("fx/x.py", "from . import node\nfrom .graph import Graph", {"jaxtorch.fx.node", "jaxtorch.fx.graph"}),
        ("fx/x.py", "def f():\n    from ..nn import Module", {"jaxtorch.nn"}),
        ("fx/x.py", "from . import Graph\nfrom .. import relu\nimport numpy", set()),
        ("fx/__init__.py", "from .graph import Graph\nfrom ..nn import Module", {"jaxtorch.fx.graph", "jaxtorch.nn"}),
        ("fx/x.py", "if TYPE_CHECKING:\n    from .graph import Graph", set()),
    ],
)
def test_the_rule_of_circles_sees_imports(file: str, text: str, expected: set[str]):
    assert arrows(ast.parse(text), PACKAGE / file) == expected


INSIDE = 40  # imports of the package's own modules that stand inside functions: for rare and heavy ones


def test_imports_stand_at_the_top():
    """One inside a function is for cost alone; none hides a circle."""
    found = []
    for path in PACKAGE_FILES:
        functions = [n for n in ast.walk(tree(path)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        inside = {id(n) for f in functions for n in ast.walk(f) if isinstance(n, ast.ImportFrom | ast.Import)}
        nodes = [n for n in ast.walk(tree(path)) if id(n) in inside]
        modules = [name for n in nodes for _, name in imported_modules(ast.Module([n], []), path)]
        found += [f"{label(path)}: {name}" for name in modules if name in MODULES]
    assert len(found) <= INSIDE, found


def test_families_of_operations_import_one_way():
    arrows: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / "_ops").rglob("*.py")):
        family = path.relative_to(PACKAGE / "_ops").parts[0].removesuffix(".py")
        found = [name.split(".") for _, name in imported_modules(tree(path), path) if name.startswith("jaxtorch._ops.")]
        arrows.setdefault(family, set()).update(parts[2] for parts in found if parts[2] != family)
    list(TopologicalSorter(arrows).static_order())  # raises CycleError, which names the families of a circle


def test_files_stay_short():
    lines = {label(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {path: n for path, n in lines.items() if n > LIMIT}, "split them by subject"


FOLDER = 30  # Python files side by side in a folder
LARGE = 10  # Python files from which on a folder begins with a README
LONG_README = {"_core": 60}
"""The engine's README also follows one call through the parts."""


def test_folders_are_no_heaps():
    """Few files side by side, and where there are more than a few, a page that says what the folder is for."""
    sizes = Counter(path.parent.relative_to(PACKAGE).as_posix().removeprefix(".") for path in PACKAGE_FILES)
    assert not {name: n for name, n in sizes.items() if n > FOLDER}
    assert not {name for name, n in sizes.items() if n > LARGE and not (PACKAGE / name / "README.md").is_file()}
    lines = {
        path.parent.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("README.md")
    }
    assert not {name: n for name, n in lines.items() if n > LONG_README.get(name, 40)}


def test_tests_lie_in_folders_by_subject():
    """None at the top, no more than 40 side by side, and no two of one name, which pytest could not tell apart."""
    files = sorted((ROOT / "compat_tests").rglob("test_*.py"))
    assert [path.name for path in files if path.parent.name == "compat_tests"] == []
    assert [name for name, n in Counter(path.name for path in files).items() if n > 1] == []
    assert [str(folder) for folder, n in Counter(path.parent for path in files).items() if n > 40] == []
    assert [path.name for path in files if path.parent.name in ("kits", "tables", "cases")] == []


def wildcard_imports(module: ast.Module, path: Path) -> list[str]:
    """All, but for those with which a package shows the names of its own module or subpackage, which lists them in `__all__`."""
    return [
        f"line {node.lineno}: from {node.module} import *"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        and any(name.name == "*" for name in node.names)
        and not (path.name == "__init__.py" and node.level == 1 and lists_its_names(path.parent / (node.module or "")))
    ]


def lists_its_names(module: Path) -> bool:
    """Has a package `__all__`, or a module one that is written out?"""
    package = module / "__init__.py"
    file = package if package.is_file() else module.with_suffix(".py")
    return file.is_file() and any(
        isinstance(node, ast.Assign)
        and ast.unparse(node.targets[0]) == "__all__"
        and (file == package or isinstance(node.value, ast.List))
        for node in tree(file).body
    )


def test_no_wildcard_imports():
    assert not [f"{label(path)}, {found}" for path in FILES for found in wildcard_imports(tree(path), path)]


@pytest.mark.parametrize(
    "file, text, count",
    [
        ("nn/__init__.py", "from .modules import *", 0),
        ("nn/__init__.py", "from .functional import *", 1),
        ("nn/functional.py", "from .modules import *", 1),
        ("nn/__init__.py", "from jax.numpy import *", 1),
        ("nn/__init__.py", "from .._ops import *", 1),
    ],
)
def test_the_wildcard_rule_sees_what_breaks_it(file: str, text: str, count: int):
    assert len(wildcard_imports(ast.parse(text), PACKAGE / file)) == count


REDEFINING = ("overload", "setter", "getter", "deleter", "register")


def defined_twice(module: ast.Module) -> list[str]:
    """Functions and classes that one body defines a second time, but for properties and overloads."""
    found = []
    for scope in ast.walk(module):
        if not isinstance(scope, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        names = Counter(
            node.name
            for node in scope.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name != "_"
            and not any(ast.unparse(d).partition("(")[0].rpartition(".")[2] in REDEFINING for d in node.decorator_list)
        )
        found += [f"{name} in {getattr(scope, 'name', 'the module')}" for name, n in names.items() if n > 1]
    return found


def test_no_name_is_defined_twice():
    assert not [f"{label(path)}: {found}" for path in FILES for found in defined_twice(tree(path))]


def test_a_second_definition_is_seen():
    twice = "def f(): ...\nclass A:\n    def m(self): ...\n    def m(self): ...\ndef f(): ...\n"
    assert defined_twice(ast.parse(twice)) == ["f in the module", "m in A"]
    properties = "class A:\n    @property\n    def m(self): ...\n    @m.setter\n    def m(self, value): ...\n"
    assert defined_twice(ast.parse(properties)) == []


def test_an_operation_registered_twice_is_an_error():
    import jaxtorch
    from jaxtorch._core.define.op import functions, op

    before = functions["add"]
    with pytest.raises(RuntimeError, match="'add' is defined twice"):

        @op(method=False)
        def add(input, other): ...

    assert functions["add"] is before
    assert jaxtorch.add(jaxtorch.tensor(1), 1).item() == 2


def fresh(run_python: Run, program: str, env: dict[str, str | None] | None = None) -> str:
    return run_python("-c", textwrap.dedent(program), env=env).stdout


def test_importing_jaxtorch_does_not_import_pytorch(run_python: Run):
    fresh(
        run_python,
        """
        import sys
        import jaxtorch
        jaxtorch.tensor([1.0, 2.0], requires_grad=True).sum().backward()
        found = [name for name in sys.modules if name.split(".")[0] == "torch"]
        assert not found, found
        """,
    )


USER_OF_JAX = """
    import jax
    import jax.numpy as jnp
    import numpy as np

    before = dict(jax.config.values)
    import jaxtorch
    jaxtorch.nn.Linear(3, 2)(jaxtorch.ones(4, 3)).sum().backward()
    assert jaxtorch.arange(3).dtype is jaxtorch.int64
    changed = {name: value for name, value in jax.config.values.items() if before.get(name) != value}
    assert set(changed) <= ALLOWED, changed
    assert jnp.arange(3).dtype == np.int32 and jnp.asarray(0.5).dtype == np.float32
    assert jax.jit(lambda x: x + 1)(np.float64(1)).dtype == np.float32
"""

# JAX's cache of compiled programs may be switched on, in the user's own cache folder.
CACHE = {
    "jax_compilation_cache_dir",
    "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes",
}


@pytest.mark.parametrize("cache_folder", [None, "chosen"])
def test_the_users_jax_stays_as_it_was(cache_folder: str | None, run_python: Run):
    allowed = CACHE if cache_folder is None else CACHE - {"jax_compilation_cache_dir"}
    program = USER_OF_JAX.replace("ALLOWED", repr(allowed))
    fresh(run_python, program, {"JAX_COMPILATION_CACHE_DIR": cache_folder})


def test_public_names_are_pinned(run_python: Run):
    """After a change that is meant: python scripts/public_names.py > compat_tests/kits/tables/public_names.txt

    In a process of its own: some names are there from their first use on."""
    found = run_python(str(ROOT / "scripts" / "public_names.py")).stdout.splitlines()
    pinned = (TABLES / "public_names.txt").read_text(encoding="utf-8").splitlines()
    come, gone = sorted(set(found) - set(pinned)), sorted(set(pinned) - set(found))
    assert found == pinned, f"new: {come}; gone: {gone}"
