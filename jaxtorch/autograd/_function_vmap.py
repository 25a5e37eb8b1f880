"""Rules of the user's own for `torch.func.vmap`: the `vmap` of an `autograd.Function`, and what `library.register_vmap` registers.

The rule works outside of the mapping: it gets the tensors of all examples, and where the dimension of the examples is in each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
from jax._src import core as _core
from jax._src.interpreters.batching import BatchTracer

from .._core.random import jax_draws
from .._core.run.runner import is_tracer
from .._core.tensor.sparse_value import is_sparse
from .._core.tensor.tensor import Tensor
from .._core.transforms import vmap
from .._core.types.grad_mode import UNKNOWN, restart_untaped, state
from .._core.types.value import Mapped, Value
from .._tensor.interop import from_jax, to_jax


class VmapInfo(NamedTuple):
    """What a rule is told of the mapping: the number of examples, and `randomness` as it was given to `vmap`."""

    batch_size: int
    randomness: str


_MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


def check(cls: Any) -> None:
    """RuntimeError for a Function without a rule, or with two."""
    if cls.generate_vmap_rule and cls._overrides_vmap():
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity. "
            + _MORE
        )
    if not cls.generate_vmap_rule and not cls._overrides_vmap():
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            f"staticmethod or set generate_vmap_rule=True. {_MORE}"
        )


def owner(args: Any) -> Any:
    """The innermost trace that one of the arguments belongs to."""
    arrays = [a._read().array for a in jax.tree.leaves(args, is_leaf=_is_tensor) if isinstance(a, Tensor)]
    if Mapped in [type(a) for a in arrays]:
        restart_untaped(UNKNOWN)
    traces = [a._trace for a in arrays if is_tracer(a)]
    trace = _core.trace_ctx.trace
    while not any(t is trace or getattr(t, "tag", t) is getattr(trace, "tag", trace) for t in traces):
        outer = getattr(trace, "parent_trace", None)
        if outer is None:
            return _core.trace_ctx.trace
        trace = outer
    return trace


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _pytree() -> Any:
    """`torch.utils._pytree`."""
    from ..utils import _pytree  # loaded with the first rule: importing the package goes without it

    return _pytree


def run(rule: Any, name: str, args: Any, kwargs: dict[str, Any], over: jax_draws.Mapped, trace: Any) -> Any:
    """What a rule makes of arguments that `over`, whose trace is given, maps over."""
    trees = _pytree()
    leaves, spec = trees.tree_flatten(args)
    whole: list[Any] = []
    dims: list[int | None] = []
    for x in leaves:
        d = None
        if isinstance(x, Tensor):
            held = to_jax(x)
            array, d = trace.to_batch_info(held)
            if array is not held:
                x = from_jax(array)
        whole.append(x)
        dims.append(d)
    before = [x._read() if d is not None else None for x, d in zip(whole, dims, strict=True)]
    with _core.set_current_trace(trace.parent_trace), jax_draws.outside(over):
        found = rule(
            VmapInfo(over.size, over.randomness),
            trees.tree_unflatten(dims, spec),
            *trees.tree_unflatten(whole, spec),
            **kwargs,
        )
        outs, out_spec, places = _checked(found)
        arrays = [_with_dim(o, d, over.size, name) for o, d in zip(outs, places, strict=True)]
    known = {id(x): i for i, x in enumerate(whole) if dims[i] is not None}
    made = []
    for o, found_array in zip(outs, arrays, strict=True):
        if found_array is None:
            made.append(o)
            continue
        out = from_jax(BatchTracer(trace, *found_array))
        i = known.get(id(o))
        if i is not None:  # an argument handed back, which the rule may have written to
            if o._read() is not before[i]:
                leaves[i]._write(Value(out._value.aval, out._value.array))
            out = leaves[i]
        made.append(out)
    return trees.tree_unflatten(made, out_spec)


def _checked(found: Any) -> tuple[list[Any], Any, list[Any]]:
    """What a rule has given: the outputs, their structure, and the dimension of the examples in each."""
    trees = _pytree()
    if not isinstance(found, tuple) or len(found) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible "
            f"with the output. Got {f'{len(found)} returns' if isinstance(found, tuple) else f'a {type(found)}'} instead"
        )
    outs, out_spec = trees.tree_flatten(found[0])
    places = trees._broadcast_to_and_flatten(found[1], out_spec)
    if places is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={found[1]} to be compatible with the structure of `output`. output has structure {out_spec} but "
            f"out_dims has structure {trees.tree_flatten(found[1])[1]}. {_MORE}"
        )
    return outs, out_spec, places


def level_of(args: Any) -> Any:
    """The innermost level of the engine's own `vmap` that maps over one of the arguments, or None."""
    found = None
    for a in args:
        if isinstance(a, Tensor):
            array = None if is_sparse(a) else a._read().array
            level = array.level if type(array) is Mapped else None
        elif type(a) in (list, tuple, dict):
            level = level_of(a.values() if type(a) is dict else a)
        else:
            continue
        if level is not None and (found is None or level.number > found.number):
            found = level
    return found


def apply(cls: Any, args: Any, kwargs: dict[str, Any], level: Any) -> Any:
    """What the user's rule makes of arguments that a level of the engine's own maps over."""
    trees = _pytree()
    leaves, spec = trees.tree_flatten(args)
    over = [isinstance(x, Tensor) and not is_sparse(x) and vmap.is_mapped_at(level, x._read()) for x in leaves]
    whole = [vmap.remove_batch_dim(level, x) if m else x for x, m in zip(leaves, over, strict=True)]
    before = [x._read() if m else None for x, m in zip(whole, over, strict=True)]
    dims = [0 if m else None for m in over]
    working, info = state.working, VmapInfo(level.size, level.randomness)
    state.working = [w for w in working if w is not level]
    try:
        with jax_draws.outside(level):
            found = cls.vmap(info, trees.tree_unflatten(dims, spec), *trees.tree_unflatten(whole, spec), **kwargs)
        outs, out_spec, places = _checked(found)
        for o, d in zip(outs, places, strict=True):
            _check_dim(o, d, level.size, cls.__name__)
    finally:
        state.working = working
    known = {id(x): i for i, x in enumerate(whole) if over[i]}
    made = []
    for o, d in zip(outs, places, strict=True):
        i = known.get(id(o)) if d is not None else None
        if i is not None:  # an argument handed back, which the rule may have written to
            if o._read() is not before[i]:
                leaves[i]._write(vmap.add_batch_dim_to_value(level, o._read()))
            made.append(leaves[i])
        else:
            made.append(o if d is None else vmap.add_batch_dim(level, o.movedim(d, 0)))
    return trees.tree_unflatten(made, out_spec)


def _with_dim(o: Any, d: Any, size: int, name: str) -> tuple[Any, int] | None:
    """An output's array and the place of the examples in it; None for what is the same for all examples."""
    _check_dim(o, d, size, name)
    return None if d is None else (to_jax(o), d % o.ndim)


def _check_dim(o: Any, d: Any, size: int, name: str) -> None:
    if d is None:
        return
    if not isinstance(o, Tensor):
        raise RuntimeError(f"{name}: the vmap rule gave out_dim {d} for an output that is no Tensor but {type(o)}")
    if not -o.ndim <= d < o.ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-o.ndim}, {o.ndim - 1}], but got {d})")
    if o.shape[d] != size:
        raise RuntimeError(
            f"{name}: the vmap rule's output of shape {list(o.shape)} has {o.shape[d]} examples in dimension {d}, expected {size}"
        )
