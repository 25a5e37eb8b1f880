"""Run a PyTorch program on jaxtorch: `python -m jaxtorch script.py ARGS`; `-m module`, `-c "code"` or `-` (standard input) for the
script, as for `python`. `-i`, before these or alone: type more lines when the program has ended.

The program says `import torch` and gets jaxtorch; in everything else it runs as under `python script.py`:
`__main__`, `sys.argv`, `sys.path[0]`, tracebacks and exit status.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import io
import linecache
import os
import sys
from importlib.machinery import BuiltinImporter, ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from jaxtorch._running.install import install, own_spec

USAGE = "usage: python -m jaxtorch [-i] [-m module | -c code | - | script.py] [arguments ...]"


def main() -> None:
    """Run the program named on the command line as the `__main__` module of this process."""
    arguments = sys.argv[1:]
    interactive = bool(arguments) and arguments[0] == "-i"
    if interactive:
        arguments = arguments[1:] or ["-c", ""]
    if not arguments:
        sys.exit(USAGE)
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    kind = arguments[0][:2] if arguments[0][:2] in ("-m", "-c") else ""
    if kind and arguments[0] != kind:  # `-ccode`
        arguments[:1] = [kind, arguments[0][2:]]
    if kind and len(arguments) == 1:
        print(f"Argument expected for the {kind} option\n{USAGE}", file=sys.stderr)
        sys.exit(2)
    if not kind and len(arguments[0]) > 1 and arguments[0].startswith("-"):
        print(f"unknown option {arguments[0]}: Python's own come before -m jaxtorch\n{USAGE}", file=sys.stderr)
        sys.exit(2)
    install()
    named = arguments[1] if kind else arguments[0]
    sys.argv[:] = ["-c", *arguments[2:]] if kind == "-c" else arguments[1:] if kind else arguments
    program = ModuleType("__main__")
    program.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = program
    load = {"-m": _load_module, "-c": _load_code}.get(kind, _load_input if named == "-" else _load_script)
    try:
        exec(load(named, program), program.__dict__)
    except BaseException:
        _hide_frames_of_ours()
        if not interactive:
            raise
        error = sys.exc_info()
        if error[0] is not SystemExit:
            sys.excepthook(*error)  # pyright: ignore[reportArgumentType]
    if interactive:
        _interact(program)


def _interact(program: ModuleType) -> None:
    """Read lines and run them in the program's own namespace, until there are no more."""
    import code

    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 - makes lines editable

    reader = None if sys.stdin.isatty() else _next_line
    code.interact("", reader, local=program.__dict__, exitmsg="")


def _next_line(prompt: str) -> str:
    """A line of an input that is no terminal; the prompt is no part of the output, as in Python."""
    sys.stderr.write(prompt)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


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


def _load_code(code: str | bytes, program: ModuleType, file: str = "<string>") -> CodeType:
    """The code given on the command line."""
    if not sys.flags.safe_path:
        sys.path[0] = ""
    program.__loader__ = BuiltinImporter
    compiled = compile(code, file, "exec", dont_inherit=True)
    if hasattr(linecache, "_register_code") and isinstance(code, str):  # Python from 3.13 on shows lines of such code
        linecache._register_code(compiled, code, file)  # pyright: ignore[reportAttributeAccessIssue]
    return compiled


def _load_input(_: str, program: ModuleType) -> CodeType:
    """The code that comes from standard input; typed line by line where that is a terminal."""
    if sys.stdin.isatty():
        return _load_code("import code; code.interact(local=globals())", program)
    program.__file__, program.__dict__["__cached__"] = "<stdin>", None
    return _load_code(sys.stdin.buffer.read(), program, "<stdin>")


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
