"""`torch._foreach_*`: one operation over lists of tensors. Private in PyTorch, and used by optimizers and moving averages elsewhere.

Each records the operation once for every tensor, which XLA compiles into one program anyway. Results are tuples; the forms in place
return the list they were given.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import linalg
from ._core.tensor.tensor import Tensor
from ._core.types.value import python_number
from .overrides import handle_torch_function, has_torch_function

UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt
    sigmoid sign sin sinh sqrt tan tanh trunc""".split()
BINARY = "add sub mul div pow clamp_max clamp_min maximum minimum".split()
POINTWISE = "addcdiv addcmul".split()

_EMPTY = "Tensor list must have at least one tensor."


def _is_list(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(v, kinds) for v in value)


def _plain(value: Any) -> Any:
    """NumPy numbers, alone or in a list, as the Python ones that PyTorch takes them for."""
    if isinstance(value, np.generic):
        return python_number(value)
    return [_plain(v) for v in value] if _is_list(value, (int, float, complex, np.generic)) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | complex)


def _invalid(name: str, expected: str, **arguments: Any) -> TypeError:
    got = ", ".join(f"{key} of type {type(value).__name__}" for key, value in arguments.items())
    return TypeError(f"{name}(): expected {expected}, got {got}")


def _lists(name: str, *lists: Any) -> None:
    for tensors in lists:
        if not _is_list(tensors, (Tensor,)):
            raise _invalid(name, "lists of tensors", argument=tensors)
    if not lists[0]:
        raise RuntimeError(_EMPTY)
    for other in lists[1:]:
        if len(other) != len(lists[0]):
            raise RuntimeError(
                f"Tensor lists must have the same number of tensors, got {len(lists[0])} and {len(other)}"
            )


def _each(name: str, tensors: Any, value: Any, tensor: bool = True) -> Any:
    """`value` for every tensor of a list: itself, or its items where it is a list of numbers or of tensors."""
    value = _plain(value)
    if _is_number(value):
        return [value] * len(tensors)
    if isinstance(value, Tensor) and (tensor or value.dim() == 0):
        if value.dim() != 0:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and {value.numel()} elements."
            )
        return [value] * len(tensors)
    if _is_list(value, (Tensor,)):
        _lists(name, tensors, value)
        return value
    if _is_list(value, (int, float, complex)):
        if len(value) != len(tensors):
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        return value
    raise _invalid(name, "a number, a tensor, or a list of either", argument=value)


def _pick(name: str, given: dict[str, Any]) -> Any:
    """The one of several keywords that names the same operand in PyTorch's overloads."""
    found = [value for value in given.values() if value is not None]
    if len(found) != 1:
        raise TypeError(f"{name}() takes one of {', '.join(given)}; {len(found)} were given")
    return found[0]


def _unary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    one, one_ = getattr(Tensor, name), getattr(Tensor, name + "_")

    def function(self: Any) -> Any:
        _lists(function.__name__, self)
        return tuple(one(t) for t in self)

    def inplace(self: Any) -> Any:
        _lists(inplace.__name__, self)
        for t in self:
            one_(t)
        return self

    return function, inplace


def _binary(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    plain = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name, name)  # which take numbers too
    one, one_ = getattr(Tensor, plain), getattr(Tensor, plain + "_")

    def pairs(label: str, self: Any, given: dict[str, Any]) -> zip:
        _lists(label, self)
        return zip(self, _each(label, self, _pick(label, given), tensor=name in ("add", "mul", "div")), strict=True)

    def function(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None, exponent: Any = None, **alpha: Any
    ):
        given = {"other": other, "scalar": scalar, "scalars": scalars, "exponent": exponent}
        self = _plain(self) if name == "pow" else self
        if name == "pow" and _is_number(self):
            exponents = _pick(function.__name__, given)
            _lists(function.__name__, exponents)
            return tuple(self**t for t in exponents)
        return tuple(one(t, value, **alpha) for t, value in pairs(function.__name__, self, given))

    def inplace(
        self: Any, other: Any = None, *, scalar: Any = None, scalars: Any = None, exponent: Any = None, **alpha: Any
    ):
        given = {"other": other, "scalar": scalar, "scalars": scalars, "exponent": exponent}
        for t, value in pairs(inplace.__name__, self, given):
            one_(t, value, **alpha)
        return self

    return function, inplace


