"""Replaying a captured call: inputs are read from their sources, one XLA program runs, results go back to their places.

`Replay` runs the program by itself where everything it reads has been computed. Otherwise, and where its results carry a graph
(`graph_node.py`), the whole call is recorded as a single instruction of the program that is pending.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.compile.context import at_top, caching, x64
from .._core.compile.kernel import Kernel, function_from_text
from .._core.host.transfer import on_cpu
from .._core.random import generator
from .._core.record import deferred_errors, program
from .._core.record.program import emit
from .._core.run import interrupts, runner, state_packing
from .._core.tensor.storage import Version, owned_again
from .._core.tensor.tensor import Tensor, version_of, wrap
from .._core.types import grad_mode
from .._core.types.device import cpu
from .._core.types.foreign_errors import of_a_run
from .._core.types.reference_counts import LISTED, counted
from .._core.types.value import FLOAT, Value
from ..optim._rule_optimizer import by_counts, counts_of, set_counts
from ..optim.optimizer import by_step
from .capturing import Captured, Result, Source
from .packed_state import Gradients, State
from .trees import numbers_in, put_together


class Stale(Exception):
    """An optimizer's options have changed so that they make another program. Nothing has been done yet."""


def _marker(sources: Iterable[Source], owners: Iterable[Tensor]) -> Any:
    """`mark(arguments, mark)`: marks what a replay has written, at these sources and as the gradients of `owners`."""
    scope: dict[str, Any] = {}
    lines = []
    for i, (kind, of) in enumerate([*((s.kind, s.of) for s in sources), *(("grad", p) for p in owners)]):
        scope[f"s{i}"] = of
        lines.append(f"t = {_tensor(kind, i, of)}")
        lines.append("(t._value if t._alias is None else t._read()).fails = M")
    return function_from_text("def mark(A, M):\n    " + ("\n    ".join(lines) or "pass"), scope, "mark")


def _tensor(kind: str, i: int, of: Any) -> str:
    """What stands for a source's tensor in generated code, where the source itself is `s{i}` and the arguments are `A`."""
    return (
        f"A[{of}]" if kind == "argument" else {"tensor": f"s{i}", "grad": f"s{i}._grad", "place": f"s{i}.now()"}[kind]
    )


def _generated(sources: list[Source], donors: list[int], packed: Sequence[int]) -> tuple[Any, list[int]]:
    """`read(arguments, draws, numbers)`: the values of the donors, all arrays in the order of the inputs but the packed ones,
    whether the engine made all of the donors' arrays, and the values of the other tensors; and which inputs those are."""
    scope: dict[str, Any] = {"force": program.force}
    lines, values, arrays, others = [], [], [], []
    for i, source in enumerate(sources):
        v = f"v{i}"
        if i in packed:
            arrays.append("None")
            continue
        match source.kind:
            case "constant":
                scope[f"c{i}"] = source.of.array
                arrays.append(f"c{i}")
                continue
            case "draw":
                arrays.append(f"D[{source.of}]")
                continue
            case "number":
                arrays.append(f"N[{source.of[0]}][{source.of[1]!r}]")
                continue
            case "storage":
                scope[f"s{i}"] = source.of
                lines.append(f"{v} = s{i}.value")
            case _:
                scope[f"s{i}"] = source.of
                tensor = _tensor(source.kind, i, source.of)
                if source.kind != "tensor":
                    lines.append(f"t = {tensor}")
                    tensor = "t"
                lines.append(f"{v} = {tensor}._value if {tensor}._alias is None else {tensor}._read()")
        arrays.append(f"{v}.array if {v}.pack is None else force({v})")
        if i in donors:
            values.append(v)
        else:
            others.append(i)
    body = "".join(f"    {line}\n" for line in lines)
    owned = " and ".join(f"{v}.owned" for v in values) or "True"
    rest = ", ".join([f"v{i}" for i in others])
    text = f"def read(A, D, N):\n{body}    return [{', '.join(values)}], [{', '.join(arrays)}], {owned}, [{rest}]"
    return function_from_text(text, scope, "read"), others


