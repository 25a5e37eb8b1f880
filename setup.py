"""Builds the optional extensions (`jaxtorch/_core/native`) where there is a compiler, and makes of the README what a package
index can show; everything else is in pyproject.toml."""

import importlib.util
import os
import platform
import re
import sysconfig
import tomllib
from pathlib import Path

from setuptools import Extension, setup

NO_SYMBOLS = ["-g0"] if os.name == "posix" else []
"""Without the symbols of debuggers, which would be nine tenths of the kernels' file."""


def recorder() -> list[Extension]:
    """The common case of recording, on CPython with its lock and headers."""
    if platform.python_implementation() != "CPython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return []
    native = "jaxtorch/_core/native"
    parts = [f"{native}/{name}.inc" for name in ("flush", "module", "small", "small_loops", "views")]
    return [
        Extension(
            "jaxtorch._core.native.recorder",
            [f"{native}/recorder.c", f"{native}/frames.c"],
            depends=parts,
            extra_compile_args=NO_SYMBOLS,
            optional=True,
        )
    ]


def kernels() -> list[Extension]:
    """The kernels, on x86 Linux with XLA's headers at hand; an installation goes on without them if they do not compile."""
    found = importlib.util.find_spec("jaxlib")
    if platform.system() != "Linux" or platform.machine() != "x86_64" or found is None or found.origin is None:
        return []
    return [
        Extension(
            "jaxtorch._core.native.kernels",
            [
                "jaxtorch/_core/native/handlers.cpp",
                "jaxtorch/_core/native/avx512.cpp",
                "jaxtorch/_core/native/avx2.cpp",
                "jaxtorch/_core/native/amx.cpp",
                "jaxtorch/_core/native/memory.cpp",
            ],
            depends=[str(p) for p in Path("jaxtorch/_core/native").glob("*.inc")] + ["jaxtorch/_core/native/kernels.h"],
            extra_compile_args=[
                *NO_SYMBOLS,
                "-O3",
                "-std=c++17",
                "-fvisibility=hidden",
                "-w",  # XLA's headers
                "-isystem",
                str(Path(found.origin).parent / "include"),
            ],
            optional=True,
        )
    ]


LINK = re.compile(r"(!?)\[([^\[\]]*)\]\((?!https?:|#)([^()\s]+)\)")


def on_an_index(readme: str, home: str | None) -> str:
    """The README as it is shown away from its folder: what it links to there is absolute, in the project's home; where that has
    no address, the links are their text, and the pictures are left out."""

    def absolute(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        if home is None:
            return "" if picture else text
        return f"{picture}[{text}]({home}/{'raw' if picture else 'blob'}/main/{target})"

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(absolute, readme))


if __name__ == "__main__":
    here = Path(__file__).parent
    urls = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    setup(
        ext_modules=recorder() + kernels(),
        long_description=on_an_index((here / "README.md").read_text(encoding="utf-8"), urls.get("Repository")),
        long_description_content_type="text/markdown",
    )
