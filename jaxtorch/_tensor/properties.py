"""Shape, type, place and memory layout of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.host import forked
from .._core.record.program import force
from .._core.run import capture
from .._core.tensor import layouts, strides
from .._core.tensor.sparse_value import NO_MEMORY, is_sparse
from .._core.tensor.storage import alias_of
from .._core.tensor.tensor import Tensor, is_inference, need_tensor
from .._core.types import dtypes
from .._core.types.device import device
from .._core.types.grad_mode import state
from .._core.types.size import Size
from .._ops.types.constants import contiguous_format, memory_format, need_format, preserve_format, strided
from ._members import Members
from .memory import address

MEMBERS = Members()
member, prop = MEMBERS.member, MEMBERS.prop


@prop
def shape(self: Tensor) -> Size:
    """The size of each dimension."""
    return self._value.aval.size


@prop
def dtype(self: Tensor) -> dtypes.dtype:
    """The element type."""
    return self._value.aval.dtype


@prop
def device_(self: Tensor) -> device:
    return self._value.aval.slot.device


MEMBERS["device"] = property(device_, doc="The device that holds the tensor.")
del MEMBERS["device_"]


@prop
def ndim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._value.aval.ndim


@member
def dim(self: Tensor) -> int:
    """The number of dimensions."""
    return self._value.aval.ndim


@member
def size(self: Tensor, dim: int | None = None) -> Any:
    """The shape, or the size of one dimension."""
    full = self._value.aval.size
    if dim is None:
        return full
    if dim.__class__ is int and -len(full) <= dim < len(full):
        return full[dim]
    return full[_place(dim, len(full))]


def _place(dim: Any, dims: int) -> int:
    if not dims and isinstance(dim, int):
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return strides.wrap_dim(dim, dims)


@member
def numel(self: Tensor) -> int:
    """The number of elements."""
    return self._value.aval.numel


@member
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements apart neighbours along each dimension lie in PyTorch's memory layout."""
    if self._alias is NO_MEMORY:
        return type(self).stride(self, dim)
    found = layouts.strides_of(self)
    return found if dim is None else found[_place(dim, len(found))]


@member
def storage_offset(self: Tensor) -> int:
    """Where the tensor begins in its storage, in elements."""
    return layouts.offset_of(self)


@member
def is_contiguous(self: Tensor, memory_format: Any = contiguous_format) -> bool:
    """Does the layout follow the order of `memory_format` (row-major by default)?"""
    if self._alias is NO_MEMORY:
        return type(self).is_contiguous(self, memory_format)
    need_format("is_contiguous", memory_format)
    name = memory_format.name
    if name == "contiguous_format":
        if self._layout is None:
            return True
        return strides.is_contiguous(self._value.aval.shape, self._layout[0])
    return strides.is_contiguous(self._value.aval.shape, layouts.strides_of(self), name)


@member
def element_size(self: Tensor) -> int:
    """Bytes of one element."""
    return self._value.aval.dtype.itemsize


@prop
def itemsize(self: Tensor) -> int:
    """Bytes of one element."""
    return self._value.aval.dtype.itemsize


@prop
def nbytes(self: Tensor) -> int:
    """Bytes of all elements."""
    return self._value.aval.numel * self._value.aval.dtype.itemsize


@member
def is_floating_point(self: Tensor) -> bool:
    """Is the element type a floating-point one?"""
    return self._value.aval.dtype.is_floating_point


@member
def is_complex(self: Tensor) -> bool:
    """Is the element type complex?"""
    return self._value.aval.dtype.is_complex


@member
def is_signed(self: Tensor) -> bool:
    """Can the element type hold negative numbers?"""
    return self._value.aval.dtype.is_signed


@member
def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Always False: XLA manages host memory for transfers itself."""
    return False


@member
def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The tensor itself: XLA manages host memory for transfers itself."""
    return self


@member
def get_device(self: Tensor) -> int:
    """The index of the device; -1 on the CPU."""
    index = self._value.aval.slot.device.index
    return -1 if index is None else index


@member
def nelement(self: Tensor) -> int:
    """The number of elements."""
    return self._value.aval.numel


@member
def ndimension(self: Tensor) -> int:
    """The number of dimensions."""
    return self._value.aval.ndim


def _flag(kind: str) -> Any:
    return property(lambda self: self._value.aval.slot.device.type == kind, doc=f"Is the tensor on a '{kind}' device?")


