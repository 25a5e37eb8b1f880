"""What a view operation states of itself, and the writing of parts into wholes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer


@dataclass(frozen=True)
class ViewRule:
    """How a view operation acts on strides, and how its result is written back.

    layout(size, stride, offset, **arguments) -> (size, stride, offset).
    write(whole, part, **arguments) -> the new whole; None derives it from the numbers of the elements in the view:
    places(size, **arguments), by default as `layout` has them.
    several: the operation returns several views; `step(aval, j, **arguments)` gives the single view (op, static, numbers)
    that equals output j.
    """

    layout: Callable[..., Any]
    write: Callable[..., Any] | None = None
    several: Callable[..., Any] | None = None
    places: Callable[..., Any] | None = None


def set_at(x: Any, value: Any, at: Any) -> Any:
    """`x` with `value` at an index; where places repeat, each gets its part of the gradient, as in PyTorch."""
    parts = at if isinstance(at, tuple) else (at,)
    traced = [p for p in parts if _is_traced(p)]  # arguments: a rule that closed over them would outlive their trace

    def index(given: Any) -> Any:
        left = iter(given)
        return tuple([next(left) if _is_traced(p) else p for p in parts])

    @jax.custom_jvp
    def put(x: Any, value: Any, *traced: Any) -> Any:
        return x.at[index(traced)].set(value, mode="promise_in_bounds")

    @put.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        # Called unique, so that JAX transposes it: to zeros at the places for x, and to a gather for the value.
        places = index(primals[2:])
        moved = tangents[0].at[places].set(tangents[1], mode="promise_in_bounds", unique_indices=True)
        return put(*primals), moved

    return put(x, value, *traced)


def _is_traced(part: Any) -> bool:
    return isinstance(part, Tracer) and jnp.issubdtype(part.dtype, jnp.integer)


def expand_write(whole: Any, part: Any, size_: Any) -> Any:
    """Of the elements in one place, one that has changed: only fills get here, which write the same to each."""
    lead = part.ndim - whole.ndim
    repeated = [d for d in range(part.ndim) if d < lead or whole.shape[d - lead] != part.shape[d]]
    if not repeated or not part.size:
        return part.reshape(whole.shape) if part.size else whole
    kept = [d for d in range(part.ndim) if d not in repeated]
    flat = part.transpose(kept + repeated).reshape(-1, int(np.prod([part.shape[d] for d in repeated])))
    old = whole.reshape(-1, 1)
    changed = (flat != old) & ~((flat != flat) & (old != old))
    pick = jnp.argmax(changed, axis=1, keepdims=True)
    return jnp.take_along_axis(flat, pick, axis=1).reshape(whole.shape)


@jax.custom_jvp
def _write_constant(whole: Any, part: Any) -> Any:
    """`part` in place of `whole`, whose derivative stays: what is written to `detach()` and `.data`."""
    return part


@_write_constant.defjvp
def _write_constant_rule(primals: Any, tangents: Any) -> Any:
    return primals[1], tangents[0]


class _Constant:
    """The step of a chain that cuts derivatives: what `detach()` is to a tracer, and to a dual tensor."""

    name = "constant"
    view = ViewRule(lambda size, stride, offset: (size, stride, offset), _write_constant)
    statics: tuple[Any, ...] = ()
    operands: tuple[Any, ...] = ()
    fn = staticmethod(jax.lax.stop_gradient)


constant = _Constant()
