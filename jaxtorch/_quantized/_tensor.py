"""`QuantizedTensor`: integers of a few bits, and how they stand for values.

The integers are an ordinary tensor (`_ints`), of which views share the memory; everything is computed on them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from .._core.define.op import functions
from .._core.dispatch.torch_function import disabled_torch_function
from .._core.run import capture
from .._core.tensor import layouts, printing
from .._core.tensor.sparse_value import NO_FLOATS
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.device import cpu, default_device
from .._core.types.value import Value, aval_of
from .._ops.quantized import quantize as _ops
from .._ops.types import constants
from .._tensor.conversion import to_numpy

RANGES = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(1 << 31), (1 << 31) - 1)}
"""By element type, the integers that it holds."""
BITS = {"qint8": "int8", "quint8": "uint8", "qint32": "int32"}
"""By element type, that of the integers."""
TITLES = {"qint8": "QInt8", "quint8": "QUInt8", "qint32": "QInt32"}


class Scheme(NamedTuple):
    """How integers stand for values: `(n - zero) * scale`.

    scale, zero: a float and an int; tensors (float64 and int64) with one entry for each index of dimension `axis`.
    """

    scale: Any
    zero: Any
    axis: int | None = None

    @property
    def name(self) -> constants.qscheme:
        """As PyTorch calls it."""
        return constants.per_tensor_affine if self.axis is None else constants.per_channel_affine

    def arrays(self, ndim: int, device: Any) -> tuple[Tensor, Tensor]:
        """(scale, zero) as tensors that broadcast against one of `ndim` dimensions."""
        make = functions["tensor"]
        if self.axis is None:
            return make(self.scale, dtype=dtypes.float64, device=device), make(
                self.zero, dtype=dtypes.int64, device=device
            )
        shape = [-1 if d == self.axis else 1 for d in range(ndim)]
        return self.scale.reshape(shape), self.zero.reshape(shape)


class QuantizedTensor(Tensor):
    """A quantised tensor.

    _ints:   the integers.
    _scheme: what they stand for.
    _kind:   the element type, such as `torch.qint8`.
    """

    __slots__ = ("_ints", "_kind", "_scheme")

    _ints: Tensor
    _scheme: Scheme
    _kind: Any

    __torch_function__ = disabled_torch_function  # pyright: ignore[reportAssignmentType]

    def __new__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("QuantizedTensor: use torch.quantize_per_tensor or torch.quantize_per_channel")

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return describe(self)

    def __format__(self, spec: str) -> str:
        if spec:
            return format(self.item(), spec) if not self.dim() else super().__format__(spec)
        return format(self.item(), spec) if not self.dim() else repr(self)


def make(ints: Tensor, scheme: Scheme, kind: Any) -> QuantizedTensor:
    """A quantised tensor on these integers, whose memory it shares."""
    capture.break_capture("a quantised tensor is made")
    t = object.__new__(QuantizedTensor)
    found = ints._value.aval
    t._value = Value(aval_of(found.shape, dtypes.float32, found.slot))
    t._value.program = NO_FLOATS
    t._alias = NO_FLOATS
    t._node = t._grad = t._layout = t._hooks = t._post_hooks = None
    t._index = t._ver = 0
    t._rg = False
    t._ints, t._scheme, t._kind = ints, scheme, kind
    return t


def like(t: QuantizedTensor, ints: Tensor) -> QuantizedTensor:
    """Other integers of the same meaning."""
    return make(ints, t._scheme, t._kind)


def become(t: QuantizedTensor, other: QuantizedTensor) -> QuantizedTensor:
    """Write the integers of `other`, which mean the same, into `t`."""
    t._ints.copy_(other._ints)
    t._ver += 1
    return t


def quantized(x: Tensor, scheme: Scheme, kind: Any) -> QuantizedTensor:
    """A float32 tensor in the integers of a scheme."""
    low, high = RANGES[kind.name]
    scale, zero = scheme.arrays(x.dim(), x.device)
    return make(_ops._to_steps(x.detach(), scale, zero, low, high, BITS[kind.name]), scheme, kind)


def values(t: QuantizedTensor) -> Tensor:
    """What the integers stand for, in float32."""
    return _ops._from_steps(t._ints, *t._scheme.arrays(t.dim(), t.device))


def per_tensor(t: QuantizedTensor, what: str) -> None:
    """NotImplementedError for a tensor with a scale for each channel."""
    if t._scheme.axis is not None:
        raise NotImplementedError(f"{what}: jaxtorch has it for tensors quantised per tensor only, not per channel")


def describe(t: QuantizedTensor) -> str:
    """The text PyTorch prints."""
    device, scheme = t.device, t._scheme
    default = default_device()
    elsewhere = (device.type, device.index or 0) != (default.type, default.index or 0) and device != cpu
    facts = [f"device='{device}'"] if elsewhere else []
    facts += [f"size={tuple(t.shape)}", f"dtype={t._kind}", f"quantization_scheme={scheme.name}"]
    if scheme.axis is None:
        facts += [f"scale={scheme.scale}", f"zero_point={scheme.zero}"]
    else:
        facts += [f"scale={scheme.scale}", f"zero_point={scheme.zero}", f"axis={scheme.axis}"]
    shown = values(t)
    body = "[]" if 0 in t.shape else printing._body(to_numpy(shown), tuple(t.shape), len("tensor("))
    return printing._with_suffixes("tensor(" + body, facts, len("tensor("))


def method(fn: Any) -> Any:
    """Make a function a method of quantised tensors."""
    setattr(QuantizedTensor, fn.__name__, fn)
    return fn


def _property(fn: Any) -> Any:
    setattr(QuantizedTensor, fn.__name__, property(fn, doc=fn.__doc__))
    return fn


@_property
def dtype(self: QuantizedTensor) -> Any:
    """The element type, such as `torch.qint8`."""
    return self._kind


@_property
def is_quantized(self: QuantizedTensor) -> bool:
    """True."""
    return True


@_property
def itemsize(self: QuantizedTensor) -> int:
    """The size of an integer, in bytes."""
    return self._ints.itemsize


@_property
def nbytes(self: QuantizedTensor) -> int:
    """The size of the integers, in bytes."""
    return self._ints.nbytes


@method
def element_size(self: QuantizedTensor) -> int:
    """The size of an integer, in bytes."""
    return self._ints.element_size()


@method
def is_floating_point(self: QuantizedTensor) -> bool:
    """False."""
    return False


@method
def is_signed(self: QuantizedTensor) -> bool:
    """Are there integers below 0?"""
    return self._kind.name != "quint8"


@method
def stride(self: QuantizedTensor, dim: int | None = None) -> Any:
    """The strides of the integers."""
    return self._ints.stride() if dim is None else self._ints.stride(dim)


@method
def storage_offset(self: QuantizedTensor) -> int:
    """Where the integers begin in their storage."""
    return layouts.offset_of(self._ints)


@method
def is_contiguous(self: QuantizedTensor, memory_format: Any = constants.contiguous_format) -> bool:
    """Are the integers in order?"""
    return self._ints.is_contiguous(memory_format=memory_format)


@method
def untyped_storage(self: QuantizedTensor) -> Any:
    """The memory of the integers."""
    return self._ints.untyped_storage()


@method
def data_ptr(self: QuantizedTensor) -> int:
    """The address of a copy of the integers."""
    return self._ints.data_ptr()


@method
def type(self: QuantizedTensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The name of the type; RuntimeError for another type, as quantised tensors are not cast."""
    return f"torch.quantized.{TITLES[self._kind.name]}Tensor" if dtype is None else _cast(self)


