"""New shapes of known operations: their jaxprs are filled in, not traced.

An operation that is met with ever new sizes is traced once more, with sizes that stand for others
(compile/symbolic_sizes.py), and its jaxpr becomes a `Pattern`. For the next sizes, where all that was decided by sizes in
that trace is decided alike, numbers are put into the pattern. The same for its derivative's forward and backward kernels.

Nothing rests on the symbolic trace alone: a pattern is used only if, filled in for other sizes than those of its example, it was the
very jaxpr that an ordinary trace for these gave, equation for equation. Whatever is unclear is traced as ever.
`JAXTORCH_TEMPLATES=0` switches this off, `check` compares every jaxpr that is filled in with one that is traced.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ..compile import symbolic_sizes, tracing
from ..compile.context import x64
from ..compile.jaxpr_patterns import Pattern, filler, same, without_numbers
from ..compile.kernel import Kernel, function_from_text, unaliased
from ..compile.symbolic_sizes import Scope, let_go
from ..host.numpy_pattern import NumpyPattern, alike
from ..host.numpy_program import NumpyProgram
from ..tuning import TEMPLATE_AFTER, TEMPLATE_FAMILIES, TEMPLATE_SEEN, TEMPLATE_TRIES, TEMPLATES
from ..types import dtypes
from ..types.value import Aval

MODE = os.environ.get("JAXTORCH_TEMPLATES", "1")
ENOUGH = int(os.environ.get("JAXTORCH_TEMPLATES_AFTER", TEMPLATE_AFTER))
"""Sets of sizes that a family has been met with when it is traced with symbols."""

_learning = threading.RLock()
_families: dict[Any, _Family] = {}
_ready: bool | None = None


class _Family:
    """Calls that differ in sizes and whole numbers alone.

    seen: the last of those vectors; met: how many; fixed: places of numbers that were asked for; tries: what is left.
    """

    __slots__ = ("seen", "met", "fixed", "tries", "templates")

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.met = 0
        self.fixed: set[int] = set()
        self.tries: float = TEMPLATE_TRIES
        self.templates: list[Template] = []


def forget() -> None:
    """Drop all templates: something that the bodies of operations read has changed."""
    _families.clear()


dtypes._Defaults.on_change.append(forget)


def _is_ready() -> bool:
    global _ready
    if _ready is None:
        _ready = MODE not in ("0", "off", "no", "false") and tracing.is_direct() and symbolic_sizes.register()
    return _ready


# -- keys: a family, and a vector of sizes and whole numbers


def _parted(op: Any, key: tuple[Any, ...], inplace: bool) -> tuple[Any, tuple[int, ...], int]:
    """The family of a key, its vector, and how many of that are sizes of operands."""
    vector: list[int] = []

    def kind(k: Any) -> Any:
        if type(k) is tuple:
            return tuple([kind(a) for a in k])
        if k is None:
            return None
        vector.extend(k.shape)
        return k.ndim, k.dtype, k.slot, k.wrapped

    def rest(s: Any) -> Any:
        if type(s) is int:
            vector.append(s)
            return int
        return tuple([rest(item) for item in s]) if type(s) is tuple else s

    family: list[Any] = [op, inplace]
    family.extend([kind(k) for k in key[: op.n_operands]])
    sizes = len(vector)
    for p, s in zip(op.statics, key[op.n_operands :], strict=True):
        family.append(rest(s) if p.kind == "static" else s)
    return tuple(family), tuple(vector), sizes


def _joined(op: Any, key: tuple[Any, ...], vector: Any) -> tuple[Any, ...]:
    """The key with other numbers in the places of its vector."""
    given = iter(vector)

    def kind(k: Any) -> Any:
        if type(k) is tuple:
            return tuple([kind(a) for a in k])
        return None if k is None else _like(k, tuple([next(given) for _ in k.shape]))

    def rest(s: Any) -> Any:
        if type(s) is int:
            return next(given)
        return tuple([rest(item) for item in s]) if type(s) is tuple else s

    operands = [kind(k) for k in key[: op.n_operands]]
    statics = zip(op.statics, key[op.n_operands :], strict=True)
    return (*operands, *[rest(s) if p.kind == "static" else s for p, s in statics])


class _Struct:
    __slots__ = ("shape", "dtype")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def _like(aval: Aval, shape: tuple[Any, ...]) -> Aval:
    """A type with other sizes, extents perhaps; not interned."""
    made = object.__new__(Aval)
    made.shape, made.dtype, made.slot, made.wrapped = shape, aval.dtype, aval.slot, aval.wrapped
    made.size, made.ndim = shape, len(shape)  # pyright: ignore[reportAttributeAccessIssue]
    made.numel = 1
    for n in shape:
        made.numel = made.numel * n
    made.struct = _Struct(shape, aval.dtype.np)  # pyright: ignore[reportAttributeAccessIssue]
    return made


# -- what is filled in


class FilledPattern:
    """A pattern with the numbers that a kernel is to have; `template`: where a forward kernel's derivative forms are."""

    __slots__ = ("pattern", "v", "like", "template")

    def __init__(self, pattern: Pattern, v: tuple[int, ...], like: Any, template: Template | None = None) -> None:
        self.pattern, self.v, self.like, self.template = pattern, v, like, template

    def closed_jaxpr(self) -> Any:
        return self.pattern.filled(self.v)

    def facts(self) -> Any:
        return None if self.like is None else self.like.facts()

    def out_types(self) -> list[Any]:
        return self.pattern.out_types(self.v)

    def numpy_program(self) -> NumpyProgram:
        """The kernel for NumPy. Made of its jaxpr where what primitives stand for depends on other sizes."""
        pattern = self.pattern
        if pattern.numpy_program is None:
            pattern.numpy_program = self._numpy_pattern()
        found, holds = pattern.numpy_program
        if found is None or not _is_so(holds, self.v):
            return NumpyProgram(self.closed_jaxpr())
        program = found.filled(self.v)
        if MODE == "check" and not alike(program, NumpyProgram(self.closed_jaxpr())):
            raise AssertionError(f"what is filled in for NumPy differs: {self.closed_jaxpr()}")
        return program

    def _numpy_pattern(self) -> tuple[NumpyPattern | None, Any]:
        closed = self.pattern.closed
        plain = NumpyProgram(self.closed_jaxpr())
        with deciding(self.pattern.scope, "on NumPy") as decided:
            made = NumpyPattern(closed)
            holds = _holds(decided())
            if _is_so(holds, self.v) and alike(made.filled(self.v), plain):
                return made, holds
        return None, None

    def with_first_results(self, n: int) -> FilledPattern:
        """The same with the first `n` results alone."""
        return FilledPattern(self.pattern.with_first_results(n), self.v, None)


