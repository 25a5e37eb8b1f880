"""Running recorded programs: first instruction by instruction, then, when the structure comes again, as one XLA program.

A structure (the exact code, live outputs and donations) seen for the first time runs kernel by kernel, on NumPy where that is
soon done (host/tiering.py), else through their small cached executables, so that one-off programs never pay for whole-program
compilation. Seen again, it is compiled whole, unless NumPy still runs all of it in less time than that would take.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src import xla_bridge
from jax._src.array import ArrayImpl
from jax.core import Tracer

from .. import native
from ..compile import allocator, embedding_products, xla_options
from ..compile.channels_last import rewritten_for_cpu
from ..compile.context import at_top, caching, x64
from ..compile.kernel import Kernel, function_from_text
from ..host import tiering, writers
from ..host.transfer import Numbers, apart, fetched, is_first, on_cpu
from ..tuning import CACHED, COMPILE_AFTER, COPIED_BY_XLA, FOLLOWERS, PROGRAM_WRITTEN_AFTER, RELEASE_BEFORE
from ..types.device import DeviceSlot
from ..types.grad_mode import UNKNOWN, restart_untaped
from ..types.value import BOOL, COMPLEX, FLOAT, INT, UNSIGNED, Mapped, Value
from . import capture, executable_limit, log, memory_gate, state_packing, traced_kernels

lock = threading.RLock()
PLAIN: frozenset[type] = frozenset({ArrayImpl, np.ndarray, float, int, bool, complex})
"""Types of array that enter a program as they are."""

WHOLE_AFTER = int(os.environ.get("JAXTORCH_COMPILE_AFTER", COMPILE_AFTER))
"""How many times a structure runs instruction by instruction before it is compiled whole."""


def jax_has_started() -> bool:
    """Does JAX's runtime have threads, which a fork would lose?"""
    return xla_bridge.backends_are_initialized()


run_mapped: Any = None
"""(kernel, values): the results where `vmap` goes through some of the values. Set by transforms/vmap.py."""
force_pending: Any = None
"""(value): the array of a value that a program is to make. Set by record/program.py."""


def is_tracer(array: Any) -> bool:
    return isinstance(array, Tracer)


def concrete_array(array: Any, mapped: str = "") -> np.ndarray[Any, Any]:
    """What an array holds, for Python to look at; RuntimeError inside a JAX transformation where nobody knows.

    mapped: what the error says where `vmap` is that transformation.
    """
    if type(array) is Mapped:
        restart_untaped(mapped or UNKNOWN)
    if isinstance(array, Tracer):
        if (inner := traced_kernels.beneath(array)) is not None:
            return concrete_array(inner, mapped)
        if capture.staging is not None:
            raise capture.Unstaged("it needs the content of a tensor")
        if mapped and traced_kernels.within(array) is not None:
            raise RuntimeError(mapped)
        raise RuntimeError(UNKNOWN)
    return fetched(array)


def run_now(kernel: Kernel, values: list[Value]) -> list[Value]:
    """Run one instruction at once: in immediate mode, or on tracers inside a JAX transformation."""
    if kernel.slot.is_meta:
        return [Value(a, _META) for a in kernel.out_avals[: len(kernel.out_avals) - len(kernel.checks)]]
    if Mapped in [type(v.array) for v in values]:
        return run_mapped(kernel, values)
    arrays = [_force(v) for v in values] if capture.staging is None else capture.staging.operands(kernel, values)
    arrays = [_number(v, a) if v.aval.wrapped else a for v, a in zip(values, arrays, strict=True)]
    traced = any(isinstance(a, Tracer) for a in arrays)
    if traced:
        with contextlib.nullcontext() if is_first(kernel.slot.jax) else jax.default_device(kernel.slot.jax):
            outs = traced_kernels.run(kernel, arrays)
    else:
        executable_limit.made_room()
        with lock, jax.core.eval_context(), x64(), jax.default_device(kernel.slot.jax), caching():  # pyright: ignore[reportAttributeAccessIssue]
            outs = kernel.compiled(*[_placed(a, kernel.slot) for a in arrays])
            outs = [_on_its_device(o, kernel.slot) for o in outs]
    made = [Value(a, o) for a, o in zip(kernel.out_avals, outs, strict=True)]
    if not traced:
        for v in made:
            v.owned = True
    if kernel.checks:
        n = len(made) - len(kernel.checks)
        if not traced:
            for make, raised in zip(kernel.checks, made[n:], strict=True):
                if code := int(fetched(raised.array)):
                    raise make(code)
        made = made[:n]
    return made


