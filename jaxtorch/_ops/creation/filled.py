"""Filled tensors: zeros, ones, empty, full, their `*_like` and `new_*` forms, and filling in place."""

from __future__ import annotations

import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Number, Operand, Scalar, function, functions, inner_op, method, methods
from ..._core.dispatch.number_limits import check_number, flag_overflow
from ..._core.host import forked
from ..._core.run import capture
from ..._core.tensor import strides
from ..._core.tensor.aliasing import check_fillable
from ..._core.tensor.layouts import normal
from ..._core.tensor.sparse_value import answers, is_sparse, lacks_content, makers
from ..._core.tensor.tensor import Tensor, check_writable, from_host, need_tensor, write_out
from ..._core.types import device as devices
from ..._core.types import dtypes
from ..._core.types.size import LONG, Size, need_sizes, refuse_long, refuse_size
from ..._core.types.value import python_number
from ..._core.types.warn_once import once, warn
from ..types import constants
from ..types.casting import as_dtype, convert

_ONE_INT = frozenset({"new_zeros", "new_ones", "new_empty"})  # these take one int as their size, by keyword too


def size_of(items: tuple[Any, ...], size: Any, name: str) -> tuple[int, ...]:
    """The size given to a factory function: as separate numbers, as one sequence, or as `size=`."""
    if items and size is None:
        for s in items:
            if s.__class__ is not int or not 0 <= s < LONG:
                break
        else:
            return items
        size = items[0] if len(items) == 1 and isinstance(items[0], (tuple, list)) else items
    elif items or size is None:
        if not items:
            raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
        raise TypeError(f"{name}() received an invalid combination of arguments: 'size' is given twice")
    if size.__class__ is Size:
        return tuple(size)
    if isinstance(size, int) and not isinstance(size, bool) and name in _ONE_INT:
        size = (size,)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"{name}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    out = []
    for i, s in enumerate(size):
        if isinstance(s, Tensor) and s._value.aval.numel == 1 and dtypes.category(s._value.aval.dtype) == 1:
            s = s.item()
        wrong = isinstance(s, Tensor) or (isinstance(s, np.ndarray) and (s.ndim or s.dtype.kind not in "iu"))
        if wrong or not hasattr(s, "__index__") or (isinstance(s, bool) and i == 0):
            if size is items and i == 0:
                kind = type(s).__name__
                raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {kind}")
            refuse_size(name, "size", 1, i, s)
        out.append(int(s))
        if not -LONG <= out[-1] < LONG:
            refuse_long(name, "size", i)
    if out and min(out) < 0:
        if name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(out)}: {out}")
    return tuple(out)


@inner_op(differentiable=False)
def _constant(size: Any, value: Number, dtype: Any, device: Any):
    """A constant that is part of the program."""
    return jnp.full(size, convert(jnp.asarray(value), dtype) if dtype is dtypes.float8_e8m0fnu else value, dtype.np)


_WIDE = (np.bool_, np.int64, np.float64, np.complex128)


@inner_op(differentiable=False)
def _number(value: Array, within: Any):
    """A 0-d tensor as wide as Python's numbers are, flagged where it does not fit the type `within`."""
    if within is not None:
        flag_overflow(value, within.np)
    return value.astype(_WIDE[dtypes.category(dtypes.from_numpy(value.dtype))])


@inner_op(differentiable=False)
def _full(fill_value: Scalar, size: Any, dtype: Any, device: Any):
    """A tensor of one number, which may vary from run to run."""
    return jnp.full(size, convert(jnp.asarray(fill_value), dtype), dtype.np)


def filled(size: Any, value: Any, dtype: Any, device: Any, requires_grad: bool = False) -> Tensor:
    """A new tensor of one repeated number: an instruction of the program that uses it."""
    dtype = dtypes._Defaults.floating if dtype is None else dtype
    if dtype.__class__ is not dtypes.dtype:
        dtype = as_dtype(dtype)
    if dtype.np is None:
        raise dtypes.no_storage(dtype)
    if forked.active:
        t = from_host(np.full(size, value, dtype.np))
    else:
        where = devices.resolve(device).device
        if value.__class__ is int and value in (0, 1):
            t = _constant(size, value, dtype, where)
        elif value.__class__ is int and not -(2**63) <= value < 2**63:
            t = from_host(np.full(size, value, np.uint64).astype(dtype.np))  # operands are int64
        else:
            t = _full(value, size, dtype, where)
    return leaf(t) if requires_grad else t