def _holds(conditions: Any) -> Callable[[Any], bool]:
    text = " and ".join([f"({c})" for c in conditions]) or "True"
    return function_from_text(f"def holds(v):\n    return {text}", {}, "holds")


def _is_so(holds: Callable[[Any], bool], v: Any) -> bool:
    try:
        return holds(v)
    except ArithmeticError:
        return False


@contextlib.contextmanager
def deciding(scope: Scope, name: str) -> Iterator[Callable[[], list[str]]]:
    """Context of another trace with a scope's sizes: what gives the conditions that came in it. Its failure is no error."""
    with _learning:
        before, scope.conditions = scope.conditions, {}
        scope.open = True
        try:
            yield lambda: [*scope.conditions]
        except Exception as error:  # whatever JAX makes of such sizes
            unclear(name, error)
            let_go(error)
        finally:
            scope.open, scope.conditions = False, before
            scope.let_go()


class Template:
    """An operation's kernel for all vectors of which `holds` is true.

    kind: the type that its outputs are handed back in; withins, at_once: of its flags.
    avals: the types of its operands, in extents; symbols: the places of numbers that are not fixed.
    forms: for each mask of wanted inputs its derivative form, or None where that is unclear.
    """

    def __init__(
        self, scope: Scope, conditions: list[str], pattern: Pattern, like: Kernel, body: Any, avals: Any
    ) -> None:
        self.scope = scope
        self.holds = _holds([*conditions, *scope.conditions])
        self.pattern = pattern
        self.like = like
        self.kind = body.kind
        withins = tuple([within for _, _, within in body.raised])
        self._withins = withins
        self._of_withins = filler(withins)
        self.at_once = [getattr(make, "at_once", False) for make in body.makers]
        self.avals = avals
        self.example: tuple[int, ...] = ()
        self.symbols: list[int] = []
        self.forms: dict[int, FormTemplate | None] = {}

    def withins(self, v: Any) -> Any:
        return self._withins if self._of_withins is None else self._of_withins(v)

    def form(self, mask: int, v: Any) -> FormTemplate | None:
        """The derivative form for the inputs in this bit set, if it is known for these sizes."""
        found = self.forms.get(mask)
        return found if found is not None and _is_so(found.holds, v) else None

    def learn_form(self, mask: int, v: Any, derived: Any, derive: Any, like: Kernel, n_out: int) -> FormTemplate | None:
        """The operation was differentiated: do so with symbols. derive(jaxpr, types): the same for others."""
        if mask in self.forms or not self.differs(v):
            return None
        self.forms[mask] = None
        with deciding(self.scope, like.name) as decided:
            found = derive(self.pattern.closed, [a.struct for a in self.avals])
            if found.roots == derived.roots:
                made = FormTemplate(self, found, decided(), like, n_out)
                if _is_so(made.holds, v) and _agree(like.name, *made.both(v, derived)):
                    self.forms[mask] = made
        return self.forms[mask]

    def differs(self, v: Any) -> bool:
        """Are all numbers that are not fixed others than in the example?"""
        return all([v[i] != self.example[i] for i in self.symbols])  # noqa: C419

    def kernel(self, name: str, body: Any, flat: tuple[Aval, ...], slot: Any, v: tuple[int, ...]) -> Kernel:
        makers = [_Maker(body, name, flat, i, at_once) for i, at_once in enumerate(self.at_once)]
        made = Kernel(name, body.fn, flat, slot, makers, filled_pattern=FilledPattern(self.pattern, v, self.like, self))
        body.kind = self.kind
        body.raised[:] = [(None, make, within) for make, within in zip(makers, self.withins(v), strict=True)]
        if MODE == "check":
            compare(name, self.pattern.filled(v), unaliased(body.fn, slot.device.type), flat)
        return made


