"""Write the stubs, `jaxtorch/_core/tensor/tensor.pyi` and those of stub_modules.py: what is there, for editors and type checkers.

Functions and a Tensor's methods are made from the operations and installed when jaxtorch is imported, where no editor sees
them. The stub of Tensor repeats what `tensor.py` itself says and adds them, with their signatures.

    python scripts/make_stub.py            writes the stubs
    python scripts/make_stub.py --check    exit status 1 if one is out of date
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import stub_modules
from stub_types import (
    ALIASES,
    BUILTIN,
    HEADER,
    METHODS,
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
SOURCE = ROOT / "jaxtorch" / "_core" / "tensor" / "tensor.py"
STUB = SOURCE.with_suffix(".pyi")

OPERATORS = """add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or
ror xor rxor lshift rlshift rshift rrshift eq ne lt le gt ge neg pos invert abs""".split()
IN_PLACE = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()


def method(name: str, function: Any) -> list[str]:
    """The lines for one method."""
    if name in METHODS:
        return overloaded("", name, METHODS[name])
    if name in OVERLOADS:
        return overloaded(
            "", name, [(given.replace("input: Tensor", "self", 1), out) for given, out in OVERLOADS[name]]
        )
    op = getattr(function, "op", None)
    result = annotation(inspect.signature(function).return_annotation)
    if name in RESULTS:
        result = RESULTS[name]
    elif op is not None:
        result = tried(lambda x, *more: getattr(x, name)(*more), op, name)
    elif name in [f"__i{o}__" for o in IN_PLACE]:
        result = "Self"
    elif name in [f"__{o}__" for o in OPERATORS]:
        result = "Tensor"
    elif name.endswith("_") and not name.startswith("_"):
        op = getattr(getattr(jaxtorch_tensor(), name[:-1], None), "op", None)
        result = "Self"
    kinds = {} if op is None else kinds_of(op)
    doc = doc_line(function)
    line = f"def {name}({parameters(function, method=True, kinds=kinds)}) -> {result}:"
    if name in ("__eq__", "__ne__"):
        return [f"{line} ...  # type: ignore[override]"]
    return [line, f"    {doc}"] if doc else [f"{line} ..."]


def jaxtorch_tensor() -> Any:
    import jaxtorch

    return jaxtorch.Tensor


def own_parts() -> tuple[list[str], list[str], list[str], set[str]]:
    """From tensor.py: its imports, the class's own lines, the module's other lines, and the class's own names."""
    tree = ast.parse(SOURCE.read_text(encoding="utf-8"))
    imports, inside, outside, names = [], [], [], set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            imports.append(ast.unparse(node))
        elif isinstance(node, ast.FunctionDef):
            outside.append(declaration(node, ""))
        elif isinstance(node, ast.AnnAssign):
            outside.append(f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}")
        elif isinstance(node, ast.Assign):
            outside.extend(f"{target.id}: Any" for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ClassDef) and node.name == "Tensor":
            for item in node.body:
                if isinstance(item, ast.FunctionDef):
                    names.add(item.name)
                    inside.append(declaration(item, "    "))
                elif isinstance(item, ast.AnnAssign):
                    inside.append(f"    {ast.unparse(item.target)}: {annotation_of_slot(item)}")
        elif isinstance(node, ast.ClassDef):
            raise SystemExit(f"make_stub.py: a second class in tensor.py: {node.name}")
    return imports, inside, outside, names


def annotation_of_slot(item: ast.AnnAssign) -> str:
    return re.sub(rf"(?<![\w.])({'|'.join(BUILTIN)})(?!\w)", r"_\1", ast.unparse(item.annotation))


def declaration(node: ast.FunctionDef, indent: str) -> str:
    decorators = "".join(f"{indent}@{ast.unparse(d)}\n" for d in node.decorator_list)
    arguments = ast.unparse(node.args)
    returns = ast.unparse(node.returns) if node.returns is not None else "Any"
    text = f"({arguments}) -> {returns}"
    if indent:
        text = re.sub(rf"(?<![\w.])({'|'.join(BUILTIN)})(?!\w)", r"_\1", text)
    return f"{decorators}{indent}def {node.name}{text}: ..."


def stub_text() -> str:
    """The whole stub, for the jaxtorch that is importable."""
    sys.path.insert(0, str(ROOT))
    import jaxtorch  # noqa: F401 - installs the methods
    from jaxtorch._core.tensor.tensor import Tensor

    imports, inside, outside, own = own_parts()
    imports += [
        "from ... import return_types",
        "from ..types.device import device as _Device",
        "from ..random.generator import Generator",
        "from ..types.size import Size",
    ]
    lines = [HEADER.format(imports="\n".join(imports), aliases=ALIASES), *outside, "", "", "class Tensor:"]
    lines.append(f'    """{(inspect.getdoc(Tensor) or "").splitlines()[0]}"""')
    lines.extend(inside)
    for name in sorted(vars(Tensor)):
        item = inspect.getattr_static(Tensor, name)
        if name in own or name in ("__module__", "__doc__", "__slots__", "__dict__", "__weakref__", "__annotations__"):
            continue
        if inspect.ismemberdescriptor(item):
            continue
        if isinstance(item, property):
            lines.extend(f"    {line}" for line in property_lines(name, item))
        elif isinstance(item, staticmethod | classmethod):
            first = "cls, " if name == "__new__" or isinstance(item, classmethod) else ""
            if name != "__new__":
                lines.append(f"    @{type(item).__name__}")
            lines.append(f"    def {name}({first}*args: Any, **kwargs: Any) -> Any: ...")
        elif inspect.isfunction(item):
            lines.extend(f"    {line}" for line in method(name, item))
        else:
            lines.append(f"    {name}: Any")
    return "\n".join(lines) + "\n"


def property_lines(name: str, item: property) -> list[str]:
    result = annotation(inspect.signature(item.fget).return_annotation) if item.fget else "Any"
    if result == "Any":
        result = "_bool" if name.startswith("is_") else SHOWN.get(name, "Any")
    lines = ["@property", f"def {name}(self) -> {result}: ..."]
    if item.fset is not None:
        lines += [f"@{name}.setter", f"def {name}(self, value: Any) -> None: ..."]
    if item.fdel is not None:
        lines += [f"@{name}.deleter", f"def {name}(self) -> None: ..."]
    return lines


SHOWN = {
    "grad": "Tensor | None", "data": "Tensor", "requires_grad": "_bool", "retains_grad": "_bool", "output_nr": "_int",
    "dtype": "dtypes.dtype", "device": "_Device",
}  # fmt: skip
"""Types of properties whose functions do not say."""


def stubs() -> dict[Path, str]:
    """All stubs, for the jaxtorch that is importable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the operations that are tried
        return {STUB: stub_text(), **stub_modules.stubs()}


def main() -> None:
    for path, text in stubs().items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{path.relative_to(ROOT)} is out of date: python scripts/make_stub.py")


if __name__ == "__main__":
    main()