def _cast(self: QuantizedTensor, *args: Any, **kwargs: Any) -> NoReturn:
    """RuntimeError: a quantised tensor is not cast; see dequantize."""
    raise RuntimeError("Creation of quantized tensor requires quantized dtype like torch.quint8")


for _name in "float double half bfloat16 int long short char byte bool cfloat cdouble chalf".split():
    setattr(QuantizedTensor, _name, _cast)


@method
def to(self: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
    """On another device; RuntimeError for another element type, which a quantised tensor cannot be cast to."""
    given = [*args, *[kwargs[k] for k in ("dtype", "other") if k in kwargs]]
    for x in given:
        kind = x.dtype if isinstance(x, Tensor) else x if isinstance(x, dtypes.dtype) else None
        if kind is not None and kind is not self._kind:
            _cast(self)
    args = tuple([a for a in args if not isinstance(a, dtypes.dtype)])
    kwargs = {k: v for k, v in kwargs.items() if k != "dtype"}
    moved = self._ints.to(*args, **kwargs) if args or kwargs else self._ints
    if moved is self._ints:
        return self
    scheme = self._scheme
    if scheme.axis is not None:
        scheme = Scheme(scheme.scale.to(moved.device), scheme.zero.to(moved.device), scheme.axis)
    return make(moved, scheme, self._kind)


@method
def requires_grad_(self: QuantizedTensor, requires_grad: Any = True) -> QuantizedTensor:
    """RuntimeError: no gradients reach integers."""
    if requires_grad:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return self


def _set_requires_grad(self: QuantizedTensor, value: Any) -> None:
    if value:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


QuantizedTensor.requires_grad = property(  # pyright: ignore[reportAttributeAccessIssue]
    lambda self: False, _set_requires_grad, doc="False."
)


@method
def dequantize(self: QuantizedTensor) -> Tensor:
    """What the integers stand for, in float32."""
    return values(self)


@method
def int_repr(self: QuantizedTensor) -> Tensor:
    """A copy of the integers: uint8, int8 or int32."""
    return self._ints.clone()


def _need(self: QuantizedTensor, per_channel: bool) -> None:
    if (self._scheme.axis is not None) != per_channel:
        wanted = (
            "kPerChannelAffine || quantizer->qscheme() == kPerChannelAffineFloatQParams"
            if per_channel
            else "kPerTensorAffine"
        )
        raise RuntimeError(f"Expected quantizer->qscheme() == {wanted} to be true, but got false.")


@method
def q_scale(self: QuantizedTensor) -> float:
    """The scale; RuntimeError where there is one for each channel."""
    _need(self, False)
    return self._scheme.scale


@method
def q_zero_point(self: QuantizedTensor) -> int:
    """The integer that stands for 0; RuntimeError where there is one for each channel."""
    _need(self, False)
    return self._scheme.zero


@method
def q_per_channel_scales(self: QuantizedTensor) -> Tensor:
    """(channels,) scales, in float64."""
    _need(self, True)
    return self._scheme.scale


@method
def q_per_channel_zero_points(self: QuantizedTensor) -> Tensor:
    """(channels,) integers that stand for 0."""
    _need(self, True)
    return self._scheme.zero


@method
def q_per_channel_axis(self: QuantizedTensor) -> int:
    """The dimension of the channels."""
    _need(self, True)
    return self._scheme.axis or 0


@method
def qscheme(self: QuantizedTensor) -> Any:
    """`torch.per_tensor_affine` or `torch.per_channel_affine`."""
    return self._scheme.name


@method
def item(self: QuantizedTensor) -> Any:
    """The value of a single element."""
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return values(self).item()


for _name in "__float__ __int__ __bool__ __complex__".split():
    setattr(QuantizedTensor, _name, lambda self, _name=_name: getattr(values(self), _name)())


@method
def numpy(self: QuantizedTensor, *, force: Any = False) -> NoReturn:
    """TypeError: see dequantize and int_repr."""
    raise TypeError(f"Got unsupported ScalarType {TITLES[self._kind.name]}")


QuantizedTensor.__array__ = lambda self, *args, **kwargs: numpy(self)


@method
def tolist(self: QuantizedTensor) -> NoReturn:
    """RuntimeError: see dequantize and int_repr."""
    raise RuntimeError("load_scalar: invalid type")


@method
def __deepcopy__(self: QuantizedTensor, memo: Any) -> QuantizedTensor:
    if id(self) not in memo:
        memo[id(self)] = like(self, self._ints.clone())
    return memo[id(self)]


def scheme_parts(t: QuantizedTensor) -> tuple[Any, ...]:
    """The scheme as PyTorch pickles it."""
    scheme = t._scheme
    return (scheme.name, scheme.scale, scheme.zero, *([] if scheme.axis is None else [scheme.axis]))


@method
def __reduce_ex__(self: QuantizedTensor, protocol: Any) -> Any:
    return rebuilt, (self._ints, scheme_parts(self), self._kind)


def rebuilt(ints: Tensor, parts: tuple[Any, ...], kind: Any) -> QuantizedTensor:
    """A quantised tensor from its integers and the scheme as it is pickled."""
    return make(ints, Scheme(*parts[1:]), kind)