class _Maker:
    """The maker of a flag's message, for which the body is traced when there is an error to tell."""

    __slots__ = ("body", "name", "avals", "place", "at_once")

    def __init__(self, body: Any, name: str, avals: tuple[Aval, ...], place: int, at_once: bool) -> None:
        self.body, self.name, self.avals, self.place, self.at_once = body, name, avals, place, at_once

    def __call__(self, code: int) -> Exception:
        if not self.body.makers:
            with x64():
                slot = self.avals[0].slot
                tracing.traced(self.name, unaliased(self.body.fn, slot.device.type), [a.struct for a in self.avals])
        return self.body.makers[self.place](code)


def unclear(name: str, reason: Any) -> None:
    """Called where a kernel becomes no template: with the exception, the conditions that do not hold, or the two jaxprs
    that differ. For tests to replace."""


def _agree(name: str, filled: Any, plain: Any) -> bool:
    if same(filled, plain):
        return True
    unclear(name, (filled, plain))
    return False


def compare(name: str, filled: Any, fn: Any, avals: Any) -> None:
    """AssertionError where a jaxpr that was filled in is not what the function's trace gives."""
    with x64():
        plain = tracing.traced(name, fn, [a.struct for a in avals])
    if not same(filled, plain):
        raise AssertionError(f"{name}: filled in\n{filled}\nbut traced\n{plain}")


