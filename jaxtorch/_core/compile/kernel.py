"""`Kernel`, a traced pure function on arrays, and `Entry`, one operation at one set of input types and static arguments.

An entry holds a `Kernel` (a pure function on arrays, jitted, with known output types) and, per set of inputs that want
a gradient, a `GradForm` (see graph/derivative.py). All tracing is paid here, once; a call only looks the entry up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..types import dtypes
from ..types.device import DeviceSlot
from ..types.value import Aval, aval_of
from . import channels_last, embedding_products, tracing, xla_options
from .context import tracing_for, x64


def function_from_text(text: str, scope: dict[str, Any], name: str) -> Any:
    """The function `name` that generated Python text defines; its frames are known as jaxtorch's own by their file name."""
    exec(compile(text, "<jaxtorch generated>", "exec"), scope)
    return scope[name]


class _Facts:
    """What is known of a kernel's jaxpr: see `Kernel`."""

    __slots__ = (
        "n_equations",
        "n_distinct_equations",
        "by_older_emitters",
        "has_high_rank",
        "has_half_precision",
        "has_effects",
        "has_convolution",
        "row_uses",
        "reduces",
        "computes",
    )

    def __init__(self, jaxpr: Any, on_cpu: bool) -> None:
        self.n_equations, self.n_distinct_equations = xla_options.count_equations(jaxpr)
        self.by_older_emitters = on_cpu and not xla_options.has_loops(jaxpr)
        self.has_high_rank = on_cpu and xla_options.has_high_rank(jaxpr)
        self.has_half_precision = xla_options.has_half_precision(jaxpr)
        self.reduces = on_cpu and self.has_half_precision and xla_options.reduces(jaxpr)
        self.computes = self.has_half_precision and xla_options.computes(jaxpr)
        self.has_effects = bool(jaxpr.effects) or xla_options.calls_python(jaxpr)
        self.has_convolution = on_cpu and channels_last.has_convolution(jaxpr)
        self.row_uses = embedding_products.RowUses(jaxpr)


