"""Kernels of chains of views, which templates fill in for new sizes as they do for operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..compile.kernel import Kernel
from ..define.bodies import flat_types
from ..run import templates
from ..types.value import Aval


class _Static(NamedTuple):
    kind: str = "static"


class _Chain(NamedTuple):
    """What chains have in common that differ in sizes and whole numbers alone; templates take it for an operation.

    steps: for each step its operation, and how many numbers it has; besides: what else the kernel depends on.
    """

    name: str
    steps: tuple[tuple[Any, int], ...]
    n_operands: int
    besides: Any

    @property
    def statics(self) -> list[_Static]:
        return [_Static()] * len(self.steps)


class _Body:
    """The function of a chain's kernel, as templates have the bodies of operations: see `bodies.Body`."""

    def __init__(self, fn: Callable[..., tuple[Any, ...]], flat: Any) -> None:
        self.fn, self.flat = fn, flat
        self.kind: Any = None
        self.makers: list[Any] = []
        self.raised: list[Any] = []


def chain_kernel(
    name: str,
    of: Callable[[Any, Any], Callable[..., tuple[Any, ...]]],
    steps: Any,
    avals: tuple[Aval, ...],
    besides: Any = None,
) -> Kernel:
    """A kernel for operands of these types. of(steps, types): its function, which may depend on nothing but these and `besides`.

    steps: (operation, static arguments, how many numbers) each.
    """
    slot, n = avals[0].slot, len(avals)
    chain = _Chain(name, tuple([(op, count) for op, _, count in steps]), n, besides)
    key = (*avals, *[static for _, static, _ in steps])

    def body(key: Any) -> _Body:
        flat = flat_types(key[:n])
        given = zip(chain.steps, key[n:], strict=True)
        return _Body(of(tuple([(op, static, count) for (op, count), static in given]), flat), flat)

    met = templates.met(chain, key, False)
    mine = _Body(of(steps, avals), avals)
    if met is not None and met.template is not None:
        return met.template.kernel(name, mine, avals, slot, met.v)
    kernel = Kernel(name, mine.fn, avals, slot)
    if met is not None:
        met.learn(kernel, body)
    return kernel