class FormTemplate:
    """A derivative form for all vectors of which `holds` is true: see `gradient.GradForm` and `gradient.Derived`.

    pattern: of the forward kernel that gives what is kept besides; None where the operation's own does.
    outs, in_avals, saved: types in extents. backwards: for each set of cotangents present the pattern, its conditions and a kernel.
    """

    def __init__(self, template: Template, derived: Any, conditions: list[str], like: Kernel, n_out: int) -> None:
        kernel = template.like
        self.template = template
        self.holds = _holds(conditions)
        self.roots, self.recover, self.tree = derived.roots, derived.recover, derived.tree
        kept = template.pattern.closed if not derived.extras else derived.kept(n_out, len(kernel.out_avals))
        self.pattern = Pattern(kept, template.scope) if derived.extras else None
        self.like = like
        self.in_avals = template.avals
        made = [_like(a, tuple(o.shape)) for a, o in zip(like.out_avals, kept.out_avals, strict=True)]
        self.outs = tuple(made[:n_out])
        places = {"in": template.avals, "out": made, "extra": made[n_out:]}
        self.saved = [places[kind][k] for kind, k in self.roots]
        self.whole = Pattern(derived.closed, template.scope)
        self.backwards: dict[Any, tuple[Pattern, Any, Kernel] | None] = {}

    def forward_pattern(self, v: Any) -> FilledPattern:
        assert self.pattern is not None
        return FilledPattern(self.pattern, v, self.like)

    def compare(self, name: str, v: Any, derived: Any) -> None:
        """AssertionError where this is not what differentiating the operation at these sizes gives."""
        filled, plain = self.both(v, derived)
        if self.roots != derived.roots or not same(filled, plain):
            raise AssertionError(f"{name}: filled in\n{filled}\nbut derived\n{plain}")

    def both(self, v: Any, derived: Any) -> tuple[Any, Any]:
        """The forward pass with its residuals as filled in, and as derived. Numbers among the residuals are left out: what JAX
        knows while it differentiates is none."""
        n = len(self.template.like.out_avals)
        return without_numbers(self.whole.filled(v), n), without_numbers(derived.closed, n)

    def backward_pattern(self, present: Any, v: Any) -> FilledPattern | None:
        """For a backward kernel at these sizes, if there is a pattern."""
        found = self.backwards.get(present)
        return FilledPattern(found[0], v, found[2]) if found is not None and _is_so(found[1], v) else None

    def learn_backward(self, present: Any, v: Any, kernel: Kernel, symbolic: Callable[[FormTemplate], Any]) -> None:
        """A backward kernel was traced: trace it with symbols. symbolic: its function and types in extents."""
        template = self.template
        if present in self.backwards or not template.differs(v):
            return
        self.backwards[present] = None
        with deciding(template.scope, kernel.name) as decided:
            fn, avals = symbolic(self)
            with x64():
                fn = unaliased(fn, kernel.slot.device.type)
                closed = tracing.traced(kernel.name, fn, [a.struct for a in avals])
            pattern = Pattern(closed, template.scope)
            holds = _holds(decided())
            if _is_so(holds, v) and _agree(kernel.name, pattern.filled(v), kernel.closed_jaxpr()):
                self.backwards[present] = pattern, holds, kernel


# -- finding and learning


