"""Padding batches to a few sizes, so that data of many lengths makes few programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor


class PadToBuckets:
    """A `collate_fn` that pads what another one makes, so that a dimension has one of a few sizes.

    Each new shape costs a program: op by op the first time, compiled when it comes again. With buckets there are as many programs as
    buckets. Works in DataLoader workers.

        DataLoader(data, batch_size=32, collate_fn=PadToBuckets([32, 64, 128], collate_fn=pad_and_stack))

    buckets:    sizes in growing order; a batch takes the first that is large enough. ValueError for a larger batch.
    dim:        the dimension of the tensors that is padded: 0 is the batch, 1 usually the length. Tensors without it stay.
    value:      what is padded with; or a sequence with one value for each tensor of the batch (-100 makes `cross_entropy` skip
                a target).
    collate_fn: makes the batch: tensors, or tuples, lists and dictionaries of them. By default `default_collate`.
    """

    def __init__(
        self, buckets: Sequence[int], dim: int = 1, value: Any = 0, collate_fn: Callable[[list[Any]], Any] | None = None
    ) -> None:
        if not buckets or list(buckets) != sorted(set(buckets)) or buckets[0] < 1:
            raise ValueError(f"PadToBuckets: buckets must be positive sizes in growing order, but got {list(buckets)}")
        if dim < 0:
            raise ValueError(f"PadToBuckets: dim must not be negative, but got {dim}")
        self.buckets = list(buckets)
        self.dim = dim
        self.value = value
        self.collate_fn = collate_fn

    def __call__(self, samples: list[Any]) -> Any:
        """The batch of some samples, padded."""
        collate = self.collate_fn
        if collate is None:
            from ..utils.data import default_collate as collate  # as heavy as all of this package
        batch = collate(samples)
        values = iter(self.value) if isinstance(self.value, (list, tuple)) else None
        return self._padded(batch, values)

    def _padded(self, x: Any, values: Any) -> Any:
        if isinstance(x, Tensor):
            return self._pad(x, self.value if values is None else next(values))
        if isinstance(x, dict):
            return type(x)({k: self._padded(v, values) for k, v in x.items()})
        if isinstance(x, (list, tuple)):
            items = [self._padded(v, values) for v in x]
            return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
        return x

    def _pad(self, x: Tensor, value: Any) -> Tensor:
        if x.dim() <= self.dim:
            return x
        size = x.shape[self.dim]
        bucket = next((b for b in self.buckets if b >= size), None)
        if bucket is None:
            raise ValueError(
                f"PadToBuckets: a batch has size {size} in dimension {self.dim}, larger than the largest bucket "
                f"{self.buckets[-1]}"
            )
        if bucket == size:
            return x
        shape = list(x.shape)
        shape[self.dim] = bucket - size
        return functions["cat"]([x, x.new_full(shape, value)], self.dim)
