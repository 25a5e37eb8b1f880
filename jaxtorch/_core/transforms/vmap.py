"""`torch.func.vmap` without tracing: values that stand for one example each of many.

While a function is mapped, what it works on are values whose array is a `Mapped`: a value with all examples along its first
dimension, at one `Level`. Every computation passes through `emit`; where it meets such values, the kernel is exchanged for the
same kernel over one more dimension (`jax.vmap` of it, made once), which is recorded like any other. So views, writes in place,
graphs and backward passes need no rules of their own, and a mapped function costs what recording it costs.

A gradient that leaves the mapped function for what it closes over, whose value is one for all examples, is their sum there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..compile.kernel import Kernel
from ..define.op import functions
from ..graph import nodes
from ..record import program as _program
from ..run import runner
from ..tensor.sparse_value import is_sparse
from ..tensor.tensor import Tensor, wrap
from ..tuning import CACHED
from ..types import dtypes
from ..types.device import cpu
from ..types.grad_mode import state
from ..types.value import Aval, Mapped, Value, aval_of
from . import forward_mode


class Level:
    """One `vmap` that is, or was, at work.

    number: those that were opened later are further in. start: nodes of the function have later numbers than this.
    open: does the function run now?
    """

    __slots__ = ("number", "size", "randomness", "start", "open")

    index: Any = None  # JAX's have the number of the example as a tracer

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness
        self.number = self.start = next(nodes.counter)
        self.open = False

    def one_of(self, numbers: Any) -> Value:
        """What stands for one of several draws, which lie along the first dimension."""
        if not isinstance(numbers, Value):
            numbers = Value(aval_of(numbers.shape, dtypes.from_numpy(numbers.dtype), cpu.slot), numbers)
        return add_batch_dim_to_value(self, numbers)


used: list[bool] = []
"""Not empty once there has been a level."""


def is_mapped(v: Value) -> bool:
    """Does the value stand for one example of many?"""
    return type(v.array) is Mapped


def is_mapped_at(level: Level, v: Value) -> bool:
    """Does it at this level?"""
    a = v.array
    while type(a) is Mapped:
        if a.level is level:
            return True
        a = a.value.array
    return False


# -- computing


_over: dict[Any, Kernel] = {}


def run(kernel: Kernel, values: list[Value]) -> list[Value]:
    """The outputs of a kernel for values of which some are mapped."""
    level = max([v.array.level for v in values if type(v.array) is Mapped], key=_number)
    along = tuple([type(v.array) is Mapped and v.array.level is level for v in values])
    key = (kernel, along, level.size)
    wide = _over.get(key)
    if wide is None:
        if len(_over) >= CACHED:
            _over.clear()
        wide = _over[key] = _widened(*key)
    outs = _program.emit(wide, [v.array.value if m else v for v, m in zip(values, along, strict=True)])
    return [Value(a, Mapped(level, o)) for a, o in zip(kernel.out_avals, outs, strict=False)]


def _number(level: Level) -> int:
    return level.number


def _with_size(aval: Aval, size: int) -> Aval:
    return aval_of((size, *aval.shape), aval.dtype, aval.slot)


def _widened(kernel: Kernel, along: tuple[bool, ...], size: int) -> Kernel:
    """The kernel for all examples at once: those of the inputs in question, and of all outputs, along the first dimension."""
    axes = tuple([0 if m else None for m in along])
    n, fn = len(kernel.out_avals) - len(kernel.checks), kernel.fn

    def wide(*arrays: Any) -> tuple[Any, ...]:
        outs = jax.vmap(fn, in_axes=axes, out_axes=0, axis_size=size)(*arrays)
        flags = [f[jnp.argmax(f != 0)] if size else jnp.zeros((), f.dtype) for f in outs[n:]]
        return (*outs[:n], *flags)

    avals = tuple([_with_size(a, size) if m else a for a, m in zip(kernel.in_avals, along, strict=True)])
    return Kernel(kernel.name, wide, avals, kernel.slot, list(kernel.checks))


_moves: dict[Any, Kernel] = {}


def _moved(name: str, fn: Callable[[Any], Any], v: Value, extra: Any = None) -> Value:
    key = (name, v.aval, extra)
    kernel = _moves.get(key)
    if kernel is None:
        if len(_moves) >= CACHED:
            _moves.clear()
        kernel = _moves[key] = Kernel(name, lambda x: (fn(x),), (v.aval,), v.aval.slot)
    return _program.emit(kernel, [v])[0]


def _swapped(v: Value) -> Value:
    return _moved("swapped", lambda x: jnp.swapaxes(x, 0, 1), v)


def _without_first(aval: Aval) -> Aval:
    return aval_of(aval.shape[1:], aval.dtype, aval.slot)


def add_batch_dim_to_value(level: Level, v: Value) -> Value:
    """One example of a value that has them along its first dimension. Later levels stay outermost."""
    a = v.array
    if type(a) is Mapped and a.level.number > level.number:
        return Value(_without_first(v.aval), Mapped(a.level, add_batch_dim_to_value(level, _swapped(a.value))))
    return Value(_without_first(v.aval), Mapped(level, v))


def remove_batch_dim_of_value(level: Level, v: Value) -> Value:
    """All examples along the first dimension, from the value of one; what is one for all is repeated."""
    a = v.array
    if type(a) is Mapped:
        if a.level is level:
            return a.value
        if a.level.number > level.number:
            return Value(
                _with_size(v.aval, level.size), Mapped(a.level, _swapped(remove_batch_dim_of_value(level, a.value)))
            )
    n = level.size
    return _moved("repeated", lambda x: jnp.broadcast_to(x, (n, *x.shape)), v, n)


# -- tensors, and their graph


class _Form:
    """What the backward pass asks of a node's form."""

    wanted = (0,)
    n_out = 1
    roots: tuple[Any, ...] = ()
    has_extra = False

    def __init__(self, source: Aval, result: Aval) -> None:
        self.name = "TransformBackward"
        self.in_avals, self.out_avals = (source,), (result,)