class Met:
    """A call that is being built: its family and vector, and the template that suits it, if there is one."""

    __slots__ = ("op", "key", "inplace", "family", "v", "sizes", "template")

    def __init__(self, op: Any, key: tuple[Any, ...], inplace: bool) -> None:
        self.op, self.key, self.inplace = op, key, inplace
        name, self.v, self.sizes = _parted(op, key, inplace)
        family = _families.get(name)
        if family is None:
            if len(_families) >= TEMPLATE_FAMILIES:
                _families.pop(next(iter(_families)), None)
            family = _families[name] = _Family()
        self.family = family
        self.template: Template | None = next((t for t in family.templates if _is_so(t.holds, self.v)), None)

    def learn(self, like: Kernel, trace: Callable[[Any], Any]) -> None:
        """The call was traced: if its family changes again and again, trace it with symbols.

        trace(key): the body for such a key.
        """
        family, v = self.family, self.v
        if v in family.seen:
            return
        family.met += 1
        if family.met >= ENOUGH and family.tries >= 1 and len(family.templates) < TEMPLATES and _is_ready():
            for example in reversed(family.seen):
                classes = _classes(example, v, self.sizes, family.fixed)
                if classes is not None:
                    family.tries -= 1
                    with _learning:
                        made = self._template(like, trace, example, classes)
                    if made is not None:
                        family.templates.append(made)
                        family.tries = TEMPLATE_TRIES
                    break
        family.seen.append(v)
        del family.seen[:-TEMPLATE_SEEN]

    def _template(self, like: Kernel, trace: Any, example: Any, classes: list[list[int]]) -> Template | None:
        scope = Scope()
        numbers: list[Any] = list(example)
        conditions = []
        for places in classes:
            extent = scope.extent(f"v[{places[0]}]", example[places[0]])
            conditions.append(f"v[{places[0]}] > 1")
            conditions.extend([f"v[{i}] == v[{places[0]}]" for i in places[1:]])
            for i in places:
                numbers[i] = extent
        heads = [places[0] for places in classes]
        moving = {i for places in classes for i in places}
        conditions.extend([f"v[{i}] != v[{j}]" for n, i in enumerate(heads) for j in heads[:n]])
        conditions.extend([f"v[{i}] == {n}" for i, n in enumerate(example) if i not in moving])
        others = {n for i, n in enumerate(example[: self.sizes]) if i not in moving and n > 1}
        conditions.extend([f"v[{i}] != {n}" for i in heads for n in others])
        try:
            body = trace(_joined(self.op, self.key, numbers))
            avals = tuple(body.flat)
            with x64():
                closed = tracing.traced(like.name, unaliased(body.fn, like.slot.device.type), [a.struct for a in avals])
            pattern = Pattern(closed, scope)
            made = Template(scope, conditions, pattern, like, body, avals)
            made.example, made.symbols = example, heads
            if not _is_so(made.holds, self.v):
                unclear(like.name, [*scope.conditions])
                self.family.tries += 0.75  # the next sizes may be more like the example
            elif _agree(like.name, pattern.filled(self.v), like.closed_jaxpr()):
                return made
        except Exception as error:  # whatever a body or JAX makes of such sizes: they are traced as ever
            unclear(like.name, error)
            self._fix(scope, error)
            let_go(error)
        finally:
            scope.open = False
            scope.let_go()
        return None

    def _fix(self, scope: Scope, error: Exception) -> None:
        """The numbers that were asked for are fixed from now on."""
        texts = [*scope.refused, getattr(error, "text", "")]
        found = {int(n) for text in texts for n in re.findall(r"v\[(\d+)\]", text)}
        self.family.fixed |= found


def _classes(example: Any, v: Any, sizes: int, fixed: set[int]) -> list[list[int]] | None:
    """The places in which two vectors differ, those with equal numbers together; None where they cannot teach a template."""
    groups: dict[tuple[int, int], list[int]] = {}
    for i, (a, b) in enumerate(zip(example, v, strict=True)):
        if a != b:
            if a <= 1 or b <= 1 or i in fixed:
                return None
            groups.setdefault((a, b), []).append(i)
    ones, others = [a for a, _ in groups], [b for _, b in groups]
    if not groups or len({*ones}) < len(ones) or len({*others}) < len(others):
        return None
    if any(a == b and (a in ones or a in others) for a, b in zip(example[:sizes], v[:sizes], strict=True)):
        return None
    return list(groups.values())


def met(op: Any, key: tuple[Any, ...], inplace: bool) -> Met | None:
    """What is known of a call that is to be built; None where there are no templates."""
    return Met(op, key, inplace) if MODE != "0" and _ready is not False else None