for _name, _kind in (("is_cuda", "cuda"), ("is_cpu", "cpu"), ("is_meta", "meta"), ("is_mps", "mps"), ("is_xla", "xla"),
                     ("is_xpu", "xpu"), ("is_ipu", "ipu"), ("is_hpu", "hpu"), ("is_mtia", "mtia"), ("is_maia", "maia"),
                     ("is_vulkan", "vulkan")):  # fmt: skip
    MEMBERS[_name] = _flag(_kind)


def _sparse_flag(name: str) -> Any:
    return property(
        lambda self: is_sparse(self) and getattr(type(self), name).__get__(self), doc="False for a dense tensor."
    )


for _name in ("is_sparse", "is_sparse_csr"):
    MEMBERS[_name] = _sparse_flag(_name)
for _name in ("is_quantized", "is_nested", "is_mkldnn"):
    MEMBERS[_name] = property(lambda self: False, doc="Always False: jaxtorch tensors are dense.")


@member
def data_ptr(self: Tensor) -> int:
    """Where the tensor begins in memory: equal for tensors that begin at the same place of the same memory.

    On the CPU the content can be read there, as it was when this was called; what is written there is lost, unlike in PyTorch.
    """
    if not self._value.aval.numel:
        return 0
    capture.expose_memory(self)
    start = address(alias_of(self).storage)
    return start and start + layouts.offset_of(self) * self.element_size()


@member
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Do both tensors view the same memory in the same way?"""
    return (
        data_ptr(self) == data_ptr(need_tensor(tensor, "is_set_to", "tensor"))
        and (bool(self.numel()) or self.untyped_storage()._cdata == tensor.untyped_storage()._cdata)
        and shape(self) == shape(tensor)
        and layouts.strides_of(self) == layouts.strides_of(tensor)
    )


@member
def __len__(self: Tensor) -> int:
    full = self._value.aval.shape
    if not full:
        raise TypeError("len() of a 0-d tensor")
    return full[0]


@member
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions from the largest stride to the smallest.

    ambiguity_check: RuntimeError where other orders name the same memory (True), unless the tensor is contiguous in exactly one
                     of the memory formats of a list.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(isinstance(f, memory_format) for f in formats):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    found = layouts.strides_of(self)
    if ambiguity_check is not False and (1 in self.shape or len(set(found)) < len(found)):
        fitting = [f for f in formats if f is preserve_format or self.is_contiguous(memory_format=f)]
        if len(fitting) != 1:
            raise RuntimeError(
                "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
            )
    return tuple(sorted(range(len(found)), key=lambda d: -found[d]))


@prop
def layout(self: Tensor) -> Any:
    """The kind of storage: `torch.strided`, but for sparse tensors."""
    if self._alias is NO_MEMORY:
        return type(self).layout.__get__(self)
    return strided


@prop
def _version(self: Tensor) -> int:
    """How often the memory has been written in place."""
    alias = self._alias
    if is_inference(self) and (state.inference or not getattr(alias, "loose", False)):
        raise RuntimeError("Inference tensors do not track version counter.")
    if alias is None:
        return self._ver
    return alias.version.n - alias.version.hidden if alias.silent is None else alias.silent.n


@prop
def _cdata(self: Tensor) -> int:
    """A number that only this tensor has while it lives; PyTorch's is an address."""
    return id(self)


@member
def _is_view(self: Tensor) -> bool:
    capture.expose_memory(self)
    return self._alias is not None and self._alias.base is not None


@prop
def _base(self: Tensor) -> Tensor | None:
    """The tensor this one is a differentiable view of."""
    capture.expose_memory(self)
    return None if self._alias is None else self._alias.base


@member
def _host_array(self: Tensor) -> np.ndarray[Any, Any] | None:
    """The content where it lies in host memory as NumPy's already, else None. Nobody may write to it."""
    alias = self._alias
    value = self._value if alias is None else alias.read(self)
    array = value.array
    return array if type(array) is np.ndarray else None


@member
def _cpu_array(self: Tensor) -> np.ndarray[Any, Any] | None:
    """As `_host_array`, and also what XLA has computed on the CPU, where it lies; None on other devices and in forked processes."""
    found = self._host_array()
    if found is None and self._alias is None and self.device.type == "cpu" and not forked.active:
        found = np.asarray(force(self._value))
    return found
