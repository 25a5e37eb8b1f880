"""Write `jaxtorch/_core/tensor.pyi`: what a Tensor can do, for editors and type checkers.

Its methods are made from the operations and installed when jaxtorch is imported, where no editor sees them. The stub
repeats what `tensor.py` itself says and adds them, with their signatures.

    python scripts/make_stub.py            writes the stub
    python scripts/make_stub.py --check    exit status 1 if it is out of date
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "jaxtorch" / "_core" / "tensor.py"
STUB = SOURCE.with_suffix(".pyi")

HEADER = """\
# Made by scripts/make_stub.py; do not edit.
# ruff: noqa
# fmt: off
# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false, reportRedeclaration=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeAlias

import numpy as np

{imports}
from .device import device
from .size import Size

# Methods are called int, float, bool, type, ...: inside the class these names mean the methods.
{aliases}
_Device: TypeAlias = device
_Number: TypeAlias = bool | int | float | complex
"""

KINDS = {
    "array": "Tensor",
    "optional": "Tensor | None",
    "operand": "Tensor | _Number",
    "operand_optional": "Tensor | _Number | None",
    "arrays": "Sequence[Tensor]",
    "scalar": "Tensor | _Number | None",
    "number": "_Number | None",
}
BUILTIN = ("bool", "int", "float", "complex", "str", "type")
KNOWN = {f"_{name}" for name in BUILTIN} | set(
    "tuple list dict set Tensor Any None Sequence Callable Iterator Size Self".split()
)


def annotation(text: Any) -> str:
    """An annotation as the stub can say it; Any where it names what the stub does not import."""
    if text is inspect.Parameter.empty or text is None:
        return "Any"
    text = text if isinstance(text, str) else getattr(text, "__name__", "Any")
    text = re.sub(rf"(?<![\w.])({'|'.join(BUILTIN)})(?!\w)", r"_\1", text)
    return text if set(re.findall(r"[A-Za-z_][\w.]*", text)) <= KNOWN else "Any"


def parameters(function: Any, *, skip_first: bool, kinds: dict[str, str]) -> str:
    parts: list[str] = ["self"]
    seen_star = False
    found = list(inspect.signature(function).parameters.values())
    for p in found[1:] if skip_first else found:
        kind = kinds.get(p.name) or annotation(p.annotation)
        if p.kind is p.VAR_POSITIONAL:
            parts.append(f"*{p.name}: {kind}")
            seen_star = True
            continue
        if p.kind is p.VAR_KEYWORD:
            parts.append(f"**{p.name}: {kind}")
            continue
        if p.kind is p.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        parts.append(f"{p.name}: {kind}" + ("" if p.default is p.empty else " = ..."))
    return ", ".join(parts)


def gives_one_tensor(name: str) -> bool:
    """Does an operation answer with one tensor? Asked of the operation itself, with arguments that may fit."""
    import jaxtorch as torch

    for x in (torch.ones(2, 2), torch.ones(2, 2, dtype=torch.int64), torch.ones(2), torch.ones(1, 2, 2)):
        for more in (
            (),
            (x,),
            (0,),
            (x, x),
            (0, 0),
            (0, x),
            (2, 0),
            (1.0,),
            (0, 0, 1),
            (0, torch.zeros_like(x).long(), x),
        ):
            try:
                return isinstance(getattr(x, name)(*more), torch.Tensor)
            except Exception:  # not these arguments
                continue
    return False


def static_annotation(text: Any) -> str:
    """The type of a static parameter. Bodies receive settings in one form, callers may give them in several."""
    found = annotation(text)
    return found if found in ("_bool", "_bool | None", "_str", "_str | None") else "Any"


OPERATORS = """add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or
ror xor rxor lshift rlshift rshift rrshift eq ne lt le gt ge neg pos invert abs""".split()
IN_PLACE = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()


def method(name: str, function: Any) -> list[str]:
    """The lines for one method."""
    op = getattr(function, "op", None)
    result = annotation(inspect.signature(function).return_annotation)
    if op is not None:
        result = "Tensor" if gives_one_tensor(name) else "Any"
    elif name in [f"__i{o}__" for o in IN_PLACE]:
        result = "Self"
    elif name in [f"__{o}__" for o in OPERATORS]:
        result = "Tensor"
    elif name.endswith("_") and not name.startswith("_"):
        op = getattr(getattr(jaxtorch_tensor(), name[:-1], None), "op", None)
        result = "Self"
    kinds: dict[str, str] = {}
    if op is not None:
        body = inspect.signature(op.fn).parameters
        kinds = {
            p.name: KINDS.get(p.kind) or static_annotation(body[p.name].annotation) for p in op.params if p.name in body
        }
    lines = [f"def {name}({parameters(function, skip_first=True, kinds=kinds)}) -> {result}:"]
    doc = (inspect.getdoc(function) or "").split("\n\n")[0].replace("\n", " ").strip()
    if doc and '"""' not in doc and "\\" not in doc:
        space = " " if doc.endswith('"') else ""
        return [*lines, f'    """{doc}{space}"""']
    return [lines[0] + " ..."]


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
            outside.extend(f"{ast.unparse(target)}: Any" for target in node.targets)
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
    from jaxtorch._core.tensor import Tensor

    imports, inside, outside, own = own_parts()
    aliases = "\n".join(f"_{name}: TypeAlias = {name}" for name in BUILTIN)
    lines = [HEADER.format(imports="\n".join(imports), aliases=aliases), *outside, "", "", "class Tensor:"]
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


def main() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the methods that are tried
        text = stub_text()
    if "--check" in sys.argv:
        if not STUB.exists() or STUB.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{STUB.relative_to(ROOT)} is out of date: python scripts/make_stub.py")
        return
    STUB.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
