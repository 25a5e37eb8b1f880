"""The first runs of a small kernel, on NumPy: XLA would take longer to compile it than they take.

A kernel that runs by itself, for a shape that was not met before, costs some 30 ms of compilation, whatever its size. Where a
program's shapes keep changing (episodes, sentences, last batches) that is most of the time. So on the CPU a small kernel is
computed by NumPy until it has run `RUNS` times, if both give the same bits: it moves numbers, compares them, calculates with
integers, or with floating-point numbers one by one. Sums, products of matrices, `exp` and the like are left to XLA, so that
a result does not change when it is computed again.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from jax.extend import core as jex_core

RUNS = int(os.environ.get("JAXTORCH_COLD_RUNS", "32"))
ELEMENTS = 1 << 14  # of all operands and results together
INDICES = 512  # of a gather or scatter, which goes index by index

_TYPES = frozenset(map(np.dtype, ("float32", "float64", "int64", "int32", "bool")))
_CALLS = ("jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call")
_EXACT = frozenset(
    """neg max min abs sign eq ne lt le gt ge and or xor not is_finite stop_gradient copy copy_p clamp select_n broadcast_in_dim
    reshape squeeze transpose rev slice concatenate pad iota split reduce_max reduce_min reduce_and reduce_or argmax argmin
    dynamic_slice dynamic_update_slice""".split()
)
_PRODUCTS, _SUMS, _UNLIKE = 1, 2, 4  # products and sums together may be contracted by XLA, which then rounds once
_FLOATING = {
    "div": 0,
    "sqrt": 0,
    "rem": 0,
    "mul": _PRODUCTS,
    "square": _PRODUCTS,
    "add": _SUMS,
    "add_any": _SUMS,
    "sub": _SUMS,
}
_OF_INTEGERS = frozenset(("add", "add_any", "sub", "mul", "square", "reduce_sum", "reduce_prod", "cumsum"))


def _arithmetic(eqn: Any) -> int:
    """What an equation calculates with floating-point numbers; `_UNLIKE` where NumPy may not give XLA's bits."""
    name = eqn.primitive.name
    if name in _CALLS:
        return _all(_inner(eqn).jaxpr)
    types = [v.aval.dtype for v in (*eqn.invars, *eqn.outvars)]
    if not _TYPES.issuperset(types):
        return _UNLIKE
    if name in _EXACT:
        return 0
    floating = types[0].kind == "f"
    if name == "convert_element_type":
        return _UNLIKE if floating and types[1].kind != "f" else 0
    if name in ("gather", "scatter", "scatter-add"):
        few = math.prod(eqn.invars[1].aval.shape) <= INDICES
        return (_SUMS if name == "scatter-add" else 0) if few else _UNLIKE
    if not floating:
        return 0 if name in _OF_INTEGERS else _UNLIKE
    if name == "mul" and any(isinstance(v, jex_core.Literal) and abs(v.val) == 1 for v in eqn.invars):  # pyright: ignore[reportAttributeAccessIssue]
        return 0
    return _FLOATING.get(name, _UNLIKE)


def _all(jaxpr: Any) -> int:
    found = 0
    for eqn in jaxpr.eqns:
        found |= _arithmetic(eqn)
    return found


def _inner(eqn: Any) -> Any:
    return eqn.params.get("jaxpr") or eqn.params["call_jaxpr"]


def suits(closed: Any) -> bool:
    """Is this traced kernel one for NumPy?"""
    jaxpr = closed.jaxpr
    if sum(math.prod(v.aval.shape) for v in (*jaxpr.invars, *jaxpr.outvars)) > ELEMENTS:
        return False
    return _all(jaxpr) in (0, _PRODUCTS, _SUMS)


def outputs(kernel: Any, arguments: list[Any]) -> list[Any] | None:
    """The outputs of a kernel as NumPy arrays of their own, or None where XLA has to run it."""
    runs = kernel.cold_runs
    if runs == 0 and not suits(kernel.traced):
        runs = RUNS
    if runs >= RUNS:
        kernel.cold_runs = -1
        kernel.traced = None
        return None
    kernel.cold_runs = runs + 1
    from .hostrun import compute

    closed = kernel.traced
    outs = compute(closed, [np.asarray(a) for a in arguments], kernel.name)
    return [np.array(o, v.aval.dtype) for o, v in zip(outs, closed.jaxpr.outvars, strict=True)]
