"""The nested tensor: tensors of one rank and different sizes, packed one after the other in one flat tensor.

Elementwise operations compute on the packed elements, everything else part by part, so that gradients need no rules of their own.
What neither knows raises NotImplementedError.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from .._core.op import functions
from .._core.overrides import disable_subclass
from .._core.size import Size
from .._core.tensor import Tensor
from .._ops import constants

Shapes = tuple[tuple[int, ...], ...]

_ELEMENTWISE = frozenset(
    """abs absolute neg negative sign sgn sin cos tan asin acos atan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt rsqrt
    square reciprocal relu relu6 gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid sigmoid logsigmoid softplus
    erf erfc floor ceil round trunc frac clamp clip isnan isinf isfinite nan_to_num pow dropout alpha_dropout logical_not
    bitwise_not float double half bfloat16 int long bool to type clone detach contiguous cpu cuda ones_like zeros_like empty_like
    full_like rand_like randn_like add sub subtract mul multiply div divide true_divide floor_divide remainder fmod atan2 maximum
    minimum eq ne lt le gt ge logical_and logical_or logical_xor where masked_fill lerp threshold _hardtanh""".split()
)
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__rsub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__rtruediv__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow",
    "__neg__": "neg", "__abs__": "abs", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__invert__": "bitwise_not",
}  # fmt: skip
_PLAIN = frozenset("requires_grad_ numel item backward register_hook retain_grad data_ptr element_size is_floating_point is_complex "
                   "get_device untyped_storage storage_offset".split())  # fmt: skip
_WHOLE = frozenset("sum mean max min any all amax amin prod".split())
_counter = itertools.count(1)


class Ragged:
    """The size of the dimension in which the parts of a jagged tensor differ. Equal only to itself."""

    def __init__(self) -> None:
        self.name = f"j{next(_counter)}"

    def __repr__(self) -> str:
        return self.name


class NestedTensor(Tensor):
    """Tensors of different sizes as one. `unbind()` gives them back."""

    _shapes: Shapes
    _ragged: Ragged | None
    """None with layout torch.strided."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        with disable_subclass():
            if name in _PLAIN:
                return func(*args, **(kwargs or {}))
            return _answer(_OPERATORS.get(name, name).removeprefix("_"), func, args, kwargs or {})

    # -- what kind of tensor it is

    is_nested = True  # pyright: ignore[reportAssignmentType]

    @property
    def layout(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        return constants.strided if self._ragged is None else constants.jagged

    def dim(self) -> int:
        return 1 + len(self._shapes[0]) if self._shapes else 1

    ndimension = dim
    ndim = property(dim)  # pyright: ignore[reportAssignmentType]

    def size(self, dim: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        if dim is None:
            if self._ragged is None:
                raise RuntimeError("a nested tensor of the layout torch.strided has no size: ask for one dimension's")
            return Size([self.size(d) for d in range(self.dim())])
        if not -self.dim() <= dim < self.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-self.dim()}, {self.dim() - 1}], but got {dim})"
            )
        dim %= self.dim()
        if dim == 0:
            return len(self._shapes)
        sizes = {s[dim - 1] for s in self._shapes}
        if self._ragged is not None and dim == self._ragged_dim():
            return self._ragged
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop()

    shape = property(size)  # pyright: ignore[reportAssignmentType]

    def _ragged_dim(self) -> int:
        """The dimension of a jagged tensor in which its parts differ; the first of the parts where none does."""
        differ = [d for d, sizes in enumerate(zip(*self._shapes, strict=True)) if len(set(sizes)) > 1]
        return 1 + (differ[0] if differ else 0)

    def __len__(self) -> int:
        return len(self._shapes)

    def _nested_tensor_size(self) -> Tensor:
        """The sizes of the parts, one row each."""
        return functions["tensor"]([list(s) for s in self._shapes])

    # -- its parts

    def unbind(self, dim: int = 0) -> tuple[Tensor, ...]:
        """The tensors that it is made of."""
        if dim != 0:
            raise RuntimeError(f"unbind: a nested tensor can be taken apart along dimension 0 only, not {dim}")
        with disable_subclass():
            return _parts(self)

    def __iter__(self) -> Any:
        return iter(self.unbind())

    def __getitem__(self, index: Any) -> Any:
        first, *rest = index if isinstance(index, tuple) else (index,)
        if isinstance(first, int):
            part = self.unbind()[first]
            return part[tuple(rest)] if rest else part
        if first == slice(None) and rest:
            return _made([p[tuple(rest)] for p in self.unbind()], self._ragged)
        raise NotImplementedError(f"nested tensors: index by a number, or by [:, ...], not by {index!r}")

    def select(self, dim: int, index: int) -> Any:
        return self[index] if dim == 0 else self[(slice(None),) * dim + (index,)]

    def values(self) -> Tensor:
        """The elements, packed: (sum of the lengths, ...) where the layout is torch.jagged, else flat."""
        with disable_subclass():
            if self._ragged is None:
                return _flat(self)
            parts = [p.movedim(self._ragged_dim() - 1, 0) for p in _parts(self)]
            return functions["cat"](parts).movedim(0, self._ragged_dim() - 1)

    def offsets(self) -> Tensor:
        """Where the parts begin in `values()`, and the end; int64."""
        self._jagged("offsets")
        sizes = [s[self._ragged_dim() - 1] for s in self._shapes]
        return functions["tensor"]([0, *itertools.accumulate(sizes)])

    def lengths(self) -> None:
        """None: there are no holes between the parts."""
        self._jagged("lengths")

    def _jagged(self, name: str) -> None:
        if self._ragged is None:
            raise AttributeError(f"'Tensor' object has no attribute '{name}'")

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Tensor:
        """A plain tensor with `padding` behind the elements of each part, of the sizes of the largest or `output_size`."""
        with disable_subclass():
            parts = _parts(self)
            size = [max(n) for n in zip(*self._shapes, strict=True)]
            if output_size is not None:
                if len(output_size) != len(size) + 1 or any(a < b for a, b in zip(output_size[1:], size, strict=True)):
                    raise RuntimeError(
                        "Value in output_size is less than NestedTensor padded size. Truncation is not supported."
                    )
                size = list(output_size[1:])
            pads = [
                [x for n, full in zip(reversed(p.shape), reversed(size), strict=True) for x in (0, full - n)]
                for p in parts
            ]
            made = functions["stack"](
                [functions["constant_pad_nd"](p, pad, padding) for p, pad in zip(parts, pads, strict=True)]
            )
            extra = 0 if output_size is None else output_size[0] - len(parts)
            return functions["constant_pad_nd"](made, [0, 0] * len(size) + [0, extra], padding) if extra else made

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return True

    def tolist(self) -> Any:
        raise RuntimeError("tolist() is not available for nested tensors; take them apart with unbind()")

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError("numpy() is not available for nested tensors; take them apart with unbind()")

    @property
    def grad(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        with disable_subclass():
            found = Tensor.grad.__get__(self)  # pyright: ignore[reportAttributeAccessIssue]
            return None if found is None else _packed(found, self._shapes, self._ragged)

    @grad.setter
    def grad(self, value: Any) -> None:
        with disable_subclass():
            Tensor.grad.__set__(self, None if value is None else _flat(value))  # pyright: ignore[reportAttributeAccessIssue]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with disable_subclass():
            history = ", requires_grad=True" if self.requires_grad and self.grad_fn is None else ""
            if self.grad_fn is not None:
                history = f", grad_fn=<{type(self.grad_fn).__name__}>"
            if self._ragged is not None:
                return f"NestedTensor(size={tuple(self.size())}, offsets={self.offsets()}{history}, contiguous=True)"
            lines = ",\n".join("\n".join("  " + line for line in repr(p).split("\n")) for p in _parts(self))
            return f"nested_tensor([\n{lines}\n]{history})"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _flat(x: Any) -> Any:
    return x.as_subclass(Tensor) if type(x) is NestedTensor else x


def _parts(x: NestedTensor) -> tuple[Tensor, ...]:
    flat = _flat(x)
    pieces = flat.split([math.prod(s) for s in x._shapes]) if x._shapes else ()
    return tuple([p.reshape(s) for p, s in zip(pieces, x._shapes, strict=True)])


def _packed(flat: Tensor, shapes: Shapes, ragged: Ragged | None) -> NestedTensor:
    made = flat.as_subclass(NestedTensor)
    made._shapes, made._ragged = shapes, ragged
    return made


def _made(parts: Any, ragged: Ragged | None) -> NestedTensor:
    """A nested tensor of these parts, with their history."""
    with disable_subclass():
        shapes = tuple([tuple(p.shape) for p in parts])
        flat = functions["cat"]([p.reshape(-1) for p in parts]) if parts else functions["zeros"](0)
        return _packed(flat, shapes, ragged)


def _answer(name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    given = [*args, *kwargs.values()]
    nested = [a for a in given if type(a) is NestedTensor]
    if name in ("cat", "concat", "stack"):
        return _joined(name, func, *args, **kwargs)
    first = nested[0]
    others = [a for a in given if isinstance(a, Tensor) and type(a) is not NestedTensor and a.dim()]
    if name in _ELEMENTWISE and not others:
        if any(n._shapes != first._shapes for n in nested):
            raise RuntimeError(f"{name}: the nested tensors must have parts of the same sizes")
        found = func(*map(_flat, args), **{k: _flat(v) for k, v in kwargs.items()})
        return _packed(found, first._shapes, first._ragged)
    if name == "linear" and type(args[0]) is NestedTensor:
        rows = _flat(first).reshape(-1, _width(first, name))
        found = func(rows, *args[1:], **kwargs)
        return _packed(found.reshape(-1), tuple([(*s[:-1], found.shape[-1]) for s in first._shapes]), first._ragged)
    if name == "embedding" and type(args[0]) is NestedTensor:
        found = func(_flat(first), *args[1:], **kwargs)
        return _packed(found.reshape(-1), tuple([(*s, found.shape[-1]) for s in first._shapes]), first._ragged)
    if name in _WHOLE and len(args) == 1 and "dim" not in kwargs:
        return func(_flat(first), **kwargs)
    rule = _RULES.get(name)
    if rule is not None:
        return rule(func, first, args, kwargs)
    if name in _ELEMENTWISE or name in ("matmul", "bmm", "scaled_dot_product_attention", "softmax", "log_softmax", "layer_norm",
                                        "rms_norm", "normalize", "outer"):  # fmt: skip
        return _each(func, first, args, kwargs)
    raise NotImplementedError(
        f"{name}: jaxtorch has no such operation for nested tensors; take them apart with unbind()"
    )


def _width(x: NestedTensor, name: str) -> int:
    widths = {s[-1] for s in x._shapes}
    if len(widths) != 1:
        raise RuntimeError(f"{name}: the last dimension of the nested tensor is irregular")
    return widths.pop()


def _each(func: Any, first: NestedTensor, args: Any, kwargs: Any) -> Any:
    """Call by call, with the parts of nested tensors, and with the rows of plain ones that have a batch dimension."""
    n = len(first._shapes)

    def part(a: Any, i: int) -> Any:
        if type(a) is NestedTensor:
            return _parts(a)[i]
        if isinstance(a, Tensor) and a.dim() == first.dim():
            if a.shape[0] not in (1, n):
                raise RuntimeError(f"{func.__name__}: batch of {a.shape[0]} for a nested tensor of {n} parts")
            return a[i if a.shape[0] == n else 0]
        return a

    name = func.__name__.removeprefix("_")
    if name in ("softmax", "log_softmax"):
        dim = args[1] if len(args) > 1 else kwargs.pop("dim")
        args = (args[0], _inner(first, dim, name), *args[2:])
    call = functions["matmul"] if name == "bmm" else func
    found = [call(*[part(a, i) for a in args], **{k: part(a, i) for k, a in kwargs.items()}) for i in range(n)]
    return _made(found, first._ragged)


def _inner(x: NestedTensor, dim: int, name: str) -> int:
    """A dimension of the nested tensor as one of its parts."""
    dim = dim % x.dim()
    if dim == 0:
        raise RuntimeError(f"{name}: not possible along the batch dimension of a nested tensor")
    return dim - 1


def _joined(name: str, func: Any, tensors: Any, dim: int = 0) -> Any:
    first = tensors[0]
    if not all(type(t) is NestedTensor for t in tensors) or name == "stack":
        raise NotImplementedError(f"{name}: of nested tensors, cat() alone is available")
    if dim == 0:
        return _made([p for t in tensors for p in _parts(t)], first._ragged)
    inner = _inner(first, dim, name)
    return _made([func(list(ps), inner) for ps in zip(*map(_parts, tensors), strict=True)], first._ragged)


def _swapped(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    dims = [*args[1:], *kwargs.values()]
    a, b = (_inner(x, d, "transpose") for d in dims)
    return _made([p.transpose(a, b) for p in _parts(x)], x._ragged)


def _cut(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    """chunk and split along a regular dimension."""
    how, *rest = [*args[1:], *kwargs.values()]
    inner = _inner(x, rest[0] if rest else 0, func.__name__)
    pieces = [func(p, how, inner) for p in _parts(x)]
    if len({len(p) for p in pieces}) > 1:
        raise RuntimeError(f"{func.__name__}: the dimension is irregular")
    return tuple([_made(list(ps), x._ragged) for ps in zip(*pieces, strict=True)])


def _reshaped(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    """Another shape for each part; -1 in place of the ragged dimension."""
    size = args[1] if len(args) == 2 and isinstance(args[1], (tuple, list)) else args[1:]
    if size[0] not in (-1, len(x._shapes)):
        raise RuntimeError(f"view: the batch dimension of the nested tensor is {len(x._shapes)}, not {size[0]}")
    inner = [-1 if isinstance(n, Ragged) else n for n in size[1:]]
    regular = [n for n in inner if n != -1]
    made = []
    for p in _parts(x):
        rest = p.numel() // max(math.prod(regular), 1)
        at = iter([rest])
        made.append(p.reshape([next(at, 1) if n == -1 else n for n in inner]))
    return _made(made, x._ragged)


def _unsqueezed(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    dim = [*args[1:], *kwargs.values()][0]
    inner = (dim if dim >= 0 else dim + x.dim() + (func.__name__ == "unsqueeze")) - 1
    return _made([func(p, inner) for p in _parts(x)], x._ragged)


def _reduced(func: Any, x: NestedTensor, args: Any, kwargs: Any) -> Any:
    """Along one dimension; a dimension that is irregular is gone afterwards, and the result a plain tensor."""
    given = dict(zip(("dim", "keepdim"), args[1:], strict=False)) | kwargs
    dim, keep = given.pop("dim"), given.pop("keepdim", False)
    if isinstance(dim, (tuple, list)):
        if len(dim) != 1:
            raise NotImplementedError(f"{func.__name__}: of a nested tensor, along one dimension only")
        dim = dim[0]
    found = [func(p, _inner(x, dim, func.__name__), keep, **given) for p in _parts(x)]
    if len({f.shape for f in found}) == 1 and x._ragged is not None and dim % x.dim() == x._ragged_dim():
        return functions["stack"](found)
    return _made(found, x._ragged)


_RULES: dict[str, Any] = {
    "transpose": _swapped, "swapaxes": _swapped, "chunk": _cut, "split": _cut, "view": _reshaped, "reshape": _reshaped,
    "unsqueeze": _unsqueezed, "squeeze": _unsqueezed, "sum": _reduced, "mean": _reduced, "amax": _reduced, "amin": _reduced,
}  # fmt: skip
