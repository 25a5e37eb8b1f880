"""A transformed function (`torch.func`) as one pure function of arrays.

Such a function runs at once, on tracers, as long as nothing asks for more. Where its results have a part in a graph, or while a
call is captured for `torch.compile`, it is traced whole: what it reads from outside, known or pending, enters the trace as an
operand. So backward does not run Python again, and a captured call has the function as one instruction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import core as _core
from jax.extend import core as jex_core
from jax.interpreters import partial_eval

from ..compile.kernel import Kernel
from ..random import generator, jax_draws
from ..record.program import emit
from ..run import capture
from ..run.runner import is_tracer
from ..run.traced_kernels import trace
from ..types import dtypes
from ..types.device import cpu, default_device
from ..types.grad_mode import UNKNOWN, restart_untaped, watch
from ..types.value import Mapped, Value, aval_of

operand_p = jex_core.Primitive("jaxtorch_operand")


@operand_p.def_abstract_eval
def _type(*, like: Any, **_: Any) -> Any:
    return _core.ShapedArray(like.shape, like.dtype)


class Staging:
    """One function being traced.

    values: what it has read from outside, in order. noted: tensors from outside that require gradients, by their values' ids.
    """

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.noted: dict[int, Any] = {}
        self.trace: Any = None
        self.graded: Any = (
            None  # (kernel, positions, operands) of the operation that is about to run, if it has a gradient
        )
        self._tracers: dict[int, Any] = {}

    def begin(self) -> None:
        """The function starts: what it reads from outside belongs to the trace that is now at work."""
        self.trace = _core.trace_ctx.trace

    def take(self, v: Value) -> Any:
        """What stands for a value in the trace."""
        if v.aval.wrapped or is_tracer(v.array):
            return v.array
        if type(v.array) is Mapped:
            restart_untaped(UNKNOWN)
        found = self._tracers.get(id(v))
        if found is None:
            with _core.set_current_trace(self.trace):
                found = self._tracers[id(v)] = operand_p.bind(number=len(self.values), like=v.aval.struct)
            self.values.append(v)
        return found

    def operands(self, kernel: Any, values: list[Value]) -> list[Any]:
        """What an operation works on; derivatives go no further than to tensors that require them, not to a detached `w`."""
        graded, self.graded = self.graded, None
        wanted, tensors = graded[1:] if graded is not None and graded[0] is kernel else ((), ())
        found = []
        for i, v in enumerate(values):
            array = self.take(v)
            if not (v.aval.wrapped or is_tracer(v.array)):
                if i in wanted:
                    self.noted[id(v)] = tensors[i]
                else:
                    array = jax.lax.stop_gradient(array)
            found.append(array)
        return found

    def note(self, operands: Sequence[Any]) -> None:
        """Tensors that the function can be differentiated by."""
        for t in operands:
            v = t._read()
            if not is_tracer(v.array):
                self.noted[id(v)] = t

    def traced_draw(self, numbers: Any, source: Any, method: Any, args: tuple[Any, ...]) -> Value:
        """Random numbers as a value, which each replay of a captured call draws for itself."""
        if not isinstance(numbers, np.ndarray):
            raise capture.Unstaged("it draws random numbers")
        if generator.draw_observer is not None:
            generator.draw_observer(numbers, source, method, args)
        return Value(aval_of(numbers.shape, dtypes.from_numpy(numbers.dtype), cpu.slot), numbers)


class Traced:
    """A function that has been traced: `run` is pure, on the arrays of `values`: the arguments, then what was read from outside.

    closed: the tensors from outside that it can be differentiated by, with their places among the values.
    """

    def __init__(self, work: Staging, jaxpr: Any, consts: Any, values: list[Value]) -> None:
        self.values = [*values, *work.values]
        used = partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))[1]
        self.closed = {i: work.noted[id(v)] for i, v in enumerate(self.values) if used[i] and id(v) in work.noted}

        def run(*arrays: Any) -> tuple[Any, ...]:
            return tuple(jax.core.eval_jaxpr(jaxpr, consts, *arrays))  # pyright: ignore[reportAttributeAccessIssue]

        self.run = run

    def emit(self) -> list[Value]:
        """Record it as one instruction; its results."""
        slot = self.values[0].aval.slot if self.values else default_device().slot
        kernel = Kernel("transform", self.run, tuple([v.aval for v in self.values]), slot)
        kernel.captured = True
        return emit(kernel, self.values)


def traced(run: Callable[[list[Any]], list[Any]], values: list[Value], leaves: Sequence[Any] = ()) -> Traced | None:
    """A pure function of arrays, traced; `leaves`: tensors that it is known to depend on.

    None where an outer function is being traced already, or this one cannot be (it needs to know a number, say), which breaks a
    capture.
    """
    if jax_draws.transforming():
        return None
    work = Staging()
    work.note(leaves)

    def begun(*arrays: Any) -> list[Any]:
        work.begin()
        return run(list(arrays))

    capture.staging = work
    watch.append("staging")
    reason = None
    try:
        made = trace(begun, [v.aval.struct for v in values])
    except (Exception, capture.Unstaged) as error:
        reason = str(error).partition("\n")[0]
    finally:
        watch.remove("staging")
        capture.staging = None
    if reason is not None:
        capture.break_capture(f"a function given to torch.func cannot be traced: {reason}")
        return None
    jaxpr = made.jaxpr
    read = [e for e in jaxpr.eqns if e.primitive is operand_p]
    read.sort(key=lambda e: e.params["number"])
    jaxpr = jaxpr.replace(
        invars=[*jaxpr.invars, *[e.outvars[0] for e in read]],
        eqns=[e for e in jaxpr.eqns if e.primitive is not operand_p],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return Traced(work, jaxpr, made.consts, values)
