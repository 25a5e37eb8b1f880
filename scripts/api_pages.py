"""The API reference, made from the docstrings while MkDocs builds the site (`mkdocs.yml` names this file as a hook).

    python scripts/api_pages.py nn.functional     # prints one page

Nothing is written into the sources. The hook also turns links that leave `docs/` into their text, since the site has no such pages.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

ROOT = Path(__file__).parent.parent
FOLDER = "reference/api"
PLACES = {
    "": "torch", "Tensor": "torch.Tensor", "nn": "torch.nn", "nn.functional": "torch.nn.functional", "nn.init": "torch.nn.init",
    "nn.utils": "torch.nn.utils", "optim": "torch.optim", "optim.lr_scheduler": "torch.optim.lr_scheduler",
    "utils.data": "torch.utils.data", "utils.checkpoint": "torch.utils.checkpoint", "autograd": "torch.autograd",
    "func": "torch.func", "linalg": "torch.linalg", "fft": "torch.fft", "special": "torch.special",
    "signal.windows": "torch.signal.windows", "random": "torch.random", "distributions": "torch.distributions",
    "sparse": "torch.sparse", "masked": "torch.masked", "amp": "torch.amp", "compiler": "torch.compiler", "cuda": "torch.cuda",
    "library": "torch.library", "distributed": "torch.distributed", "interop": "jaxtorch.interop",
}  # fmt: skip
"""The pages: a module or class of jaxtorch, and what it is called there."""


def look_up(place: str) -> Any:
    """The module or class of that name within jaxtorch."""
    if place == "Tensor":
        return look_up("").Tensor
    return importlib.import_module(f"jaxtorch.{place}" if place else "jaxtorch")


def file_name(place: str) -> str:
    """The page's file, such as 'torch.nn.md'."""
    return f"{PLACES[place]}.md"


def public(place: str) -> list[tuple[str, Any]]:
    """What a page lists: the place's public functions and classes, by name. What another page lists is left to it."""
    home = look_up(place)
    names = getattr(home, "__all__", None) or dir(home)
    found = []
    for name in sorted(set(names), key=str.lower):
        item = inspect.getattr_static(home, name, None) if place == "Tensor" else getattr(home, name, None)
        known = callable(item) or isinstance(item, (property, staticmethod, classmethod))
        if name.startswith("_") or isinstance(item, ModuleType) or not known:
            continue
        if (getattr(item, "__module__", "") or "").split(".")[0] in ("typing", "collections", "builtins", "enum"):
            continue
        if description(item):
            found.append((name, item))
    return found


def description(item: Any) -> str:
    """The docstring, without its indentation; nothing where it is only inherited."""
    own = item.__func__ if isinstance(item, (staticmethod, classmethod)) else item
    text = own.__dict__.get("__doc__") if isinstance(own, type) else getattr(own, "__doc__", None)
    return inspect.cleandoc(text) if isinstance(text, str) else ""


def signature(item: Any) -> str:
    """The arguments, such as '(input, other, *, out=None)'; nothing for properties and where Python knows none."""
    if isinstance(item, property):
        return ""
    own = item.__func__ if isinstance(item, (staticmethod, classmethod)) else item
    try:
        found = inspect.signature(own)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def escaped(text: str) -> str:
    """Text of a docstring as Markdown: examples and what is indented or in backticks is code, in the rest no sign has a meaning."""
    blocks = []
    for paragraph in re.split(r"\n\s*\n", text):
        rows = paragraph.splitlines()
        if rows and rows[0].lstrip().startswith(">>> "):
            blocks.append("\n".join(["```pycon", inspect.cleandoc(paragraph), "```"]))
            continue
        first_code = next((i for i, row in enumerate(rows) if row.startswith("    ")), len(rows))
        parts = re.split(r"(`[^`]*`)", "\n".join(rows[:first_code]))
        prose = [re.sub(r"([*_<\[\]\\#])", r"\\\1", part) if i % 2 == 0 else part for i, part in enumerate(parts)]
        blocks += ["".join(prose)] if first_code else []
        if first_code < len(rows):
            blocks.append("\n".join(["```text", *[row.removeprefix("    ") for row in rows[first_code:]], "```"]))
    return "\n\n".join(blocks)


def methods(item: Any) -> Iterator[str]:
    """The methods and properties that a class itself defines and describes, a line each."""
    for name, member in vars(item).items() if isinstance(item, type) else ():
        known = isinstance(member, (FunctionType, property, staticmethod, classmethod))
        if known and not name.startswith("_") and (text := description(member)):
            first = re.split(r"\n\s*\n", text)[0]
            yield f"- `{name}{signature(member)}`: {escaped(' '.join(first.split()))}"


def page(place: str) -> str:
    """The Markdown of one page."""
    title = PLACES[place]
    lines = [f"# {title}", ""]
    if place == "Tensor":
        lines += [
            "The methods of a tensor. Most have the function of the same name in [torch](torch.md), which says more.",
            "",
        ]
    for name, item in public(place):
        kind = "class " if isinstance(item, type) else ""
        lines += [f"## `{title}.{name}` {{#{title}.{name}}}", ""]
        lines += ["```text", f"{kind}{title}.{name}{signature(item)}", "```", "", escaped(description(item)), ""]
        lines += [*methods(item), ""]
    return "\n".join(lines)


def contents() -> str:
    """The list of the pages, for the end of `docs/reference/api.md`."""
    return (
        "\n".join(f"- [{PLACES[place]}](api/{file_name(place)}): {len(public(place))} names" for place in PLACES) + "\n"
    )


LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?!https?:|#)([^()\s#]+)(#[^()\s]*)?\)")


def inside(markdown: str, page: Path) -> str:
    """The page's text, with links to files outside of `docs/` as plain text."""

    def kept(found: re.Match[str]) -> str:
        target = (page.parent / found[3]).resolve()
        return found[0] if target.is_relative_to(ROOT / "docs") else found[2]

    return LINK.sub(kept, markdown)


# -- what MkDocs calls


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for place in PLACES:
        files.append(File.generated(config, f"{FOLDER}/{file_name(place)}", content=page(place)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    text = inside(markdown, ROOT / "docs" / page.file.src_uri)
    return f"{text}\n{contents()}" if page.file.src_uri == f"{FOLDER}.md" else text


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    print(page(sys.argv[1] if len(sys.argv) > 1 else ""))
