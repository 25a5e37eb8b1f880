"""`torch._utils`: helpers that libraries borrow."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterable, Iterator
from typing import Any

from ._core.define.op import functions
from ._core.tensor.tensor import Tensor
from ._core.types.device import device as _device
from ._core.types.dtypes import dtype
from .accelerator import current_accelerator
from .nn.parameter import _rebuild_parameter, _rebuild_parameter_with_state
from .sparse._create import _rebuild_sparse_tensor as _rebuild_sparse_tensor

__all__ = ["ExceptionWrapper", "_rebuild_parameter", "_rebuild_parameter_with_state"]


def _element_size(dtype: dtype) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; ValueError for the CPU unless `allow_cpu`, which is -1."""
    if isinstance(device, int):
        return device
    if device is None:
        if optional:
            return 0
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    found = _device(device)
    if found.type == "cpu":
        if allow_cpu:
            return -1
        raise ValueError(f"Expected a non cpu device, but got: {found}")
    return found.index or 0


def _get_available_device_type() -> str | None:
    """The kind of accelerator that JAX sees; None without one."""
    found = current_accelerator(check_available=True)
    return None if found is None else found.type


def _get_device_module(device_type: str) -> Any:
    """The module of that kind of device (`torch.cuda`); RuntimeError where there is none."""
    if device_type not in ("cpu", "cuda", "mps", "xpu", "mtia"):
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as 'torch.{device_type}'."
        )
    return importlib.import_module(f"{__package__}.{device_type}")


def _rebuild_tensor(storage: Any, storage_offset: int, size: Any, stride: Any) -> Tensor:
    """A tensor on a typed storage, whose memory it shares; programs that read checkpoints part by part call it."""
    empty = functions["empty"]((0,), dtype=storage.dtype, device=storage._untyped_storage.device)
    return empty.set_(storage._untyped_storage, storage_offset, size, stride)


def _rebuild_tensor_v2(
    storage: Any, storage_offset: int, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, metadata: Any = None
) -> Tensor:  # fmt: skip
    """A tensor on a typed storage, as a leaf that may require a gradient; `metadata` says whether it is conjugated.

    Hooks in a file are not set, as `torch.load` does not either.
    """
    t = _rebuild_tensor(storage, storage_offset, size, stride)
    if metadata:
        t = t.conj() if metadata.get("conj") else t
        t = t.neg() if metadata.get("neg") else t
        t = t.detach()
    t.requires_grad = requires_grad
    return t


def _flatten_dense_tensors(tensors: Any) -> Tensor:
    """All elements of tensors of one type in one."""
    return functions["cat"]([t.contiguous().view(-1) for t in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Any) -> tuple[Tensor, ...]:
    """The parts of a flat tensor, in the shapes of other tensors."""
    found, start = [], 0
    for t in tensors:
        found.append(flat[start : start + t.numel()].view_as(t))
        start += t.numel()
    return tuple(found)


def _take_tensors(tensors: Iterable[Tensor], size_limit: int) -> Iterator[list[Tensor]]:
    """The tensors in lists of one type each and of at most `size_limit` bytes (or one tensor), in order within a type."""
    open_lists: dict[str, list[Tensor]] = {}
    sizes: dict[str, int] = {}
    for t in tensors:
        kind, parts = t.type(), [t._indices(), t._values()] if t.is_sparse else [t]
        size = sum(part.numel() * part.element_size() for part in parts)
        if sizes.get(kind, 0) > 0 and sizes[kind] + size > size_limit:
            yield open_lists[kind]
            open_lists[kind], sizes[kind] = [], 0
        open_lists.setdefault(kind, []).append(t)
        sizes[kind] = sizes.get(kind, 0) + size
    yield from open_lists.values()


def _reorder_tensors_as(tensors: Iterable[Tensor], ordered_tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The tensors in the order of others of the same types; within a type they keep theirs."""
    by_type: dict[str, list[Tensor]] = {}
    for t in tensors:
        by_type.setdefault(t.type(), []).append(t)
    left = {kind: iter(found) for kind, found in by_type.items()}
    return tuple(next(left[t.type()]) for t in ordered_tensors)


class ExceptionWrapper:
    """An exception on its way to another thread or process."""

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg = "".join(traceback.format_exception(kind, error, trace))
        self.where = where

    def reraise(self) -> None:
        """Raise it here, with the text of its traceback."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            raise KeyError(message)
        try:
            error = self.exc_type(message)
        except Exception:
            raise RuntimeError(message) from None
        raise error


def _is_privateuse1_backend_available() -> bool:
    """False: there is no backend of somebody else."""
    return False


def _set_obj_state(obj: Any, state: Any) -> Any:
    """Give an object the attributes that were pickled of it: a dict of them, or that and one of its slots."""
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if isinstance(state, tuple) and len(state) != 2:
        raise RuntimeError(f"Invalid serialized state: {state}")
    vars(obj).update(attributes or {})
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
    return obj
