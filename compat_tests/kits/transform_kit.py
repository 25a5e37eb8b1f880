"""What the random compositions of transformations share, and tables of small programs that both modules run.

What a program returns, or the type of what it raises, has to agree.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from parity import candidate, reference

Program = Callable[[Any], Any]
Make = Callable[..., Any]

# -- outcomes


class Raised(NamedTuple):
    """An exception."""

    kind: str
    text: str


def plain(t: Any, x: Any) -> Any:
    if isinstance(x, t.Tensor):
        if hasattr(x, "_is_zerotensor") and x._is_zerotensor():  # PyTorch's, which have no memory
            x = t.zeros(x.shape, dtype=x.dtype)
        values = x.detach().resolve_conj().resolve_neg()
        return ("tensor", str(x.dtype).split(".")[-1], tuple(x.shape), x.requires_grad, values.tolist())
    if isinstance(x, dict):
        return ("dict", list(x), [plain(t, v) for v in x.values()])
    if isinstance(x, (list, tuple)):
        return (type(x).__name__, [plain(t, v) for v in x])
    return x


LACKING = re.compile(
    r"INTERNAL ASSERT|Batching rule not implemented|could not generate a fallback|not implemented for|is not implemented"
    r"|has not been implemented|not supported by|doesn't support|functorch doesn't|can't allocate memory|ZeroTensors are"
    r"|escaped from inside|tensor of 0 elements|non-empty TensorList|for tensor of size \[0\]|to be 1, got 0"
    r"|output 0 of (?:AsStrided|MaskedFill|Exp)|dimension 0 with size 0"
    r"|index 0 out of range for tensor of size \[(\d+, )*0\]|^tuple index out"
    r"|would mutate a captured Tensor|Storage size calculation overflowed|^Expected isFloatingType"
    r"|with two bool tensors is not supported|We do not yet support|Cannot ask for different inplace randomness"
    r"|as_strided is not supported unless|of a function being transformed by a functorch transform. This is unsupported"
    r"|Nested forward mode AD is not|The expanded size of the tensor \(\d{9,}\)"
)
"""What PyTorch says where it lacks something, or comes to grief in itself: there jaxtorch may answer, or raise what it likes."""


def differs(ours: Any, theirs: Any) -> str:
    """How an outcome differs from PyTorch's; empty where it does not."""
    if isinstance(theirs, Raised):
        if theirs.kind == "MemoryError" or LACKING.search(theirs.text):
            return ""
        if isinstance(ours, Raised):
            return "" if ours.kind == theirs.kind else f"raises {ours.kind} for {theirs.kind}"
        return f"takes what raises {theirs.kind}"
    if isinstance(ours, Raised):
        return f"raises {ours.kind}"
    return _differs(ours, theirs)


_CONNECTION = re.compile(
    r"does not require grad|to not have been used in the graph|is independent of|none of output has requires_grad=True"
)


def compared(case: Any, outcome: Make, stumbles: re.Pattern[str] | None = None, otherwise: tuple[str, ...] = ()) -> str:
    """How jaxtorch differs from PyTorch in a case.

    A gradient that is 0 whatever the argument may have a graph in one and none in the other (docs/differences.md): where only one
    misses a graph, both run again with functions that are connected to their arguments, and without strict checks.

    otherwise: where they differ so, what jaxtorch gives may also be what PyTorch gives of the same program written otherwise.
    """
    options: dict[str, bool] = {}
    ours, theirs = outcome(candidate(), case), outcome(reference(), case)
    if differs(ours, theirs) and any(isinstance(x, Raised) and _CONNECTION.search(x.text) for x in (ours, theirs)):
        options["connected"] = True
        ours, theirs = (outcome(t, case, **options) for t in (candidate(), reference()))
    if stumbles is not None and isinstance(theirs, Raised) and stumbles.search(theirs.text):
        return ""
    found = differs(ours, theirs)
    if found in otherwise:
        written = outcome(reference(), case, by_hand=True, **options)
        return found if isinstance(written, Raised) and not LACKING.search(written.text) else differs(ours, written)
    return found


