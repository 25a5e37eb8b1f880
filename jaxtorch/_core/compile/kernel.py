"""`Entry`: one operation at one set of input types and static arguments, prepared once.

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


def define(text: str, scope: dict[str, Any], name: str) -> Any:
    """The function `name` that generated Python text defines; its frames are known as jaxtorch's own by their file name."""
    exec(compile(text, "<jaxtorch generated>", "exec"), scope)
    return scope[name]


class _Facts:
    """What is known of a kernel's jaxpr: see `Kernel`."""

    __slots__ = (
        "size",
        "size_once",
        "by_older_emitters",
        "deep",
        "halves",
        "has_effects",
        "lowered",
        "tables",
        "reduces",
        "computes",
    )

    def __init__(self, jaxpr: Any, on_cpu: bool) -> None:
        self.size, self.size_once = xla_options.sizes(jaxpr)
        self.by_older_emitters = on_cpu and not xla_options.has_loops(jaxpr)
        self.deep = on_cpu and xla_options.is_deep(jaxpr)
        self.halves = xla_options.has_halves(jaxpr)
        self.reduces = on_cpu and self.halves and xla_options.reduces(jaxpr)
        self.computes = self.halves and xla_options.computes(jaxpr)
        self.has_effects = bool(jaxpr.effects) or xla_options.calls_python(jaxpr)
        self.lowered = on_cpu and channels_last.has_convolution(jaxpr)
        self.tables = embedding_products.Facts(jaxpr)


