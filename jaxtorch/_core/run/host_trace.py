"""JAX's primitives on NumPy, where a transformed function computes with known arrays.

Inside JAX's transformations operations run at once, and JAX compiles each primitive by itself, for each shape: some 40 ms of XLA
for what NumPy computes in 10 us. So a function of `torch.func` that runs on the CPU meets, beneath its own transformations, a trace
which does as JAX's does but asks NumPy first, for as long as XLA would compile (host/tiering.py).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax._src import core as _core
from jax._src.array import ArrayImpl

from ..host import tiering
from ..host.transfer import on_cpu
from ..tuning import CACHED
from ..types.device import default_device
from .traced_kernels import kernel_p, trace


class _Kind:
    """A primitive with its parameters for operands of some types: what tiering knows of a kernel."""

    def __init__(self, primitive: Any, params: dict[str, Any], types: tuple[Any, ...]) -> None:
        self.name = primitive.name
        self.cost: float | None = None
        self.numpy_program: Any = None
        self.host_run_limit: int | None = None
        self.host_runs = 0
        self.several = primitive.multiple_results
        structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type) for a in types]
        bound = functools.partial(primitive.bind, **params)
        self.host_jaxpr = params["closed"] if primitive is kernel_p else trace(bound, structs)
        self.weak = [a.weak_type for a in self.host_jaxpr.out_avals]


@functools.lru_cache(maxsize=CACHED)
def _kind(primitive: Any, params: tuple[Any, ...], types: tuple[Any, ...]) -> _Kind:
    return _Kind(primitive, dict(params), types)


@functools.lru_cache(maxsize=64)
def _is_at(sharding: Any, device: Any) -> bool:
    return sharding.device_set == {device}


def _type(x: Any, device: Any) -> Any:
    """The type of an operand; None where NumPy cannot take it."""
    if isinstance(x, ArrayImpl) and not _is_at(x.sharding, device):
        return None
    aval = _core.typeof(x)
    return aval if isinstance(aval, _core.ShapedArray) else None


class _Trace(_core.EvalTrace):
    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        found = _computed(primitive, args, params)
        return super().process_primitive(primitive, args, params) if found is None else found

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **rest: Any) -> Any:
        with _core.set_current_trace(self):
            return super().process_custom_jvp_call(primitive, fun, jvp, tracers, **rest)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **rest: Any
    ) -> Any:
        with _core.set_current_trace(self):
            return super().process_custom_vjp_call(primitive, fun, fwd, bwd, tracers, **rest)


_trace = _Trace()


def _computed(primitive: Any, args: Any, params: dict[str, Any]) -> Any:
    """What NumPy makes of a primitive; None where XLA is to run it."""
    device = default_device().slot.jax
    types = tuple([_type(a, device) for a in args])
    if None in types:
        return None
    try:
        kind = _kind(primitive, tuple(params.items()), types)
    except TypeError:  # a parameter that has no hash
        return None
    with np.errstate(all="ignore"):
        outs = tiering.outputs(kind, list(map(np.asarray, args)), False)
    if outs is None:
        return None
    arrays = [on_cpu(o, device, weak) for o, weak in zip(outs, kind.weak, strict=True)]
    return arrays if kind.several else arrays[0]


def _only_cpu() -> bool:
    return jax.default_backend() == "cpu" and default_device().type == "cpu"


@contextlib.contextmanager
def beneath() -> Iterator[None]:
    """Context of a function to be transformed. Nothing changes where JAX has an accelerator, to which constants would go."""
    if tiering.RUNS == 0 or _core.trace_ctx.trace is not _core.eval_trace or not _only_cpu():
        yield
    else:
        with _core.set_current_trace(_trace):
            yield
