"""XLA's options for a program: which of its two sets of emitters makes the code on the CPU, that half precision is rounded, and
that what XLA's library of kernels cannot do is not given to it.

The newer ones, XLA's default, make a module of MLIR and one of LLVM for each kind of fused operation: about 1 MiB each, all held
until the program is compiled. The older ones write the whole program into one module, in half the time for each fused operation
and with a fraction of the memory, and their results and speed are the same; but fused operations that are alike are compiled
each for itself, and some operations become slow loops. So they make programs in which little is repeated, without such operations,
and which are not very large: there much is alike that no kernel tells of (an optimizer's updates of parameters of one shape).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src import core as _core

from ..tuning import OLDER_EMITTERS, REPEATED_KERNELS, YNN_DIMENSIONS
from .context import caching

OLDER = {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": 2}
"""LLVM's third level takes longer for them, and what it makes of pooling and batch normalisation runs half as fast."""
ROUNDED = {"xla_allow_excess_precision": False}
PRODUCTS_ONLY = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}

_LOOPS = frozenset("argmax argmin reduce cumsum cumprod cummax cummin cumlogsumexp".split())


def has_loops(jaxpr: Any) -> bool:
    """Does it contain what the older emitters make slow loops of?"""
    return any(
        eqn.primitive.name in _LOOPS
        or eqn.primitive.name.startswith("scatter")
        or any(map(has_loops, _core.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def calls_python(jaxpr: Any) -> bool:
    """Does it call a Python function each time it runs?"""
    return any(
        eqn.primitive.name == "pure_callback" or any(map(calls_python, _core.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def has_high_rank(jaxpr: Any) -> bool:
    """Is any array in it of so many dimensions that YNNPACK's sums may fail?"""
    return any(
        any(v.aval.ndim >= YNN_DIMENSIONS for v in (*eqn.invars, *eqn.outvars) if hasattr(v.aval, "ndim"))
        or any(map(has_high_rank, _core.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


_HALF_TYPES = frozenset(map(np.dtype, ("float16", jax.numpy.bfloat16)))


def has_half_precision(jaxpr: Any) -> bool:
    """Is any array in it of half precision?"""
    return any(getattr(v.aval, "dtype", None) in _HALF_TYPES for v in jaxpr.invars) or any(
        any(getattr(v.aval, "dtype", None) in _HALF_TYPES for v in eqn.outvars)
        or any(map(has_half_precision, _core.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


_MOVES = frozenset(
    """broadcast_in_dim concatenate convert_element_type copy copy_p dynamic_slice gather pad reshape rev select_n slice split squeeze
    transpose""".split()
)


def reduces(jaxpr: Any) -> bool:
    """Does it reduce dimensions?"""
    return any(
        eqn.primitive.name.startswith("reduce_") or any(map(reduces, _core.jaxprs_in_params(eqn.params)))
        for eqn in jaxpr.eqns
    )


def computes(jaxpr: Any) -> bool:
    """Does it do more than move and convert?"""
    return any(
        any(map(computes, inner))
        if (inner := list(_core.jaxprs_in_params(eqn.params)))
        else eqn.primitive.name not in _MOVES
        for eqn in jaxpr.eqns
    )


def rounded(kernel: Any, slots: Sequence[int], first: int, env: list[Any], computed: set[int]) -> list[Any]:
    """The operands of a kernel with half precision, at these places, which stands in a larger program; `computed`: the places of
    what its kernels computed before, to which this one's results are added.

    YNNPACK reduces what it multiplies and adds in the same loop, and leaves the rounding to bfloat16 in between out.
    """
    given = [env[s] for s in slots]
    if any(s in computed for s in slots) or kernel.facts().computes:
        computed.update(range(first, first + len(kernel.out_avals)))
    if not kernel.facts().reduces:
        return given
    return [
        jax.lax.reduce_precision(x, 8, 7) if s in computed and x.dtype == jax.numpy.bfloat16 else x
        for s, x in zip(slots, given, strict=True)
    ]


def count_equations(jaxpr: Any, seen: set[int] | None = None) -> tuple[int, int]:
    """How many equations it has, those of loops' bodies once: in all, and without those of functions that it calls again."""
    seen = set() if seen is None else seen
    total = once = 0
    for eqn in jaxpr.eqns:
        inner = 0
        for body in _core.jaxprs_in_params(eqn.params):
            of_body, its_once = count_equations(body, seen)
            inner += of_body
            once += 0 if id(body) in seen else its_once
            seen.add(id(body))
        total += max(1, inner)
        once += inner == 0
    return total, once


def chosen(kernels: Sequence[Any]) -> dict[str, Any] | None:
    """XLA's options for a program of these kernels; None for its defaults."""
    if not all(kernel.by_older_emitters for kernel in kernels):
        return None
    size = sum(kernel.n_equations for kernel in kernels)
    once = sum(kernel.n_distinct_equations for kernel in {*kernels})
    if size > OLDER_EMITTERS or once < (1 - REPEATED_KERNELS) * size:
        return None
    return OLDER if known(OLDER) else None


def with_rounding(options: dict[str, Any] | None, kernels: Sequence[Any]) -> dict[str, Any] | None:
    """These options for a program of these kernels, in which every operation on half precision rounds its results.

    By default XLA leaves out roundings between fused operations. As PyTorch rounds, so would the results differ, and a number
    that is computed in two places could differ from itself: no element equals the maximum, and its gradient is lost.
    """
    if any(kernel.has_half_precision for kernel in kernels) and known(ROUNDED):
        return {**(options or {}), **ROUNDED}
    return options


def needed(options: dict[str, Any] | None, kernels: Sequence[Any]) -> dict[str, Any] | None:
    """These options for a program of these kernels, with those without which it would fail or round otherwise."""
    options = with_rounding(options, kernels)
    if any(kernel.has_high_rank for kernel in kernels) and known(PRODUCTS_ONLY):
        return {**(options or {}), **PRODUCTS_ONLY}
    return options


def of_these_known(options: dict[str, Any]) -> dict[str, Any]:
    """Those of these options that this version of XLA knows: newer ones have some no more."""
    return {name: value for name, value in options.items() if known({name: value})}


def known(options: dict[str, Any]) -> bool:
    """Does this version of XLA know these options?"""
    return _known(tuple(options.items()))


@functools.cache
def _known(options: tuple[tuple[str, Any], ...]) -> bool:
    identity = jax.jit(lambda x: x, compiler_options=dict(options))
    cpu = jax.local_devices(backend="cpu")[0]
    try:
        with jax.core.eval_context(), caching(), jax.default_device(cpu):  # pyright: ignore[reportAttributeAccessIssue]
            identity.lower(np.float32(0)).compile()
    except (jax.errors.JaxRuntimeError, ValueError, TypeError):
        return False
    return True
