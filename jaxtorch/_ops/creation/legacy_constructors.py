"""The constructors of old PyTorch: `Tensor(2, 3)`, `FloatTensor([...])`, `Tensor.new`; and subclasses of `Tensor`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core.define.op import function, methods
from ..._core.dispatch.number_limits import SCALAR_NAMES
from ..._core.dispatch.torch_function import admit, disable_all
from ..._core.tensor import views
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import dtypes
from ..._core.types.size import Size
from ..shapes.views import _alias
from ..types.casting import _LEGACY
from .filled import filled
from .from_data import _is_sequence, tensor

_SLOTS = ("_value", "_alias", "_node", "_index", "_grad", "_layout", "_ver", "_hooks", "_post_hooks", "_rg")


def _wrong_type(wanted: dtypes.dtype, got: dtypes.dtype) -> TypeError:
    def options(dtype: dtypes.dtype) -> str:
        name = _OPTION_NAMES.get(dtype.name, SCALAR_NAMES.get(dtype.name, dtype.name))
        return (
            f"TensorOptions(dtype={name}, device=cpu, layout=Strided, requires_grad=false (default), "
            "pinned_memory=false (default), memory_format=(nullopt))"
        )

    return TypeError(f"expected {options(wanted)} (got {options(got)})")


_OPTION_NAMES = {"int64": "long int", "uint8": "unsigned char", "int8": "signed char", "int16": "short int"}


def _number(given: Any) -> Any:
    """NumPy's whole numbers, arrays without dimensions among them, are sizes as Python's are."""
    array = isinstance(given, np.ndarray) and given.ndim == 0 and given.dtype.kind in "iu"
    return given.item() if array or isinstance(given, np.integer) else given


_NAMED = {
    "size": lambda x: isinstance(x, (tuple, list)), "other": lambda x: isinstance(x, Tensor),
    "storage": lambda x: hasattr(x, "untyped"), "data": lambda x: True,
}  # fmt: skip
"""The old constructor's only argument by its name, and what it may be."""


