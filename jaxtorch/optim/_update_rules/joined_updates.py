"""Update rules as instructions, and updates of small parameters on the CPU as one: their arrays joined to a vector for each kind.

XLA compiles a loop for every array, some 5 ms each, and calls it at every step. Parameters and states that are small travel in a
pack (`_core/run/state_packing.py`), where they lie as they are joined here, so that XLA computes the pack's new content in one loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from ..._core.compile.kernel import Kernel
from ..._core.run import capture
from ..._core.run.state_packing import Layout
from ..._core.tuning import PACK_ELEMENTS, PACK_RESULTS
from ..._core.types.value import Value

_Rule = TypeVar("_Rule", bound=Callable[..., Any])
_by_elements: set[Any] = set()


def by_elements(rule: _Rule) -> _Rule:
    """Declare an update rule each of whose elements depends on those at its own place alone."""
    _by_elements.add(rule)
    return rule


def joined(rule: Callable[..., Any], kinds: Sequence[Sequence[Value]]) -> Callable[..., Any]:
    """The rule for parameters, gradients and states (`kinds`, see `optimizer.update`), on joined arrays where that pays."""
    params = kinds[0]
    avals = [[v.aval for v in kind] for kind in kinds]
    kept = [a for kind in (avals[0], *avals[2:]) for a in kind]
    fits = (
        rule in _by_elements
        and len(params) > 1
        and len(kept) >= PACK_RESULTS
        and all(a.slot.name == "cpu" and not a.dtype.is_complex for a in kept)
        and sum(a.numel for a in kept) <= PACK_ELEMENTS
        and all(len({a.dtype for a in kind}) == 1 for kind in avals)
        and all([a.shape for a in kind] == [a.shape for a in avals[0]] for kind in avals)
    )
    if not fits:
        return rule
    layout = Layout(avals[0])

    def on_vectors(params: Any, grads: Any, states: Any, numbers: Any, *static: Any) -> tuple[Any, Any]:
        made, kinds = rule(*_vectors(params, grads), [*_vectors(*states)], numbers, *static)
        return layout.split(made[0]), [layout.split(kind[0]) for kind in kinds]

    def _vectors(*kinds: Any) -> list[list[Any]]:
        return [[layout.join(kind)] for kind in kinds]

    return on_vectors


def make_kernel(
    name: str, rule: Any, static: Any, n: int, n_states: int, names: tuple[str, ...], values: list[Value]
) -> Kernel:
    """A rule as one instruction: n parameters, their gradients and states, and numbers by these names; see `optimizer.update`."""

    def run(*arrays: Any) -> tuple[Any, ...]:
        params, grads = list(arrays[:n]), list(arrays[n : 2 * n])
        states = [list(arrays[n * (2 + k) : n * (3 + k)]) for k in range(n_states)]
        numbers = dict(zip(names, arrays[n * (2 + n_states) :], strict=True))
        real = [[_as_real(a) for a in kind] for kind in (params, grads, *states)]
        new_params, new_states = rule(real[0], real[1], real[2:], numbers, *static)
        outs = []
        for new, old in zip((new_params, *new_states), (params, *states), strict=True):
            outs += [_as_before(a, b) for a, b in zip(new, old, strict=True)]
        return tuple(outs)

    with capture.unobserved():
        return Kernel(name, run, tuple([v.aval for v in values]), values[0].aval.slot)


def _as_real(x: Any) -> Any:
    return jnp.stack([x.real, x.imag], -1) if jnp.iscomplexobj(x) else x


def _as_before(new: Any, old: Any) -> Any:
    if jnp.iscomplexobj(old):
        new = jax.lax.complex(new[..., 0], new[..., 1])
    return new.astype(old.dtype)
