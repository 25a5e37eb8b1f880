"""Forward-mode derivatives: values with tangents, while a level is open.

A tangent belongs to a `Value`, at one level; where derivatives are nested, levels are. Every computation passes through
`program.emit`, so views, writes in place, backward passes and optimizers carry tangents along as any operation does: for each kernel
that gets values with tangents, its derivative (`jax.jvp` of it, made once) is recorded after it, as an operation on tensors with a
history of its own, which moves along the tangents of the levels further out.

While no level is open, nothing of this runs: opening one exchanges the code of `emit` and `finish`, and the end of the last one
puts it back.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import jax
from jax._src import core as _core

from ..compile.kernel import Entry, Kernel
from ..define.op import functions
from ..record import program
from ..run import capture
from ..tensor import tensor as _tensor
from ..types.grad_mode import state, watch
from ..types.value import Aval, Value


class Level:
    """An open level.

    outer: the one that was open before; it follows what this one computes, tangents too. taped: is it the engine's own, of
    `torch.func.jvp`? paused: tangents are not followed now: derivatives themselves are being recorded, or the user's own code
    computes them.
    """

    __slots__ = ("paused", "taped", "outer", "open")

    def __init__(self, outer: Level | None, taped: bool) -> None:
        self.outer, self.taped = outer, taped
        self.paused, self.open = False, True


level: Level | None = None
"""The innermost level that is open, or None."""

_at: list[Any] = [None, ()]
"""(values, operands) of the operation under way: the tensors give its derivative its history."""


def _copy(fn: Any) -> Any:
    return types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


_plain_emit, _plain_finish = _copy(program.emit), _copy(_tensor.finish)


def _following() -> Level | None:
    """The innermost level that is not paused."""
    found = level
    while found is not None and found.paused:
        found = found.outer
    return found


def _emit(kernel: Kernel, values: list[Value], alone: bool) -> list[Value]:
    open_ = _following()
    if open_ is None or alone:
        return _plain_emit(kernel, values, alone)
    open_.paused = True
    try:
        outs = _plain_emit(kernel, values, alone) if open_.outer is None else _emit(kernel, values, alone)
    finally:
        open_.paused = False
    places = tuple([i for i, v in enumerate(values) if tangent_of(v, open_) is not None])
    if places:
        _follow(open_, kernel, values, _at[1] if _at[0] is values else values, places, outs)
    return outs


def _finish(entry: Entry, mask: int, values: list[Value], operands: Any) -> Any:
    if _following() is None:
        return _plain_finish(entry, mask, values, operands)
    before = _at[:]
    _at[:] = values, operands
    try:
        return _plain_finish(entry, mask, values, operands)
    finally:
        _at[:] = before


def _exchanged_emit(kernel: Any, values: Any, alone: bool = False) -> Any:
    return duals(kernel, values, alone)  # noqa: F821 # pyright: ignore[reportUndefinedVariable]


def _exchanged_finish(entry: Any, mask: Any, values: Any, operands: Any) -> Any:
    return duals(entry, mask, values, operands)  # noqa: F821 # pyright: ignore[reportUndefinedVariable]


NESTED = "Nested forward mode AD is not supported at the moment"


def enter(taped: bool = False) -> Level:
    """Open a level; `taped`: for a transformation of `torch.func`. RuntimeError where one is open already, unless both are such."""
    global level
    if level is not None and not (level.taped and taped):
        raise RuntimeError(NESTED)
    if state.tangents and not taped:
        raise RuntimeError(NESTED)
    capture.break_capture("it uses forward-mode derivatives")
    level = Level(level, taped)
    program.duals, _tensor.duals = _emit, _finish  # pyright: ignore[reportAttributeAccessIssue]
    program.emit.__code__ = _exchanged_emit.__code__
    _tensor.finish.__code__ = _exchanged_finish.__code__
    watch.append("duals")
    return level


def leave() -> None:
    """Close the innermost level: no value has a tangent there any more."""
    global level
    if level is None:
        return
    level.open = False
    level = level.outer
    if level is None:
        program.emit.__code__ = _plain_emit.__code__
        _tensor.finish.__code__ = _plain_finish.__code__
    watch.remove("duals")


class beneath:
    """Context in which neither a level nor those further in follow tangents."""

    def __init__(self, open_: Level | None) -> None:
        self.open = open_

    def __enter__(self) -> None:
        self.before: list[tuple[Level, bool]] = []
        found = level if self.open is not None else None
        while found is not None:
            self.before.append((found, found.paused))
            found.paused = True
            found = None if found is self.open else found.outer

    def __exit__(self, *exc: Any) -> None:
        for found, paused in self.before:
            found.paused = paused


class pausing(beneath):
    """Context in which no tangents are followed."""

    def __init__(self) -> None:
        found = level
        while found is not None and found.outer is not None:
            found = found.outer
        super().__init__(found)


# -- tangents


def tangents_of(v: Value) -> list[tuple[Level, Any]]:
    """The tangents of a value, tensors, each with its level."""
    found = getattr(v, "tangent", None)
    return [pair for pair in found if pair[0].open] if found else []


def tangent_of(v: Value, at: Level | None = None) -> Any:
    """The tangent of a value, a tensor; None if it has none at the level, or the innermost one."""
    at = level if at is None else at
    for pair in getattr(v, "tangent", ()):
        if pair[0] is at:
            return pair[1]
    return None


def set_tangent(v: Value, tangent: Any, at: Level | None = None) -> None:
    """Give a value its tangent at a level, or the innermost one."""
    at = level if at is None else at
    v.tangent = (*[pair for pair in tangents_of(v) if pair[0] is not at], (at, tangent))


def is_dual(v: Value) -> bool:
    """Has the value a tangent?"""
    return level is not None and bool(tangents_of(v))


def moving(values: list[Value]) -> Level | None:
    """The innermost level that follows a tangent of one of these values."""
    found = _following()
    while found is not None and (found.paused or all([tangent_of(v, found) is None for v in values])):  # noqa: C419
        found = found.outer
    return found


def without(v: Value) -> Value:
    """The same content without a tangent."""
    with pausing():
        return _tensor.kept_value(v)


def keep(target: Any, result: Any) -> None:
    """A dual tensor that is overwritten with what has no tangent stays dual: its tangent is 0."""
    new = result._value
    for at, _ in tangents_of(target._read()):
        if tangent_of(new, at) is None and _smooth(new.aval):
            with pausing():
                set_tangent(new, functions["zeros_like"](result.detach()), at)


def refuse(v: Value, what: str) -> None:
    """NotImplementedError for what would lose a tangent."""
    if is_dual(v):
        raise NotImplementedError(f"jaxtorch: {what} of a dual tensor; use it on the primal (forward_ad.unpack_dual)")


_rules: dict[tuple[Kernel, tuple[int, ...]], tuple[Entry, tuple[int, ...]] | None] = {}


def _smooth(aval: Aval) -> bool:
    return aval.dtype.is_floating_point or aval.dtype.is_complex


def _only_backward(jaxpr: Any) -> bool:
    """Does a derivative need one that is known for reverse mode only?"""
    return any(eqn.primitive.name == "custom_lin" for eqn in jaxpr.eqns) or any(
        map(_only_backward, _core.subjaxprs(jaxpr))
    )


def _rule(kernel: Kernel, places: tuple[int, ...]) -> tuple[Entry, tuple[int, ...]] | None:
    """(all inputs, tangents of those at `places`) -> tangents of the outputs named; None where no output can have one."""
    try:
        return _rules[kernel, places]
    except KeyError:
        pass
    smooth = tuple([k for k, a in enumerate(kernel.out_avals) if _smooth(a)])
    if not smooth:
        _rules[kernel, places] = None
        return None
    n = kernel.n_in

    def along(*args: Any) -> tuple[Any, ...]:
        def of_moving(*some: Any) -> list[Any]:
            full = list(args[:n])
            for i, x in zip(places, some, strict=True):
                full[i] = x
            outs = kernel.fn(*full)
            return [outs[k] for k in smooth]

        return tuple(jax.jvp(of_moving, tuple([args[i] for i in places]), tuple(args[n:]))[1])

    avals = (*kernel.in_avals, *[kernel.in_avals[i] for i in places])
    try:
        derivative = Kernel(kernel.name + "_jvp", along, avals, kernel.slot)
        if _only_backward(derivative.closed_jaxpr().jaxpr):
            raise NotImplementedError("only a rule for reverse mode is known")
        made = Entry(None, derivative, tuple)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise NotImplementedError(
            f"Trying to use forward AD with {kernel.name} that does not support it because it has not been implemented yet."
        ) from error
    made.grad_name = "ForwardBackward0"
    _rules[kernel, places] = made, smooth
    return _rules[kernel, places]


def _fitting(tangent: Any, aval: Aval) -> Any:
    """A tangent in the type of what moves along it: `make_dual` takes other types too."""
    return tangent if tangent._value.aval.dtype is aval.dtype else tangent.to(aval.dtype)


def _with_history(v: Value, x: Any) -> Any:
    """A tensor on a value, at the place in the graph that another has (a leaf may stand for a node: see autograd/backward.py)."""
    t = _tensor.wrap(v)
    t._rg = True
    t._node, t._index = (x, 0) if x._node is None else (x._node, x._index)
    return t


def _follow(
    open_: Level, kernel: Kernel, values: list[Value], operands: Any, places: tuple[int, ...], outs: Any
) -> None:
    """Record the derivative of a kernel that has just been recorded, and give its outputs their tangents."""
    open_.paused = True
    try:
        found = _rule(kernel, places)
        if found is None:
            return
        entry, smooth = found
        tangents = [_fitting(tangent_of(values[i], open_), values[i].aval) for i in places]
        tracked = {i: x for i, x in enumerate(operands) if isinstance(x, _tensor.Tensor) and x._rg}
        if tracked:
            used = entry.used_inputs()
            if not any([i in used and _smooth(a) for i, a in enumerate(kernel.in_avals)]):  # noqa: C419
                tracked = {}  # a linear function: to a product's tangent PyTorch counts both factors
        own: list[Any] = values
        if state.grad and (tracked or any(t._rg for t in tangents)):  # kept, lest a write in place makes them unusable
            own = [v if v.aval.wrapped else _tensor.kept_value(v) for v in values]
            for i, x in tracked.items():
                own[i] = _with_history(own[i], x)
        results = _tensor.apply_entry(entry, [*own, *tangents])
    finally:
        open_.paused = False
    for k, t in zip(smooth, results, strict=True):
        set_tangent(outs[k], t, open_)


_tensor.forward_mode = sys.modules[__name__]