def _writer(quick: list[tuple[int, int, Tensor, int]]) -> Any:
    """`put(values, outs)`: new arrays for the values of donors, whose tensors count the writes; for (donor, out, tensor, writes)."""
    scope: dict[str, Any] = {}
    lines = []
    for donor, k, t, n in quick:
        scope[f"t{donor}"], scope[f"w{donor}"] = t, t._written
        lines.append(f"V[{donor}].array = O[{k}]; t{donor}._ver = w{donor}.n = t{donor}._ver + {n}")
        if not t.dtype.is_floating_point:
            lines.append(f"V[{donor}].fine = None")  # other numbers: see checks.py
    return function_from_text("def put(V, O):\n    " + ("\n    ".join(lines) or "pass"), scope, "put")


class Replay:
    """A captured call that can be made again."""

    def __init__(self, made: Captured) -> None:
        self.slot, self.code, self.sources, self.donors = made.slot, made.code, made.sources, made.donors
        self.live = tuple(made.live)
        self.tensors, self.spec, self.grads, self.places = made.tensors, made.spec, made.grads, made.places
        self.drawn, self.updated, self.afterwards = made.drawn, made.updated, made.afterwards
        self.at = {slot: k for k, slot in enumerate(self.live)}
        self.writes = [(w.source, self.at[w.slot], w.writes) for w in made.writes]
        of_states = [id(s) for again in {id(a): a for a, _ in self.updated}.values() for s in again.states]
        self._twice = len(set(of_states)) < len(of_states)  # does a call step some parameters more than once?
        self.flags = [(self.at[slot], make, where) for slot, make, where in made.flags]
        self.graph: Any = None
        self._kernel: Kernel | None = None
        held = {k: p for p, k in self.grads if k is not None}
        returned = {n for spec in (self.spec, *(p for _, p in self.places)) for n in numbers_in(spec)}
        views = [k for k, t in enumerate(self.tensors) if isinstance(t, Result) and t.shared is not None]
        roots = {t.shared.root for t in self.tensors if isinstance(t, Result) and t.shared is not None}
        for k in {*views, *roots}:
            held.pop(k, None)
        self._grad_of: list[Any] = [held.get(k) if k not in returned else None for k in range(len(self.tensors))]
        self._mark = _marker([s for s, _, _ in self.writes], [p for p in self._grad_of if p is not None])
        self._views = sorted(views, key=lambda k: len(self.tensors[k].shared.steps))
        self._settle_packs(made)

    def _settle_packs(self, made: Captured) -> None:
        """Decide what travels in packs, and prepare for what does not."""
        quick = self._quick_writes()
        plan = runner.Plan(self.code, self.live, tuple(self.donors))
        outs = plan.avals()
        pairs = [(self.donors[d], self.live[k]) for d, k, _, _ in quick or ()]
        links = [
            (position, slot)
            for position, slot in pairs
            if plan.input_avals[position] is outs[slot] and not state_packing.was_read_elsewhere(made.inputs[position])
        ]
        grads = [k for k, p in enumerate(self._grad_of) if p is not None]
        of_slot = {self.tensors[k].slot: k for k in grads if self.tensors[k].layout is None}
        packed = state_packing.choose_packing(plan, links, list(of_slot))
        self._structure = runner.captured_structure(plan, packed)
        taken = [] if packed is None else packed.packed_inputs
        apart = [] if packed is None else packed.output_results
        self.single = [i for i in self.donors if i not in taken]
        self.read, self._others = _generated(self.sources, self.single, taken)
        self._viewable = [i for i in self.single if self.sources[i].kind != "storage"]
        self._held = [LISTED + 1] * len(self.single), [LISTED + 2] * len(self.single)
        self.state = self.gradients = None
        self._out = {k: k for k in range(len(self.live))}  # where each result is among those of the program
        if packed is not None:
            first = bool(taken) + bool(apart)
            self._out = {k: first + n for n, k in enumerate(packed.unpacked_results)}
            if taken:
                tensors = {k: (t, n) for _, k, t, n in quick or ()}
                self.state = State(packed.layout, *zip(*[tensors[k] for k in packed.packed_results], strict=True))
            if apart:
                self.gradients = Gradients(packed.output_layout, [self._grad_of[of_slot[self.live[k]]] for k in apart])
                self._packed_tensors = [of_slot[self.live[k]] for k in apart]
        away = self._packed_tensors if self.gradients is not None else []
        self._renewed = [(k, p) for k, p in enumerate(self._grad_of) if p is not None and k not in away]
        self._writes = [w for w in self.writes if w[1] in self._out]
        new = [
            (k, self.at[t.slot], t.aval)
            for k, t in enumerate(self.tensors)
            if isinstance(t, Result) and t.slot is not None
        ]
        self._apart = [(k, self._out[i], aval) for k, i, aval in new if i in self._out]
        self._every = [*enumerate(self.tensors)], self.grads
        self._besides = (
            [(k, t) for k, t in self._every[0] if k not in away],
            [(p, k) for p, k in self.grads if k not in away],
        )
        left = [w for w in quick or () if w[1] in self._out]
        place = {position: n for n, position in enumerate(self.single)}
        self._quick = (
            None if quick is None else _writer([(place[self.donors[d]], self._out[k], t, n) for d, k, t, n in left])
        )

    def _quick_writes(self) -> list[tuple[int, int, Tensor, int]] | None:
        """All writes, as (donor, result, tensor, writes), where they go to tensors that can be overwritten in memory; else None."""
        by_source = {(self.sources[p].kind, id(self.sources[p].of)): d for d, p in enumerate(self.donors)}
        found = []
        for source, k, n in self.writes:
            donor = by_source.get((source.kind, id(source.of)))
            if donor is None or source.kind != "tensor":
                return None
            source.of._written = version_of(source.of)
            found.append((donor, k, source.of, n))
        return found

    # -- the captured call itself

    def first(self, made: Captured, arguments: Sequence[Tensor]) -> None:
        """Run the program of the captured call, whose pending values get their content. Where a handler stands around the call and
        values were not as an operation wants them, that is raised, and the tensors that the call has written have what they had."""
        current = made.program
        if self.slot.program is current:
            self.slot.program = None
        current.state = "running"
        try:
            arrays = [v.array for v in made.inputs]
            runner.to_device(self.slot, made.inputs, arrays)
            for position in self.single:
                arrays[position] = _copy(arrays[position])
            packed = self._structure.packed
            outs = self._run(state_packing.arguments(packed, made.inputs, 0, arrays))
            values = [made.values[slot] for slot in self.live]
            if packed is not None:
                packed.hand_out(values, outs)
            else:
                for v, array in zip(values, outs, strict=True):
                    v.array, v.owned = array, True
            if current.checks or not deferred_errors.clean:
                deferred_errors.note_run(made.code, current.checks, made.inputs, made.values, self.live)
        finally:
            for v in made.values:
                v.program = None
            flags, current.checks = current.checks, []
            current.values, current.code, current.inputs, current.state = [], [], [], "done"
        if flags and deferred_errors.has_handlers():
            try:
                deferred_errors.settle(flags)
            except Exception:
                before = {(s.kind, id(s.of)): v for s, v in zip(self.sources, made.inputs, strict=True)}
                for source, _, _ in self.writes:
                    old = before.get((source.kind, id(source.of)))
                    if old is not None:
                        t = source.tensor(arguments)
                        t._write_uncounted(old)
                        if t._alias is None:
                            old.guard = None  # it is what the tensor holds once more
                raise

    # -- again

    def __call__(self, arguments: Sequence[Tensor]) -> Any:
        """The call once more, with these tensors among its arguments. Stale if an optimizer's options forbid it."""
        handler = interrupts.hold()
        try:
            return self._again(arguments)
        finally:
            interrupts.release(handler)

    def _again(self, arguments: Sequence[Tensor]) -> Any:
        counts: list[tuple[Tensor, Value]] = []
        careful = bool(self.flags) and deferred_errors.has_handlers()
        if careful:
            states = [
                (state[name], again.counts)
                for again, _ in self.updated
                for state in again.states
                for name in again.counts
            ]
            counts = [(t, t._read()) for t, _ in states]
        numbers = self._advance() if self.updated else []
        draws = [
            generator.key_of(g, *a) if m is generator.key_of else generator.draw(g, m, *a) for g, m, a in self.drawn
        ]
        slot = self.slot
        if self.graph is not None or slot.program is not None or slot.closing is not None:
            result = self._recorded(arguments, draws, numbers)
        else:
            try:
                if len(program._threads) > 1:
                    with runner.lock:
                        result = self._alone(arguments, draws, numbers, careful)
                else:
                    result = self._alone(arguments, draws, numbers, careful)
            except Exception:
                for t, old in counts:
                    t._write_uncounted(old)
                raise
        for step in self.afterwards:
            step()
        return result

    def _advance(self) -> list[dict[str, float]]:
        """The numbers of each optimizer update of this step; step counts advance."""
        numbers = []
        done: dict[int, Any] = {}
        ahead: dict[int, tuple[float, ...]] = {}
        for again, names in self.updated:
            if id(again) in done:  # parameters of another type, in the same step
                numbers.append(done[id(again)][0])
                continue
            static, fresh, after = self._numbers(again, ahead)
            if static != again.static or [*fresh] != names:
                raise Stale
            done[id(again)] = fresh, again, after
            numbers.append(fresh)
        for _, again, after in done.values():
            if after:
                set_counts(again.states, again.counts, after)
            elif again.states:
                by_step(again.states, again.states)
        return numbers

    def _numbers(self, again: Any, ahead: dict[int, tuple[float, ...]]) -> tuple[Any, dict[str, float], Any]:
        """What is part of an update's program, its numbers, and all counts after it where these are more than the step.

        ahead: the counts, by the states' ids, that earlier updates of the same step will have left, where some are made twice."""
        owner, group, states = again.owner, again.group, again.states
        if not states:
            return (*owner._numbers(group, 0.0), None)
        if self._twice:
            found = {ahead[id(s)] if id(s) in ahead else counts_of(s, again.counts) for s in states}
        elif len(again.counts) > 1:
            found = {*by_counts(states, again.counts)}
        else:
            found = {_at_one(states)}
        if len(found) > 1 or (counts := found.pop()) is None:
            raise Stale
        if len(again.counts) > 1:
            static, fresh, more = owner._step_numbers(group, counts[0] + 1.0, *counts[1:])
            after = (counts[0] + 1.0, *more)
        else:
            static, fresh = owner._numbers(group, counts[0] + 1.0)
            after = None
        if self._twice:
            kinds = [states[0][name]._value.aval.dtype.np for name in again.counts]
            left = after or (counts[0] + 1.0,)
            ahead |= dict.fromkeys(map(id, states), tuple([float(k.type(c)) for k, c in zip(kinds, left, strict=True)]))
        return static, fresh, after

    def _run(self, arrays: list[Any]) -> list[Any]:
        call = self._structure.call
        try:
            return runner.run_whole(self.slot, self._structure, arrays) if call is None else at_top(call, arrays)
        except Exception as error:
            told = of_a_run(error, self.slot.name)
            if told is None:
                raise
            raise told from error

    def _alone(
        self, arguments: Sequence[Tensor], draws: list[Any], numbers: list[dict[str, float]], careful: bool
    ) -> Any:
        """careful: a handler stands around the call, and it has flags: nothing is written before they have been looked at."""
        values, arrays, owned, others = self.read(arguments, draws, numbers)
        run = None if deferred_errors.clean else deferred_errors.Run(None, [], (*values, *others, *self._resident()))
        owned = owned and not careful
        exclusive = owned and self._only_here(values, arrays)
        if owned and not exclusive and any([owned_again(self.sources[i].tensor(arguments)) for i in self._viewable]):  # noqa: C419
            values, arrays, owned, others = self.read(arguments, draws, numbers)
            exclusive = self._only_here(values, arrays)
        if not exclusive:
            for v, position in zip(values, self.single, strict=True):
                arrays[position] = _copy(program.force(v))
        if np.ndarray in map(type, arrays) and not self._structure.on_host:
            for v, position in zip(others, self._others, strict=True):
                if type(v.array) is np.ndarray:
                    arrays[position] = runner.moved(v, self.slot)
        others = None
        state, here = self.state, False
        if state is not None:
            here = state.here()
            arrays.append(_copy(state.vector(here)) if careful else state.vector(here))
        spare = {} if careful else self._spare_gradients()
        outs = self._run(arrays)
        arrays = None
        if self.flags:
            run = deferred_errors.Run(None, [], ()) if run is None else run
            run.checks = checks = self._checks(outs)
            if careful:
                run.read()
                deferred_errors.settle(checks)
        if state is not None:
            state.put(outs[0], here, self._write)
        place = self._out
        if exclusive and self._quick is not None:
            self._quick(values, outs)
        else:
            for source, k, n in self._writes:
                t = source.tensor(arguments)
                self._write(t, _owned(outs[place[k]], t._value.aval), n)
        made = self._made(outs)
        if run is not None and (run.unread or run.failed):
            deferred_errors.mark_results(run, [v for v in made if v is not None])
            result = self._hand_out(arguments, made, spare=spare)
            self._mark(arguments, (run, 0))
            return result
        return self._hand_out(arguments, made, spare=spare)

    def _resident(self) -> list[Value]:
        """The values of what travels in a pack."""
        return [] if self.state is None else [t._read() for t in self.state.tensors]

    def _checks(self, outs: list[Any]) -> list[deferred_errors.Check]:
        """The flags of a replay."""
        return [
            deferred_errors.Check(_owned(outs[self._out[k]], FLOAT), make, around) for k, make, around in self.flags
        ]

    def _only_here(self, values: list[Value], arrays: list[Any]) -> bool:
        """Are the donors' values held by their tensors alone, and their arrays by these values?"""
        given = [arrays[i] for i in self.single]
        return list(counted(values)) == self._held[0] and list(counted(given)) == self._held[1]

    def _spare_gradients(self) -> dict[int, Tensor]:
        """The gradients, by their places among the results, that take the new content because nobody but their parameters
        holds them. They let go of the old one, so that its memory is free when the new one is computed."""
        spare: dict[int, Tensor] = {}
        if not self._renewed:
            return spare
        grads = [p._grad for _, p in self._renewed]
        counts = list(counted(grads))
        values = [None if g is None else g._value for g in grads]
        of_values = list(counted(values))
        for (k, _), g, count, of_value in zip(self._renewed, grads, counts, of_values):
            t = self.tensors[k]
            if (
                g is not None
                and count == LISTED + 1
                and g._alias is None
                and g._ver == 0
                and not g._rg
                and g._layout is t.layout
                and g._value.aval is t.aval
                and g._value.pack is None
                and of_value == LISTED + 1
                and not g.__dict__
                and g.__class__ is Tensor
            ):
                g._value.array = None
                spare[k] = g
        return spare

    def _made(self, outs: list[Any]) -> list[Any]:
        """The values of the new tensors; gradients that stay in their pack get their new content here, and None."""
        grads = self.gradients
        made: list[Any] = [None] * len(self.tensors)
        for k, i, aval in self._apart:
            made[k] = _owned(outs[i], aval)
        if grads is not None:
            vector = outs[self.state is not None]
            if grads.here():
                grads.pack.array = vector
            else:
                for k, v in zip(self._packed_tensors, grads.renew(vector), strict=True):
                    made[k] = v
        return made

    def _recorded(self, arguments: Sequence[Tensor], draws: list[Any], numbers: list[dict[str, float]]) -> Any:
        kernel = self._kernel
        if kernel is None:
            kernel = self._kernel = self._as_kernel()
        values = []
        for source, aval in zip(self.sources, kernel.in_avals, strict=True):
            match source.kind:
                case "constant":
                    values.append(source.of)
                case "draw":
                    values.append(Value(aval, draws[source.of]))
                case "number":
                    values.append(Value(aval, float(numbers[source.of[0]][source.of[1]])))
                case "storage":
                    values.append(source.of.value)
                case _:
                    values.append(source.tensor(arguments)._read())
        outs = emit(kernel, values)
        place = {k: i for i, k in enumerate(self._order)}
        for source, k, n in self.writes:
            self._write(source.tensor(arguments), outs[place[k]], n)
        made = [
            outs[place[self.at[t.slot]]] if isinstance(t, Result) and t.slot is not None else None for t in self.tensors
        ]
        result = self._hand_out(arguments, made, outs if self.graph is not None else None, values)
        outs = values = made = None
        if self.updated:
            program.close(self.slot)
        return result

    def _as_kernel(self) -> Kernel:
        """The whole call as one instruction: flags come last."""
        plan = self._structure.plan
        flagged = [k for k, _, _ in self.flags]
        self._order = order = [k for k in range(len(self.live)) if k not in flagged] + flagged

        def call(*arrays: Any) -> tuple[Any, ...]:
            env: list[Any] = [None] * plan.n_slots
            for s, a in zip(plan.input_slots, arrays, strict=True):
                env[s] = a
            outs = runner.evaluate(plan, env)
            return tuple([outs[k] for k in order])

        kernel = Kernel("compiled_call", call, tuple(plan.input_avals), self.slot, [make for _, make, _ in self.flags])
        kernel.captured = True
        if not runner.stays_on_host(plan):
            kernel.host_run_limit = 0
        return kernel

    @staticmethod
    def _write(t: Tensor, value: Value, writes: int) -> None:
        if not writes:  # a batch normalisation's running statistics
            t._write_uncounted(value)
            return
        t._write(value)
        if writes > 1:
            alias = t._alias
            if alias is None:
                t._ver = t._written.n = t._ver + writes - 1
            else:
                alias.version.n += writes - 1
                if alias.silent is not None:  # `.data` counts its own, and hides them from others
                    alias.version.hidden += writes - 1
                    alias.silent.n += writes - 1
                t._read()

    def _hand_out(
        self,
        arguments: Sequence[Tensor],
        made: list[Any],
        outs: Any = None,
        values: Any = None,
        spare: dict[int, Tensor] | None = None,
    ) -> Any:
        """Put new tensors where the call puts them, and build its result.

        spare: gradients that take the new content, instead of a new tensor; None if none may, not even those in a pack.
        """
        tensors: list[Any] = [None] * len(made)
        stayed = spare is not None and self.gradients is not None and made[self._packed_tensors[0]] is None
        new_tensors, new_grads = (
            self._besides if stayed else self._every
        )  # gradients in a pack have their new content there
        for k, t in new_tensors:
            value = made[k]
            if spare and k in spare:
                g = spare[k]
                g._value.array = value.array
                tensors[k] = g
                continue
            if isinstance(t, Source):
                tensors[k] = t.tensor(arguments)
                continue
            new = wrap(value)  # a view gets its content below
            new._layout = t.layout
            if t.requires_grad:
                new._rg, new._node, new._index = True, t.node, t.index
            if t.inferred is not grad_mode.state.inference:
                new._inferred = t.inferred
            tensors[k] = new
        if self._views:
            silent: dict[int, Version] = {}
            for k in self._views:
                self.tensors[k].shared.place(tensors[k], made[k], self.tensors[k].aval, tensors, silent)
        if outs is not None:
            self.graph.attach(tensors, outs, values, self._order, arguments)
        for p, k in new_grads:
            if k is None or tensors[k] is not p._grad:
                p._grad = None if k is None else tensors[k]
        if spare is not None and self.gradients is not None:
            self.gradients.settle()
        for guard, spec in self.places:
            guard.put(put_together(spec, tensors))
        spec = self.spec
        return tensors[spec[1]] if spec[0] == "tensor" else put_together(spec, tensors)


def _at_one(states: list[dict[str, Any]]) -> tuple[float] | None:
    """How often all these parameters have been updated; None if not equally often: other calls may update some of them."""
    first = states[0]["step"]
    if not isinstance(first, Tensor):
        return (float(first),) if all([s["step"] == first for s in states]) else None  # noqa: C419
    value = first._read()
    count = float(value.array if isinstance(value.array, np.ndarray) else first.item())
    different = [s["step"] for s in states if s["step"]._value is not value]
    return (count,) if all([float(t) == count for t in different]) else None  # noqa: C419


def _copy(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return on_cpu(array, cpu.slot.jax)
    (device,) = array.devices()
    if device.platform == "cpu":  # nothing is compiled for it
        return on_cpu(np.asarray(array), device)
    with x64(), caching():
        return jnp.array(array, copy=True)


def _owned(array: Any, aval: Any) -> Value:
    value = Value(aval, array)
    value.owned = True
    return value
