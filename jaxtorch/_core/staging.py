"""A transformed function (`torch.func`) as one instruction of the program of a call that `torch.compile` captures.

Otherwise such a function runs at once, on tracers. While a call is captured nothing has content yet, so the function is traced
whole instead: what it reads from outside, known or pending, enters the trace as an operand, and the trace becomes a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax._src import core as _core
from jax.extend import core as jex_core

from . import capture, dtypes, random
from .device import cpu, default_device
from .entry import Kernel
from .program import emit
from .runner import is_tracer
from .traced import trace
from .value import Value, aval_of

operand_p = jex_core.Primitive("jaxtorch_operand")


@operand_p.def_abstract_eval
def _type(*, like: Any, **_: Any) -> Any:
    return _core.ShapedArray(like.shape, like.dtype)


class Staging:
    """One function being traced. `values`: what it has read from outside, in order."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.tracers: dict[int, Any] = {}
        self.trace: Any = None

    def begin(self) -> None:
        """The function starts: what it reads from outside belongs to the trace that is now at work."""
        self.trace = _core.trace_ctx.trace

    def take(self, v: Value) -> Any:
        """What stands for a value in the trace."""
        if v.aval.wrapped or is_tracer(v.array):
            return v.array
        found = self.tracers.get(id(v))
        if found is None:
            with _core.set_current_trace(self.trace):
                found = self.tracers[id(v)] = operand_p.bind(number=len(self.values), like=v.aval.struct)
            self.values.append(v)
        return found

    def drew(self, numbers: Any, generator: Any, method: Any, args: tuple[Any, ...]) -> Value:
        """Random numbers as a value that each replay draws for itself."""
        if not isinstance(numbers, np.ndarray) or random.on_draw is None:
            raise capture.Unstaged("it draws random numbers")
        random.on_draw(numbers, generator, method, args)
        return Value(aval_of(numbers.shape, dtypes.from_numpy(numbers.dtype), cpu.slot), numbers)


def staged(run: Callable[[list[Any]], list[Any]], values: list[Value]) -> tuple[list[Value], list[Value]] | None:
    """Pending results of a pure function of arrays, and what it has read besides `values`.

    None where it has to run at once: nothing is being captured, an outer function is being traced already, or this one cannot be
    (it needs to know a number, say), which breaks the capture.
    """
    if capture.active is None or capture.staging is not None or capture.active.reason is not None:
        return None
    if any([is_tracer(v.array) for v in values]):  # noqa: C419
        return None
    work = Staging()

    def traced(*arrays: Any) -> list[Any]:
        work.begin()
        return run(list(arrays))

    capture.staging = work
    try:
        closed = trace(traced, [v.aval.struct for v in values])
    except (Exception, capture.Unstaged) as error:
        capture.staging = None
        capture.breaks(f"a function given to torch.func cannot be traced: {str(error).splitlines()[0]}")
        return None
    finally:
        capture.staging = None
    operands = [*values, *work.values]
    slot = operands[0].aval.slot if operands else default_device().slot
    kernel = Kernel("transform", _function(closed), tuple([v.aval for v in operands]), slot)
    kernel.captured = True
    return emit(kernel, operands), work.values


def _function(closed: Any) -> Callable[..., tuple[Any, ...]]:
    """The traced function, whose operands from outside come last."""
    jaxpr = closed.jaxpr
    read = [e for e in jaxpr.eqns if e.primitive is operand_p]
    read.sort(key=lambda e: e.params["number"])
    jaxpr = jaxpr.replace(
        invars=[*jaxpr.invars, *[e.outvars[0] for e in read]],
        eqns=[e for e in jaxpr.eqns if e.primitive is not operand_p],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )

    def transform(*arrays: Any) -> tuple[Any, ...]:
        return tuple(jax.core.eval_jaxpr(jaxpr, closed.consts, *arrays))  # pyright: ignore[reportAttributeAccessIssue]

    return transform
