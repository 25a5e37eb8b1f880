"""The nested tensor: tensors of one rank and different sizes, packed one after the other in one flat tensor.

Elementwise operations compute on the packed elements, everything else part by part, so that gradients need no rules of their own.
What neither knows raises NotImplementedError.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.dispatch.torch_function import disable_subclass, wrapped_grad
from .._core.tensor import strides
from .._core.tensor.tensor import Tensor
from .._core.types.size import Size
from .._core.types.warn_once import once
from .._ops.types import constants

Shapes = tuple[tuple[int, ...], ...]

_ELEMENTWISE = frozenset(
    """abs absolute neg negative sign sgn sin cos tan asin acos atan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt rsqrt
    square reciprocal relu relu6 gelu silu mish elu selu celu leaky_relu hardtanh hardswish hardsigmoid sigmoid logsigmoid softplus
    erf erfc floor ceil round trunc frac clamp clip isnan isinf isfinite nan_to_num pow dropout alpha_dropout logical_not
    bitwise_not float double half bfloat16 int long bool to type clone detach contiguous cpu cuda ones_like zeros_like empty_like
    full_like rand_like randn_like add sub subtract mul multiply div divide true_divide floor_divide remainder fmod atan2 maximum
    minimum eq ne lt le gt ge logical_and logical_or logical_xor where masked_fill lerp threshold""".split()
)
_JAGGED = frozenset(
    """__rsub__ __rdiv__ __rmod__ __rpow__ __and__ __or__ __xor__ __lshift__ __rshift__ __rlshift__ __rrshift__ bitwise_and
    bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift acosh asinh atanh angle conj_physical copysign deg2rad digamma
    erfinv float_power fmax fmin heaviside hypot i0 igamma igammac isclose isneginf isposinf isreal ldexp lgamma logaddexp logit
    mvlgamma nextafter hardshrink softshrink softsign tanhshrink polygamma positive rad2deg signbit sinc xlogy clamp_max clamp_min
    special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx
    special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e special_laguerre_polynomial_l
    special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
    special_modified_bessel_k0 special_modified_bessel_k1 special_ndtr special_ndtri special_polygamma
    special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
    special_spherical_bessel_j0 special_xlog1py special_zeta""".split()
)
"""Elementwise operations that jagged tensors alone take."""
_IN_PLACE = frozenset(f"{name}_" for name in [*_ELEMENTWISE, "fill", "zero", "copy"])
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul",
    "__truediv__": "div", "__rtruediv__": "div", "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow",
    "__neg__": "neg", "__abs__": "abs", "__eq__": "eq", "__ne__": "ne", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__invert__": "bitwise_not",
}  # fmt: skip
_PLAIN = frozenset("requires_grad_ numel item backward register_hook retain_grad data_ptr element_size is_floating_point is_complex "
                   "get_device untyped_storage storage_offset __bool__".split())  # fmt: skip
_PART_BY_PART = frozenset("matmul bmm scaled_dot_product_attention layer_norm rms_norm normalize outer".split())
_WHOLE = frozenset("sum mean max min any all amax amin prod".split())
_counter = itertools.count(1)


class Ragged:
    """The size of the dimension in which the parts of a jagged tensor differ. Equal only to itself.

    padded: the size that padding gives the dimension, where it is not that of the longest part.
    """

    def __init__(self, padded: int | None = None) -> None:
        self.name = f"j{next(_counter)}"
        self.padded = padded

    def __repr__(self) -> str:
        return self.name


class NestedTensor(Tensor):
    """Tensors of different sizes as one. `unbind()` gives them back."""

    _shapes: Shapes
    """Of the parts."""
    _ragged: Ragged | None
    """None with layout torch.strided."""
    _ragged_dim: int
    """The dimension that `_ragged` is the size of."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        with disable_subclass():
            if name in _PLAIN:
                return func(*args, **(kwargs or {}))
            plain = _OPERATORS.get(name, name)
            alone = name in _JAGGED or name.removeprefix("_") in _JAGGED
            if alone and any(isinstance(x, NestedTensor) and x._ragged is not None for x in args):
                plain = "sub"
            return _answer(plain if plain.startswith("__") else plain.removeprefix("_"), func, args, kwargs or {})

    # -- what kind of tensor it is

    is_nested = True  # pyright: ignore[reportAssignmentType]

    @property
    def layout(self) -> Any:
        return constants.strided if self._ragged is None else constants.jagged

    def dim(self) -> int:
        return 1 + len(self._shapes[0]) if self._shapes else 1

    ndimension = dim
    ndim = property(dim)

    def size(self, dim: Any = None) -> Any:
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
        if self._ragged is not None and dim == self._ragged_dim:
            return self._ragged
        if len(sizes) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop()

    shape = property(size)

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
        if not isinstance(first, int):
            raise NotImplementedError(f"nested tensors: the first index must be a number, not {first!r}")
        n = len(self._shapes)
        if not -n <= first < n:
            raise IndexError(f"index {first} is out of bounds for dimension 0 with size {n}")
        part = self.unbind()[first]
        return part[tuple(rest)] if rest else part

    def select(self, dim: int, index: int) -> Any:
        if dim == 0:
            return self[index]
        with disable_subclass():
            inner = _inner(self, dim, "select")
            return _made([p.select(inner, index) for p in _parts(self)], self._ragged, _without(self, inner + 1))

    def values(self) -> Tensor:
        """The elements, packed: (sum of the lengths, ...) where the layout is torch.jagged, else flat."""
        with disable_subclass():
            if self._ragged is None:
                return _flat(self)
            return functions["cat"](_parts(self), self._ragged_dim - 1)

    def offsets(self) -> Tensor:
        """Where the parts begin in `values()`, and the end; int64."""
        self._jagged("offsets")
        sizes = [s[self._ragged_dim - 1] for s in self._shapes]
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
            if not parts:
                return _flat(self)
            size = [max(n) for n in zip(*self._shapes, strict=True)]
            if output_size is not None:
                if len(output_size) != len(size) + 1:
                    raise RuntimeError(
                        f"to_padded_tensor: output_size={output_size} must have {len(size) + 1} dimensions"
                    )
                if any(a < b for a, b in zip(output_size, [len(parts), *size], strict=True)):
                    raise RuntimeError(
                        f"to_padded_tensor: output_size={output_size} must not be less than {[len(parts), *size]}"
                    )
                size = list(output_size[1:])
            elif self._ragged is not None and self._ragged.padded is not None:
                size[self._ragged_dim - 1] = max(size[self._ragged_dim - 1], self._ragged.padded)
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

    def is_conj(self) -> bool:
        return False

    is_neg = is_conj

    def tolist(self) -> Any:
        raise RuntimeError("tolist() is not available for nested tensors; take them apart with unbind()")

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError("numpy() is not available for nested tensors; take them apart with unbind()")

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        with disable_subclass():
            memo[id(self)] = made = _like(self, copy.deepcopy(_flat(self.detach()))).requires_grad_(self.requires_grad)
            return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError("torch.save, pickle: jaxtorch writes no nested tensors; save the parts, unbind()")

    grad = wrapped_grad(lambda self, found: _like(self, found), lambda value: _flat(value))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        with disable_subclass():
            history = ", requires_grad=True" if self.requires_grad and self.grad_fn is None else ""
            if self.grad_fn is not None:
                history = f", grad_fn=<{type(self.grad_fn).__name__}>"
            if self._ragged is not None:
                return f"NestedTensor(size={tuple(self.size())}, offsets={self.offsets()}{history}, contiguous=True)"
            parts = [p.detach().requires_grad_(self.requires_grad) for p in _parts(self)]
            lines = ",\n".join("\n".join("  " + line for line in repr(p).split("\n")) for p in parts)
            return f"nested_tensor([\n{lines}\n]{history})"

    __str__ = __repr__
    __hash__ = Tensor.__hash__