def leaf(t: Tensor) -> Tensor:
    """A new tensor made to require a gradient."""
    dtype = t._value.aval.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    t.requires_grad = True
    return t


def check_flags(name: str, requires_grad: Any, pin_memory: Any = False, optional: bool = True) -> None:
    """TypeError where a factory's switch is neither a bool nor, if that is optional, None."""
    for flag, given in (("requires_grad", requires_grad), ("pin_memory", pin_memory)):
        if given.__class__ is not bool and not (optional and given is None):
            raise TypeError(f"{name}(): argument '{flag}' must be bool, not {type(given).__name__}")


def finish_factory(
    t: Tensor, out: Tensor | None, requires_grad: bool, name: str, fill: bool = False, pin_memory: bool = False
) -> Tensor:
    """The last step of a factory function: `out=`, which is resized without a warning, and `requires_grad=`.

    fill: an `out=` tensor of as many elements keeps its shape.
    """
    if out is not None:
        count = out._value.aval.numel
        if fill and count == t._value.aval.numel:
            t = t.view(out._value.aval.shape)
        elif count and name in ("arange", "range"):
            warn(
                f"The number of elements in the out tensor of shape {list(out._value.aval.shape)} is {count} which does not match "
                f"the computed number of elements {t._value.aval.numel}. Note that this may occur as a result of rounding error. "
                f"The out tensor will be resized to a tensor of shape ({t._value.aval.numel},)."
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            write_out(out, t, name)
        if requires_grad:
            return leaf(out)
        if out._rg and out._node is None:
            out.requires_grad = False
        return out
    check_flags(name, requires_grad, pin_memory)
    return leaf(t) if requires_grad else t


SPARSE = (constants.sparse_coo, constants.sparse_csr, constants.sparse_csc, constants.sparse_bsr, constants.sparse_bsc)


def check_layout(layout: Any, name: str) -> None:
    """Most factories make strided tensors only."""
    if layout is not None and layout is not constants.strided:
        if not isinstance(layout, constants.layout):
            raise TypeError(f"{name}(): argument 'layout' must be torch.layout, not {type(layout).__name__}")
        if name in ("ones", "full") or name.endswith("_window"):
            raise RuntimeError(f"{name}() is not implemented for sparse layout")
        raise NotImplementedError(f"{name}() makes strided tensors only, got layout={layout!r}")


def place(
    name: str, device: Any, out: Tensor | None, layout: Any, pin_memory: Any = False, requires_grad: Any = False
) -> Any:
    """The device that a factory works on: that of `out`, which neither it nor `layout` may contradict. Checks the switches."""
    if requires_grad is not False or pin_memory is not False:
        check_flags(name, requires_grad, pin_memory)
    if out is None:
        check_layout(layout, name)
        return device
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if layout is not None and layout is not out.layout:
        check_layout(None if layout in SPARSE else layout, name)
        names = [str(k).removeprefix("torch.").removesuffix("_coo") for k in (layout, out.layout)]
        shown = ["".join([part.capitalize() for part in n.split("_")]) for n in names]
        raise RuntimeError(f"layout {shown[0]} does not match layout of out parameter ({shown[1]})")
    own = out._value.aval.slot
    if device is not None and devices.resolve(device) is not own:
        raise RuntimeError(
            f"device type {devices.resolve(device).device.type} does not match device type of out parameter ({own.device.type})"
        )
    return own.device


def out_dtype(dtype: Any, out: Tensor | None, fallback: dtypes.dtype | None = None, name: str = "") -> dtypes.dtype:
    """The type a factory works in: that of `out`, which `dtype` must not contradict; else `dtype`, else the default."""
    if dtype is not None and dtype.__class__ is not dtypes.dtype:
        dtype = as_dtype(dtype, name)
    if out is None:
        return dtype or fallback or dtypes._Defaults.floating
    if not isinstance(out, Tensor):
        raise TypeError(f"argument 'out' must be Tensor, not {type(out).__name__}")
    own = out._value.aval.dtype
    if dtype is not None and dtype is not own:
        raise RuntimeError(
            f"dtype {dtypes.scalar_name(dtype)} does not match dtype of out parameter ({dtypes.scalar_name(own)})"
        )
    return own


def with_format(t: Tensor, memory_format: Any, model: Tensor | None = None, function: str = "empty") -> Tensor:
    """Give a fresh tensor the strides of a memory format, or of its model where the format is to be preserved."""
    if memory_format is not None:
        constants.need_format(function, memory_format)
    name = None if memory_format is None else memory_format.name
    shape = t._value.aval.shape
    if name in ("channels_last", "channels_last_3d"):
        rank = 4 if name == "channels_last" else 5
        if len(shape) != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name} format")
        t._layout = normal(shape, strides.channels_last(shape, name), 0)
    elif model is not None and model._layout is not None and name in (None, "preserve_format"):
        t._layout = normal(shape, strides.preserved(shape, model._layout[0]), 0)
    return t


