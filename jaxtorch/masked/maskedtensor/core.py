"""`MaskedTensor`: a tensor with a boolean mask of its shape. Operations compute where the mask is True and carry it along.

Elementwise operations, views, joins and the reductions of `torch.masked` work; anything else raises TypeError, as in PyTorch.
Strided masks only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._core.define.op import functions
from ..._core.dispatch.torch_function import disable_subclass, wrapped_grad
from ..._core.tensor.tensor import Tensor
from .. import _ops

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_UNARY = frozenset(
    """abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp
    clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 logit
    i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh sqrt
    square tan tanh trunc ones_like float double half bfloat16 int long short bool to type contiguous clone
    detach cpu cuda to_dense _get_data""".split()
)
_BINARY = frozenset(
    """add sub subtract mul multiply div divide true_divide floor_divide fmod remainder logaddexp logaddexp2 bitwise_and
    bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 arctan2 eq ne le ge greater greater_equal gt less_equal
    lt less maximum minimum fmax fmin not_equal copy""".split()
)
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__rdiv__": "div",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow", "__neg__": "neg", "__abs__": "abs",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__invert__": "bitwise_not", "__eq__": "eq",
    "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt", "__ge__": "ge",
}  # fmt: skip
_VIEWS = frozenset(
    """view reshape t transpose swapaxes swapdims unsqueeze expand select flatten split split_with_sizes chunk narrow
    movedim moveaxis __getitem__ _matrix_transposed""".split()
)
_REDUCTIONS = frozenset("sum mean amax amin prod argmax argmin var std".split())


_CASTS = frozenset("float double half bfloat16 int long short bool to cpu".split())
_KEEP_RESULT = frozenset("exp tanh sigmoid sqrt rsqrt reciprocal exp2 expm1 tan".split())
"""What keeps its result for backward, a second tensor in PyTorch."""


class MaskedTensor(Tensor):
    """A tensor whose elements count only where `mask` is True."""

    _mask: Tensor

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        for name, x in (("data", data), ("mask", mask)):
            if type(x) is MaskedTensor or not isinstance(x, Tensor):
                raise TypeError(f"{name} must be a Tensor")
        _warn(_PROTOTYPE)
        if data.requires_grad:
            _warn(_WITH_GRADIENT)
        if mask.dtype.name != "bool":
            raise TypeError("mask must have dtype bool.")
        if data.dim() != mask.dim():
            raise ValueError("data.dim() must equal mask.dim()")
        if data.size() != mask.size():
            raise ValueError("data.size() must equal mask.size()")
        if data.layout != mask.layout or data.is_sparse:
            raise NotImplementedError("torch.masked.MaskedTensor: data and mask must be strided")
        with disable_subclass():
            return _with_mask(data.detach().clone(), mask.clone()).requires_grad_(requires_grad)

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        pass

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        with disable_subclass():
            answer = _answer(_OPERATORS.get(name, name), func, args, kwargs)
            if answer is not NotImplemented:
                return answer
            if name in _PLAIN:
                return func(*args, **kwargs)
        _warn(f"{name} is not implemented in __torch_dispatch__ for MaskedTensor.")
        raise TypeError(
            f"{name}: jaxtorch has no such operation for MaskedTensors; call it on get_data() or to_tensor(value)"
        )

    def get_data(self) -> Tensor:
        """The tensor without its mask."""
        with disable_subclass():
            return _data(self)

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._mask

    def to_tensor(self, value: float) -> Tensor:
        """A plain tensor with `value` where the mask is False."""
        with disable_subclass():
            return functions["where"](self._mask, _data(self), value)

    grad = wrapped_grad(lambda self, found: _with_mask(found, self._mask), lambda value: _data(value))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with disable_subclass():
            data, mask = _data(self).detach(), self._mask
            if not self.dim():
                shown = f"{data.item():8.4f}" if data.is_floating_point() else str(data.item())
                return f"MaskedTensor({shown if mask.item() else '--'}, {mask.item()})"
            text = _shown(data.tolist(), mask.tolist())
        return "MaskedTensor(\n" + "\n".join("  " + line for line in text) + "\n)"

    @property
    def _masked_data(self) -> Tensor:
        with disable_subclass():
            return _data(self)

    @property
    def _masked_mask(self) -> Tensor:
        return self._mask

    def numpy(self, *, force: bool = False) -> Any:
        """RuntimeError: an array has no mask."""
        raise RuntimeError(".numpy() is not supported for tensor subclasses.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        """RuntimeError: a list has no mask."""
        raise RuntimeError(f".tolist() is not supported for tensor subclasses, got {type(self).__name__}")

    def __deepcopy__(self, memo: dict[int, Any]) -> MaskedTensor:
        if id(self) not in memo:
            with disable_subclass():
                memo[id(self)] = _made(_data(self).detach().clone(), self._mask.clone()).requires_grad_(
                    self.requires_grad
                )
        return memo[id(self)]

    def __copy__(self) -> MaskedTensor:
        with disable_subclass():
            return _with_mask(_data(self).detach(), self._mask).requires_grad_(self.requires_grad)

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _shown(data: Any, mask: Any) -> list[str]:
    """The lines of a nested list."""
    if not isinstance(data[0] if data else None, list):
        cells = [
            (f"{x:8.4f}" if isinstance(x, float) else str(x)) if m else f"{'--':>8}"
            for x, m in zip(data, mask, strict=True)
        ]
        return ["[" + ", ".join(cells) + "]"]
    lines = ["["]
    for i, (x, m) in enumerate(zip(data, mask, strict=True)):
        inner = ["  " + line for line in _shown(x, m)]
        inner[-1] += "," if i < len(data) - 1 else ""
        lines += inner
    return [*lines, "]"]


_PLAIN = frozenset(
    """requires_grad_ size dim numel __len__ stride is_contiguous element_size is_floating_point is_complex item __float__ __int__
    __bool__ backward register_hook retain_grad data_ptr get_device storage_offset __format__""".split()
)


_PROTOTYPE = "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future."
_WITH_GRADIENT = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad: use data.detach().clone()"
)


def _warn(text: str) -> None:
    """At a line of the library's own, as PyTorch does: Python then shows it once, not at each line of the program."""
    warnings.warn(text, UserWarning, stacklevel=1)