class Kernel:
    """A pure function from arrays to a flat tuple of arrays, with the types of both.

    jitted: the function, as it takes part in a larger program; on the CPU with its thin products and long sums rewritten.
    compiled: the function as XLA's program of its own, compiled at its first run.
    has_half_precision: is anything of it, inside too, in half precision?
    has_high_rank: does it run on the CPU with arrays of many dimensions, so that XLA needs an option for it (see xla_options.py)?
    has_convolution: does it have convolutions, for which it is rewritten on the CPU where it runs by itself?
    n_equations, n_distinct_equations, by_older_emitters: how many equations it has, how many of them are no repetition, and
          whether XLA's older emitters do well with it (see xla_options.py).
    row_uses: does it look rows up, multiply rows, or move them (see embedding_products.py)?
    has_effects: does it do anything beside its results (a user's JAX function that prints), or call Python?
    captured: a whole captured program, which is compiled with the program it stands in.
    host_jaxpr, numpy_program, host_runs, host_run_limit: its jaxpr while the host may want it, then the same made ready for
          NumPy, how often that ran, and how often it may (see host/tiering.py).
    cost: an estimate of what a run costs in nanoseconds, once it has run.
    checks: message makers for the trailing outputs, one each: int64 scalars that are 0 where all is well (see
    record/value_checks.py). guards: what its inputs must be for that, where it is known.
    """

    __slots__ = ("name", "fn", "in_avals", "out_avals", "slot", "n_in", "checks", "guards", "captured", "numpy_program", "host_runs",
                 "host_run_limit", "cost", "_filled_pattern", "_closed_jaxpr", "_keeps_host_jaxpr", "_facts", "_jitted", "_compiled",
                 "_body", "_without_checks")  # fmt: skip

    def __init__(
        self,
        name: str,
        fn: Callable[..., tuple[Any, ...]],
        in_avals: tuple[Aval, ...],
        slot: DeviceSlot,
        makers: list[Any] | None = None,
        closed_jaxpr: Any = None,
        filled_pattern: Any = None,
    ) -> None:
        """closed_jaxpr: its jaxpr, where that is known. filled_pattern: what makes that for these sizes, and its results' types
        (run/templates.py).
        """
        self.name = name
        self.fn = fn
        self.in_avals = in_avals
        self.n_in = len(in_avals)
        self.captured = False
        self.slot = slot
        if closed_jaxpr is None and filled_pattern is None:
            closed_jaxpr = self.trace()
        on_cpu = slot.name == "cpu"
        self._filled_pattern: Any = filled_pattern
        self._closed_jaxpr: Any = closed_jaxpr
        self._keeps_host_jaxpr = on_cpu
        self._facts: _Facts | None = None if filled_pattern is None else filled_pattern.facts()
        self._jitted: Any = None
        self._compiled: Any = None
        self._body: Any = None
        self.numpy_program: Any = None
        self.cost: float | None = None
        self.host_runs = 0
        self.host_run_limit: int | None = None if on_cpu else 0
        self.checks: tuple[Any, ...] = tuple(makers or ())
        self.guards: Any = None
        self._without_checks: Kernel | None = None
        kinds: Any = (
            [(o.shape, o.dtype) for o in closed_jaxpr.out_avals]
            if closed_jaxpr is not None
            else self._filled_pattern.out_types()
        )
        self.out_avals = tuple([aval_of(shape, dtypes.from_numpy(kind), slot) for shape, kind in kinds])

    def closed_jaxpr(self) -> Any:
        """Its jaxpr. One that is filled in and has derivative rules, which may know other sizes, is traced after all."""
        if self._closed_jaxpr is None:
            self._closed_jaxpr = (
                self.trace() if self._filled_pattern.pattern.has_rules else self._filled_pattern.closed_jaxpr()
            )
        return self._closed_jaxpr

    def trace(self) -> Any:
        """The jaxpr of its function, traced now."""
        with x64():
            fn = unaliased(self.fn, self.slot.device.type)
            return tracing.traced(self.name, fn, [a.struct for a in self.in_avals])

    @property
    def host_jaxpr(self) -> Any:
        return self.closed_jaxpr() if self._keeps_host_jaxpr else None

    @host_jaxpr.setter
    def host_jaxpr(self, nothing: None) -> None:
        self._keeps_host_jaxpr = False
        if self._filled_pattern is not None and self._jitted is None:
            self._closed_jaxpr = None

    def facts(self) -> _Facts:
        """What is known of its jaxpr whatever the sizes are."""
        if self._facts is None:
            self._facts = _Facts(self.closed_jaxpr().jaxpr, self.slot.name == "cpu")
        return self._facts

    @property
    def n_equations(self) -> int:
        return self.facts().n_equations

    @property
    def n_distinct_equations(self) -> int:
        return self.facts().n_distinct_equations

    @property
    def by_older_emitters(self) -> bool:
        return self.facts().by_older_emitters

    @property
    def has_high_rank(self) -> bool:
        return self.facts().has_high_rank

    @property
    def has_half_precision(self) -> bool:
        return self.facts().has_half_precision

    @property
    def has_effects(self) -> bool:
        return self.facts().has_effects

    @property
    def has_convolution(self) -> bool:
        return self.facts().has_convolution

    @property
    def row_uses(self) -> embedding_products.RowUses:
        return self.facts().row_uses

    @property
    def jitted(self) -> Any:
        if self._jitted is None:
            closed_jaxpr = self.closed_jaxpr()
            whole = tracing.of_jaxpr(closed_jaxpr, self.name)
            if (
                self.slot.name == "cpu"
                and not self.has_convolution
                and channels_last.needs_rewriting(closed_jaxpr.jaxpr)
            ):
                whole = channels_last.rewritten_for_cpu(whole)
            self._body = channels_last.rewritten_for_cpu(whole) if self.has_convolution else whole
            self._jitted = jax.jit(whole)
        return self._jitted

    @property
    def compiled(self) -> Any:
        """The kernel as a program of its own, which XLA compiles at its first run."""
        if self._compiled is None:
            options = xla_options.needed(xla_options.chosen([self]), [self])
            jitted = self.jitted
            body = channels_last.rewritten_for_cpu(self._body, True) if self.has_high_rank else self._body
            self._compiled = (
                jitted if options is None and not self.has_convolution else jax.jit(body, compiler_options=options)
            )
        return self._compiled

    def without_checks(self) -> Kernel:
        """The same kernel without the flags of its checks."""
        if self._without_checks is None:
            fn, n = self.fn, len(self.out_avals) - len(self.checks)
            filled_pattern = None if self._filled_pattern is None else self._filled_pattern.with_first_results(n)
            closed_jaxpr = None
            if filled_pattern is None and self.host_jaxpr is not None:
                closed_jaxpr = tracing.with_results(self.host_jaxpr, self.host_jaxpr.jaxpr.outvars[:n])
            without = lambda *args: fn(*args)[:n]  # noqa: E731
            self._without_checks = Kernel(
                self.name, without, self.in_avals, self.slot, closed_jaxpr=closed_jaxpr, filled_pattern=filled_pattern
            )
        return self._without_checks

    def __repr__(self) -> str:
        return f"Kernel({self.name}: {', '.join(map(repr, self.in_avals))} -> {', '.join(map(repr, self.out_avals))})"