def _flat(x: Any) -> Any:
    return x.as_subclass(Tensor) if type(x) is NestedTensor else x


def _parts(x: NestedTensor) -> tuple[Tensor, ...]:
    flat = _flat(x)
    pieces = flat.split([math.prod(s) for s in x._shapes]) if x._shapes else ()
    return tuple([p.reshape(s) for p, s in zip(pieces, x._shapes, strict=True)])


def _packed(flat: Tensor, shapes: Shapes, ragged: Ragged | None, ragged_dim: int) -> NestedTensor:
    made = flat.as_subclass(NestedTensor)
    made._shapes, made._ragged, made._ragged_dim = shapes, ragged, ragged_dim
    return made


def _like(x: NestedTensor, flat: Tensor, shapes: Shapes | None = None) -> NestedTensor:
    """These elements as parts like those of x, or of other shapes whose ragged dimension is the same one."""
    return _packed(flat, x._shapes if shapes is None else shapes, x._ragged, x._ragged_dim)


def _made(parts: Any, ragged: Ragged | None, ragged_dim: int | None = None) -> NestedTensor:
    """A nested tensor of these parts, with their history. Ragged is the dimension in which they differ, unless it is given."""
    if ragged is None:
        once(
            "The PyTorch API of nested tensors is in prototype stage and will change in the near future. Use torch.jagged."
        )
    with disable_subclass():
        shapes = tuple([tuple(p.shape) for p in parts])
        if ragged_dim is None:
            differ = [d for d, sizes in enumerate(zip(*shapes, strict=True), 1) if len(set(sizes)) > 1]
            ragged_dim = differ[0] if differ else 1
        flat = functions["cat"]([p.reshape(-1) for p in parts]) if parts else functions["zeros"](0)
        return _packed(flat, shapes, ragged, ragged_dim)


