"""Run a PyTorch program on jaxtorch: `python -m jaxtorch script.py ARGS`, or `-m module` for the script.

The program says `import torch` and gets jaxtorch; in everything else it runs as under `python script.py`:
`__main__`, `sys.argv`, `sys.path[0]`, tracebacks and exit status.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from jaxtorch._install import install, own_spec

USAGE = "usage: python -m jaxtorch [-m module | script.py] [arguments ...]"


def main() -> None:
    """Run the program named on the command line as the `__main__` module of this process."""
    arguments = sys.argv[1:]
    if not arguments:
        sys.exit(USAGE)
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    install()
    run_module = arguments[0] == "-m"
    if run_module and len(arguments) == 1:
        sys.exit(USAGE)
    sys.argv[:] = arguments[1:] if run_module else arguments
    program = ModuleType("__main__")
    program.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = program
    load = _load_module if run_module else _load_script
    try:
        exec(load(sys.argv[0], program), program.__dict__)
    except BaseException:
        _hide_frames_of_ours()
        raise


def _load_script(path: str, program: ModuleType) -> CodeType:
    """The code of a script, or of the `__main__.py` in a folder or zip file."""
    absolute = os.path.abspath(path)
    inside = PathFinder.find_spec("__main__", [absolute])
    if not sys.flags.safe_path:  # python put the current folder there, for `-m jaxtorch`
        sys.path[0] = absolute if inside is not None else os.path.dirname(os.path.realpath(path))
    if inside is not None:
        return _of_spec(inside, program)
    try:
        with io.open_code(absolute) as file:
            source = file.read()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: can't open file {absolute!r}: {reason}", file=sys.stderr)
        sys.exit(2)
    program.__file__ = absolute
    program.__dict__["__cached__"] = None
    program.__loader__ = SourceFileLoader("__main__", absolute)
    return compile(source, absolute, "exec", dont_inherit=True)


def _load_module(name: str, program: ModuleType) -> CodeType:
    """The code of a module by name, or of the `__main__` module of a package."""
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name += ".__main__"
        spec = _find(name)
    if spec is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    sys.argv[0] = spec.origin or name
    return _of_spec(spec, program)


def _find(name: str) -> ModuleSpec | None:
    try:
        found = importlib.util.find_spec(name)
        return None if found is None else own_spec(found)
    except ModuleNotFoundError:  # a parent package is missing
        return None


def _of_spec(spec: ModuleSpec, program: ModuleType) -> CodeType:
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        sys.exit(f"{sys.executable}: No code object available for {spec.name}")
    program.__spec__ = spec
    program.__loader__ = loader
    program.__package__ = spec.parent
    if spec.origin is not None:
        program.__file__ = spec.origin
    program.__dict__["__cached__"] = spec.cached
    return code


def _hide_frames_of_ours() -> None:
    """Have an uncaught exception's traceback begin in the program, whichever `sys.excepthook` it has set."""
    programs_hook = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        while traceback is not None and traceback.tb_frame.f_code is not main.__code__:
            traceback = traceback.tb_next  # runpy's frames
        while traceback is not None and traceback.tb_frame.f_code.co_filename == main.__code__.co_filename:
            traceback = traceback.tb_next
        programs_hook(kind, error.with_traceback(traceback), traceback)

    sys.excepthook = hook


if __name__ == "__main__":
    main()