def unaliased(fn: Callable[..., tuple[Any, ...]], kind: str) -> Callable[..., tuple[Any, ...]]:
    """The function as it is traced for this type of device, with a copy wherever it hands back an input: outputs own their
    memory, so that they can be donated."""

    def kernel(*args: Any) -> tuple[Any, ...]:
        with tracing_for(kind):
            outs = fn(*args)
        return tuple(jnp.copy(o) if any(o is a for a in args) else o for o in outs)

    return kernel


_NONE: frozenset[str] = frozenset()


class Entry:
    """A kernel with what a call needs besides: how to pack its outputs, and its gradients."""

    __slots__ = ("op", "kernel", "in_avals", "static", "pack", "n_out", "forms", "out_float", "grad_name", "_full",
                 "operand_names", "saved", "unsaved", "view_ops", "_dependencies",
                 "_used_inputs", "undefined_outputs", "is_derivative", "inplace")  # fmt: skip

    def __init__(self, op: Any, kernel: Kernel, pack: Callable[[list[Any]], Any] | None, static: Any = ()) -> None:
        self.op = op
        self.kernel = kernel
        self.in_avals = kernel.in_avals
        self.static = static
        self.pack = pack
        self.n_out = len(kernel.out_avals) - len(kernel.checks)
        self.forms: dict[int, Any] = {}
        outs = kernel.out_avals[: self.n_out]
        self.out_float = tuple(a.dtype.is_floating_point or a.dtype.is_complex for a in outs)
        self.grad_name = ""
        self._full: dict[Any, Any] = {}
        self.operand_names: tuple[str, ...] = ()  # of the inputs, in their order
        self.saved: dict[str, frozenset[str]] = {}  # see `op`
        self.unsaved = _NONE
        self.view_ops: list[Any] | None = None  # of several views, for each the operation that makes it alone
        self._dependencies: tuple[frozenset[int], ...] | None = None
        self._used_inputs: frozenset[int] | None = None
        self.is_derivative = False  # is it the derivative of another?
        self.inplace = False  # is its first operand written to?
        self.undefined_outputs: frozenset[int] = (
            frozenset()
        )  # of a derivative's derivative: outputs for what the derivative is not computed from

    @property
    def name(self) -> str:
        return self.kernel.name

    def __repr__(self) -> str:
        return f"Entry({self.kernel!r}, static={self.static!r})"

    def dependencies(self) -> tuple[frozenset[int], ...]:
        """For each output the inputs that it is computed from."""
        if self._dependencies is None:
            jaxpr = self.kernel.closed_jaxpr().jaxpr
            found: dict[Any, frozenset[int]] = {v: frozenset((i,)) for i, v in enumerate(jaxpr.invars)}

            def of(variables: Any) -> frozenset[int]:
                return frozenset().union(*[found.get(v, ()) for v in variables if not hasattr(v, "val")])

            for eqn in jaxpr.eqns:
                found.update(dict.fromkeys(eqn.outvars, of(eqn.invars)))
            self._dependencies = tuple(of([v]) for v in jaxpr.outvars[: self.n_out])
        return self._dependencies

    def used_inputs(self) -> frozenset[int]:
        """The inputs that an output is computed from."""
        if self._used_inputs is None:
            self._used_inputs = frozenset().union(*self.dependencies())
        return self._used_inputs


def device_of(avals: list[Aval | None], default: DeviceSlot, op: str) -> DeviceSlot:
    """The device an operation runs on: its operands', which must agree; Python numbers and 0-dimensional CPU tensors fit
    anywhere."""
    found: DeviceSlot | None = None
    loose: DeviceSlot | None = None
    for a in avals:
        if a is None or a.wrapped or a.slot is found:
            continue
        if a.ndim == 0 and a.slot.name == "cpu":
            loose = a.slot
        elif found is None:
            found = a.slot
        else:
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found.name} and "
                f"{a.slot.name}! (when checking arguments of {op})"
            )
    return found or loose or default