def _answer(name: str, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if name in ("cat", "concat", "stack"):
        return _joined(name, func, *args, **kwargs)
    if not args:  # the operand came by its name
        args, kwargs = (next(iter(kwargs.values())),), dict(list(kwargs.items())[1:])
    given = [*args, *kwargs.values()]
    nested = [a for a in given if type(a) is NestedTensor]
    first = nested[0]
    if name == "is_same_size":
        if len(nested) < 2:
            own, other = ("", "not ") if type(args[0]) is NestedTensor else ("not ", "")
            raise RuntimeError(
                f"Expected both self and other to be nested tensors. Self is {own}nested. While Other is {other}nested."
            )
        jagged = [n._ragged for n in nested]
        return first._shapes == nested[1]._shapes and jagged[0] is jagged[1]
    if name in ("max", "min") and len(args) > 1 and isinstance(args[1], Tensor):
        name += "imum"
    others = any(isinstance(a, Tensor) and type(a) is not NestedTensor and a.dim() for a in given)
    if (name in _ELEMENTWISE or name in _IN_PLACE) and not others:
        if any(n._shapes != first._shapes for n in nested):
            raise RuntimeError(f"{name}: the nested tensors must have parts of the same sizes")
        found = func(*map(_flat, args), **{k: _flat(v) for k, v in kwargs.items()})
        if name in _IN_PLACE:
            return args[0]
        return _like(first, found) if isinstance(found, Tensor) else found
    if name in ("linear", "embedding") and type(args[0]) is NestedTensor:
        wide = name == "linear"
        found = func(_flat(first).reshape(-1, _width(first, name)) if wide else _flat(first), *args[1:], **kwargs)
        shapes = tuple([(*(s[:-1] if wide else s), found.shape[-1]) for s in first._shapes])
        return _like(first, found.reshape(-1), shapes)
    if name in _WHOLE and len(args) == 1 and kwargs.get("dim") is None:
        return func(_flat(first), **{k: v for k, v in kwargs.items() if k != "dim"})
    if name in _RULES:
        names, rule = _RULES[name]
        renamed: dict[str, Any] = {str(names.get(k, k)): v for k, v in kwargs.items()}
        return rule(name, func, first, *args[1:], **renamed)
    if name in _ELEMENTWISE or name in _PART_BY_PART:
        return _each(name, func, first, args, kwargs)
    raise NotImplementedError(
        f"{name}: jaxtorch has no such operation for nested tensors; take them apart with unbind()"
    )


def _width(x: NestedTensor, name: str) -> int:
    widths = {s[-1] for s in x._shapes}
    if len(widths) != 1:
        raise RuntimeError(f"{name}: the last dimension of the nested tensor is irregular")
    return widths.pop()


def _each(name: str, func: Any, first: NestedTensor, args: Any, kwargs: Any) -> Any:
    """Call by call, with the parts of nested tensors, and with the rows of plain ones that have a batch dimension."""
    n = len(first._shapes)

    def part(a: Any, i: int) -> Any:
        if type(a) is NestedTensor:
            return _parts(a)[i]
        if isinstance(a, Tensor) and a.dim() == first.dim():
            if a.shape[0] not in (1, n):
                raise RuntimeError(f"{name}: batch of {a.shape[0]} for a nested tensor of {n} parts")
            return a[i if a.shape[0] == n else 0]
        return a

    call = functions["matmul"] if name == "bmm" else func
    found = [call(*[part(a, i) for a in args], **{k: part(a, i) for k, a in kwargs.items()}) for i in range(n)]
    return _made(found, first._ragged, first._ragged_dim)


def _inner(x: NestedTensor, dim: int, name: str) -> int:
    """A dimension of the nested tensor as one of its parts."""
    inner = strides.wrap_dim(dim, x.dim()) - 1
    if inner < 0:
        raise RuntimeError(f"{name}: not possible along the batch dimension of a nested tensor")
    return inner


def _without(x: NestedTensor, dim: int) -> int:
    """Which dimension is the ragged one where `dim` is gone."""
    return x._ragged_dim - (dim < x._ragged_dim)


def _joined(name: str, func: Any, tensors: Any, dim: int = 0) -> Any:
    first = tensors[0]
    if not all(type(t) is NestedTensor for t in tensors) or name == "stack":
        raise NotImplementedError(f"{name}: of nested tensors, cat() alone is available")
    if first._ragged is not None and dim in (0, first._ragged_dim):
        raise RuntimeError(f"{name}: jagged tensors are not joined along dimension {dim}")
    if dim == 0:
        return _made([p for t in tensors for p in _parts(t)], None)
    inner = _inner(first, dim, name)
    parts = [func(list(ps), inner) for ps in zip(*map(_parts, tensors), strict=True)]
    return _made(parts, first._ragged, first._ragged_dim)


def _softmax(name: str, func: Any, x: NestedTensor, dim: int, *rest: Any, **kwargs: Any) -> Any:
    inner = _inner(x, dim, name)
    return _made([func(p, inner, *rest, **kwargs) for p in _parts(x)], x._ragged, x._ragged_dim)


def _swapped(name: str, func: Any, x: NestedTensor, dim0: int, dim1: int) -> Any:
    a, b = (_inner(x, d, name) for d in (dim0, dim1))
    ragged = {a + 1: b + 1, b + 1: a + 1}.get(x._ragged_dim, x._ragged_dim)
    return _made([p.transpose(a, b) for p in _parts(x)], x._ragged, ragged)


def _permuted(name: str, func: Any, x: NestedTensor, *dims: Any) -> Any:
    dims = tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], (tuple, list)) else dims
    order = [strides.wrap_dim(d, x.dim()) for d in dims]
    if sorted(order) != list(range(x.dim())):
        raise RuntimeError(f"{name}: expected each dimension of {x.dim()} once, got {dims}")
    if order[0] != 0:
        raise RuntimeError(f"{name}: the batch dimension of a nested tensor must stay the first")
    inner = [d - 1 for d in order[1:]]
    return _made([p.permute(inner) for p in _parts(x)], x._ragged, order.index(x._ragged_dim))


