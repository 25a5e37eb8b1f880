"""Primitives of JAX's: functions of arrays that know another way to run on the CPU or on a GPU, or another derivative.

What a primitive means is a function written in JAX. From it follow its shapes, `jax.vmap`, derivatives of any order and how it runs
anywhere; on the CPU a second function may give the same by the kernels of `_core/native`, on a GPU by NVIDIA's libraries.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir

from ..._core import native
from ..._core.compile.tracing import EXPANDED, expanded


def primitive(
    name: str,
    fn: Callable[..., Any],
    on_cpu: Callable[..., Any] | None = None,
    several: bool = False,
    on_cuda: Callable[..., Any] | None = None,
) -> Any:
    """The primitive `name` that means `fn(*arrays, **params)`; `several`: its result is a list.

    `on_cpu` and `on_cuda` have the same arguments, and give None where `fn` should run after all.
    """
    made = jex_core.Primitive(name)
    made.multiple_results = several
    made.def_impl(fn)

    def abstract(*avals: Any, **params: Any) -> Any:
        outs = expanded(name, avals, params).out_avals
        found = [avals[0].update(shape=o.shape, dtype=o.dtype, weak_type=False) for o in outs]
        return found if several else found[0]

    made.def_abstract_eval(abstract)
    mlir.register_lowering(made, mlir.lower_fun(fn, multiple_results=several))
    EXPANDED[name] = fn
    for platform, own in (("cpu", on_cpu), ("cuda", on_cuda)):
        if own is not None:

            def run(*args: Any, own: Any = own, **params: Any) -> Any:
                out = own(*args, **params)
                return fn(*args, **params) if out is None else out

            mlir.register_lowering(made, mlir.lower_fun(run, multiple_results=several), platform=platform)

    def batched(args: Any, dims: Any, **params: Any) -> Any:
        out = jax.vmap(functools.partial(fn, **params), in_axes=tuple(dims))(*args)
        return (out, [0] * len(out)) if several else (out, 0)

    batching.primitive_batchers[made] = batched
    return made


def natively(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """For `on_cpu`: a kernel of `_core/native`, where it is there and takes these arrays."""
    return lambda *args, **params: kernel(*args, **params) if native.fits(*args) else None


def linear_in(made: Any, fn: Callable[..., Any], count: int, transposed: Callable[..., Any] | None = None) -> None:
    """Derivatives of a primitive that means `fn` and is linear in its first `count` arguments (0: of any function).

    `transposed(cotangents, *rest, **params)` gives those of the first arguments; without it they are derived from `fn`.
    """

    def tangent(primals: Any, tangents: Any, **params: Any) -> Any:
        def zero(t: Any) -> bool:
            return type(t) is ad.Zero

        if count and all(zero(t) for t in tangents[count:]):
            moved = [ad.instantiate_zeros(t) for t in tangents[:count]]
            return made.bind(*primals, **params), made.bind(*moved, *primals[count:], **params)
        moved = tuple(ad.instantiate_zeros(t) for t in tangents)
        return jax.jvp(functools.partial(fn, **params), tuple(primals), moved)

    def transpose(cotangents: Any, *args: Any, **params: Any) -> Any:
        rest = args[count:]
        shapes = [jax.ShapeDtypeStruct(a.aval.shape, a.aval.dtype) for a in args[:count]]
        several = made.multiple_results
        given = [ad.instantiate_zeros(ct) for ct in cotangents] if several else ad.instantiate_zeros(cotangents)
        if transposed is not None:
            found = transposed(given, *rest, **params)
        else:
            found = jax.linear_transpose(lambda *moved: fn(*moved, *rest, **params), *shapes)(given)
        return [*found, *[None] * len(rest)]

    ad.primitive_jvps[made] = tangent
    if count:
        ad.primitive_transposes[made] = transpose


def with_tangent(made: Any, tangent: Callable[..., Any]) -> None:
    """Give a primitive its tangent: `tangent(tangents, *primals, **params)`."""

    def both(primals: Any, tangents: Any, **params: Any) -> Any:
        moved = [ad.instantiate_zeros(t) for t in tangents]
        return made.bind(*primals, **params), tangent(moved, *primals, **params)

    ad.primitive_jvps[made] = both
