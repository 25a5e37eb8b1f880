"""The operations of `torch.ops` that jaxtorch has itself: how a name of `aten` and a few other namespaces becomes a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions, methods, registry
from .._core.types.dtypes import uint8
from .._namespace.rare import cond, while_loop
from .._ops.types import constants as layouts
from ..autograd.profiler import record_function
from . import aten, operators
from .operators import OfEngine


def _while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any = ()) -> Any:
    more = tuple(additional_inputs)
    return while_loop(lambda *x: cond_fn(*x, *more), lambda *x: body_fn(*x, *more), tuple(carried_inputs))


def _cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    return cond(pred, true_fn, false_fn, tuple(operands))


def _enter_region(name: str, args: str | None = None) -> Any:
    return record_function(name, args).__enter__()


def _enter_region_of_old(name: str, args: str | None = None) -> Any:
    """The same, with a tensor as the handle."""
    handle: Any = functions["zeros"](_HANDLE, dtype=uint8)
    handle._region = _enter_region(name, args)
    return handle


def _leave_region(handle: Any) -> None:
    getattr(handle, "_region", handle).__exit__(None, None, None)


_HANDLE = 344
"""Bytes of PyTorch's handle."""


_OTHER_NAMESPACES: dict[tuple[str, str], Callable[..., Any]] = {
    ("higher_order", "cond"): _cond,
    ("higher_order", "while_loop"): _while_loop,
    ("prim", "layout"): lambda a: _LAYOUTS.index(a.layout),
    ("profiler", "_record_function_enter"): _enter_region_of_old,
    ("profiler", "_record_function_enter_new"): _enter_region,
    ("profiler", "_record_function_exit"): _leave_region,
    ("prims", "convert_element_type"): lambda a, dtype: a.to(dtype, copy=True),
}
_LAYOUTS = [
    layouts.strided, layouts.sparse_coo, layouts.sparse_csr, None, layouts.sparse_csc, layouts.sparse_bsr, layouts.sparse_bsc,
    layouts.jagged,
]  # fmt: skip


def _aten(name: str) -> Any:
    """The function behind a name of `torch.ops.aten`, or None."""
    made = aten.FUNCTIONS.get(name) or functions.get(name) or methods.get(name) or aten.find(name)
    if made is None and name.endswith("_") and name[:-1] in registry:  # of a function of nn.functional
        made = getattr(registry[name[:-1]].public, "inplace", None)
    return made


def find(space: str, name: str) -> OfEngine | None:
    """The operation of this name, which stands for one of ATen's in `torch.ops.prims` too; None where there is none."""
    fn = _aten(name) if space in ("aten", "prims") else None
    if fn is not None:
        return OfEngine(name, fn)
    if space == "quantized":
        from .._quantized.layers import (
            operators as quantised,  # loads all of the quantised tensors, which few programs have
        )

        fn = quantised.get(name)
    fn = fn or _OTHER_NAMESPACES.get((space, name))
    return None if fn is None else OfEngine(name, fn, None, space)


operators.built_in.append(find)
