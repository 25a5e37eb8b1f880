"""The stubs of namespaces whose functions are made from operations: `torch` itself, `torch.linalg`, `nn.functional`, ..."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from stub_types import (
    ALIASES,
    FUNCTIONS,
    HEADER,
    OVERLOADS,
    RESULTS,
    annotation,
    doc_line,
    kinds_of,
    overloaded,
    parameters,
    tried,
)

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "jaxtorch"
SPACES = ("", "fft", "linalg", "special", "nn.functional")
HEAD = "# Made by scripts/make_stub.py; do not edit."
HIDDEN = frozenset("annotations Any Callable Iterable Iterator Sequence torch".split())


def stubs() -> dict[Path, str]:
    """What the stubs of all these namespaces say, by their files."""
    import jaxtorch

    found = {PACKAGE / "return_types.pyi": named_results()}
    for space in SPACES:
        module: Any = jaxtorch
        for part in filter(None, space.split(".")):
            module = getattr(module, part)
        found[Path(module.__file__).with_suffix(".pyi")] = Namespace(module).text()
    return {**found, **distributions()}


def distributions() -> dict[Path, str]:
    """The stubs of the modules of `torch.distributions`, which lie in folders below their public paths."""
    found = {}
    for path in sorted((PACKAGE / "distributions").glob("_*/[!_]*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [n.name for n in tree.body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name[0] != "_"]
        lines = [f"from .{path.parent.name}.{path.stem} import {name} as {name}" for name in names]
        found[PACKAGE / "distributions" / f"{path.stem}.pyi"] = "\n".join([HEAD, *lines, ""])
    return found


def named_results() -> str:
    """The stub of `torch.return_types`."""
    from jaxtorch._core.types.structseq import types

    lines = [
        HEAD,
        "from typing import Any",
        "",
        "from ._core.tensor.tensor import Tensor",
    ]
    for name, kind in sorted(vars(types).items()):
        items = [
            "tuple[Tensor, ...]" if (name, field) == ("histogramdd", "bin_edges") else "Tensor" for field in kind.fields
        ]
        lines += ["", f"class {name}(tuple[{', '.join(items)}]):", "    n_fields: int", "    n_sequence_fields: int",
                  "    n_unnamed_fields: int"]  # fmt: skip
        for field, item in zip(kind.fields, items, strict=True):
            lines += ["    @property", f"    def {field}(self) -> {item}: ..."]
    return "\n".join(lines) + "\n"


def home(module: str, name: str) -> str:
    """The module of jaxtorch whose source binds a name that another module has; '' where checkers would not see it."""
    path = PACKAGE / module.replace(".", "/")
    is_package = path.is_dir()
    text = (path / "__init__.py" if is_package else path.with_suffix(".py")).read_text(encoding="utf-8")
    for node in (n for statement in ast.parse(text).body for n in ast.walk(statement)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return module
        if (
            isinstance(node, ast.ImportFrom)
            and node.level
            and any((a.asname or a.name) == a.name == name for a in node.names)
        ):
            parts = module.split(".")
            kept = parts[: len(parts) + is_package - node.level]
            return home(".".join([*kept, *filter(None, [node.module])]), name)
    return ""


class Namespace:
    """A module of functions, and what its stub says of each name."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.path = Path(str(module.__file__))
        parts = module.__name__.split(".") if self.path.name == "__init__.py" else module.__name__.split(".")[:-1]
        self.up = "." * len(parts)  # from here to what `jaxtorch` itself holds
        self.late: dict[str, str] = getattr(module, "_LATE", {})
        self.imports: dict[str, str] = {}
        self.defined: set[str] = set()
        for node in ast.walk(ast.parse(self.path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level:
                for alias in node.names:
                    start = "." * node.level + (node.module or "")
                    self.imports[alias.asname or alias.name] = f"from {start} import {alias.name}"
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                self.defined.add(node.name)

    def names(self) -> list[str]:
        """Everything that a program may read here, and what other files of jaxtorch do."""
        found = {name for name in (*vars(self.module), *self.late) if not name.startswith("_")} - HIDDEN
        if self.module.__name__ != "jaxtorch":
            found |= {"__all__"} | {name for name in (*self.defined, *self.imports) if self.is_function(name)}
        else:
            found |= {"__version__", *self.module._PRIVATE} | {name for name in self.late if name[1:2] != "_"}
            files = [p for p in PACKAGE.iterdir() if (p / "__init__.py").exists() or p.suffix == ".py"]
            found |= {p.stem for p in files if not p.name.startswith("_")}
        return sorted(found)

    def is_function(self, name: str) -> bool:
        return isinstance(vars(self.module).get(name), FunctionType)

    def text(self) -> str:
        """The whole stub."""
        up = self.up
        imports = [f"from {up} import return_types as {'return_types' if up == '.' else '_return_types'}"]
        imports += [
            f"from {up}_core.types.device import device as _Device",
            f"from {up}_core.types.dtypes import dtype as _dtype",
        ]
        imports += [f"from {up}_core.random.generator import Generator{' as Generator' if up == '.' else ''}"]
        imports += [f"from {up}_core.types.size import Size{' as Size' if up == '.' else ''}"]
        imports += [f"from {up}_core.tensor.tensor import Tensor{' as Tensor' if up == '.' else ''}"]
        body: list[str] = []
        for name in self.names():
            try:
                item = getattr(self.module, name)
            except AttributeError:
                item = None
            where = self.imported(name, item)
            if where:
                imports.append(where)
            else:
                body += self.lines(name, item)
        text = "\n".join([HEADER.format(imports="\n".join(dict.fromkeys(imports)), aliases=ALIASES), *body]) + "\n"
        return text if up == "." else text.replace("return_types.", "_return_types.")

    def imported(self, name: str, item: Any) -> str:
        """The line that imports a name from where it is defined; '' where the stub has to say what it is."""
        if isinstance(item, ModuleType):
            parent, _, last = item.__spec__.name.rpartition(".")  # where it lies: some are known by another name too
            if parent == f"{self.module.__name__}._private_names":
                return f"from ._private_names import {last} as {name}"
            return f"from . import {last} as {name}" if parent == self.module.__name__ else "# of another package"
        if (
            name in FUNCTIONS
            or name in OVERLOADS
            or name in RESULTS
            or (isinstance(item, FunctionType) and hasattr(item, "op"))
        ):
            return ""
        if isinstance(item, FunctionType) and annotation(inspect.signature(item).return_annotation) != "Any":
            return ""
        if name in self.late and name not in self.imports:
            found = home(self.late[name], name)
            return f"from .{found} import {name} as {name}" if found else ""
        if name in self.imports:
            return f"{self.imports[name]} as {name}"
        if isinstance(item, type) and name not in self.defined:
            homes = [
                p
                for p in sorted((PACKAGE / "_ops").rglob("*.py"))
                if f"\nclass {name}" in p.read_text(encoding="utf-8")
            ]
            if homes:
                where = ".".join(homes[0].relative_to(PACKAGE).with_suffix("").parts)
                return f"from {self.up}{where} import {name} as {name}"
        return ""

    def lines(self, name: str, item: Any) -> list[str]:
        """What the stub says of a function or a constant."""
        if name in FUNCTIONS or name in OVERLOADS:
            return overloaded("", name, FUNCTIONS.get(name) or OVERLOADS[name])
        if isinstance(item, FunctionType):
            return self.function(name, item)
        if type(item).__name__ == "tensortype":
            return [f"class {name}(Tensor): ..."]
        if type(item).__name__ == "dtype":
            return [f"{name}: _dtype"]
        if type(item) in (bool, int, float, str):
            return [f"{name}: _{type(item).__name__}"]
        if name == "__all__":
            return ["__all__: list[_str]"]
        return [f"{name}: Any" if item is not None else f"{name}: None"]

    def function(self, name: str, item: Any) -> list[str]:
        """The lines for one function."""
        op = getattr(item, "op", None)
        result = annotation(inspect.signature(item).return_annotation)
        base = getattr(self.module, name.removesuffix("_copy"), None)
        if name in RESULTS:
            result = RESULTS[name]
        elif op is not None:
            result = tried(item, op, op.name)
        elif result == "Any" and (
            (name.endswith("_copy") and base is not None) or (name.endswith("_") and name[0] != "_")
        ):
            result = "Tensor"
        kinds = {} if op is None else kinds_of(op)
        doc = doc_line(item)
        line = f"def {name}({parameters(item, method=False, kinds=kinds)}) -> {result}:"
        return [line, f"    {doc}"] if doc else [f"{line} ..."]
