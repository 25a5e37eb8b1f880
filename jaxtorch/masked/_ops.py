"""The functions of `torch.masked`, composed of the ordinary operations on tensors filled with identities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions as _f
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from ..linalg import vector_norm

_INF = float("inf")


def _checked(input: Tensor, mask: Tensor | None) -> Tensor | None:
    """The mask in the shape of the input."""
    if mask is None:
        return None
    if not isinstance(mask, Tensor):
        raise AttributeError(f"'{type(mask).__name__}' object has no attribute 'shape'")
    if mask.ndim > input.ndim:
        raise IndexError(
            f"expected a mask that broadcasts to the input, but it has {mask.ndim} dimensions and the input {input.ndim}"
        )
    mask = mask.broadcast_to(input.shape) if mask.shape != input.shape else mask
    return mask if mask.dtype is dtypes.bool_ else mask.bool()


def _filled(input: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    """The input with the value where the mask is False."""
    mask = _checked(input, mask)
    return input if mask is None else _f["where"](mask, input, _f["full"]((), value, dtype=input.dtype))


def _dims(input: Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, from the front; all for None and for ()."""
    found = sorted(_given(input, dim))
    return tuple(found) if input.ndim else ()


def _given(input: Tensor, dim: Any) -> list[int]:
    """The dimensions in their order. (A comparison with () has PyTorch's error for an array.)"""
    n = max(input.ndim, 1)
    if dim is None or dim == ():
        return list(range(n))
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d >= n or d < -n:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
        axis = int(d) % n
        if axis in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        found.append(axis)
    return found


def _lowest(dtype: dtypes.dtype) -> Any:
    if dtype is dtypes.bool_:
        return False
    if dtypes.category(dtype) < 2:
        return _f["iinfo"](dtype).min
    return -_INF


def _highest(dtype: dtypes.dtype) -> Any:
    if dtype is dtypes.bool_:
        return True
    if dtypes.category(dtype) < 2:
        return _f["iinfo"](dtype).max
    return _INF


def _identity(name: str, dtype: dtypes.dtype, mask: Any, value: Any) -> Any:
    """What stands for elements that the mask leaves out; booleans have none, as in PyTorch."""
    if mask is not None and dtype is dtypes.bool_:
        raise NotImplementedError(f"identity of {name} on torch.bool input")
    return value


def _summed(input: Tensor, dtype: Any) -> Any:
    """The type in which integers are summed."""
    return dtypes.int64 if dtype is None and dtypes.category(input.dtype) < 2 else (dtype or input.dtype)


