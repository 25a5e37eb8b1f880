"""`torch.utils._foreach_utils`: optimizers of other packages group their tensors by it."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor
from ..nn.parameter import Parameter

__all__ = []
_foreach_supported_types = [Tensor]
"""What other packages' optimizers take for a plain tensor; they add to it."""


def _group_tensors_by_device_and_dtype(
    tensorlistlist: list[list[Any]], with_indices: bool = False
) -> dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]:
    """Parallel lists, divided by the device and element type of the tensors in the first; None may stand in the others."""
    groups: dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]] = {}
    for i, items in enumerate(zip(*tensorlistlist, strict=True)):
        lists, indices = groups.setdefault((items[0].device, items[0].dtype), ([[] for _ in tensorlistlist], []))
        for into, item in zip(lists, items, strict=True):
            into.append(item)
        if with_indices:
            indices.append(i)
    return groups


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Where a loop over many tensors is one kernel: everywhere, XLA makes it."""
    return ["cpu", "cuda"]


_get_fused_kernels_supported_devices = _get_foreach_kernels_supported_devices


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in _get_foreach_kernels_supported_devices()


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    return _device_has_foreach_support(device) and all(t is None or type(t) in (Tensor, Parameter) for t in tensors)
