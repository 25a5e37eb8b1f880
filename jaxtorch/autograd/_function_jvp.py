"""`autograd.Function` on tensors with tangents (`forward_ad`, `torch.func.jvp`)."""

from __future__ import annotations

import functools
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.transforms import forward_mode
from .._tensor.sparse_gradients import carrier


def moving(args: tuple[Any, ...]) -> forward_mode.Level | None:
    """The innermost level at which an argument moves."""
    return forward_mode.moving([carrier(a)._read() for a in args if isinstance(a, Tensor)])


def apply(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], at: forward_mode.Level, recorded: Any) -> Any:
    """Run a Function on tensors with tangents at a level: the user's `jvp` gives the tangents of the outputs. Further out the
    Function is one again."""
    if at.outer is not None and cls._has_setup_context():
        with forward_mode.beneath(at):
            if moving(args) is not None:
                recorded = functools.partial(recorded, output=cls._applied(args, kwargs))
    ctx = cls._node_class()
    tangents = [forward_mode.tangent_of(a._read(), at) if isinstance(a, Tensor) else None for a in args]
    inputs = {id(a): a._version for a in args if isinstance(a, Tensor)}
    marks: list[set[int]] = []
    with forward_mode.beneath(at):
        output = recorded(cls, args, kwargs, ctx, marks=marks)
        dirty, fixed = marks
        if ctx.materialize_grads:
            for i, a in enumerate(args):
                if tangents[i] is None and isinstance(a, Tensor) and (a.is_floating_point() or a.is_complex()):
                    tangents[i] = a.new_zeros(a.shape)
        ctx._for_jvp = tuple(ctx._to_save_forward)
        try:
            results = cls.jvp(ctx, *tangents)
        finally:
            ctx._for_jvp = None
        outputs = list(output) if isinstance(output, tuple) else [output]
        results = results if isinstance(results, tuple) else (results,)
        if len(results) != len(outputs):
            raise RuntimeError(
                f"{cls.__name__}: jvp returned {len(results)} tangents, but forward returned {len(outputs)} outputs"
            )
        own = {id(a): t for a, t in zip(args, tangents, strict=True) if t is not None}
        for k, (o, t) in enumerate(zip(outputs, results, strict=True)):
            if not isinstance(o, Tensor):
                continue
            if t is not None and (k in fixed or not (o.is_floating_point() or o.is_complex())):
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {k}, but  the corresponding forward output is not a "
                    "differentiable Tensor.You should return None at that position instead."
                )
            if id(o) in dirty and own.get(id(o)) is not t:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying "
                    "an input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
            if inputs.get(id(o), o._version) != o._version and (id(o) not in dirty or (o._alias and o._alias.chain)):
                raise NotImplementedError(f"jaxtorch: {cls.__name__} writes to a dual tensor; return a new one")
            memory = [
                g._alias.storage
                for a, g in zip(args, tangents, strict=True)
                if _share(a, o) and g is not None and g._alias
            ]
            outputs[k] = _give_tangent(o, t, at, id(o) in inputs and id(o) not in dirty, cls.__name__, memory)
    return tuple(outputs) if isinstance(output, tuple) else outputs[0]


def _share(a: Any, o: Tensor) -> bool:
    """Is an argument known to share its memory with a result?"""
    return (
        isinstance(a, Tensor) and a._alias is not None and o._alias is not None and a._alias.storage is o._alias.storage
    )


def _give_tangent(
    o: Tensor, tangent: Any, at: forward_mode.Level, is_input: bool, name: str, memory: list[Any]
) -> Tensor:
    """A result of `forward` with its tangent; one that is a view is a copy then, since tangents belong to memory of their own.

    memory: the storages of the tangents of what the result is a view of; its own tangent must be a view of one.
    """
    if is_input and forward_mode.tangent_of(o._read(), at) is not None:
        o = o.view_as(o)  # an input handed back
    if tangent is None:
        return o
    if not isinstance(tangent, Tensor) or tangent.shape != o.shape:
        raise RuntimeError(f"{name}: jvp must return tensors of the outputs' shapes, or None, but returned {tangent!r}")
    is_view = o._alias is not None and o._alias.base is not None
    if is_view and not (tangent._alias and tangent._alias.base is not None):
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if is_view and not any(tangent._alias is not None and tangent._alias.storage is s for s in memory):
        raise RuntimeError(
            "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
        )
    if o._alias is not None and o._alias.chain:
        own = o.detach().clone()
        own._node, own._index, own._rg = o._node, o._index, o._rg
        o = own
    forward_mode.set_tangent(o._read(), tangent, at)
    return o