def _cut(name: str, func: Any, x: NestedTensor, how: Any, dim: int = 0) -> Any:
    """chunk and split along a regular dimension."""
    inner = _inner(x, dim, name)
    pieces = [func(p, how, inner) for p in _parts(x)]
    if len({len(p) for p in pieces}) > 1:
        raise RuntimeError(f"{name}: the dimension is irregular")
    return tuple([_made(ps, x._ragged, x._ragged_dim) for ps in zip(*pieces, strict=True)])


def _reshaped(name: str, func: Any, x: NestedTensor, *size: Any) -> Any:
    """Another shape for each part: one -1 is worked out, and where there are several, each keeps that dimension as it is."""
    size = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    if not size or size[0] not in (-1, len(x._shapes)):
        raise RuntimeError(
            f"{name}: shape {list(size)} must begin with {len(x._shapes)}, the nested tensor's batch size"
        )
    inner = [-1 if isinstance(n, Ragged) else n for n in size[1:]]
    open_dims = [d for d, n in enumerate(inner) if n == -1]
    shapes = []
    for old in x._shapes:
        kept = [old[d] if n == -1 and len(open_dims) > 1 and d < len(old) else n for d, n in enumerate(inner)]
        unknown = math.prod(old) // max(math.prod(n for n in kept if n != -1), 1)
        new = tuple([unknown if n == -1 else n for n in kept])
        if math.prod(new) != math.prod(old):
            raise RuntimeError(f"{name}: shape {list(size)} is invalid for a part of shape {list(old)}")
        shapes.append(new)
    named = [d for d, n in enumerate(size) if isinstance(n, Ragged)] or [d + 1 for d in open_dims]
    ragged_dim = x._ragged_dim if x._ragged_dim in named or not named else named[0]
    return _packed(_flat(x), tuple(shapes), x._ragged, ragged_dim)