class _Meta:
    """Stands where a meta tensor's content would be."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")


_META = _Meta()


def _force(v: Value) -> Any:
    if v.array is None:
        return force_pending(v)
    return v.array


def _number(v: Value, number: Any) -> Any:
    return np.asarray(number, v.aval.dtype.np)


def _placed(array: Any, slot: DeviceSlot) -> Any:
    """The array on the device of the program, moved there if it lives on another."""
    if isinstance(array, ArrayImpl) and slot.jax != next(iter(array.devices())):
        return jax.device_put(array, slot.jax)
    return array


def _on_its_device(array: Any, slot: DeviceSlot) -> Any:
    """A result of a kernel by itself, as an array that stays on the device of its program."""
    if type(array) is np.ndarray:
        return on_cpu(array, slot.jax)
    return array if is_first(slot.jax) else jax.device_put(array, slot.jax)


class Structure:
    """One program structure: how often it ran, and its executable once it has one.

    host_run_limit: how often it may run on NumPy before it is compiled (see host/tiering.py).

    next: the structure that ran after this one when it ran last: probably what comes after it again. others: those that did before,
          the latest first: where what follows depends on what was read, it is one of a few.
    code, held: the program as it was recorded, and what was held of it: for each value whether it was `DEAD`, held by somebody, an
          input that was read, or one whose memory was given away. By these the same program is known without working anything out.
    made_slots: the ids of the values that the last run made, with their slots, until it is compiled.
    packed: which of its inputs and results travel in packs, once it is compiled (state_packing.py).
    host_function: the function of NumPy's that runs it (host/writers.py), if there is one.
    on_host: `call` is that, and it stays so: its results are host arrays.
    expected_inputs: with what it will probably run, if it may be started before it has been recorded (early_start.py).
    compile_in_full: it is to be compiled in full, at its next run.
    """

    __slots__ = (
        "runs", "call", "plan", "record", "next", "others", "code", "held", "host_run_limit",
        "made_slots", "packed", "on_host", "host_function",
        "expected_inputs", "compile_in_full",
    )  # fmt: skip

    def __init__(self, plan: Plan) -> None:
        self.runs = 0
        self.host_run_limit = 0
        self.call: Any = None
        self.plan = plan
        self.record: Any = None
        self.next: Structure | None = None
        self.others: list[Structure] = []
        self.code: list[Any] | None = None
        self.held = b""
        self.made_slots: dict[int, int] = {}
        self.packed: state_packing.PackedArguments | None = None
        self.on_host = False
        self.host_function: Any = None
        self.expected_inputs: Any = None
        self.compile_in_full = False

    def recompile_in_full(self) -> None:
        """What was compiled quickly has run as often as it pays. The next run, which sees where the results of this one have come
        to, chooses the packs anew and compiles in full."""
        self.call = self.code = self.expected_inputs = None
        self.compile_in_full = True

    def note_follower(self, by: Structure) -> None:
        """That one has run after this one."""
        if self.next is not by:
            if self.next is not None:
                self.others = [self.next, *[s for s in self.others if s is not by]][:FOLLOWERS]
            self.next = by


DEAD, HELD, READ, DONATED = range(4)


class Plan:
    """The decoded code of a program: instructions without the dead ones, and where each slot comes from."""

    __slots__ = ("steps", "input_slots", "n_slots", "live", "donors", "input_avals", "last_use", "captured")

    def __init__(self, code: tuple[Any, ...], live: tuple[int, ...], donors: tuple[int, ...]) -> None:
        steps: list[tuple[Kernel, tuple[int, ...], int]] = []
        self.input_slots: list[int] = []
        self.input_avals: list[Any] = []
        position, defined = 0, 0
        while position < len(code):
            kernel = code[position]
            slots = code[position + 1 : position + 1 + kernel.n_in]
            if slots and max(slots) >= defined:
                for s, aval in zip(slots, kernel.in_avals, strict=True):
                    if s == defined:
                        self.input_slots.append(s)
                        self.input_avals.append(aval)
                        defined += 1
            steps.append((kernel, slots, defined))
            defined += len(kernel.out_avals)
            position += 1 + kernel.n_in
        self.n_slots = defined
        self.live = live
        needed = set(live)
        kept = []
        for kernel, slots, first in reversed(steps):
            if not needed.isdisjoint(range(first, first + len(kernel.out_avals))):
                kept.append((kernel, slots, first))
                needed.update(slots)
        self.steps = kept[::-1]
        self.donors = self._usable(donors)
        keep = set(live)
        self.last_use: list[list[int]] = []
        for kernel, slots, first in reversed(self.steps):
            ended = []
            for s in (*slots, *range(first, first + len(kernel.out_avals))):
                if s not in keep:
                    keep.add(s)
                    ended.append(s)
            self.last_use.append(ended)
        self.last_use.reverse()
        self.captured = any(kernel.captured for kernel, _, _ in self.steps)

    def pair_donors(self, links: list[tuple[int, int]]) -> None:
        """Let each of these results (slots) have the memory of the donated input (its position) whose place it takes.

        JAX gives a donated input to the first result of its type that is left. Were that another than its own, XLA would have to
        copy it first: of a GPT whose gradients are results as well, 66 arrays a step.
        """
        taken, placed = [position for position, _ in links], [slot for _, slot in links]
        others, rest = {*taken}, {*placed}
        self.donors = (*taken, *[p for p in self.donors if p not in others])
        self.live = (*placed, *[s for s in self.live if s not in rest])

    def _usable(self, donors: tuple[int, ...]) -> tuple[int, ...]:
        """The donated inputs whose memory some output can take over: same shape and type, one for one."""
        if not donors:
            return ()
        avals = self.avals()
        spare: dict[Any, int] = {}
        for s in self.live:
            spare[avals[s]] = spare.get(avals[s], 0) + 1
        usable = []
        for position in donors:
            aval = self.input_avals[position]
            if spare.get(aval, 0) > 0:
                spare[aval] -= 1
                usable.append(position)
        return tuple(usable)

    def avals(self) -> dict[int, Any]:
        """The types of all results, by slot."""
        found = {}
        for kernel, _, first in self.steps:
            for k, aval in enumerate(kernel.out_avals):
                found[first + k] = aval
        return found


_structures: dict[Any, Structure] = {}


def run(
    slot: DeviceSlot,
    code: list[Any],
    arrays: list[Any],
    live: list[int],
    donors: list[int],
    inputs: list[Value],
    packed: int,
) -> tuple[Structure, list[Any]]:
    """Run a program: `arrays` are its inputs in order of entry, of which some (`packed`: how many) are in packs.

    Its structure, and what it returned: the arrays of the `live` slots, or what `Structure.packed` says.
    """
    key = (tuple(code), tuple(live), tuple(donors))
    structure = _structures.get(key)
    new = False
    if structure is None:
        if executable_limit.made_room():
            _structures.clear()
        if len(_structures) >= CACHED:
            _structures.pop(next(iter(_structures)))
        structure = Structure(Plan(*key))
        steps = structure.plan.steps
        counts_itself = len(steps) <= 1 and not structure.plan.captured and tiering.RUNS != tiering.FOR_EVER
        if not counts_itself:  # as a kernel by itself does where there is a limit
            structure.host_run_limit = tiering.runs_of_program([kernel for kernel, _, _ in steps])
        log.new_structure(structure)
        new = len(steps) > 1 and structure.host_run_limit == 0
        if new:
            tiering.is_new(structure.record.line, [kernel for kernel, _, _ in steps])
        _structures[key] = structure  # once it is whole: a signal's handler may raise before
    structure.runs += 1
    tiering.seen(new)
    if structure.call is None:
        plan, cheap = structure.plan, structure.runs <= structure.host_run_limit
        if cheap or (not plan.captured and not structure.compile_in_full and not _should_compile(slot, structure)):
            written = _host_function(slot, structure) if structure.runs > PROGRAM_WRITTEN_AFTER else None
            if written is not None:
                return structure, written(state_packing.arguments(None, inputs, packed, arrays))
            if not cheap and not all(tiering.is_next(kernel) for kernel, _, _ in plan.steps):
                to_device(slot, inputs, arrays)
            return structure, _run_steps(slot, plan, state_packing.arguments(None, inputs, packed, arrays), cheap)
        structure.host_function = None
        to_device(slot, inputs, arrays)
        links = _donation_pairs(structure, inputs)
        plan.pair_donors(links)
        structure.packed = state_packing.choose_packing(
            plan, [x for x in links if not state_packing.was_read_elsewhere(inputs[x[0]])]
        )
        kernels = [kernel for kernel, _, _ in plan.steps]
        in_full = plan.captured or structure.compile_in_full or slot.name != "cpu"
        quickly = 0 if in_full else tiering.quick_runs(structure.record.line, kernels)
        if quickly and not xla_options.of_these_known(tiering.QUICK_OPTIONS):
            quickly = 0
        return structure, _compile(
            slot, structure, state_packing.arguments(structure.packed, inputs, packed, arrays), quickly
        )
    if not structure.on_host:
        to_device(slot, inputs, arrays)
    return structure, at_top(structure.call, state_packing.arguments(structure.packed, inputs, packed, arrays))


def to_device(slot: DeviceSlot, inputs: Sequence[Value], arrays: list[Any], settled: bool = False) -> None:
    """Move host arrays that an XLA program reads to the device for good, where that pays. `settled`: see `moved`."""
    if np.ndarray in map(type, arrays):
        for i, (v, array) in enumerate(zip(inputs, arrays, strict=True)):
            if type(array) is np.ndarray:
                arrays[i] = moved(v, slot, settled)


def moved(v: Value, slot: DeviceSlot, settled: bool = False) -> Any:
    """The array of a value that has a host array, for an XLA program: on the device for good, if a program on NumPy has made it
    or another program has read it before. What is read once, as most batches are, XLA copies by itself in less time.

    settled: a program that comes again and again reads it, so what is small has probably been made for it alone.
    """
    if state_packing.was_read_elsewhere(v) or (v.owned and not (settled and v.array.nbytes <= COPIED_BY_XLA)):
        v.array = on_cpu(v.array, slot.jax)
    else:
        state_packing.mark_read_elsewhere(v)
    return v.array


def _host_function(slot: DeviceSlot, structure: Structure) -> Any:
    """The function that runs this program, until it is compiled or for good; None where its kernels run one by one."""
    if structure.host_function is None:
        plan = structure.plan
        stays = structure.host_run_limit >= tiering.FOR_EVER
        if not stays and tiering.RUNS == tiering.FOR_EVER:  # what prepares data need not wait for XLA's threads
            stays = tiering.is_patient() and writers.is_passes(plan)
        if not stays and (
            tiering.RUNS < tiering.FOR_EVER or not tiering.are_small([kernel for kernel, _, _ in plan.steps])
        ):
            return None
        structure.host_function = _on_host(slot, plan)
        if stays:
            structure.call, structure.on_host = structure.host_function, True
    return structure.host_function


def stays_on_host(plan: Plan) -> bool:
    """Is all of it done on NumPy sooner than XLA begins?"""
    return tiering.runs_of_program([kernel for kernel, _, _ in plan.steps]) >= tiering.FOR_EVER


def _on_host(slot: DeviceSlot, plan: Plan) -> Any:
    """The function that runs a plan on the host."""
    return writers.written(plan, lambda arrays: _run_steps(slot, plan, arrays, True))


def _donation_pairs(structure: Structure, inputs: list[Value]) -> list[tuple[int, int]]:
    """The donated inputs that the structure itself made when it ran before, each with the slot where it makes them."""
    plan, made = structure.plan, structure.made_slots
    outs = plan.avals()
    links = [(position, made[id(inputs[position])]) for position in plan.donors if id(inputs[position]) in made]
    return [(position, slot) for position, slot in links if outs[slot] is inputs[position].aval]


def _should_compile(slot: DeviceSlot, structure: Structure) -> bool:
    """Is a program without an executable to be compiled whole before this run?

    On an accelerator at once: there each kernel by itself takes XLA about as long as a whole program of some dozen.
    """
    steps = structure.plan.steps
    if slot.name != "cpu" and len(steps) > 1:
        return True
    if structure.runs <= WHOLE_AFTER or len(steps) == 1:
        return False
    return tiering.worth_compiling(structure.record.line, [kernel for kernel, _, _ in steps], structure.runs)


def captured_structure(plan: Plan, packed: state_packing.PackedArguments | None) -> Structure:
    """The structure of a captured program, to be compiled whole at its first run by `run_whole`."""
    structure = Structure(plan)
    structure.packed = packed
    log.new_structure(structure)
    return structure


def run_whole(slot: DeviceSlot, structure: Structure, arrays: list[Any]) -> list[Any]:
    """Run a structure whole: as one XLA program, or on NumPy where that is done sooner than XLA begins."""
    if structure.call is None:
        if structure.packed is not None or structure.plan.captured or not stays_on_host(structure.plan):
            return _compile(slot, structure, arrays)
        structure.call, structure.on_host = _on_host(slot, structure.plan), True
    return at_top(structure.call, arrays)


def _run_steps(slot: DeviceSlot, plan: Plan, arrays: list[Any], cheap: bool) -> list[Any]:
    """Kernel by kernel; `cheap`: all of them on NumPy."""
    env: list[Any] = [None] * plan.n_slots
    on_host: dict[int, Any] = {}  # what NumPy has asked for of XLA's arrays
    with (
        jax.core.eval_context(),  # pyright: ignore[reportAttributeAccessIssue]
        x64(),
        jax.default_device(slot.jax),
        caching(),
        np.errstate(all="ignore"),
    ):
        for s, a, aval in zip(plan.input_slots, arrays, plan.input_avals, strict=True):
            env[s] = np.asarray(a, aval.dtype.np) if aval.wrapped else _placed(a, slot)
        for (kernel, slots, first), dead in zip(plan.steps, plan.last_use, strict=True):
            outs = None
            if kernel.host_run_limit != 0 and tiering.suits(kernel):
                arguments = []
                for s in slots:
                    a = env[s]
                    if type(a) is not np.ndarray and (a := on_host.get(s)) is None:
                        a = on_host[s] = fetched(env[s])
                    arguments.append(a)
                outs = tiering.outputs(kernel, arguments, cheap)
            if outs is None:
                outs = kernel.compiled(*[env[s] for s in slots])
            env[first : first + len(outs)] = outs
            for s in dead:
                env[s] = None
                on_host.pop(s, None)
        if slot.name == "cpu" and is_first(slot.jax):
            arguments = outs = a = None
            on_host.clear()
            return apart([env[s] for s in plan.live])
        return [_on_its_device(env[s], slot) for s in plan.live]


def _compile(slot: DeviceSlot, structure: Structure, arrays: list[Any], quickly: int = 0) -> list[Any]:
    """Compile a structure whole and run it once. `quickly`: with little effort, for so many runs."""
    begun = time.perf_counter()
    if sum(kernel.n_equations for kernel, _, _ in structure.plan.steps) >= RELEASE_BEFORE:
        allocator.release()  # of what came before: the compiler takes much
    options = xla_options.of_these_known(tiering.QUICK_OPTIONS) if quickly else None
    call = structure.call = _xla_call(slot, structure.plan, structure.packed, options)
    with jax.core.eval_context(), x64(), caching():  # pyright: ignore[reportAttributeAccessIssue]
        outs = call(arrays)
    if quickly:
        structure.call = _with_run_limit(structure, call, quickly)
    log.compiled(structure, time.perf_counter() - begun, quickly > 0)
    return outs


def _with_run_limit(structure: Structure, call: Any, runs: int) -> Any:
    """The call of a structure that has been compiled quickly: so many runs make it used up."""

    def run(arrays: list[Any]) -> list[Any]:
        nonlocal runs
        runs -= 1
        if runs <= 1:
            structure.recompile_in_full()
        return call(arrays)

    return run


def evaluate(plan: Plan, env: list[Any]) -> list[Any]:
    """The live results of a plan whose inputs stand in `env`, at their slots."""
    computed: set[int] = set()
    for kernel, slots, first in plan.steps:
        given = (
            xla_options.rounded(kernel, slots, first, env, computed)
            if kernel.has_half_precision
            else [env[s] for s in slots]
        )
        for k, o in enumerate(kernel.jitted(*given)):
            env[first + k] = o
    return [env[s] for s in plan.live]


_SCALAR_VECTORS = {FLOAT: 0, INT: 1, BOOL: 1, COMPLEX: 2, UNSIGNED: 3}


def _xla_call(
    slot: DeviceSlot, plan: Plan, packed: state_packing.PackedArguments | None, options: dict[str, Any] | None
) -> Any:
    """The function that runs a plan as one XLA program, compiled with these of XLA's options, or those that suit it best.

    Python numbers travel together, in one vector for each kind: one argument instead of many. What is packed is the argument
    after those of the plan.
    """
    taken = packed.packed_inputs if packed is not None else []
    first = [i for i in plan.donors if i not in taken]
    others = {*taken, *first}
    tensors = first + [i for i, a in enumerate(plan.input_avals) if not a.wrapped and i not in others]
    groups: list[list[int]] = [[], [], [], []]
    for i, a in enumerate(plan.input_avals):
        if a.wrapped:
            groups[_SCALAR_VECTORS[a]].append(i)
    kinds, input_slots = plan.input_avals, plan.input_slots

    def program(*args: Any) -> list[Any]:
        env: list[Any] = [None] * plan.n_slots
        vectors = list(args[len(tensors) :])
        for i, a in zip(tensors, args, strict=False):
            env[input_slots[i]] = a
        if taken:
            for i, a in zip(taken, packed.layout.split(vectors.pop(0)), strict=True):  # pyright: ignore[reportOptionalMemberAccess]
                env[input_slots[i]] = a
        for group in groups:
            if group:
                vector = vectors.pop(0)
                for k, i in enumerate(group):
                    env[input_slots[i]] = vector[k].astype(kinds[i].dtype.np)
        results = evaluate(plan, env)
        return results if packed is None else packed.join(results)

    kernels = [kernel for kernel, _, _ in plan.steps]
    if slot.name == "cpu" and native.available() and embedding_products.may_pay(plan.steps):
        program = embedding_products.with_mapped_tables(program)
    high_rank = any(kernel.has_high_rank for kernel in kernels)
    if high_rank or any(kernel.has_convolution for kernel in kernels):
        program = rewritten_for_cpu(program, high_rank)
    if options is None:
        options = xla_options.chosen(kernels)
    options = xla_options.needed(options, kernels)
    given_up = [*range(len(first)), *([len(tensors)] if taken else [])]
    device = slot.jax
    there = None if is_first(device) else jax.sharding.SingleDeviceSharding(device)
    where: dict[str, Any] = {} if there is None else {"in_shardings": there, "out_shardings": there}
    jitted = jax.jit(program, donate_argnums=tuple(given_up), compiler_options=options, **where)
    types = (np.float64, np.int64, np.complex128, np.uint64)
    used = [Numbers(np.dtype(t), g, device) for t, g in zip(types, groups, strict=True) if g]

    scope: dict[str, Any] = {f"vector{n}": numbers for n, numbers in enumerate(used)}
    scope["run"], scope["placed"] = jitted, functools.partial(_placed, slot=slot)
    parts = [f"a[{i}]" if kinds[i].slot is slot else f"placed(a[{i}])" for i in tensors]
    parts += [f"a[{len(kinds)}]"] if taken else []
    for n, numbers in enumerate(used):
        parts.append(f"vector{n}({', '.join(f'a[{i}]' for i in numbers.positions)})")
    call = function_from_text(f"def call(a):\n    return run({', '.join(parts)})", scope, "call")
    needs_the_last = bool(given_up) and slot.name == "cpu"  # a step that takes over what the one before it made
    return memory_gate.waiting(call) if needs_the_last and memory_gate.are_large(plan.avals().values()) else call
