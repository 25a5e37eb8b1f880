"""Which handlers an exception that is raised here would come to, and which loops stand between them and here.

An error that depends on values may be raised later than PyTorch raises it only where nothing would notice
(record/value_checks.py): no `except` that catches it, and no `finally`, which sees what had been done by then. Python's
exception tables tell, for every frame of the stack and the place it has come to; each place is looked at once. A `with` catches where
its `__exit__` may return something true, which the object that waits on the frame's stack tells where the recorder was built
(`native/frames.c`), and is taken for granted elsewhere.
"""

from __future__ import annotations

import contextlib
import sys
from types import CodeType, FrameType, ModuleType
from typing import Any, Literal, NamedTuple

from .. import PACKAGE

_OURS = (PACKAGE, "<jaxtorch")

Region = tuple[int, int, int]
"""A `try` or `with` that is being run, to whose handler an exception would come: the ids of its frame and code, where that begins."""

Loop = tuple[int, int, int]
"""A loop that is being run: the ids of its frame and its code, where the loop begins."""

_KINDS = (RuntimeError, IndexError, ValueError, OverflowError)
"""What operations raise for values."""

standing: Any = None
"""`standing(frame, place)`: the object at this place of a frame's stack (native/frames.c); None where that was not built."""


class CallSite(NamedTuple):
    """What stands around a call.

    regions: the handlers that an exception would come to, innermost first.
    loops: the loops that it would end before it comes to the innermost of them, with the offsets that their code has come to.
    in_loops: would it end a loop, whichever of them it comes to?
    all_loops: the loops that the program is in, likewise.
    code, at: the code of the program that made the call, and the offset that it has come to.
    """

    regions: tuple[Region, ...]
    loops: dict[Loop, int]
    in_loops: bool
    all_loops: dict[Loop, int]
    code: CodeType | None
    at: int

    def alone(self) -> CallSite:
        """The same call, with nothing around it."""
        return self._replace(regions=(), loops={}, in_loops=False, all_loops={})

    @property
    def line(self) -> str:
        """Where the call was made, 'file:line'."""
        if self.code is None:
            return "<unknown>"
        line = next((line for first, end, line in self.code.co_lines() if first <= self.at < end), None)
        return f"{self.code.co_filename}:{line}"


class _Handler(NamedTuple):
    """A handler around a place in some code.

    kind: what it belongs to. target: where it begins. loops: those around the place that lie in what it guards.
    depth: where the `__exit__` of a `with` stands on the stack.
    """

    kind: Literal["except", "finally", "with"]
    target: int
    loops: frozenset[int]
    depth: int