def _factory(name: str, value: int) -> Any:
    def make(
        *items: Any, size: Any = None, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
        device: Any = None, pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        if memory_format is not None and name != "empty":
            raise TypeError(f"{name}() got an unexpected keyword argument 'memory_format'")
        if requires_grad is not False or pin_memory is not False:
            check_flags(name, requires_grad, pin_memory)
        if layout is not None or out is not None:
            if not value and out is None and layout is not constants.strided and layout in SPARSE:
                return makers["empty"](
                    size_of(items, size, name), layout, out_dtype(dtype, out, None, name), device, requires_grad
                )
            device = place(name, device, out, layout)
        dtype = out_dtype(dtype, out, None, name)
        if out is not None:
            t = filled(size_of(items, size, name), value, dtype, device)
            return finish_factory(t, out, requires_grad, name)
        t = filled(size_of(items, size, name), value, dtype, device, requires_grad)
        return t if memory_format is None else with_format(t, memory_format, None, name)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A new tensor of the given size; filled with {value}."
    return function(name)(make)


zeros = _factory("zeros", 0)
ones = _factory("ones", 1)
empty = _factory("empty", 0)


def _fill_number(value: Any, name: str, position: int) -> Any:
    """The number of a `fill_value` argument, which may be a 0-dimensional tensor: that itself, while a call is captured."""
    if isinstance(value, Tensor):
        if value._value.aval.ndim or value._rg:
            raise TypeError(f"{name}(): argument 'fill_value' (position {position}) must be Number, not Tensor")
        return value.item() if capture.active is None else value
    if isinstance(value, np.generic):
        return python_number(value)
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(
            f"{name}(): argument 'fill_value' (position {position}) must be Number, not {type(value).__name__}"
        )
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert")
    return value


def _fitting(number: Any, dtype: Any, to_infinity: bool) -> Any:
    """The number of a `fill_value` argument. RuntimeError where it does not fit (see `check_number`)."""
    if isinstance(number, Tensor):
        return _number(number, None if to_infinity and dtype.itemsize == 2 else dtype)
    check_number(number, dtype, to_infinity)
    return number


@function("full")
def full(
    size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor filled with `fill_value`, whose type it has unless `dtype` says otherwise."""
    device = place("full", device, out, layout, pin_memory, requires_grad)
    if isinstance(size, int):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    own = fill_value.dtype if isinstance(fill_value, Tensor) else None
    number = _fill_number(fill_value, "full", 2)
    if dtype is None and out is None:
        dtype = own or dtypes.of_python(number)
    dtype = out_dtype(dtype, out)
    size = size_of((), size, "full")
    t = filled(size, _fitting(number, dtype, math.prod(size) == 1), dtype, device)
    return finish_factory(t, out, requires_grad, "full")


def _like(name: str, value: int) -> Any:
    def make(
        input: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
        pin_memory: bool = False, memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        if requires_grad is not False or pin_memory is not False:
            check_flags(name, requires_grad, pin_memory)
        return like_filled(input, value, dtype, device, requires_grad, memory_format, name, layout)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of the input's size and type; filled with {value}."
    return function(name)(make)


def like_filled(
    input: Tensor, value: Any, dtype: Any, device: Any, requires_grad: bool, memory_format: Any, name: str,
    layout: Any = None,
) -> Tensor:  # fmt: skip
    """A filled tensor that has its size, and what is not given, from a model."""
    if layout is not None and layout not in SPARSE:
        check_layout(layout, name)
    if layout is not None and (layout in SPARSE or is_sparse(input)) and layout is not need_tensor(input, name).layout:
        return _in_layout(input, value, dtype, device, requires_grad, name, layout)
    if lacks_content(need_tensor(input, name)):
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
        return answers[-1](functions[name], (input, value) if name == "full_like" else (input,), options)
    if input._alias is not None and not input._alias.shaped:
        input._alias.read(input)
    aval = input._value.aval
    t = filled(
        aval.shape,
        value,
        aval.dtype if dtype is None else dtype,
        aval.slot.device if device is None else device,
        requires_grad,
    )
    return t if memory_format is None and input._layout is None else with_format(t, memory_format, input, name)


def _in_layout(
    input: Tensor, value: Any, dtype: Any, device: Any, requires_grad: bool, name: str, layout: Any
) -> Tensor:
    """A tensor of a layout that the model has not."""
    aval = input._value.aval
    rest = aval.dtype if dtype is None else as_dtype(dtype), aval.slot.device if device is None else device
    if layout is constants.strided:
        return filled(aval.shape, value, *rest, requires_grad)
    if name != "zeros_like" and not (name == "empty_like" and is_sparse(input)):
        raise NotImplementedError(
            f"Could not run 'aten::empty_strided' with arguments from the 'SparseCPU' backend: {name}() fills no {layout}"
        )
    return makers["empty"](aval.shape, layout, *rest, requires_grad)


zeros_like = _like("zeros_like", 0)
ones_like = _like("ones_like", 1)
empty_like = _like("empty_like", 0)


@function("full_like")
def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of the input's size and type, filled with `fill_value`."""
    number = _fill_number(fill_value, "full_like", 2)
    if requires_grad is not False or pin_memory is not False:
        check_flags("full_like", requires_grad, pin_memory)
    if isinstance(input, Tensor):
        aval = input._value.aval
        number = _fitting(number, aval.dtype if dtype is None else as_dtype(dtype), aval.numel == 1)
    return like_filled(input, number, dtype, device, requires_grad, memory_format, "full_like", layout)


def _new(name: str, value: int) -> Any:
    def make(
        self: Tensor, *items: Any, size: Any = None, dtype: Any = None, device: Any = None, layout: Any = None,
        pin_memory: bool = False, requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        aval = self._value.aval
        where = device if device is not None else aval.slot.device
        if layout in SPARSE and not value:
            return makers["empty"](
                size_of(items, size, name), layout, aval.dtype if dtype is None else dtype, where, requires_grad
            )
        place(name, where, None, layout, pin_memory, requires_grad)
        return filled(size_of(items, size, name), value, aval.dtype if dtype is None else dtype, where, requires_grad)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"A tensor of the given size with this one's type and device; filled with {value}."
    return method(name)(make)


_new("new_zeros", 0)
_new("new_ones", 1)
_new("new_empty", 0)


@method("new_full")
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, layout: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of the given size with this one's type and device, filled with `fill_value`."""
    if isinstance(size, int):
        raise TypeError("new_full(): argument 'size' (position 1) must be tuple of ints, not int")
    aval = self._value.aval
    number = _fill_number(fill_value, "new_full", 2)
    wanted = aval.dtype if dtype is None else as_dtype(dtype)
    size = size_of((), size, "new_full")
    number = _fitting(number, wanted, math.prod(size) == 1)
    where = device if device is not None else aval.slot.device
    place("new_full", where, None, layout, pin_memory, requires_grad)
    return filled(size, number, wanted, where, requires_grad)


def _strided(t: Tensor, stride: Any) -> Tensor:
    """Give a fresh tensor strides; those of memory without overlap are kept, others refused."""
    shape = t._value.aval.shape
    stride = tuple(int(s) for s in need_sizes("empty_strided", "stride", stride, 2))
    if len(stride) != len(shape):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(s < 0 for s in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: " + str(list(stride))
        )
    t._layout = normal(shape, stride, 0)
    return t


@function("empty_strided")
def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor of the given size and strides. Zeros, where PyTorch leaves whatever the memory held."""
    place("empty_strided", device, None, layout, pin_memory, requires_grad)
    t = _strided(filled(size_of((), size, "empty_strided"), 0, dtype, device), stride)
    return finish_factory(t, None, requires_grad, "empty_strided")


@method("new_empty_strided")
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`empty_strided` with this tensor's type and device."""
    aval = self._value.aval
    where = aval.slot.device if device is None else device
    place("new_empty_strided", where, None, layout, pin_memory, requires_grad)
    return empty_strided(
        size, stride, dtype=aval.dtype if dtype is None else dtype, device=where, requires_grad=requires_grad
    )


@function("empty_permuted")
def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A new tensor whose dimensions lie in memory in the order of `physical_layout`, outermost first."""
    shape = size_of((), size, "empty_permuted")
    need_sizes("empty_permuted", "physical_layout", physical_layout, 2)
    if len(physical_layout) != len(shape):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if sorted(physical_layout) != list(range(len(shape))):
        raise RuntimeError(
            f"empty_permuted: physical_layout {list(physical_layout)} is not a permutation of the dimensions"
        )
    stride = [0] * len(shape)
    for dim, step in zip(physical_layout, strides.contiguous([shape[d] for d in physical_layout]), strict=True):
        stride[dim] = step
    return empty_strided(
        shape, stride, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory, requires_grad=requires_grad
    )


# -- filling in place


def _fill_name(keys: Any, statics: Any) -> str:
    return "FillBackward2" if keys[1].wrapped else "FillBackward3"


@inner_op(inplace="_fill_", grad=_fill_name, like_input=True)
def _fill(input: Array, value: Operand):
    """A tensor of the input's size and type, filled with a number or a 0-dimensional tensor."""
    return jnp.full(input.shape, convert(value, dtypes.from_numpy(input.dtype)), input.dtype)


def _fill_value(self: Tensor, value: Any, name: str) -> Any:
    if isinstance(value, Tensor):
        if value._value.aval.ndim:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value._value.aval.ndim} dimensions."
            )
        if value._value.aval.dtype.is_complex and not self._value.aval.dtype.is_complex:
            once("Casting complex values to real discards the imaginary part")
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments - got ({type(value).__name__}): a number or a "
            "0-dimensional tensor is needed"
        )
    check_number(value, self._value.aval.dtype, to_infinity=self._value.aval.numel == 1)
    return value


