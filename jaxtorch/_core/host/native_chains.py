"""Elementwise steps of a small program (native_code.py) over the same numbers, one after the other, joined to chains.

The kernels go through a chain block by block (`chained` in native/steps.inc), so that what one step makes is in the nearest cache
when the next reads it. What only its chain reads is never whole in memory: it has the place of one block.
"""

from __future__ import annotations

import bisect
import math
from itertools import pairwise

from ..tuning import CHAIN_BLOCK, CHAIN_RESULTS, CHAINED, STEP_DIMENSIONS

_SIZES = slice(2, 2 + STEP_DIMENSIONS)
_OUT, _HEAD, _OPERAND = (
    6,
    8,
    2 + STEP_DIMENSIONS,
)  # words before where the result begins, before the operands, and of an operand
ELEMENTWISE = range(1, 50)
"""Codes of steps that compute each number by itself."""

_Step = list[int]


def chained(steps: list[_Step], scratch: int, places: list[int]) -> tuple[list[_Step], int]:
    """The steps with their chains marked, and how many numbers the blocks take.

    scratch: the base of whole results; places: where they begin in it. The base after it is that of the blocks.
    """
    chains: list[list[_Step]] = []
    for step in steps:
        if not (chains and _joins(step, chains[-1], scratch, places)):
            chains.append([step])
    most = 0
    for chain in chains:
        if len(chain) > 1:
            chain[0][1] = len(chain)
            most = max(most, _shorten(chain, steps, scratch, places))
    return [step for chain in chains for step in chain], most * CHAIN_BLOCK


def _place(offset: int, places: list[int]) -> int:
    return places[bisect.bisect(places, offset) - 1]


def _operands(step: _Step) -> list[int]:
    """Where the operands of a step begin in it."""
    return [at for at in range(_HEAD, len(step), _OPERAND) if step[at] >= 0]


def _joins(step: _Step, chain: list[_Step], scratch: int, places: list[int]) -> bool:
    """Make a step part of a chain, if it can be: it and the others get the same sizes."""
    sizes = step[_SIZES]
    if any(s[0] not in ELEMENTWISE for s in (step, chain[0])):
        return False
    if math.prod(sizes) < CHAINED or math.prod(sizes) != math.prod(chain[0][_SIZES]):
        return False
    made = {s[_OUT + 1] for s in chain if s[_OUT] == scratch}
    for at in _operands(step):
        base, offset, *strides = step[at : at + _OPERAND]
        if base == scratch and _place(offset, places) in made and (offset not in made or not _is_dense(sizes, strides)):
            return False  # it wants numbers of other blocks
    common = _common(sizes, chain[0][_SIZES])
    if common is None:
        return False
    for s in (*chain, step):
        _split(s, common)
    chain.append(step)
    return True


def _is_dense(sizes: list[int], strides: list[int]) -> bool:
    return all(n == 1 or strides[d] == math.prod(sizes[d + 1 :]) for d, n in enumerate(sizes))


def _common(one: list[int], other: list[int]) -> list[int] | None:
    """Sizes that both can be split into."""
    ends = sorted({math.prod(sizes[d:]) for sizes in (one, other) for d in range(STEP_DIMENSIONS)} | {1})
    if len(ends) > STEP_DIMENSIONS + 1 or any(b % a for a, b in pairwise(ends)):
        return None
    found = [b // a for a, b in pairwise(ends)][::-1]
    return [1] * (STEP_DIMENSIONS - len(found)) + found


def _split(step: _Step, sizes: list[int]) -> None:
    """Have a step go over these sizes, into which its own can be split."""
    old = step[_SIZES]
    for at in _operands(step):
        strides = step[at + 2 : at + _OPERAND]
        found = [0] * STEP_DIMENSIONS
        for d, n in enumerate(sizes):
            if n == 1:
                continue
            after = math.prod(sizes[d + 1 :])
            of = next(e for e in range(STEP_DIMENSIONS) if math.prod(old[e + 1 :]) <= after < math.prod(old[e:]))
            found[d] = strides[of] * (after // math.prod(old[of + 1 :]))
        step[at + 2 : at + _OPERAND] = found
    step[_SIZES] = sizes


def _shorten(chain: list[_Step], steps: list[_Step], scratch: int, places: list[int]) -> int:
    """Give the results that only the chain reads the place of a block; how many these are."""
    inside = {id(s) for s in chain}
    others = {
        _place(s[at + 1], places) for s in steps if id(s) not in inside for at in _operands(s) if s[at] == scratch
    }
    local = [s[_OUT + 1] for s in chain if s[_OUT] == scratch and s[_OUT + 1] not in others][:CHAIN_RESULTS]
    places_of = {offset: k * CHAIN_BLOCK for k, offset in enumerate(local)}
    for s in chain:
        if s[_OUT] == scratch and s[_OUT + 1] in places_of:
            s[_OUT], s[_OUT + 1] = scratch + 1, places_of[s[_OUT + 1]]
        for at in _operands(s):
            if s[at] == scratch and s[at + 1] in places_of:
                s[at : at + _OPERAND] = [scratch + 1, places_of[s[at + 1]], 0, 0, 0, 1]
    return len(local)