def unnamed(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of the old constructor, one of which may have been given by its name; TypeError for others."""
    if not named:
        return args
    name, value = next(iter(named.items()))
    if args or len(named) > 1 or name not in _NAMED or not _NAMED[name](value):
        kinds = ", ".join([*(type(a).__name__ for a in args), *(f"{k}={type(v).__name__}" for k, v in named.items())])
        raise TypeError(f"new() received an invalid combination of arguments - got ({kinds})")
    return (Size(value),) if name == "size" else (value,)


def construct(args: tuple[Any, ...], dtype: dtypes.dtype, device: Any, checked: bool) -> Tensor:
    """The old constructor: sizes, one sequence of numbers, or one tensor (whose type must match if `checked`)."""
    if not args:
        return filled((0,), 0, dtype, device)
    args = tuple([_number(a) for a in args])
    data = args[0]
    if len(args) > 1 or (isinstance(data, int) and not isinstance(data, bool)):
        if not all(isinstance(a, int) and not isinstance(a, bool) for a in args):
            raise TypeError(
                "new() received an invalid combination of arguments - got "
                f"({', '.join(type(a).__name__ for a in args)}): sizes must be ints"
            )
        if min(args) < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {min(args)}: {list(args)}")
        return filled(args, 0, dtype, device)
    if isinstance(data, Size):
        return filled(tuple(data), 0, dtype, device)
    if isinstance(data, Tensor):
        if checked and data.dtype is not dtype:
            raise _wrong_type(dtype, data.dtype)
        with disable_all():  # a view with the history of what it was made from
            return _alias(data)
    untyped = getattr(data, "untyped", None)
    if untyped is not None:  # a storage
        held = getattr(data, "dtype", dtype)
        if held is not dtype:
            wanted, got = dtypes.scalar_name(dtype), dtypes.scalar_name(held)
            raise RuntimeError(
                f"Expected a Storage of type {wanted} or an UntypedStorage, but got type {got} for argument 1 'storage'"
            )
        return untyped()._as_tensor(dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    if not _is_sequence(data):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    return tensor(data, dtype=dtype, device=device)


def become(t: Tensor, cls: type) -> Tensor:
    """The tensor as an object of a subclass, which takes its place."""
    if cls is Tensor:
        return t
    admit(cls)
    out = object.__new__(cls)
    for name in _SLOTS:
        setattr(out, name, getattr(t, name))
    alias = out._alias
    if alias is not None and alias.storage.owner() is t:
        import weakref

        alias.storage.owner = weakref.ref(out)
    return out


def _tensor_new(cls: type, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`: tensors of the default type. `torch.tensor` and `torch.empty` say it better."""
    if cls is not Tensor:  # what else there is may be for its `__init__`
        named = {"data": named["data"]} if "data" in named else {}
    args = unnamed(args, named)
    _refuse_device(args, device, "constructor", "torch.Tensor", "torch.tensor(...) or ")
    return become(construct(args, dtypes.default(), device, checked=False), cls)


methods["__new__"] = staticmethod(_tensor_new)


def _tensor_init(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """A tensor is complete once it is made."""


methods["__init__"] = _tensor_init


def _refuse_device(args: tuple[Any, ...], device: Any, kind: str, form: str, instead: str) -> None:
    """RuntimeError where the old constructor is given a tensor and a device."""
    if device is not None and args and isinstance(args[0], Tensor):
        raise RuntimeError(
            f"Legacy tensor {kind} of the form {form}(tensor, device=device) is not supported.  Use {instead}torch.as_tensor(...) "
            "instead."
        )


@function("new", method=True, function=False)
def new(self: Tensor, *args: Any, device: Any = None, **named: Any) -> Tensor:
    """A tensor of this one's type, made as by the old constructor."""
    aval = self._value.aval
    args = unnamed(args, named)
    _refuse_device(args, device, "new", "tensor.new", "")
    return construct(args, aval.dtype, aval.slot.device if device is None else device, checked=True)


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **kwargs: Any) -> Any:
    """A leaf of a subclass on the memory of a tensor."""
    need_tensor(data, "_make_subclass", "data", 2)
    out = become(views.detached(data), cls)
    return out.requires_grad_(True) if require_grad else out


methods["_make_subclass"] = staticmethod(_make_subclass)


def _make_wrapper_subclass(cls: type, *args: Any, **kwargs: Any) -> Any:
    """NotImplementedError: a tensor without memory needs a class that answers for all operations (`__torch_dispatch__`)."""
    raise NotImplementedError(
        f"torch.Tensor._make_wrapper_subclass({cls.__name__}): jaxtorch has no wrapper subclasses"
    )


methods["_make_wrapper_subclass"] = staticmethod(_make_wrapper_subclass)


@function("as_subclass", method=True, function=False)
def as_subclass(self: Tensor, cls: type) -> Any:
    """The tensor as an object of a subclass: same memory, same history."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class "
            "inherits from Tensor."
        )
    with disable_all():  # a class is not asked whether it may be left
        return become(self.view_as(self), cls)


# -- torch.FloatTensor and its kin: callables that answer isinstance


class tensortype(type):
    """The class of the legacy tensor types."""

    dtype: dtypes.dtype
    device_type: str

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        for base in bases:
            raise TypeError(f"type '{base.__module__}.{base.__name__}' is not an acceptable base type")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, device: Any = None, **named: Any) -> Tensor:
        args = unnamed(args, named)
        _refuse_device(args, device, "constructor", "torch.Tensor", "torch.tensor(...) or ")
        return construct(args, cls.dtype, cls.device_type if device is None else device, checked=True)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype and instance.device.type == cls.device_type

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


tensortype.__module__ = "torch"


def legacy_type(name: str, dtype: dtypes.dtype, device_type: str = "cpu") -> Any:
    """`torch.FloatTensor`, or `torch.cuda.FloatTensor` for another device."""
    module = "torch" if device_type == "cpu" else f"torch.{device_type}"
    made = tensortype(name, (), {"dtype": dtype, "device_type": device_type, "__module__": module})
    return made


for _dtype, _name in _LEGACY.items():
    if not _dtype.is_complex:
        function(_name)(legacy_type(_name, _dtype))