def _unsqueezed(name: str, func: Any, x: NestedTensor, dim: int) -> Any:
    at = strides.wrap_dim(dim, x.dim() + 1)
    if at == 0:
        raise RuntimeError(f"{name}: not possible along the batch dimension of a nested tensor")
    shapes = tuple([(*s[: at - 1], 1, *s[at - 1 :]) for s in x._shapes])
    return _packed(_flat(x), shapes, x._ragged, x._ragged_dim + (at <= x._ragged_dim))


def _squeezed(name: str, func: Any, x: NestedTensor, dim: int | None = None) -> Any:
    if dim is None:
        raise NotImplementedError("squeeze: of a nested tensor, with a dimension only")
    inner = _inner(x, dim, name)
    if any(s[inner] != 1 for s in x._shapes) or (x._ragged is not None and inner + 1 == x._ragged_dim):
        return x
    shapes = tuple([(*s[:inner], *s[inner + 1 :]) for s in x._shapes])
    return _packed(_flat(x), shapes, x._ragged, _without(x, inner + 1))


def _unflattened(name: str, func: Any, x: NestedTensor, dim: int, sizes: Any) -> Any:
    inner = _regular(x, dim, name)
    shapes = tuple([(*s[:inner], *strides.infer_size(tuple(sizes), s[inner]), *s[inner + 1 :]) for s in x._shapes])
    return _packed(_flat(x), shapes, x._ragged, x._ragged_dim + (len(sizes) - 1) * (inner + 1 < x._ragged_dim))


def _flattened(name: str, func: Any, x: NestedTensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = _regular(x, start_dim, name), _regular(x, end_dim, name)
    if x._ragged is not None and first < x._ragged_dim - 1 < last:
        raise RuntimeError(f"{name}: not possible across the ragged dimension of a nested tensor")
    shapes = tuple([(*s[:first], math.prod(s[first : last + 1]), *s[last + 1 :]) for s in x._shapes])
    return _packed(_flat(x), shapes, x._ragged, x._ragged_dim - (last - first) * (last + 1 < x._ragged_dim))


def _regular(x: NestedTensor, dim: int, name: str) -> int:
    """A dimension of the nested tensor, not the ragged one, as one of its parts."""
    inner = _inner(x, dim, name)
    if x._ragged is not None and inner + 1 == x._ragged_dim:
        raise RuntimeError(f"{name}: not possible along the ragged dimension of a nested tensor")
    return inner


def _reduced(name: str, func: Any, x: NestedTensor, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    """Along one dimension; a dimension that is irregular is gone afterwards, and the result a plain tensor."""
    if dim is None:
        raise NotImplementedError(f"{name}: of a whole nested tensor, without keepdim only")
    if isinstance(dim, (tuple, list)):
        if len(dim) != 1:
            raise NotImplementedError(f"{name}: of a nested tensor, along one dimension only")
        dim = dim[0]
    inner = _inner(x, dim, name)
    found = [func(p, inner, keepdim, **kwargs) for p in _parts(x)]

    def whole(parts: Any) -> Any:
        if x._ragged is not None and inner + 1 == x._ragged_dim:
            return functions["stack"](parts)
        return _made(parts, x._ragged, x._ragged_dim if keepdim else _without(x, inner + 1))

    if isinstance(found[0], tuple):
        return type(found[0])(map(whole, zip(*found, strict=True)))
    return whole(found)


_RULES: dict[str, tuple[dict[str, str], Any]] = {
    "transpose": ({}, _swapped), "swapaxes": ({"axis0": "dim0", "axis1": "dim1"}, _swapped), "permute": ({}, _permuted),
    "chunk": ({"chunks": "how"}, _cut), "split": ({"split_size": "how", "split_size_or_sections": "how"}, _cut),
    "view": ({}, _reshaped), "reshape": ({}, _reshaped), "unsqueeze": ({}, _unsqueezed), "squeeze": ({}, _squeezed),
    "unflatten": ({}, _unflattened), "flatten": ({}, _flattened),
    "softmax": ({}, _softmax), "log_softmax": ({}, _softmax),
    **{name: ({"axis": "dim"}, _reduced) for name in "sum mean amax amin max min argmax argmin".split()},
}  # fmt: skip
"""The rule of an operation, and what keywords of the operation's are called in it."""