def end_of(t: Tensor) -> tuple[list[Any], tuple[int, ...] | None]:
    """Where the gradients of a tensor go, as a node wants it."""
    if t._node is None:
        return [t], None
    return [t._node], (t._index,) if t._index else None


class _Border(nodes.Node):
    """A node between a mapped function and what is around it."""

    __slots__ = ("level",)

    def __init__(self, level: Level, t: Tensor, v: Value) -> None:
        super().__init__(_Form(t._read().aval, v.aval), (), *end_of(t))
        self.level = level

    def release(self) -> None:
        pass


class AddedBatchDim(_Border):
    """The node of one example."""

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        """The gradients of all examples, from that of one."""
        return [None if grads[0] is None else mode.of_tensor(remove_batch_dim(self.level, mode.to_tensor(grads[0])))]


class RemovedBatchDim(_Border):
    """The node of all examples' results."""

    def run_values(self, mode: Any, grads: list[Any]) -> list[Any]:
        """The gradient of one, from those of all."""
        return [None if grads[0] is None else mode.of_tensor(add_batch_dim(self.level, mode.to_tensor(grads[0])))]


AddedBatchDim.__name__ = RemovedBatchDim.__name__ = "TransformBackward"


def _across(kind: Any, level: Level, t: Tensor, v: Value) -> Tensor:
    made = wrap(v)
    if t._rg and state.grad:
        made._node, made._rg = kind(level, t, v), True
    if forward_mode.level is not None:
        for at, tangent in forward_mode.tangents_of(t._read()):
            forward_mode.set_tangent(
                v, (add_batch_dim if kind is AddedBatchDim else remove_batch_dim)(level, tangent), at
            )
    return made


def add_batch_dim(level: Level, t: Tensor) -> Tensor:
    """One example of a tensor that has them along its first dimension."""
    v = t._read()
    with forward_mode.pausing():
        return _across(AddedBatchDim, level, t, add_batch_dim_to_value(level, v))


def remove_batch_dim(level: Level, t: Tensor) -> Tensor:
    """All examples of a tensor, along its first dimension."""
    v = t._read()
    with forward_mode.pausing():
        return _across(RemovedBatchDim, level, t, remove_batch_dim_of_value(level, v))


def summed(mode: Any, target: Any, g: Any) -> Any:
    """A gradient on its way along an edge: where it leaves a mapped function that has ended, the sum over all examples."""
    a, over = _array(g), None
    while type(a) is Mapped:
        level: Any = a.level
        if not level.open and (not isinstance(target, nodes.Node) or target.seq < level.start):
            over = level
            break
        a = a.value.array
    if over is None:
        return g
    return summed(mode, target, _sum(mode, over, g))


def arriving(mode: Any, buffers: dict[Any, list[Any]], target: Any, index: int, g: Any) -> Any:
    """A gradient where an edge has led it, such that it can be added to what has come there before."""
    g = summed(mode, target, g)
    slots = buffers.get(target) if isinstance(target, nodes.Node) else None
    if slots is not None and slots[index] is not None:
        slots[index], g = alike(mode, [slots[index], g])
    return g


def alike(mode: Any, grads: list[Any]) -> list[Any]:
    """Gradients of one value, or of one kernel's outputs. Where some come from a mapped function that has ended, and some do not, the
    values are the same for all examples: the others are summed over these, lest the rest be counted once for each."""
    over = [set(_ended(g)) for g in grads if g is not None]
    for level in set[Any]().union(*over) if len(over) > 1 else ():
        if not all(level in found for found in over):
            grads = [g if g is None or level not in _ended(g) else _sum(mode, level, g) for g in grads]
    return grads


def _ended(g: Any) -> list[Level]:
    a, found = _array(g), []
    while type(a) is Mapped:
        if not a.level.open:
            found.append(a.level)
        a = a.value.array
    return found


def _array(g: Any) -> Any:
    return g.array if type(g) is Value else g._read().array if isinstance(g, Tensor) and not is_sparse(g) else None


def _sum(mode: Any, level: Level, g: Any) -> Any:
    return mode.of_tensor(functions["sum"](remove_batch_dim(level, mode.to_tensor(g)), 0))


runner.run_mapped = run