@function("fill")
def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the input's size and type, filled with a number or a 0-dimensional tensor."""
    if type(input) is not Tensor:
        need_tensor(input, "fill", "input")
    return _fill(input, _fill_value(input, value, "fill"))


@function("fill_", method=True)
def fill_(input: Tensor, value: Any) -> Tensor:
    """Fill with a number or a 0-dimensional tensor, in place."""
    value = _fill_value(input, value, "fill_")
    if isinstance(value, Tensor) and input._alias is not None:
        check_writable(input)
        if value._alias is not None and value._alias.storage is input._alias.storage:
            value = value.clone()  # one of the numbers that are written over is read first
    if input._rg or isinstance(value, Tensor):
        return methods["_fill_"](input, value)
    if input._alias is not None:
        check_fillable(input)
    aval = input._value.aval
    return input._rebind(filled(aval.shape, value, aval.dtype, aval.slot.device))


@inner_op(inplace="_zero_", grad="ZeroBackward0")
def _zero(input: Array):
    """Zeros in place of a tensor that requires a gradient."""
    return jnp.zeros(input.shape, input.dtype)


@function("zero_", method=True)
def zero_(input: Tensor) -> Tensor:
    """Fill with zeros, in place."""
    if input._rg:
        return methods["_zero_"](input)
    if input._alias is not None:
        check_fillable(input)
    aval = input._value.aval
    return input._rebind(filled(aval.shape, 0, aval.dtype, aval.slot.device))
