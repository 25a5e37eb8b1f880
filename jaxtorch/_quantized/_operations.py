"""What the operations of `torch` give for quantised tensors: those that move elements, and a few that compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .. import sparse as _sparse  # noqa: F401  # whose answers come after these
from .._core.define.op import functions
from .._core.run import capture
from .._core.tensor.sparse_value import answers
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from ..nn import functional as F
from ._tensor import RANGES, QuantizedTensor, Scheme, become, like, make, per_tensor, quantized, values

_MOVES = """view reshape permute transpose swapaxes swapdims t select unsqueeze squeeze flatten unflatten expand expand_as split chunk
narrow unbind index_select flip repeat movedim moveaxis view_as reshape_as detach __getitem__ tensor_split split_with_sizes""".split()
"""Methods that put elements elsewhere; what they give stands for values as before."""
_MOVING_FUNCTIONS = frozenset(
    """reshape permute transpose swapaxes swapdims t select unsqueeze squeeze flatten unflatten expand split chunk narrow unbind
    index_select flip repeat movedim moveaxis tensor_split split_with_sizes relu max_pool1d max_pool2d""".split()
)


def _wrapped(t: QuantizedTensor, found: Any) -> Any:
    if isinstance(found, Tensor):
        return like(t, found)
    return type(found)([like(t, x) for x in found])


def _moving(name: str) -> None:
    plain = getattr(Tensor, name)

    def move(self: QuantizedTensor, *args: Any, **kwargs: Any) -> Any:
        if self._scheme.axis is not None:
            return _channels(self, name, args, kwargs)
        return _wrapped(self, plain(self._ints, *args, **kwargs))

    move.__name__ = move.__qualname__ = name
    move.__doc__ = f"`{name}` of the integers, whose memory it shares where a tensor's does."
    setattr(QuantizedTensor, name, move)


def _channels(t: QuantizedTensor, name: str, args: Any, kwargs: Any) -> Any:
    """The same with a scale for each channel: what keeps channels, and one of them."""
    scheme = t._scheme
    axis = scheme.axis or 0
    if name == "detach":
        return like(t, t._ints.detach())
    if name == "unsqueeze" and len(args) == 1 and isinstance(args[0], int):
        place = args[0] + (t.dim() + 1 if args[0] < 0 else 0)
        return make(t._ints.unsqueeze(*args), Scheme(scheme.scale, scheme.zero, axis + (place <= axis)), t._kind)
    if name == "__getitem__" and isinstance(args[0], int) and axis == 0:
        ints, i = t._ints[args[0]], args[0]
        return make(ints, Scheme(scheme.scale[i].item(), scheme.zero[i].item()), t._kind)
    per_tensor(t, name)


for _name in _MOVES:
    _moving(_name)

QuantizedTensor.T = property(lambda self: self.t() if self.dim() == 2 else self.permute(*range(self.dim())[::-1]))  # pyright: ignore[reportAttributeAccessIssue]
QuantizedTensor.data = property(lambda self: self.detach())  # pyright: ignore[reportAttributeAccessIssue]


def _iter(self: QuantizedTensor) -> Any:
    if not self.dim():
        raise TypeError("iteration over a 0-d tensor")
    return iter([self[i] for i in range(self.shape[0])])


QuantizedTensor.__iter__ = _iter
QuantizedTensor.__len__ = lambda self: len(self._ints)


def _clone(t: QuantizedTensor, *, memory_format: Any = None) -> QuantizedTensor:
    """A copy."""
    return like(t, t._ints.clone() if memory_format is None else t._ints.clone(memory_format=memory_format))


def _contiguous(t: QuantizedTensor, memory_format: Any = None) -> QuantizedTensor:
    """The same in order."""
    found = t._ints.contiguous() if memory_format is None else t._ints.contiguous(memory_format=memory_format)
    return t if found is t._ints else like(t, found)


def _moved_to(kind: str) -> Any:
    def move(t: QuantizedTensor, *args: Any, **kwargs: Any) -> Tensor:
        return t.to(kind)

    move.__doc__ = f"The same on '{kind}'."
    return move


for _name, _method in (
    ("clone", _clone),
    ("contiguous", _contiguous),
    ("cpu", _moved_to("cpu")),
    ("cuda", _moved_to("cuda")),
):
    setattr(QuantizedTensor, _name, _method)

TABLE: dict[str, Callable[..., Any]] = {"clone": _clone, "_clone": _clone}
"""By the name of the public function that met a quantised tensor."""


def _given(args: Any, kwargs: Any) -> list[QuantizedTensor]:
    found: list[Any] = []
    for a in (*args, *kwargs.values()):
        found += [x for x in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(x, QuantizedTensor)]
    return found


def _unsupported(name: str) -> NoReturn:
    raise NotImplementedError(
        f"Could not run 'aten::{name.strip('_')}' with arguments from the 'QuantizedCPU' backend: jaxtorch has no "
        f"{name.strip('_')} of quantised tensors; see Tensor.dequantize()"
    )


_others = answers[-1]


def answer(public: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Compute `public(*args, **kwargs)`, of which some arguments are quantised; NotImplementedError where nothing does."""
    found = _given(args, kwargs)
    if not found:
        return _others(public, args, kwargs)
    capture.break_capture("an operation on a quantised tensor")
    name = public.__name__
    if name in TABLE:
        return TABLE[name](*args, **kwargs)
    if name in _MOVING_FUNCTIONS and args and args[0] is found[0] and len(found) == 1:
        method = getattr(QuantizedTensor, name, None)
        return method(*args, **kwargs) if method is not None else _unsupported(name)
    _unsupported(name)


