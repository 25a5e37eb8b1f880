"""Errors that only the data can show, such as an index out of range: what operations say of them.

A kernel with checks returns, behind its outputs, one int64 scalar a check: 0 where all is well. Where its operands are on the
host, `seen` looks at them, and PyTorch's exception is raised at the call. Else the scalars are results of the program that the
kernel stands in; what comes of them is the matter of `deferred_errors`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.interpreters import partial_eval

from ..compile import tracing
from ..compile.kernel import Kernel
from ..compile.symbolic_sizes import up_to
from ..host.numpy_program import NoRule, NumpyProgram
from ..tuning import ASIDE_ELEMENTS, HOST_PROGRAM
from ..types.value import Value
from . import known_values


class collecting:
    """Context around the tracing of a body: the list of the flags it raises, as (code, message maker, conditions)."""

    def __enter__(self) -> list[tuple[Any, Any, Any]]:
        _tracing.lists.append([])
        return _tracing.lists[-1]

    def __exit__(self, *exc: Any) -> None:
        _tracing.lists.pop()


class _Tracing(threading.local):
    """The lists that bodies being traced add to, innermost last."""

    def __init__(self) -> None:
        self.lists: list[list[tuple[Any, Any, Any]]] = []


_tracing = _Tracing()


_UNSIGNED = {np.dtype(signed): np.dtype(unsigned) for signed, unsigned in (("int64", "uint64"), ("int32", "uint32"))}


class Within(NamedTuple):
    """That all elements of an operation's parameter are from `low` to below `high`, or are `besides`; of a list of tensors those of
    the one at `place`."""

    name: str
    low: int
    high: int
    besides: int | None = None
    place: int = 0

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        if not array.size:
            return True
        if self.low == 0 and (unsigned := _UNSIGNED.get(array.dtype)) is not None:  # below 0 is far above
            fine = np.maximum.reduce(array.view(unsigned), None) < self.high
        else:
            fine = np.minimum.reduce(array, None) >= self.low and np.maximum.reduce(array, None) < self.high
        if fine:
            return True
        return self.besides is not None and bool(
            (((array >= self.low) & (array < self.high)) | (array == self.besides)).all()
        )


class Bounds(NamedTuple):
    """That the first element of an operation's parameter is `first`, and its last one at most `last`; None: whatever it is."""

    name: str
    first: int | None = None
    last: int | None = None

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        if not array.size:
            return True
        return (self.first is None or array.flat[0] == self.first) and (
            self.last is None or array.flat[-1] <= self.last
        )


class Total(NamedTuple):
    """That the elements of an operation's parameter add up to `total`."""

    name: str
    total: int

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so?"""
        return int(array.sum()) == self.total


class Nonzero(NamedTuple):
    """That no element of an operation's parameter is 0, in the type that the operation computes in."""

    name: str
    kind: Any

    def holds(self, array: np.ndarray[Any, Any]) -> bool:
        """Is it so? 256 is 0 as a uint8."""
        return bool(array.astype(self.kind).all())


Condition = Within | Bounds | Total | Nonzero


def flag(code: Any, make: Callable[[int], Exception], *within: Condition) -> None:
    """From the body of an operation: report that the data is bad where `code`, an int64 scalar, is not 0.

    `make(code)` builds PyTorch's exception. Encode an offending number so that 0 stays free for 'all is well'.
    With the attribute `at_once` the error is waited for where the operation is called: programs catch it there.
    within: the same in other words: `code` is 0 just where all of it holds.
    """
    if _tracing.lists:
        _tracing.lists[-1].append((code, make, within))


def first(bad: Any, values: Any) -> tuple[Any, Any]:
    """Is any of `bad` true, and the first of `values` where it is, in the order of their memory."""
    bad = bad.reshape(-1)
    place = jnp.min(jnp.where(bad, up_to(bad.shape[0]), 2**62))
    found = place < 2**62
    return found, values.reshape(-1)[jnp.where(found, place, 0)]


def guards(flags: list[tuple[Any, Any, Any]], names: list[str]) -> list[Any] | None:
    """What must hold of a kernel's inputs, whose names these are, so that none of its flags is raised: pairs of position and
    condition; None where that is not known."""
    if not all([within and all([one.name in names for one in within]) for _, _, within in flags]):  # noqa: C419
        return None
    return [(names.index(one.name) + getattr(one, "place", 0), one) for _, _, within in flags for one in within]


PENDING, UNKNOWN, FINE, BAD = range(4)
"""What the host can say of a kernel's flags: nothing before its operands have been computed, nothing, all are 0, one is not."""


def seen(kernel: Kernel, values: list[Value]) -> int:
    """What the host can say of a kernel's flags."""
    if kernel.guards is None:
        if getattr(kernel.checks[0], "at_once", False):
            return UNKNOWN  # it is waited for at the call anyway
        flags = _on_host(kernel)
        if flags is None:
            return UNKNOWN
        for position in flags.needed:
            if known_values.host_content(values[position]) is None:
                return PENDING if values[position].program is not None else UNKNOWN
        return BAD if first_raised(kernel, values) is not None else FINE
    for position, within in kernel.guards:
        v = values[position]
        fine = getattr(v, "fine", None)
        if fine is not within and fine != within:
            among = known_values.value_range(v)
            if among is not None and type(within) is Within and within.low <= among.start and among.stop <= within.high:
                v.fine = within
                continue
            array = known_values.content(v)
            if array is None:
                return PENDING if v.program is not None else UNKNOWN
            if array.size > ASIDE_ELEMENTS:
                return UNKNOWN
            if not within.holds(array):
                flags = _on_host(kernel)  # which of several is raised first is for all of them to say
                known = flags is not None and all([known_values.content(values[k]) is not None for k in flags.needed])  # noqa: C419
                return BAD if known else UNKNOWN
            v.fine = within
    return FINE


def first_raised(kernel: Kernel, values: list[Value]) -> tuple[Callable[[int], Exception], int] | None:
    """The first flag that is not 0 for these operands, which are on the host: who makes its exception, and its number."""
    flags = _on_host(kernel)
    assert flags is not None
    arrays = [known_values.content(v) if k in flags.needed else None for k, v in enumerate(values)]
    codes = known_values.computed(flags.program, arrays)
    for make, code in zip(kernel.checks, codes, strict=True):
        if code:
            return make, int(code)
    return None


class _OnHost(NamedTuple):
    """The flags of a kernel alone, for NumPy, and the positions of the inputs that they need."""

    program: NumpyProgram
    needed: frozenset[int]


_flags: dict[Kernel, _OnHost | None] = {}


def _on_host(kernel: Kernel) -> _OnHost | None:
    """A kernel's flags alone; None where NumPy has not all of them, or takes long. Guarded ones may: errors alone ask for them."""
    if kernel not in _flags:
        closed = kernel.closed_jaxpr()
        only = tracing.with_results(closed, closed.jaxpr.outvars[len(closed.jaxpr.outvars) - len(kernel.checks) :])
        _, used = partial_eval.dce_jaxpr(only.jaxpr, [True] * len(only.jaxpr.outvars))
        try:
            made = _OnHost(NumpyProgram(only), frozenset([k for k, is_used in enumerate(used) if is_used]))
        except NoRule:
            made = None
        if made is not None and kernel.guards is None and not made.program.cost <= HOST_PROGRAM:
            made = None
        _flags[kernel] = made
    return _flags[kernel]