class _Facts:
    """What is known of some code: is it the engine's own? If not, its exception table and instructions, its loops as (first, last)
    offsets, and what stands around the places that were asked for: the handlers and the loops there."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.ours = code.co_filename.startswith(_OURS)
        self.places: dict[int, tuple[tuple[_Handler, ...], frozenset[int]]] = {}
        if not self.ours:
            self.read()

    def read(self) -> None:
        """Read the code."""
        import dis  # which only these questions need

        self.table: list[Any] = getattr(dis, "_parse_exception_table", lambda _: [])(self.code)
        self.steps = list(dis.get_instructions(self.code))
        self.at = {step.offset: n for n, step in enumerate(self.steps)}
        self.jumps = {*dis.hasjrel, *dis.hasjabs}
        usual = self._without_exceptions()
        self.loops = [
            (step.argval, step.offset)
            for step in self.steps
            if step.offset in usual and step.opcode in self.jumps and step.argval <= step.offset
            if step.opname != "JUMP_BACKWARD_NO_INTERRUPT"  # of `await`
        ]

    def _without_exceptions(self) -> set[int]:
        """The instructions that are reached while nothing is raised."""
        found: set[int] = set()
        ahead = [0]
        while ahead:
            n = ahead.pop()
            while n < len(self.steps) and (step := self.steps[n]).offset not in found:
                found.add(step.offset)
                if step.opcode in self.jumps:
                    ahead.append(self.at[step.argval])
                if step.opname.startswith(("RETURN_VALUE", "RETURN_CONST", "RAISE", "RERAISE", "JUMP_")):
                    break
                n += 1
        return found

    def entry(self, offset: int) -> Any:
        """The line of the exception table for this instruction, or None."""
        return next((e for e in self.table if e.start <= offset < e.end), None)

    def chain(self, offset: int) -> list[Any]:
        """The lines of the exception table that an exception comes to which is raised here and caught nowhere, in that order."""
        found: list[Any] = []
        while (entry := self.entry(offset)) is not None and all(e.target != entry.target for e in found):
            found.append(entry)
            offset = entry.target
        return found

    def place(self, frame: FrameType) -> tuple[tuple[_Handler, ...], frozenset[int]]:
        """The handlers around where the frame has come to, and the loops there."""
        return self.places.get(frame.f_lasti) or self._found(frame, frame.f_lasti)

    def _found(self, frame: FrameType, at: int) -> tuple[tuple[_Handler, ...], frozenset[int]]:
        loops = [first for first, last in self.loops if first <= at <= last]
        handlers = []
        for entry in self.chain(at):
            kind = self._kind(entry.target, frame)
            if kind is not None:
                inside = [first for first in loops if entry.target in [e.target for e in self.chain(first)]]
                handlers.append(_Handler(kind, entry.target, frozenset(inside), entry.depth))
        self.places[at] = tuple(handlers), frozenset(loops)
        return self.places[at]

    def _kind(self, target: int, frame: FrameType) -> Literal["except", "finally", "with"] | None:
        """What a handler that begins here belongs to; None where it does not catch what operations raise, or is Python's own."""
        n = self.at[target]
        if self.steps[n].opname != "PUSH_EXC_INFO":
            return None
        if self.steps[n + 1].opname == "WITH_EXCEPT_START":
            return "with"
        while True:
            classes, n = self._loaded(n + 1, frame)
            kind = self.steps[n].opname
            if kind == "CHECK_EXC_MATCH":
                jump = next((s for s in self.steps[n : n + 5] if s.opcode in self.jumps), None)
                if not classes or _fits(classes[-1]) or jump is None:
                    return "except"
                n = self.at[jump.argval] - 1  # to the next `except` of the same `try`
            elif kind == "RERAISE":
                return None  # nothing is left to be tried, or the `finally` is empty
            elif kind == "POP_TOP" and not classes:
                return "except"  # of every exception
            else:
                return self._ending(n)

    def _ending(self, n: int) -> Literal["except", "finally"]:
        """A handler that begins with other things: an `except` of a class that only its run knows, or a `finally`, which raises the
        exception again unless it returns."""
        for step in self.steps[n:]:
            if step.opname in ("CHECK_EXC_MATCH", "CHECK_EG_MATCH", "RETURN_VALUE", "RETURN_CONST"):
                return "except"
            if step.opname in ("RERAISE", "PUSH_EXC_INFO"):
                break
        return "finally"

    def _loaded(self, n: int, frame: FrameType) -> tuple[list[Any], int]:
        """The classes that are loaded from instruction `n` on, and the first instruction that loads none."""
        classes: list[Any] = []
        for k, step in enumerate(self.steps[n:], n):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                classes.append(_named(frame, step.argval))
            elif step.opname in ("LOAD_ATTR", "LOAD_METHOD") and classes:
                classes.append(_member(classes.pop(), step.argval))
            elif step.opname == "BUILD_TUPLE" and step.arg == len(classes):
                classes = [tuple(classes)]
            elif step.opname not in ("CACHE", "EXTENDED_ARG", "NOP", "PUSH_NULL"):
                return classes, k
        return classes, len(self.steps) - 1


def _named(frame: FrameType, name: str) -> Any:
    return frame.f_globals.get(name, frame.f_builtins.get(name, BaseException))


def _member(of: Any, name: str) -> Any:
    return vars(of).get(name, BaseException) if isinstance(of, (ModuleType, type)) else BaseException


def _fits(named: Any) -> bool:
    """Would `except named` catch any of `_KINDS`, or LinAlgError? Where it is no class, nobody knows."""
    kinds = named if isinstance(named, tuple) else (named,)
    for kind in kinds:
        if not isinstance(kind, type) or kind.__name__ == "LinAlgError":
            return True
        if any(issubclass(k, kind) for k in _KINDS):
            return True
    return False


_known: dict[int, _Facts] = {}
"""By the codes' ids; each keeps its code."""
_places: dict[int, dict[int, tuple[tuple[_Handler, ...], frozenset[int]]] | None] = {}
"""Their `places`; None for the engine's own."""
_swallowing: dict[int, tuple[CodeType, bool]] = {}


def _facts(code: CodeType) -> _Facts:
    found = _known.get(id(code))
    if found is None:
        found = _known[id(code)] = _Facts(code)
        _places[id(code)] = None if found.ours else found.places
    return found


