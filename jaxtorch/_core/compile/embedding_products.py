"""Rows of a table that go through a linear map on the CPU: where the table has fewer rows than are looked up, it is mapped instead.

A layer over an embedding of 256 bytes that is read at 1,024 places multiplies the same 256 rows four times over. Multiplying the
table and looking its products up is the same sum for each row. So is, for the gradients, adding up what belongs to the same row of
the table before it is multiplied. A program where that may happen is read once more before it is compiled: what `picked`
(`_ops/nn/embedding.py`) gives stays a table and an index while it is reshaped, transposed and mapped, and a recurrent layer reads its
inputs through the index; a product whose rows `added` sums up waits for that. Everything else gets the rows themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core

from .. import native
from ..tuning import TABLE_WIDTH
from .channels_last import INLINE, bound

_MAPS = frozenset(("linear", "times_transposed", "times"))
_MOVES = frozenset(("reshape", "transpose", "copy", "copy_p"))

READERS: dict[str, Callable[..., Any]] = {}
"""Primitives whose first operand may be a table and an index -> the functions `(table, index, *rest, **params)` for that."""


class RowUses:
    """Of a kernel: does it look rows up, multiply rows of something, and does it do no more than move them?"""

    __slots__ = ("looks_up", "multiplies", "only_moves")

    def __init__(self, jaxpr: Any) -> None:
        names = set(_names(jaxpr))
        self.looks_up = "picked" in names
        self.multiplies = not names.isdisjoint(_MAPS)
        self.only_moves = names <= _MOVES


def _names(jaxpr: Any) -> Iterable[str]:
    for eqn in jaxpr.eqns:
        if eqn.primitive.name in INLINE:
            yield from _names(eqn.params[INLINE[eqn.primitive.name]].jaxpr)
        else:
            yield eqn.primitive.name


def may_pay(steps: Any) -> bool:
    """Do rows that a kernel of these steps (kernel, input slots, first output slot) looks up come to a product as they are?"""
    rows: set[int] = set()
    for kernel, slots, first in steps:
        facts = kernel.row_uses
        if facts.looks_up and facts.multiplies:
            return True
        if facts.looks_up or not rows.isdisjoint(slots):
            if facts.multiplies:
                return True
            if facts.looks_up or facts.only_moves:
                rows.update(range(first, first + len(kernel.out_avals)))
    return False


class _Rows:
    """`table[index]`: an array (*index.shape, width) that nothing may ever need as such."""

    __slots__ = ("table", "index", "array")

    def __init__(self, table: Any, index: Any, array: Any = None) -> None:
        self.table = table
        self.index = index
        self.array = array


class _Product:
    """`g @ w`, which is bound by `make`, moved by `moves`: (name, parameters, shape before) of each."""

    __slots__ = ("g", "w", "make", "moves", "array")

    def __init__(self, g: Any, w: Any, make: Callable[[Any], Any], moves: tuple[Any, ...] = ()) -> None:
        self.g = g
        self.w = w
        self.make = make
        self.moves = moves
        self.array: Any = None


def with_mapped_tables(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function of arrays, with tables mapped in place of their rows; not to be differentiated."""

    def run(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(fn, return_shape=True)(*args)
        reading = _Reading()
        outs = [reading.straight(o) for o in reading.evaluate(closed.jaxpr, closed.consts, args)]
        return jax.tree.unflatten(jax.tree.structure(shape), outs)

    return run


class _Reading:
    """One reading of a program. What it makes of the same things it makes once."""

    def __init__(self) -> None:
        self._made: dict[Any, Any] = {}
        self._held: list[Any] = []  # so that no id is used twice
        self._before_barrier: dict[int, Any] = {}

    def once(self, name: str, make: Callable[[], Any], *of: Any, more: Any = None) -> Any:
        """`make()`, or what it gave before for these."""
        key = name, *map(id, of), more
        if key not in self._made:
            self._held.extend(of)
            self._made[key] = make()
        return self._made[key]

    def evaluate(self, jaxpr: Any, consts: Any, args: Any) -> list[Any]:
        env: dict[Any, Any] = {}

        def read(v: Any) -> Any:
            return v.val if isinstance(v, jex_core.Literal) else env[v]

        env.update(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            inputs = [read(v) for v in eqn.invars]
            name = eqn.primitive.name
            if name in INLINE:
                inner = eqn.params[INLINE[name]]
                outs = self.evaluate(inner.jaxpr, inner.consts, inputs)
            else:
                outs = self._followed(name, eqn, inputs)
                if outs is None:
                    outs = bound(eqn, [self.straight(x) for x in inputs], {})
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def straight(self, x: Any) -> Any:
        """The array that a value is."""
        if isinstance(x, _Rows):
            if x.array is None:
                flat = native.pick(x.table, x.index.reshape(-1))
                x.array = flat.reshape(*x.index.shape, x.table.shape[1])
            return x.array
        if isinstance(x, _Product):
            if x.array is None:
                x.array = self.once("product", lambda: x.make(x.g), x.g, x.w)
                for name, params, _ in x.moves:
                    x.array = _moved(name, params, x.array)
            return x.array
        return x

    def _followed(self, name: str, eqn: Any, inputs: list[Any]) -> Any:
        """The results of an equation that rows or products can go through as such, else None."""
        first = inputs[0] if inputs else None
        if name == "optimization_barrier" and len(inputs) == 1:
            if isinstance(first, (_Rows, _Product)):
                return [first]
            out = bound(eqn, inputs, {})[0]
            self._before_barrier[id(out)] = self._before_barrier.get(id(first), first)
            self._held.append(out)
            return [out]
        if name == "picked":
            return self._picked(eqn, *inputs)
        if name in _MOVES and isinstance(first, (_Rows, _Product)):
            return self._move(name, eqn, first)
        if name in _MAPS and isinstance(first, _Rows):
            rest = [self.straight(x) for x in inputs[1:]]
            return [_Rows(bound(eqn, [first.table, *rest], {})[0], first.index)]
        if name == "columns" and any(isinstance(x, _Rows) for x in inputs):
            return self._columns(eqn, *inputs)
        if name == "times" and not any(isinstance(x, (_Rows, _Product)) for x in inputs):
            g, w = inputs
            return [_Product(g, w, lambda rows: bound(eqn, [rows, w], {})[0])]
        if name == "added" and isinstance(first, _Product):
            return self._added(first, inputs[1], **eqn.params)
        if name in READERS and isinstance(first, _Rows) and first.index.ndim == 2:
            rest = [self.straight(x) for x in inputs[1:]]
            out = READERS[name](first.table, first.index, *rest, **eqn.params)
            if out is not None:
                return list(out) if eqn.primitive.multiple_results else [out]
        return None

    def _picked(self, eqn: Any, table: Any, index: Any) -> Any:
        table, index = self.straight(table), self.straight(index)
        without = eqn.params["zero"] and eqn.params["padding"] >= 0
        if without or not _pays(table, math.prod(index.shape)):
            return None
        within = self.once("within", lambda: _within(index, len(table)), index, more=len(table))
        return [_Rows(table, within)]

    def _move(self, name: str, eqn: Any, x: Any) -> Any:
        """Rows stay rows while the last dimension stays where it is."""
        before, after = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
        if name in ("copy", "copy_p"):
            return [x]
        if name == "transpose":
            order = eqn.params["permutation"]
            if order[-1] != len(order) - 1:
                return None
            of_rows: Any = tuple(order[:-1])
        else:
            if not before or not after or before[-1] != after[-1] or eqn.params["dimensions"] is not None:
                return None
            of_rows = tuple(after[:-1])
        if isinstance(x, _Rows):
            index = self.once(name, lambda: _moved(name, of_rows, x.index), x.index, more=of_rows)
            return [_Rows(x.table, index, None)]
        full = (*of_rows, len(of_rows)) if name == "transpose" else after
        return [_Product(x.g, x.w, x.make, (*x.moves, (name, full, tuple(before))))]

    def _sums(self, g: Any, index: Any, size: int) -> Any:
        """For each row of the table the sum of the rows of g that belong to it."""
        g = self._before_barrier.get(id(g), g)
        return self.once("sums", lambda: native.add_picked(g, index, size), g, index, more=size)

    def _columns(self, eqn: Any, a: Any, b: Any) -> Any:
        """`a.T @ b`, of which one has the rows of a table."""
        rows, other = (a, self.straight(b)) if isinstance(a, _Rows) else (b, self.straight(a))
        size = len(rows.table)
        sums = self._sums(other, rows.index, size)
        table = jnp.where(self._used(rows.index, size), rows.table, 0)  # 0 times infinity would not be 0
        return bound(eqn, [table, sums] if rows is a else [sums, table], {})

    def _used(self, index: Any, size: int) -> Any:
        """For each row of the table, whether it is looked up (size, 1)."""
        ones = jnp.ones((math.prod(index.shape), 1), jnp.float32)
        return self.once("used", lambda: native.add_picked(ones, index.reshape(-1), size) > 0, index, more=size)

    def _added(self, product: _Product, index: Any, size: int, padding: int) -> Any:
        """What `added` makes of `g @ w`: the sums of the rows of g, times w."""
        index = self.straight(index)
        if 2 * size > math.prod(index.shape) or product.w.shape[1] < TABLE_WIDTH or not _suits(product.g):
            return None
        within = self.once("within", lambda: _within(index, size), index, more=size)
        for name, params, before in reversed(product.moves):
            of_rows = tuple(before[:-1])
            if name == "transpose":
                of_rows = tuple([params.index(d) for d in range(len(params) - 1)])
            within = self.once(name, lambda i=within, n=name, r=of_rows: _moved(n, r, i), within, more=of_rows)
        used = self._used(within, size)
        if padding >= 0:
            used = used.at[padding].set(False)
        return [jnp.where(used, product.make(self._sums(product.g, within, size)), 0)]


def _within(index: Any, size: int) -> Any:
    return jnp.clip(index, 0, size - 1).astype(jnp.int32)


def _moved(name: str, params: Any, x: Any) -> Any:
    return x.transpose(params) if name == "transpose" else x.reshape(params)


def _suits(x: Any) -> bool:
    return x.ndim == 2 and x.dtype == jnp.float32


def _pays(table: Any, count: int) -> bool:
    """Is it worth while to map this table for so many rows of it?"""
    return _suits(table) and 2 * table.shape[0] <= count and table.shape[1] >= TABLE_WIDTH