def sum(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the selected elements; 0 where there are none. Integers add up in int64."""
    dtype = _summed(input, dtype)
    return _f["sum"](_filled(input, mask, 0), _dims(input, dim), bool(keepdim), dtype=dtype)


def prod(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the selected elements; 1 where there are none. Integers multiply in int64."""
    dtype = _summed(input, dtype)
    out = _filled(input.to(dtype), mask, 1)
    for d in reversed(_dims(input, dim)):
        out = out.prod(d, bool(keepdim))
    return out


def cumsum(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running sum of the selected elements along a dimension."""
    dtype = dtype or input.dtype
    return _filled(input.to(dtype), mask, 0).cumsum(_given(input, dim)[0], dtype=dtype)


def cumprod(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running product of the selected elements along a dimension."""
    dtype = dtype or input.dtype
    return _filled(input.to(dtype), mask, 1).cumprod(_given(input, dim)[0], dtype=dtype)


def _named(fn: Any, name: str, doc: str) -> Any:
    """One of several functions that a function here makes, under its own name."""
    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = doc
    return fn


def _extreme(name: str, bound: Callable[[dtypes.dtype], Any], doc: str) -> Any:
    def extreme(
        input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        x = input if dtype is None else input.to(dtype)
        filled = _filled(x, mask, _identity(name, x.dtype, mask, bound(x.dtype)))
        return getattr(filled, name)(_dims(input, dim), bool(keepdim))

    return _named(extreme, name, doc)


amax = _extreme("amax", _lowest, "The largest selected element; the type's lowest value where there is none.")
amin = _extreme("amin", _highest, "The smallest selected element; the type's highest value where there is none.")


def _place(name: str, bound: Callable[[dtypes.dtype], Any], doc: str) -> Any:
    def place(
        input: Tensor, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:  # fmt: skip
        x = input if dtype is None else input.to(dtype)
        filled = _filled(x, mask, _identity(name, x.dtype, mask, bound(x.dtype)))
        return getattr(filled, name)(dim, bool(keepdim)).to(x.dtype)

    return _named(place, name, doc)


argmax = _place("argmax", _lowest, "Where the largest selected element is, in the input's type, as in PyTorch.")
argmin = _place("argmin", _highest, "Where the smallest selected element is, in the input's type, as in PyTorch.")


def _count(input: Tensor, dims: tuple[int, ...], keepdim: bool, mask: Tensor | None) -> Tensor:
    """How many elements are selected."""
    chosen = _checked(input, mask)
    ones = _f["ones"](input.shape, dtype=dtypes.int64, device=input.device)
    return _f["sum"](ones if chosen is None else chosen, dims, keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the selected elements; NaN where there are none."""
    dtype = dtype or input.dtype
    if dtypes.category(dtype) < 2:
        raise ValueError(
            f"mean(): the result type is inferred from the input, which must be floating point or complex; got {dtype}"
        )
    dims, keep = _dims(input, dim), bool(keepdim)
    if mask is None:
        return input.to(dtype).mean(dims, keep) if dims else input.to(dtype) / 1
    total = sum(input, dims, keepdim=keep, dtype=dtype, mask=mask) if dims else _filled(input.to(dtype), mask, 0)
    return total / _count(input, dims, keep, mask) if dims else total / _checked(input, mask)


def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median of the selected elements; NaN where there are none."""
    x = input if dtype is None else input.to(dtype)
    dim, floating = _given(x, dim)[0], _f["is_floating_point"](x)
    chosen = _checked(x, mask)
    if not floating:
        if chosen is not None and not chosen.all():
            if (~chosen.any(dim)).any():
                raise ValueError("median() of integers expects a selected element in every row")
            wide = _filled(x.double(), mask, float("nan"))
            return wide.nanmedian(dim, keepdim).values.to(x.dtype)
        return x.median(dim, keepdim).values
    if chosen is None:
        return x.median(dim, keepdim).values if x.ndim else x
    return _filled(x, mask, float("nan")).nanmedian(dim, keepdim).values


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of the selected elements."""
    x = input.to(dtype or input.dtype)
    fill = _identity("logsumexp", x.dtype, mask, _lowest(x.dtype))
    return _f["logsumexp"](_filled(x, mask, fill), _dims(input, dim), keepdim).to(x.dtype)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """`log(exp(input) + exp(other))`, each over its selected elements."""
    x, y = input.to(dtype or input.dtype), other.to(dtype or other.dtype)
    return _f["logaddexp"](_filled(x, input_mask, -_INF), _filled(y, other_mask, -_INF)).to(x.dtype)


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the selected elements."""
    x = input.to(dtype or input.dtype)
    negative = isinstance(ord, (int, float, Tensor)) and mask is not None and bool(ord < 0)
    dims = tuple(sorted(_given(input, dim)))
    return vector_norm(_filled(x, mask, _INF if negative else 0), ord, dims, bool(keepdim), dtype=dtype)


def _moment(name: str, doc: str) -> Any:
    def moment(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        if unbiased is not None and correction is not None:
            raise RuntimeError("only one of 'unbiased' and 'correction' may be given")
        if input.dtype is dtypes.bool_:
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
                "or `logical_not()` operator instead."
            )
        delta = 1 if correction is None else correction
        if unbiased is not None:
            delta = int(bool(unbiased))
        dtype = dtype or input.dtype
        if dtypes.category(dtype) < 2:
            dtype = dtypes.float32
        dims, keep = _dims(input, dim), bool(keepdim)
        x = input.to(dtype)
        if mask is None:
            return _f[name](x, dims, correction=delta, keepdim=keep).to(dtype)
        chosen = _checked(x, mask)
        assert chosen is not None
        n = _count(x, dims, True, mask)
        centre = _f["sum"](_filled(x, mask, 0), dims, True) / n
        off = _filled(x - centre, mask, 0)
        total = _f["sum"](off * off.conj(), dims, keep)
        if not keep:
            n = n.reshape(total.shape)
        n = _f["maximum"](n - delta, _f["zeros"]((), dtype=n.dtype)) if delta else n
        out = (total / n).to(total.dtype)
        return out.sqrt() if name == "std" else out

    return _named(moment, name, doc)


var = _moment("var", "The variance of the selected elements; integers give float32.")
std = _moment("std", "The standard deviation of the selected elements; integers give float32.")


def _along(name: str, bound: Callable[[dtypes.dtype], Any], function: str, doc: str) -> Any:
    def along(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
        x = input.to(dtype or input.dtype)
        filled = _filled(x, mask, bound(x.dtype))
        return getattr(-filled if name == "softmin" else filled, function)(_given(input, dim)[0])

    return _named(along, name, doc)


softmax = _along(
    "softmax", _lowest, "softmax", "Softmax over the selected elements; 0 elsewhere, NaN where none is selected."
)
log_softmax = _along("log_softmax", _lowest, "log_softmax", "The logarithm of `softmax`.")
softmin = _along("softmin", _highest, "softmax", "Softmax of the negated selected elements.")


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The selected elements divided by their norm, or by eps where that is larger; 0 elsewhere."""
    x = input.to(dtype or input.dtype)
    length = norm(input, ord, _given(input, dim)[0], keepdim=True, dtype=dtype, mask=mask)
    floor = _f["full"]((), eps, dtype=length.dtype, device=length.device)
    return _filled(x, mask, 0) / _f["maximum"](length, floor)
