"""Sequences of several lengths in one batch: `PackedSequence`, and the ways to make one and to take it apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..._core.define.signature import checked, need_kind
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.types.dtypes import int32, int64
from ..._ops.creation.from_data import as_tensor, tensor
from ..._ops.nn.packed_sequences import data_of, keep_padded, pad_kept, pad_list, padded_of

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The steps of several sequences: all first steps, then all second ones, and so on.

    data (sum of lengths, *), batch_sizes (longest length): how many sequences have a step t. sorted_indices and
    unsorted_indices lead from the given order to that by falling length, and back. Recurrent modules take one as input.

    Until `data` is asked for, the steps are kept padded: that is what recurrent modules compute on, and its shape is the same for
    all batches of one size.
    """

    _padded: Tensor | None

    def __new__(
        cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn. https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    @classmethod
    def _of_padded(
        cls, padded: Tensor, batch_sizes: Tensor, sorted_indices: Tensor | None, unsorted_indices: Tensor | None
    ) -> PackedSequence:
        """From (T, B, *), which nothing else may write to."""
        made: Any = tuple.__new__(cls, (None, batch_sizes, sorted_indices, unsorted_indices))
        made._padded = padded
        return made

    def _as_padded(self) -> Tensor:
        """(T, B, *); what it holds beyond the ends of the sequences does not count."""
        kept = self.__dict__.get("_padded")
        return padded_of(self.data, self.batch_sizes) if kept is None else kept

    @property
    def data(self) -> Tensor:
        """(sum of lengths, *). From now on it is what counts, as it may be written to."""
        kept = self.__dict__.get("_padded")
        if kept is not None:
            self._data = data_of(kept, self.batch_sizes)
            self._padded = None
        found = self.__dict__.get("_data")
        return tuple.__getitem__(self, 0) if found is None else found

    def __iter__(self) -> Any:
        yield self.data
        yield from tuple.__iter__(self[1:])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            rest = tuple.__getitem__(self, slice(1, None))
            return rest if index == slice(1, None) else (self.data, *rest)[index]
        return self.data if index in (0, -4) else tuple.__getitem__(self, index)

    def __repr__(self) -> str:
        return "PackedSequence(" + ", ".join([f"{n}={v!r}" for n, v in zip(self._fields, self, strict=True)]) + ")"

    def __reduce__(self) -> Any:
        return type(self), tuple(self)

    def _with(self, data: Tensor, *args: Any, **kwargs: Any) -> PackedSequence:
        indices = [None if i is None else i.to(data.device, *args, **kwargs) for i in self[2:]]
        return type(self)(data, self.batch_sizes, *indices)

    def pin_memory(self) -> PackedSequence:
        """The sequence with its data in pinned memory."""
        return self._with(self.data.pin_memory())

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """`Tensor.to` on the data; the sequence itself where nothing changes. `batch_sizes` stays on the CPU."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        kept = {k: v for k, v in kwargs.items() if k not in ("device", "dtype")}
        return self._with(data, **kept)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on the accelerator."""
        target = tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if target.is_cuda else self.to(*args, device="cuda", **kwargs)

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The sequence on the CPU."""
        target = tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if target.device.type == "cpu" else self.to(*args, device="cpu", **kwargs)

    def double(self) -> PackedSequence:
        return self._with(self.data.double())

    def float(self) -> PackedSequence:
        return self._with(self.data.float())

    def half(self) -> PackedSequence:
        return self._with(self.data.half())

    def long(self) -> PackedSequence:
        return self._with(self.data.long())

    def int(self) -> PackedSequence:
        return self._with(self.data.int())

    def short(self) -> PackedSequence:
        return self._with(self.data.short())

    def char(self) -> PackedSequence:
        return self._with(self.data.char())

    def byte(self) -> PackedSequence:
        return self._with(self.data.byte())

    @property
    def is_cuda(self) -> bool:
        """Does the data lie on the accelerator?"""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Does the data lie in pinned memory?"""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one (of the numbers 0 ... n - 1)."""
    if permutation is None:
        return None
    kind = need_tensor(permutation, "empty_like").dtype
    if kind is not int64:
        raise RuntimeError(
            "scatter(): Expected self.dtype to be equal to src.dtype" if kind is int32 else
            "scatter(): Expected dtype int32/int64 for index"
        )  # fmt: skip
    if permutation.ndim > 1:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    given = np.asarray(permutation.tolist(), np.int64)
    for wrong in given[(given < 0) | (given >= given.size)]:
        raise RuntimeError(f"index {wrong} is out of bounds for dimension 0 with size {given.size}")
    found = np.empty_like(given)
    found[given] = np.arange(given.size).reshape(given.shape)
    return from_host(found, permutation.device)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch (T, B, *), or (B, T, *) with `batch_first`.

    lengths: B of them, on the CPU; they must fall unless `enforce_sorted` is False. RuntimeError where a length is not between
    1 and T.
    """
    given = lengths.to(dtype=int64) if isinstance(lengths, Tensor) else as_tensor(lengths, dtype=int64, device="cpu")
    need_kind("_pack_padded_sequence", "batch_first", "bool", batch_first)
    if enforce_sorted:
        return PackedSequence._of_padded(*keep_padded(input, given, batch_first), None, None)
    sizes = np.asarray(given.tolist(), np.int64)
    order = np.argsort(-sizes, kind="stable")
    batch = input.size(0 if batch_first else 1)
    if len(order) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(order)} (batch_size={batch})"
        )
    sorted_indices = from_host(order, input.device)
    input = input.index_select(0 if batch_first else 1, sorted_indices)
    padded, batch_sizes = keep_padded(input, from_host(sizes[order]), batch_first)
    return PackedSequence._of_padded(padded, batch_sizes, sorted_indices, invert_permutation(sorted_indices))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch (T, B, *), or (B, T, *) with `batch_first`, in the original order; and the lengths, on the CPU.

    total_length: pad to so many steps; ValueError if the longest sequence has more.
    """
    longest = sequence.batch_sizes.size(0)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    steps = longest if total_length is None else total_length
    need_kind("_pad_packed_sequence", "batch_first", "bool", batch_first)
    if isinstance(padding_value, complex) and padding_value.imag:
        raise RuntimeError("value cannot be converted to type float without overflow")
    padded, lengths = pad_kept(sequence._as_padded(), sequence.batch_sizes, batch_first, padding_value, steps)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


@checked
def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences (L, *), padded to the longest: (T, B, *), or (B, T, *) with `batch_first`."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    found = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not found:
        raise RuntimeError("received an empty list of sequences")
    return pad_list(found, batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences, each in its own length, of a padded batch (T, B, *), or (B, T, *) with `batch_first`."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    sequences = list(zip(padded_sequences.unbind(0), lengths.tolist(), strict=True))
    return [sequence[: math.ceil(n)] for sequence, n in sequences]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L, *); their lengths must fall unless `enforce_sorted` is False."""
    lengths = as_tensor([s.size(0) for s in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences, each in its own length and in their original order."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