def user_line() -> str:
    """'file:line' of the innermost frame outside this package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if not (name := frame.f_code.co_filename).startswith(_OURS):
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "<unknown>"


def call_site() -> CallSite:
    """What stands around the caller, but for the engine's own code."""
    regions: list[Region] = []
    loops: dict[Loop, int] = {}
    between: dict[Loop, int] | None = None
    in_loops = True
    code, at = None, -1
    places_of = _places.get
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        places = places_of(id(frame.f_code), _UNKNOWN)
        if places is not None:
            own, here = frame.f_code, frame.f_lasti
            found = places.get(here)
            if found is None and not (facts := _facts(own)).ours:
                found = facts.place(frame)
            if found is not None:
                if code is None:
                    code, at = own, here
                handlers, inner = found
                for handler in handlers:
                    if handler.kind == "with" and not _swallows(frame, handler):
                        continue
                    within = loops | _offsets(frame, own, handler.loops)
                    regions.append((id(frame), id(own), handler.target))
                    between = within if between is None else between
                    in_loops = in_loops and bool(within)
                if inner:
                    loops = loops | _offsets(frame, own, inner)
        frame = frame.f_back
    if (hasattr(sys, "ps1") or sys.flags.interactive) and (prompt := _prompt()) is not None:
        regions.append(prompt)
        between = loops if between is None else between
        in_loops = in_loops and bool(loops)
    return CallSite(tuple(regions), between or {}, in_loops, loops, code, at)


def anything() -> bool:
    """Does any handler stand around the caller? What `around().regions` says, for where nothing else is asked."""
    places_of = _places.get
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        places = places_of(id(frame.f_code), _UNKNOWN)
        if places is not None and ((found := places.get(frame.f_lasti)) is None or found[0]):
            return bool(call_site().regions)
        frame = frame.f_back
    return (hasattr(sys, "ps1") or bool(sys.flags.interactive)) and _prompt() is not None


_UNKNOWN: dict[int, Any] = {}


def _prompt() -> Region | None:
    """Python's prompt, which goes on after an error."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
    return None if _facts(frame.f_code).ours else (id(frame), id(frame.f_code), -1)


def _offsets(frame: FrameType, code: CodeType, loops: frozenset[int]) -> dict[Loop, int]:
    return {(id(frame), id(code), first): frame.f_lasti for first in loops}


class _Known:
    """A `with` over which `look_with` sees whether it looks at the right place."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass


def look_with(look: Any) -> None:
    """Have `look(frame, place)` tell what stands on frames' stacks, if it does in this Python."""
    global standing
    known = _Known()
    with known:
        frame = sys._getframe()
        here = _facts(frame.f_code)
        here.read()
        handler = next(h for h in here.place(frame)[0] if h.kind == "with")
        if any(getattr(found, "__self__", found) is known for found in _exits(look, frame, handler)):
            standing = look


def _exits(look: Any, frame: FrameType, handler: _Handler) -> list[Any]:
    """The `__exit__` of a `with`, and from 3.14 on what it is a method of."""
    places = (handler.depth - 1,) if sys.version_info < (3, 14) else (handler.depth - 2, handler.depth - 1)
    return [look(frame, place) for place in places]


def _swallows(frame: FrameType, handler: _Handler) -> bool:
    """May this `with` end an exception? Where its `__exit__` cannot be looked at, it may."""
    if standing is None:
        return True
    found = _exits(standing, frame, handler)
    method = found[0]
    owner = found[1] if len(found) > 1 and found[1] is not None else getattr(method, "__self__", None)
    if type(owner) is contextlib._GeneratorContextManager:
        inner = owner.gen.gi_frame  # pyright: ignore[reportAttributeAccessIssue]
        facts = None if inner is None else _facts(inner.f_code)
        if inner is None or facts is None or facts.ours:
            return False
        return any(h.kind == "except" or (h.kind == "with" and _swallows(inner, h)) for h in facts.place(inner)[0])
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    if code is None:  # written in C: files, locks
        return method is None
    if code.co_filename.startswith(_OURS):
        return False
    known = _swallowing.get(id(code))
    if known is None:
        known = _swallowing[id(code)] = code, _may_be_true(code)
    return known[1]


def _may_be_true(code: CodeType) -> bool:
    """Does a function return anything but None and False?"""
    before: Any = None
    for step in _facts(code).steps:
        if step.opname == "RETURN_CONST" and step.argval:
            return True
        if step.opname == "RETURN_VALUE" and not (before.opname == "LOAD_CONST" and not before.argval):
            return True
        before = step
    return False