def _pointwise(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    one, one_ = getattr(Tensor, name), getattr(Tensor, name + "_")

    def rows(label: str, self: Any, tensor1: Any, tensor2: Any, value: Any, scalars: Any) -> zip:
        _lists(label, self, tensor1, tensor2)
        if isinstance(scalars, Tensor):
            scalars = scalars.tolist()
        return zip(
            self, tensor1, tensor2, _each(label, self, value if scalars is None else scalars, False), strict=True
        )

    def function(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = 1):
        return tuple(
            one(t, a, b, value=v) for t, a, b, v in rows(function.__name__, self, tensor1, tensor2, value, scalars)
        )

    def inplace(self: Any, tensor1: Any, tensor2: Any, scalars: Any = None, *, value: Any = 1):
        for t, a, b, v in rows(inplace.__name__, self, tensor1, tensor2, value, scalars):
            one_(t, a, b, value=v)
        return self

    return function, inplace


def _lerp() -> tuple[Callable[..., Any], Callable[..., Any]]:
    def rows(label: str, self: Any, tensors1: Any, weight: Any) -> zip:
        _lists(label, self, tensors1)
        return zip(self, tensors1, _each(label, self, weight, False), strict=True)

    def function(self: Any, tensors1: Any, weights: Any = None, *, weight: Any = None):
        weight = _pick(function.__name__, {"weights": weights, "weight": weight})
        return tuple(t.lerp(end, w) for t, end, w in rows(function.__name__, self, tensors1, weight))

    def inplace(self: Any, tensors1: Any, weights: Any = None, *, weight: Any = None):
        weight = _pick(inplace.__name__, {"weights": weights, "weight": weight})
        for t, end, w in rows(inplace.__name__, self, tensors1, weight):
            t.lerp_(end, w)
        return self

    return function, inplace


def _foreach_norm(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    _lists("_foreach_norm", self)
    return tuple(linalg.vector_norm(t, ord, dtype=dtype) for t in self)


def _foreach_powsum(self: Any, ord: Any = 2, dtype: Any = None) -> tuple[Tensor, ...]:
    _lists("_foreach_powsum", self)
    return tuple((t if dtype is None else t.to(dtype)).abs().pow(ord).sum() for t in self)


def _foreach_max(self: Any) -> tuple[Tensor, ...]:
    _lists("_foreach_max", self)
    return tuple(t.max() for t in self)


def _foreach_clone(self: Any) -> tuple[Tensor, ...]:
    _lists("_foreach_clone", self)
    return tuple(t.clone() for t in self)


def _foreach_mm(self: Any, mat2: Any) -> tuple[Tensor, ...]:
    _lists("_foreach_mm", self, mat2)
    return tuple(a.mm(b) for a, b in zip(self, mat2, strict=True))


def _foreach_zero_(self: Any) -> Any:
    _lists("_foreach_zero_", self)
    for t in self:
        t.zero_()
    return self


def _foreach_copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    _lists("_foreach_copy_", self, src)
    for t, source in zip(self, src, strict=True):
        t.copy_(source, non_blocking)
    return self


def _finished(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`function` under its name in `torch`, which asks `__torch_function__` first."""
    function.__name__ = function.__qualname__ = name

    @functools.wraps(function)
    def call(self: Any, *rest: Any, **keywords: Any) -> Any:
        lists = [a for a in (self, *rest) if isinstance(a, list | tuple)]
        relevant = [t for tensors in lists for t in tensors]
        if has_torch_function(relevant):
            return handle_torch_function(call, relevant, self, *rest, **keywords)
        return function(self, *rest, **keywords)

    call.__module__ = "torch"
    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {}
for _make, _names in ((_unary, UNARY), (_binary, BINARY), (_pointwise, POINTWISE)):
    for _name in _names:
        _function, _inplace = _make(_name)
        FUNCTIONS[f"_foreach_{_name}"] = _finished(_function, f"_foreach_{_name}")
        FUNCTIONS[f"_foreach_{_name}_"] = _finished(_inplace, f"_foreach_{_name}_")
FUNCTIONS["_foreach_lerp"], FUNCTIONS["_foreach_lerp_"] = map(_finished, _lerp(), ("_foreach_lerp", "_foreach_lerp_"))
for _function in (
    _foreach_norm, _foreach_powsum, _foreach_max, _foreach_clone, _foreach_mm, _foreach_zero_, _foreach_copy_
):  # fmt: skip
    FUNCTIONS[_function.__name__] = _finished(_function, _function.__name__)


def __getattr__(name: str) -> Any:
    try:
        return FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"module 'torch' has no attribute '{name}'") from None