def _made(data: Tensor, mask: Tensor) -> MaskedTensor:
    _warn(_PROTOTYPE)
    return _with_mask(data, mask)


def _with_mask(data: Tensor, mask: Tensor) -> MaskedTensor:
    made = data.as_subclass(MaskedTensor)
    made._mask = mask
    return made


def _data(x: Any) -> Any:
    return x.as_subclass(Tensor) if type(x) is MaskedTensor else x


def _masks(args: Any) -> list[Tensor]:
    return [a._mask for a in args if type(a) is MaskedTensor]


def _answer(name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What an operation gives for masked tensors; NotImplemented where there is none."""
    plain = name.removesuffix("_") if not name.startswith("_") else name
    first: Any = args[0] if args else None
    binary = plain in _BINARY or (name in ("max", "min") and len(args) == 2 and isinstance(args[1], Tensor))
    if plain in _UNARY or binary:
        given = [*args, *kwargs.values()]
        if not binary and sum(isinstance(a, Tensor) for a in given) > 1:
            raise TypeError(f"{name}: of MaskedTensors, this takes one tensor and numbers")
        mask = _common(given)
        result = func(*map(_data, args), **{k: _data(v) for k, v in kwargs.items()})
        if plain != name:
            return first
        if result is _data(first) or (name in _CASTS and result.dtype is first.dtype):
            return first
        if plain in _KEEP_RESULT and getattr(result, "requires_grad", False):
            _warn(_PROTOTYPE)
        return _made(result, mask) if isinstance(result, Tensor) else result
    if name in _VIEWS and type(first) is MaskedTensor:
        data, mask = (func(x, *args[1:], **kwargs) for x in (_data(first), first._mask))
        for _ in range(_views(args[1]) - 1 if name == "__getitem__" else 0):
            _warn(_PROTOTYPE)
        return _made(data, mask) if isinstance(data, Tensor) else tuple(map(_made, data, mask))
    if name in _REDUCTIONS and type(first) is MaskedTensor:
        return _reduced(name, first, *args[1:], **kwargs)
    if name == "softmax" and type(first) is MaskedTensor:
        return _made(_ops.softmax(_data(first), *args[1:], mask=first._mask, **kwargs), first._mask)
    if name == "all" and type(first) is MaskedTensor:
        data, mask = _data(first).bool(), first._mask
        return _made((data | ~mask).all(*args[1:], **kwargs), mask.any(*args[1:], **kwargs))
    if name == "__setitem__":
        if type(first) is MaskedTensor:
            for _ in range(_views(args[1])):
                _warn(_PROTOTYPE)
            if not isinstance(args[2], Tensor) and _data(first)[args[1]].dim():
                _warn("fill_ is not implemented in __torch_dispatch__ for MaskedTensor.")
                raise TypeError("fill_: MaskedTensors have no such operation; give a tensor of the part's shape")
            func(
                _data(first).clone(), args[1], _data(args[2])
            )  # what is wrong raises; as in PyTorch nothing is written
        else:
            func(first, args[1], _data(args[2]))  # all of the other's data, whatever its mask
        return None
    if name in ("cat", "concat", "stack", "hstack", "vstack"):
        tensors = list(first)
        if not all(type(t) is MaskedTensor for t in tensors):
            return NotImplemented
        return _made(*[func([f(t) for t in tensors], *args[1:], **kwargs) for f in (_data, MaskedTensor.get_mask)])
    if name == "where" and len(args) == 3 and all(type(a) is MaskedTensor for a in args[1:]):
        return _made(func(_data(args[0]), *map(_data, args[1:])), func(_data(args[0]), *_masks(args[1:])))
    return NotImplemented


def _views(index: Any) -> int:
    """How many views PyTorch makes for an index, one after the other."""
    parts = index if isinstance(index, tuple) else (index,)
    return max(1, sum(part is not Ellipsis and part != slice(None) for part in parts if not isinstance(part, Tensor)))


def _common(args: Any) -> Tensor:
    """The mask of operands, which must be one."""
    masks = _masks(args)
    if len(masks) > 1 and not functions["equal"](*masks[:2]):
        raise ValueError("the operands are masked tensors with different masks; they must have the same one")
    return masks[0]


def _reduced(name: str, x: MaskedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> MaskedTensor:
    if name in ("var", "std") and isinstance(dim, bool):
        dim, kwargs["unbiased"] = None, dim
    data = getattr(_ops, name)(_data(x), dim, keepdim=bool(keepdim), mask=x._mask, **kwargs)
    for _ in range(2 if name in ("var", "std") else 0):  # PyTorch's are made of several operations
        _warn(_PROTOTYPE)
    if dim is None:
        mask = x._mask.any()
        mask = mask.reshape(data.shape) if keepdim else mask
    else:
        mask = x._mask.any(dim if isinstance(dim, int) else tuple(dim), keepdim)
    made = _made(data, mask)
    if data.requires_grad:
        _warn(_WITH_GRADIENT)
    return made


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A new `MaskedTensor`, a leaf: copies of the data and of the mask, a boolean tensor of the same shape."""
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """The data with a mask; gradients reach the data."""
    MaskedTensor(data, mask)  # for its errors
    with disable_subclass():
        return _with_mask(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Is it a `MaskedTensor`?"""
    return isinstance(obj, MaskedTensor)
