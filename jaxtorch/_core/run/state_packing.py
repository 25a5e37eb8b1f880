"""Packs: the state of a small training loop, kept in one array between its steps.

XLA takes some 3 us to hand out each result of a program, as long as a small step computes. So where a program's results come back
as its donated inputs (parameters, momenta) and are small, they leave it as one vector, and enter it as one the next time. A
`Value` in a pack has no array of its own until something else than that program asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..host import forked
from ..host.transfer import fetched, on_cpu
from ..tuning import PACK_ELEMENTS, PACK_RESULTS
from ..types.value import Aval, Value


class Pack:
    """Values in one array; they know it by `Value.pack` and their place in it by `Value.part`."""

    __slots__ = ("layout", "array")

    def __init__(self, layout: Layout, array: Any) -> None:
        self.layout = layout
        self.array = array


class Layout:
    """Where arrays of these types lie in a vector."""

    __slots__ = ("avals", "ends")

    def __init__(self, avals: Sequence[Aval]) -> None:
        self.avals = tuple(avals)
        self.ends = [int(n) for n in np.cumsum([0, *[a.numel for a in avals]])]

    def join(self, arrays: Sequence[Any]) -> Any:
        """The vector, within a program."""
        return jnp.concatenate([a.reshape(-1) for a in arrays])

    def split(self, vector: Any) -> list[Any]:
        """The arrays, within a program."""
        ends = zip(self.avals, self.ends, self.ends[1:], strict=False)
        return [lax.slice_in_dim(vector, begin, end).reshape(a.shape) for a, begin, end in ends]

    def part(self, vector: np.ndarray[Any, Any], k: int) -> np.ndarray[Any, Any]:
        """One of the arrays, on the host."""
        return vector[self.ends[k] : self.ends[k + 1]].reshape(self.avals[k].shape)

    def joined(self, values: Sequence[Value]) -> Any:
        """The vector of these values, which have been computed."""
        vectors: dict[int, np.ndarray[Any, Any]] = {}
        parts = []
        for v in values:
            pack = v.pack
            if pack is None:
                parts.append(fetched(v.array).reshape(-1))
                continue
            if id(pack) not in vectors:
                vectors[id(pack)] = fetched(pack.array)
            parts.append(pack.layout.part(vectors[id(pack)], v.part).reshape(-1))
        return on_cpu(np.concatenate(parts), self.avals[0].slot.jax)


def unpack(value: Value) -> Any:
    """Give a value of a pack an array of its own."""
    pack = value.pack
    if pack is None:  # another thread has been quicker
        return value.array
    content = pack.layout.part(fetched(pack.array), value.part)
    if forked.active:  # a forked child, where JAX does not run
        value.array = content.copy()
    else:
        value.array, value.owned = on_cpu(content, value.aval.slot.jax), True
    value.pack = None
    return value.array


def mark_read_elsewhere(value: Value) -> None:
    """A program has read this value and left it as it was: so its place in a pack would be asked for at every step."""
    if value.pack is None:
        value.part = _READ


_READ = -1


def was_read_elsewhere(value: Value) -> bool:
    """Has `mark_read_elsewhere` been told of this value?"""
    return getattr(value, "part", 0) == _READ


def choose_packing(plan: Any, links: list[tuple[int, int]], apart: Sequence[int] = ()) -> PackedArguments | None:
    """What is to be packed of a plan: of these pairs of an input and the result (its slot) that takes its place, and of the
    results `apart`, which nothing takes as input. None if it is not worth it."""
    kinds, outs = plan.input_avals, plan.avals()
    if (
        any(a.slot.name != "cpu" for a in kinds if not a.wrapped)
        or sum(kinds[p].numel for p in plan.donors) > PACK_ELEMENTS
    ):
        return None
    # in the order in which an optimizer's instruction makes and reads them: what it joins is then joined already
    read = {slot: k for k, slot in enumerate(chain.from_iterable(slots for _, slots, _ in plan.steps))}
    links, apart = sorted(links, key=lambda link: link[1]), sorted(apart, key=lambda slot: read.get(slot, 0))
    links = _of_one_type(links, [kinds[position] for position, _ in links])
    apart = _of_one_type(apart, [outs[slot] for slot in apart])
    return PackedArguments(plan, links, apart) if links or apart else None


def _of_one_type(items: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
    """Those of the commonest element type; none where they are too few or too large."""
    if not items:
        return []
    dtype = Counter(a.dtype for a in avals).most_common(1)[0][0]
    fitting = [(item, a.numel) for item, a in zip(items, avals, strict=True) if a.dtype is dtype]
    if len(fitting) < PACK_RESULTS or sum(n for _, n in fitting) > PACK_ELEMENTS:
        return []
    return [item for item, _ in fitting]


class PackedArguments:
    """What a structure takes and gives in packs.

    packed_inputs, packed_results: the inputs that come as one vector, by position among the inputs, and the results that
                 take their places, by position among the live ones; `layout` is theirs.
    output_results: results that leave in a second vector, laid out as `output_layout`, which is nobody's input.
    unpacked_results: the results that leave as arrays, in order.
    """

    __slots__ = (
        "packed_inputs",
        "packed_results",
        "layout",
        "output_results",
        "output_layout",
        "unpacked_results",
        "parts",
    )

    def __init__(self, plan: Any, links: Sequence[tuple[int, int]], apart: Sequence[int]) -> None:
        outs, place = plan.avals(), {slot: k for k, slot in enumerate(plan.live)}
        self.packed_inputs = [position for position, _ in links]
        self.packed_results = [place[slot] for _, slot in links]
        self.layout = Layout([plan.input_avals[position] for position in self.packed_inputs])
        self.output_results = [place[slot] for slot in apart]
        self.output_layout = Layout([outs[slot] for slot in apart])
        self.unpacked_results = [
            k for k in range(len(plan.live)) if k not in {*self.packed_results, *self.output_results}
        ]
        self.parts = list(range(len(self.packed_inputs)))

    def join(self, results: list[Any]) -> list[Any]:
        """What the program returns in place of these results."""
        vectors = [
            layout.join([results[k] for k in which])
            for which, layout in ((self.packed_results, self.layout), (self.output_results, self.output_layout))
            if which
        ]
        return [*vectors, *[results[k] for k in self.unpacked_results]]

    def vector(self, inputs: Sequence[Value]) -> Any:
        """The pack's vector that these inputs are the parts of; None if they do not come as one pack."""
        values = [inputs[position] for position in self.packed_inputs]
        pack = values[0].pack
        if pack is None or pack.layout is not self.layout:
            return None
        together = [v.pack for v in values].count(pack) == len(values) and [v.part for v in values] == self.parts
        return pack.array if together else None

    def hand_out(self, values: Sequence[Value], outs: list[Any]) -> None:
        """Give the live values, in order, what the program returned."""
        vectors = iter(outs)
        for which, layout in ((self.packed_results, self.layout), (self.output_results, self.output_layout)):
            if which:
                pack = Pack(layout, next(vectors))
                for part, k in enumerate(which):
                    v = values[k]
                    v.pack, v.part, v.program = pack, part, None
        for k, array in zip(self.unpacked_results, vectors, strict=True):
            v = values[k]
            v.array, v.owned, v.program = array, True, None


def arguments(packed: PackedArguments | None, inputs: Sequence[Value], entered: int, arrays: list[Any]) -> list[Any]:
    """The arguments for a program: the `arrays` of its inputs, `entered` of which were in packs and may have none."""
    taken: Sequence[int] = ()
    if packed is not None and packed.packed_inputs:
        taken = packed.packed_inputs
        vector = packed.vector(inputs)
        if vector is not None and entered == len(taken):
            arrays.append(vector)
            return arrays
        arrays.append(packed.layout.joined([inputs[position] for position in taken]) if vector is None else vector)
    if entered:
        for position, v in enumerate(inputs):
            if v.pack is not None and position not in taken:
                arrays[position] = unpack(v)
    return arrays