answers.append(answer)


def on(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register what functions and methods give."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            TABLE[name] = fn
            if hasattr(Tensor, name):
                setattr(QuantizedTensor, name, fn)
        return fn

    return register


# -- on the integers


@on("relu")
def relu(t: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
    """The larger of each value and 0."""
    per_tensor(t, "relu")
    out = like(t, t._ints.clamp(min=t._scheme.zero))
    return become(t, out) if inplace else out


@on("relu_")
def relu_(t: QuantizedTensor) -> QuantizedTensor:
    """`relu` in place."""
    return become(t, relu(t))


def _step(t: QuantizedTensor, x: Any) -> int:
    """The integer that stands for a number."""
    one = functions["tensor"](float(x))
    return int(quantized(one, Scheme(t._scheme.scale, t._scheme.zero), t._kind)._ints.item())


@on("clamp", "clip")
def clamp(t: QuantizedTensor, min: Any = None, max: Any = None, inplace: bool = False) -> QuantizedTensor:
    """Values within [min, max], which are rounded to the integers first."""
    per_tensor(t, "clamp")
    low, high = (None if x is None else _step(t, x) for x in (min, max))
    out = like(t, t._ints.clamp(low, high))
    return become(t, out) if inplace else out


@on("hardtanh", "_hardtanh", "hardtanh_")
def hardtanh(t: QuantizedTensor, min_val: Any = -1.0, max_val: Any = 1.0, inplace: bool = False) -> QuantizedTensor:
    """Values within [min_val, max_val]."""
    return clamp(t, min_val, max_val, inplace)


@on("relu6", "_relu6")
def relu6(t: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
    """Values within [0, 6]."""
    return clamp(t, 0, 6, inplace)


@on("adaptive_avg_pool2d")
def adaptive_avg_pool2d(t: QuantizedTensor, output_size: Any) -> QuantizedTensor:
    """The means of windows, rounded to whole steps."""
    per_tensor(t, "adaptive_avg_pool2d")
    if t._kind.name == "qint32":
        _unsupported("adaptive_avg_pool2d")
    found = F.adaptive_avg_pool2d(t._ints.to(dtypes.float64), output_size)
    return like(t, found.round().to(t._ints.dtype))


@on("avg_pool2d")
def avg_pool2d(t: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
    """The means of windows, rounded to whole steps; padding is values of 0."""
    per_tensor(t, "avg_pool2d")
    if t._kind.name == "qint32":
        _unsupported("avg_pool2d")
    low, high = RANGES[t._kind.name]
    found = F.avg_pool2d(t._ints.to(dtypes.float64) - t._scheme.zero, *args, **kwargs).round() + t._scheme.zero
    return like(t, found.clamp(low, high).to(t._ints.dtype))


@on("mean")
def mean(t: QuantizedTensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> QuantizedTensor:
    """The mean, in the input's own steps."""
    per_tensor(t, "mean")
    if dtype is not None:
        _unsupported("mean")
    return quantized(functions["mean"](values(t), dim, keepdim), t._scheme, t._kind)


def _extreme(name: str) -> None:
    @on(name)
    def extreme(t: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
        if args or kwargs:
            _unsupported(name)
        per_tensor(t, name)
        return like(t, getattr(t._ints, name)())


_extreme("max")
_extreme("min")


def _ordered(name: str) -> None:
    @on(name)
    def order(t: QuantizedTensor, *args: Any, **kwargs: Any) -> Any:
        per_tensor(t, name)
        found = functions[name](t._ints, *args, **kwargs)
        return type(found)((like(t, found[0]), found[1]))


_ordered("sort")
_ordered("topk")


def _pooled(name: str) -> None:
    @on(name)
    def pool(t: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
        per_tensor(t, name)
        if kwargs.pop("return_indices", False):
            _unsupported(name)
        wide = t._ints.to(dtypes.float32)  # 8 bits are exact in float32; a window's padding is never the largest
        if t._kind.name == "qint32":
            _unsupported(name)
        return like(t, getattr(F, name)(wide, *args, **kwargs).to(t._ints.dtype))


_pooled("max_pool1d")
_pooled("max_pool2d")


@on("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0) -> QuantizedTensor:
    """Tensors one after the other, in the first one's scale and zero point."""
    first = tensors[0]
    for t in tensors:
        if not isinstance(t, QuantizedTensor):
            raise RuntimeError("cat(): all tensors must be quantised if one is")
        per_tensor(t, "cat")
        if t._kind is not first._kind:
            raise RuntimeError("cat(): expected quantised tensors of one element type")
    same = all(t._scheme == first._scheme for t in tensors)
    if same:
        return like(first, functions["cat"]([t._ints for t in tensors], dim))
    return quantized(functions["cat"]([values(t) for t in tensors], dim), first._scheme, first._kind)


@on("stack")
def stack(tensors: Any, dim: int = 0) -> QuantizedTensor:
    """Tensors along a new dimension."""
    return cat([t.unsqueeze(dim) for t in tensors], dim if dim >= 0 else dim + tensors[0].dim() + 1)


@on("equal")
def equal(a: Any, b: Any) -> bool:
    """Have both the same type, scheme, size and integers?"""
    if not (isinstance(a, QuantizedTensor) and isinstance(b, QuantizedTensor)):
        _unsupported("equal")
    if a._kind is not b._kind or a.shape != b.shape or a._scheme.axis != b._scheme.axis:
        return False
    if a._scheme.axis is None:
        if a._scheme != b._scheme:
            return False
    elif not (
        functions["equal"](a._scheme.scale, b._scheme.scale) and functions["equal"](a._scheme.zero, b._scheme.zero)
    ):
        return False
    return functions["equal"](a._ints, b._ints)


TABLE["_all_equal"] = lambda a, b: functions["tensor"](equal(a, b))


@on("empty_like")
def empty_like(t: QuantizedTensor, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor of the same size and scheme; its integers are 0."""
    if dtype not in (None, t._kind) or requires_grad:
        _unsupported("empty_like")
    return like(t, functions["zeros_like"](t._ints)).to(t.device if device is None else device)


def _refused(name: str) -> None:
    def refuse(t: QuantizedTensor, *args: Any, **kwargs: Any) -> NoReturn:
        _unsupported(name)

    refuse.__doc__ = "NotImplementedError: there is none of quantised tensors."
    setattr(QuantizedTensor, name, refuse)


for _name in "new_empty new_zeros new_ones new_full new_tensor zero_ set_".split():
    _refused(_name)


# -- on the values


def _compared(name: str) -> None:
    @on(name)
    def compare(a: Any, b: Any) -> Tensor:
        return functions[name](*[values(x) if isinstance(x, QuantizedTensor) else x for x in (a, b)])


for _name in "eq ne lt le gt ge".split():
    _compared(_name)


def _fixed(name: str, scales: dict[str, tuple[float, int]]) -> None:
    """A function whose results have a scale and a zero point of their own."""

    @on(name)
    def apply(t: QuantizedTensor, inplace: bool = False) -> QuantizedTensor:
        per_tensor(t, name)
        if inplace or t._kind.name not in scales:
            _unsupported(name)
        return quantized(getattr(F, name)(values(t)), Scheme(*scales[t._kind.name]), t._kind)


_fixed("sigmoid", {"quint8": (1 / 256, 0), "qint8": (1 / 256, -128)})
_fixed("hardsigmoid", {"quint8": (1 / 256, 0), "qint8": (1 / 256, -128)})
_fixed("tanh", {"quint8": (2 / 256, 128), "qint8": (2 / 256, 0)})


@on("fill_")
def fill_(t: QuantizedTensor, value: Any) -> QuantizedTensor:
    """Make every element the integer that stands for a number."""
    per_tensor(t, "fill_")
    t._ints.fill_(_step(t, value))
    t._ver += 1
    return t


@on("copy_", "_copy_", "_copy")
def copy_(t: Any, source: Any, non_blocking: bool = False) -> Any:
    """Take over another tensor's values: a float32 one is quantised, a quantised one brings its scheme along."""
    if not isinstance(t, QuantizedTensor):
        raise RuntimeError(
            "Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a float Tensor "
            "from a quantized Tensor"
        )
    if isinstance(source, QuantizedTensor):
        if source._kind is not t._kind:
            raise RuntimeError(f"Quantized Copy: expected the element type {t._kind}, but got {source._kind}")
        t._scheme = source._scheme
        return become(t, source)
    if source.dtype.name != "float32":
        raise RuntimeError("Quantized copy only works with kFloat as source Tensor")
    per_tensor(t, "copy_")
    return become(t, quantized(source.expand(t.shape), t._scheme, t._kind))
