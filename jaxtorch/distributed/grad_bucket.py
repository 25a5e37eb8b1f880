"""`GradBucket`: what communication hooks of `DistributedDataParallel` are given."""

from __future__ import annotations

from .._core.tensor.tensor import Tensor


class GradBucket:
    """The gradients of one element type, for a communication hook: one flat tensor, and the parameters behind it."""

    def __init__(self, index: int, buffer: Tensor, parameters: list[Tensor], last: bool) -> None:
        self._index, self._buffer, self._parameters, self._last = index, buffer, parameters, last

    def index(self) -> int:
        """Its number."""
        return self._index

    def buffer(self) -> Tensor:
        """The gradients behind one another."""
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        """Put another flat tensor in place of the gradients."""
        self._buffer = tensor

    def parameters(self) -> list[Tensor]:
        """The parameters."""
        return self._parameters

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the flat tensor."""
        parts, begin = [], 0
        for p in self._parameters:
            parts.append(self._buffer[begin : begin + p.numel()].view(p.shape))
            begin += p.numel()
        return parts

    def is_last(self) -> bool:
        """Is it the last one of this backward pass?"""
        return self._last
