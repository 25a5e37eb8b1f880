"""What Python code a call runs: the user's functions it enters, and what they ask of code that is not theirs.

A replay runs none of that code, so it is right only where the code, given the same inputs and the same state, would do the
same again. `observe` watches one call through the interpreter's profiling hook and notes which functions ran (whose state
`finding_guards.py` then guards), and the first call of something that a replay cannot stand for: printing, clocks, files,
random numbers that are not the engine's.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from types import BuiltinMethodType, CodeType
from typing import Any

from .._core import PACKAGE
from .._core.run import capture as engine

_PURE_MODULES = frozenset(
    """abc collections contextlib copy copyreg dataclasses enum functools inspect keyword numbers operator re reprlib string
    textwrap types typing _collections_abc _weakrefset weakref importlib""".split()
)
"""Modules of the standard library whose Python code keeps no state that matters."""

_BUILTINS = frozenset(
    """abs all any ascii bin callable chr delattr dir divmod format getattr globals hasattr hash hex id isinstance issubclass
    iter len locals max min next oct ord pow repr round setattr sorted sum vars __build_class__ __import__""".split()
)
_MODULES = frozenset(
    """math cmath _operator operator itertools _functools _collections _abc _weakref _bisect bisect _heapq _struct
    _typing _thread_local numpy numpy.linalg numpy._core.multiarray numpy._core._multiarray_umath _contextvars""".split()
)
_LIBRARIES = frozenset({"jaxtorch", "jax", "jaxlib", "numpy", "optax", "flax", "opt_einsum", "ml_dtypes"})
_VALUES = (
    list,
    dict,
    tuple,
    set,
    frozenset,
    str,
    bytes,
    bytearray,
    int,
    float,
    complex,
    type,
    range,
    slice,
    BaseException,
)
"""Builtin methods of these change nothing but the object itself, which is either local to the call or guarded."""


def package_of(code: CodeType) -> bool:
    """Is this jaxtorch's own code, or what it generated?"""
    name = code.co_filename
    return name.startswith((PACKAGE, "<jaxtorch"))


_LOADING: CodeType = importlib._bootstrap._find_and_load.__code__  # pyright: ignore[reportAttributeAccessIssue]
_STANDARD = os.path.dirname(os.path.abspath(os.__file__)) + os.sep


class Observation:
    """What one call ran.

    codes:  the code objects of the user's functions that were entered.
    reason: why the call cannot be replayed, or None.
    """

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()
        self.reason: str | None = None
        self._foreign: dict[CodeType, bool] = {}
        self._importing: Any = (
            None  # the frame that loads a module for the first time: whatever that does, it does once
        )

    def _is_foreign(self, frame: Any) -> bool:
        """Does the code of this frame belong to jaxtorch, a library under it or the standard library?"""
        code = frame.f_code
        known = self._foreign.get(code)
        if known is None:
            name = code.co_filename
            root = str(frame.f_globals.get("__name__")).partition(".")[0]
            known = (
                (root in _LIBRARIES or root.startswith("namedtuple_"))
                or package_of(code)
                or name.startswith("<frozen ")
                or _standard_module(name) != ""
            )
            self._foreign[code] = known or self._called_by_library(frame)
        return self._foreign[code]

    def _called_by_library(self, frame: Any) -> bool:
        """Did a library under jaxtorch, rather than the user's code or jaxtorch's modules, call this?"""
        caller = frame.f_back
        while caller is not None and _standard_module(caller.f_code.co_filename):
            caller = caller.f_back
        if caller is None or caller.f_code in self.codes or package_of(caller.f_code):
            return False
        return self._foreign.get(caller.f_code, False)

    def _refuse(self, reason: str, kind: str = engine.SKIPPED) -> None:
        engine.refuse_fullgraph(f"{kind}: {reason}")
        if self.reason is None:
            self.reason = reason

    def __call__(self, frame: Any, event: str, arg: Any) -> None:
        code = frame.f_code
        if self._importing is not None:
            if frame is self._importing and event == "return":
                self._importing = None
        elif event == "call":
            if code in self.codes:
                return
            if code is _LOADING:
                self._importing = frame
            elif not self._is_foreign(frame):
                self.codes.add(code)
            elif self.reason is None and (caller := frame.f_back) is not None and caller.f_code in self.codes:
                module = _standard_module(code.co_filename)
                if module and module not in _PURE_MODULES:
                    self._refuse(f"it runs {code.co_qualname} of the module {module} ({_line(caller)})")
        elif event == "c_call" and self.reason is None and not self._is_foreign(frame) and not _harmless(arg):
            builtin = getattr(arg, "__module__", None) in ("builtins", "_io")
            self._refuse(f"it calls {_title(arg)} ({_line(frame)})", engine.BUILTIN if builtin else engine.SKIPPED)


def _standard_module(filename: str) -> str:
    """The module of the standard library that a file holds, or ''."""
    if not filename.startswith(_STANDARD) or "site-packages" in filename:
        return ""
    return filename[len(_STANDARD) :].split(os.sep)[0].removesuffix(".py")


def _line(frame: Any) -> str:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _harmless(called: Any) -> bool:
    """Does this builtin function only compute, or change only an object that is local or guarded?"""
    owner = getattr(called, "__self__", None)
    module = getattr(called, "__module__", None)
    if owner is None or isinstance(owner, type(sys)):
        if module == "builtins" or module is None:
            return called.__name__ in _BUILTINS or module is None
        return module in _MODULES
    if isinstance(owner, type):  # dict.fromkeys, object.__new__
        return True
    return isinstance(owner, _VALUES) or type(owner).__module__ in (
        "collections",
        "types",
        "builtins",
        "itertools",
        "_thread",
    )


def _title(called: Any) -> str:
    owner = getattr(called, "__self__", None)
    if isinstance(called, BuiltinMethodType) and owner is not None and not isinstance(owner, type(sys)):
        return f"{type(owner).__name__}.{called.__name__}"
    return str(getattr(called, "__qualname__", called))


def observe(call: Callable[[], Any]) -> tuple[Any, Observation]:
    """The result of a call, and what it ran. Nothing is noted where another profiler is at work."""
    seen = Observation()
    before = sys.getprofile()
    if before is not None:
        seen.reason = "another profiler is running"
        return call(), seen
    sys.setprofile(seen)
    engine.observer = seen
    try:
        result = call()
    finally:
        sys.setprofile(None)
        engine.observer = None
    return result, seen