class Kernel:
    """A pure function from arrays to a flat tuple of arrays, with the types of both.

    jitted: the function, as it takes part in a larger program; on the CPU with its thin products and long sums lowered.
    halves: is anything of it, inside too, in half precision?
    deep: does it run on the CPU with arrays of many dimensions, so that XLA needs an option for it (see xla_options.py)?
    lowered: does it have convolutions, for which it is lowered on the CPU where it runs by itself?
    size, size_once, by_older_emitters: its equations, those that are no repetition, and whether XLA's older emitters do well
          with it (see xla_options.py).
    tables: does it look rows up, multiply rows, or move them (see embedding_products.py)?
    has_effects: does it do anything beside its results (a user's JAX function that prints), or call Python?
    captured: a whole captured program, which is compiled with the program it stands in.
    traced, on_numpy, cold_runs, cold_limit: its jaxpr, then the same made ready for NumPy, how often that ran, and how often it
          may (see host/tiering.py).
    cost: an estimate of what a run costs in nanoseconds, once it has run.
    checks: message makers for the trailing outputs, one each: int64 scalars that are 0 where all is well (see
    record/value_checks.py). guards: what its inputs must be for that, where it is known.
    """

    __slots__ = ("name", "fn", "in_avals", "out_avals", "slot", "n_in", "checks", "guards", "captured", "on_numpy", "cold_runs",
                 "cold_limit", "cost", "_filling", "_closed", "_traces", "_facts", "_jitted", "_alone", "_body",
                 "_quiet")  # fmt: skip

    def __init__(
        self,
        name: str,
        fn: Callable[..., tuple[Any, ...]],
        in_avals: tuple[Aval, ...],
        slot: DeviceSlot,
        makers: list[Any] | None = None,
        closed: Any = None,
        filling: Any = None,
    ) -> None:
        """closed: its jaxpr, where that is known. filling: what makes that for these sizes, and its results' types
        (run/templates.py).
        """
        self.name = name
        self.fn = fn
        self.in_avals = in_avals
        self.n_in = len(in_avals)
        self.captured = False
        self.slot = slot
        if closed is None and filling is None:
            closed = self.trace()
        on_cpu = slot.name == "cpu"
        self._filling: Any = filling
        self._closed: Any = closed
        self._traces = on_cpu
        self._facts: _Facts | None = None if filling is None else filling.facts()
        self._jitted: Any = None
        self._alone: Any = None
        self._body: Any = None
        self.on_numpy: Any = None
        self.cost: float | None = None
        self.cold_runs = 0
        self.cold_limit: int | None = None if on_cpu else 0
        self.checks: tuple[Any, ...] = tuple(makers or ())
        self.guards: Any = None
        self._quiet: Kernel | None = None
        kinds: Any = [(o.shape, o.dtype) for o in closed.out_avals] if closed is not None else self._filling.out_types()
        self.out_avals = tuple([aval_of(shape, dtypes.from_numpy(kind), slot) for shape, kind in kinds])

    def closed(self) -> Any:
        """Its jaxpr. One that is filled in and has derivative rules, which may know other sizes, is traced after all."""
        if self._closed is None:
            self._closed = self.trace() if self._filling.pattern.has_rules else self._filling.closed()
        return self._closed

    def trace(self) -> Any:
        """The jaxpr of its function, traced now."""
        with x64():
            fn = unaliased(self.fn, self.slot.device.type)
            return tracing.traced(self.name, fn, [a.struct for a in self.in_avals])

    @property
    def traced(self) -> Any:
        return self.closed() if self._traces else None

    @traced.setter
    def traced(self, nothing: None) -> None:
        self._traces = False
        if self._filling is not None and self._jitted is None:
            self._closed = None

    def facts(self) -> _Facts:
        """What is known of its jaxpr whatever the sizes are."""
        if self._facts is None:
            self._facts = _Facts(self.closed().jaxpr, self.slot.name == "cpu")
        return self._facts

    @property
    def size(self) -> int:
        return self.facts().size

    @property
    def size_once(self) -> int:
        return self.facts().size_once

    @property
    def by_older_emitters(self) -> bool:
        return self.facts().by_older_emitters

    @property
    def deep(self) -> bool:
        return self.facts().deep

    @property
    def halves(self) -> bool:
        return self.facts().halves

    @property
    def has_effects(self) -> bool:
        return self.facts().has_effects

    @property
    def lowered(self) -> bool:
        return self.facts().lowered

    @property
    def tables(self) -> embedding_products.Facts:
        return self.facts().tables

    @property
    def jitted(self) -> Any:
        if self._jitted is None:
            closed = self.closed()
            whole = tracing.of_jaxpr(closed, self.name)
            if self.slot.name == "cpu" and not self.lowered and channels_last.needs_other_code(closed.jaxpr):
                whole = channels_last.lowered(whole)
            self._body = channels_last.lowered(whole) if self.lowered else whole
            self._jitted = jax.jit(whole)
        return self._jitted

    @property
    def alone(self) -> Any:
        """The kernel as it runs by itself, jitted at its first run."""
        if self._alone is None:
            options = xla_options.needed(xla_options.chosen([self]), [self])
            jitted = self.jitted
            body = channels_last.lowered(self._body, True) if self.deep else self._body
            self._alone = jitted if options is None and not self.lowered else jax.jit(body, compiler_options=options)
        return self._alone

    def quiet(self) -> Kernel:
        """The same without its flags."""
        if self._quiet is None:
            fn, n = self.fn, len(self.out_avals) - len(self.checks)
            filling = None if self._filling is None else self._filling.quiet(n)
            closed = None
            if filling is None and self.traced is not None:
                closed = tracing.with_results(self.traced, self.traced.jaxpr.outvars[:n])
            without = lambda *args: fn(*args)[:n]  # noqa: E731
            self._quiet = Kernel(self.name, without, self.in_avals, self.slot, closed=closed, filling=filling)
        return self._quiet

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
                 "operand_names", "saved", "unsaved", "steps", "_sources", "_used", "blank", "derived", "inplace")  # fmt: skip

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
        self.steps: list[Any] | None = None  # of several views, for each the operation that makes it alone
        self._sources: tuple[frozenset[int], ...] | None = None
        self._used: frozenset[int] | None = None
        self.derived = False  # is it the derivative of another?
        self.inplace = False  # is its first operand written to?
        self.blank: frozenset[int] = (
            frozenset()
        )  # of a derivative's derivative: outputs for what the derivative is not computed from

    @property
    def name(self) -> str:
        return self.kernel.name

    def __repr__(self) -> str:
        return f"Entry({self.kernel!r}, static={self.static!r})"

    def sources(self) -> tuple[frozenset[int], ...]:
        """For each output the inputs that it is computed from."""
        if self._sources is None:
            jaxpr = self.kernel.closed().jaxpr
            found: dict[Any, frozenset[int]] = {v: frozenset((i,)) for i, v in enumerate(jaxpr.invars)}

            def of(variables: Any) -> frozenset[int]:
                return frozenset().union(*[found.get(v, ()) for v in variables if not hasattr(v, "val")])

            for eqn in jaxpr.eqns:
                found.update(dict.fromkeys(eqn.outvars, of(eqn.invars)))
            self._sources = tuple(of([v]) for v in jaxpr.outvars[: self.n_out])
        return self._sources

    def used(self) -> frozenset[int]:
        """The inputs that an output is computed from."""
        if self._used is None:
            self._used = frozenset().union(*self.sources())
        return self._used


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