def connected(o: Any, out: Any, given: list[Any]) -> Any:
    """Results with zeros times the arguments added, where the world asks for it."""
    if not o.connected:
        return out
    zero = _sum(o.t, given) * 0
    return mapped(o.t, lambda y: y + zero.to(y.dtype) if y.is_floating_point() or y.is_complex() else y, out)


def _differs(a: Any, b: Any) -> str:
    if isinstance(b, tuple) and b and b[0] == "tensor":
        if not (isinstance(a, tuple) and a and a[0] == "tensor"):
            return "structure"
        for k, what in ((1, "dtype"), (2, "shape")):
            if a[k] != b[k]:
                return what
        return "" if _close(a[4], b[4], b[1]) else "values"
    if isinstance(b, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return "structure"
        for one, other in zip(a, b, strict=True):
            if found := _differs(one, other):
                return found
        return ""
    return "" if a == b else "structure"


def _close(a: Any, b: Any, dtype: str) -> bool:
    if isinstance(b, list):
        return len(a) == len(b) and all(_close(x, y, dtype) for x, y in zip(a, b, strict=True))
    if isinstance(b, complex):
        return _close(a.real, b.real, dtype) and _close(a.imag, b.imag, dtype)
    if not isinstance(b, float):
        return a == b
    if a != a or b != b:
        return (a != a) == (b != b)
    tolerance = {"float16": 3e-3, "float64": 1e-6}.get(dtype, 2e-4)
    return a == b or abs(a - b) <= tolerance * (1 + abs(b))


# -- transformations --- each takes a world (what a case closes over: `t`, the module, and `w`), a function and its arguments


def leaves_of(t: Any, out: Any) -> list[Any]:
    """The tensors in a structure."""
    return [
        x for x in importlib.import_module(f"{t.__name__}.utils._pytree").tree_leaves(out) if isinstance(x, t.Tensor)
    ]


def mapped(t: Any, fn: Make, out: Any) -> Any:
    """A structure with a function of its tensors in their places."""
    tree = importlib.import_module(f"{t.__name__}.utils._pytree")
    return tree.tree_map(lambda y: fn(y) if isinstance(y, t.Tensor) else y, out)


def _sum(t: Any, ys: list[Any]) -> Any:
    parts = [(t.real(y) if y.is_complex() else y).sum() for y in ys]
    return sum(parts[1:], parts[0])


def scalar(o: Any, f: Make) -> Make:
    """A function's results as one real number."""

    def total(*args: Any) -> Any:
        ys = [y for y in leaves_of(o.t, f(*args)) if y.is_floating_point() or y.is_complex()]
        return _sum(o.t, ys) if ys else leaves_of(o.t, args)[0].sum() * 0 + o.w

    return total


def with_aux(g: Make, f: Make, has_aux: bool) -> Make:
    """A function that also returns what another one does."""
    return (lambda *a: (g(*a), f(*a))) if has_aux else g


def vjp(o: Any, f: Make, a: Any, has_aux: bool = False) -> Any:
    out, back, *aux = o.t.func.vjp(with_aux(f, f, has_aux), *a, has_aux=has_aux)
    return out, back(mapped(o.t, lambda y: o.t.ones_like(y) * 0.5, out)), *aux


def linearize(o: Any, f: Make, a: Any) -> Any:
    moves = mapped(o.t, lambda x: o.t.ones_like(x) * 0.5, a)
    if o.by_hand:
        out, tangent = o.t.func.jvp(f, a, moves)
    else:
        out, along = o.t.func.linearize(f, *a)
        tangent = along(*moves)
    # detached: PyTorch's has a history that leads nowhere
    return out, mapped(o.t, lambda y: y.detach(), tangent)


def dual(o: Any, f: Make, a: Any) -> Any:
    fw = o.t.autograd.forward_ad

    def both(y: Any) -> Any:  # PyTorch has None where a tangent is zero, jaxtorch now and then
        primal, tangent = fw.unpack_dual(y)
        return primal, o.t.zeros_like(primal) if tangent is None else tangent

    with fw.dual_level():
        return mapped(o.t, both, f(*mapped(o.t, lambda x: fw.make_dual(own(o, x), o.t.ones_like(x) * 0.5), a)))


def own(o: Any, x: Any) -> Any:
    """A dual's primal: jaxtorch's `make_dual` copies (docs/differences.md)."""
    return x.clone() if o.by_hand and isinstance(x, o.t.Tensor) else x


def checkpoint(o: Any, f: Make, a: Any, context: bool = False, **options: Any) -> Any:
    if o.by_hand:
        still = options.get("use_reentrant", True) and not any(x.requires_grad for x in leaves_of(o.t, a))
        return connected(o, (o.t.no_grad()(f) if still else f)(*a), leaves_of(o.t, a))
    if context:
        options["context_fn"] = lambda: (o.t.enable_grad(), o.t.autograd.set_grad_enabled(True))
    return checkpoints(o.t).checkpoint(lambda *x: connected(o, f(*x), leaves_of(o.t, x)), *a, **options)


def checkpoints(t: Any) -> Any:
    """The module of checkpoints."""
    return importlib.import_module(t.__name__ + ".utils.checkpoint")


# -- running


def observed(t: Any, run: Make, arguments: Make, closed: Any, raising: bool = False) -> Any:
    """What a case gives on a module, as plain data: results, arguments, what it closes over, and the gradients of these.

    What a result that requires no gradient depends on has a gradient of zeros.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            a = arguments()
            out = run(*a)
            seen = [plain(t, out), plain(t, a)]
            asked = [y for y in leaves_of(t, out) if y.requires_grad]
            if asked:
                _sum(t, asked).backward()
            for y in (*closed, *leaves_of(t, a)):
                seen.append(plain(t, y.detach()))
                seen.append(plain(t, t.zeros(y.shape, dtype=y.dtype) if not y.is_leaf or y.grad is None else y.grad))
        except Exception as error:
            if raising:
                raise
            return Raised(type(error).__name__, str(error))
    return seen


def run_cases(doc: str | None, cases: Make, parse: Make, outcome: Make, compare: Make) -> None:
    """Run the cases that the command line asks for, and count what differs by kind."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0, help="leave out so many first ones")
    parser.add_argument("--case", help="one case, as it is printed")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    given = parser.parse_args()
    if given.case:
        case = parse(given.case)
        print("PyTorch: ", outcome(reference(), case))
        try:
            print("jaxtorch:", outcome(candidate(), case, raising=True))
        except Exception:
            traceback.print_exc()
        return
    reference().set_num_threads(1)
    began, kinds, number = time.monotonic(), collections.Counter(), 0
    for case in cases(given.seed, given.count)[given.start :]:
        if time.monotonic() - began > given.seconds:
            break
        number += 1
        found = compare(case)
        if found:
            kinds[found] += 1
            print(f"{found}: {case}", flush=True)
    bad = sum(kinds.values())
    print(f"{number - bad} of {number} cases agree ({100 * (number - bad) / max(number, 1):.2f} %)", file=sys.stderr)
    for kind, n in kinds.most_common():
        print(f"{n:6} {kind}", file=sys.stderr)


class Table(dict[str, Program]):
    """Programs by name; a decorator adds one."""

    def case(self, f: Program) -> Program:
        self[f.__name__] = f
        return f

    def check(self, name: str) -> None:
        """Run a program on both modules."""
        ours, theirs = _outcome(candidate(), self[name]), _outcome(reference(), self[name])
        assert not differs(ours, theirs), (ours, theirs)


def _outcome(t: Any, f: Program) -> Any:
    t.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(t, f(t))
        except Exception as error:
            return Raised(type(error).__name__, str(error))
