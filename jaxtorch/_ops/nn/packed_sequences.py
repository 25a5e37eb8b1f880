"""Sequences of several lengths: packed one after the other, or padded to the longest.

Where a row goes is worked out on the host and enters the program as the operand of a gather.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Scalar, function, inner_op
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..shapes.joining import _on_host, cat


@inner_op(grad="PackPaddedSequenceBackward0")
def _rows_packed(input: Array, rows: Array, batch_first: bool):
    """The given rows of (T, B, *), counted along T and then B; (B, T, *) with `batch_first`."""
    x = jnp.swapaxes(input, 0, 1) if batch_first else input
    return x.reshape((-1, *x.shape[2:])).at[rows].get(mode="promise_in_bounds")


@inner_op(grad="CopySlices")
def _rows_padded(data: Array, rows: Array, inside: Array, padding: Scalar):
    """`data[rows]` where `inside`, `padding` elsewhere: data (N, *), rows and inside (A, B), the result (A, B, *)."""
    found = data.at[rows].get(mode="promise_in_bounds") if data.shape[0] else jnp.zeros((*rows.shape, *data.shape[1:]))
    kept = inside.reshape(inside.shape + (1,) * (found.ndim - 2))
    return jnp.where(kept, found, jnp.asarray(padding).astype(data.dtype)).astype(data.dtype)


@inner_op(grad="PackPaddedSequenceBackward0")
def _steps_kept(input: Array, inside: Array, batch_first: bool):
    """The first steps of (T, B, *), or (B, T, *) with `batch_first`, as (T, B, *), and 0 where not `inside` (T, B)."""
    x = (jnp.swapaxes(input, 0, 1) if batch_first else input)[: inside.shape[0]]
    return jnp.where(inside.reshape(inside.shape + (1,) * (x.ndim - 2)), x, jnp.zeros((), x.dtype))


@inner_op(grad="CopySlices")
def _steps_padded(padded: Array, inside: Array, padding: Scalar, total: int, batch_first: bool):
    """(T, B, *) with `padding` where not `inside` and up to `total` steps; (B, T, *) with `batch_first`."""
    fill = jnp.asarray(padding).astype(padded.dtype)
    x = jnp.where(inside.reshape(inside.shape + (1,) * (padded.ndim - 2)), padded, fill)
    if total > x.shape[0]:
        x = jnp.concatenate([x, jnp.broadcast_to(fill, (total - x.shape[0], *x.shape[1:]))])
    return jnp.swapaxes(x, 0, 1) if batch_first else x


def rows_of(batch_sizes: Any) -> tuple[np.ndarray, np.ndarray]:
    """For packed data: which row is step t of sequence b (0 where there is none), and whether there is one; both (T, B)."""
    sizes = np.asarray(batch_sizes, np.int64)
    columns = np.arange(int(sizes[0]) if len(sizes) else 0)
    inside = columns[None, :] < sizes[:, None]
    offsets = np.cumsum(sizes) - sizes
    return np.where(inside, offsets[:, None] + columns[None, :], 0), inside


def _checked_lengths(input: Tensor, lengths: Tensor, batch_first: bool) -> np.ndarray:
    """For each step up to the longest and each sequence, whether there is one: (T, B). PyTorch's errors for bad lengths."""
    need_tensor(input, "_pack_padded_sequence")
    if lengths.dim() != 1 or lengths.device.type != "cpu" or str(lengths.dtype) != "torch.int64":
        kind = str(lengths.dtype).removeprefix("torch.").capitalize().replace("Int64", "Long")
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D {lengths.device.type} "
            f"{kind} tensor"
        )
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    batch = input.size(0 if batch_first else 1)
    steps = input.size(1 if batch_first else 0)
    sizes = np.asarray(lengths.tolist(), np.int64)
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if sizes[0] > steps:
        raise RuntimeError(f"pack_padded_sequence: a length of {sizes[0]} exceeds the {steps} steps of the input")
    return np.arange(sizes[0])[:, None] < sizes[None, :]


@function("_pack_padded_sequence")
def pack_padded(input: Tensor, lengths: Tensor, batch_first: bool) -> Any:
    """(data, batch_sizes): the rows of all sequences, step after step, and how many there are of each step.

    lengths: on the CPU, int64, falling.
    """
    inside = _checked_lengths(input, lengths, batch_first)
    rows = from_host(np.flatnonzero(inside), input.device)
    return _rows_packed(input, rows, batch_first), from_host(inside.sum(1, dtype=np.int64))


def keep_padded(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """(padded, batch_sizes): a copy of the steps that exist, (T, B, *) with 0 elsewhere, which packs into the same data.

    Its shapes do not depend on the sum of the lengths, so that batches of one size share their programs.
    """
    inside = _checked_lengths(input, lengths, batch_first)
    kept = from_host(inside, input.device)
    return _steps_kept(input, kept, batch_first), from_host(inside.sum(1, dtype=np.int64))


def data_of(padded: Tensor, batch_sizes: Tensor) -> Tensor:
    """The packed data of sequences that are kept padded, (T, B, *)."""
    _, inside = rows_of(batch_sizes.tolist())
    return _rows_packed(padded, from_host(np.flatnonzero(inside), padded.device), False)


def padded_of(data: Tensor, batch_sizes: Tensor) -> Tensor:
    """Packed data as (T, B, *), with 0 where there is none."""
    rows, inside = rows_of(batch_sizes.tolist())
    arrays = _on_host([data])
    if arrays is not None:
        padded = np.zeros((*inside.shape, *arrays[0].shape[1:]), arrays[0].dtype)
        padded[inside] = arrays[0]
        return from_host(padded, data.device)
    return _rows_padded(data, from_host(rows, data.device), from_host(inside, data.device), 0)


def pad_kept(
    padded: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """What `pad_packed` gives, from sequences that are kept padded."""
    _, inside = rows_of(batch_sizes.tolist())
    kept = from_host(inside, padded.device)
    lengths = from_host(inside.sum(0, dtype=np.int64))
    return _steps_padded(padded, kept, padding_value, total_length, batch_first), lengths


@function("_pad_packed_sequence")
def pad_packed(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int = -1
) -> Any:
    """(padded, lengths): packed data as (T, B, *), or (B, T, *) with `batch_first`."""
    rows, inside = rows_of(batch_sizes.tolist())
    lengths = inside.sum(0, dtype=np.int64)
    steps = len(rows)
    if total_length > 0:
        if total_length < steps:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        more = ((0, total_length - steps), (0, 0))
        rows, inside = np.pad(rows, more), np.pad(inside, more)
    if batch_first:
        rows, inside = rows.T, inside.T
    index = from_host(np.ascontiguousarray(rows), data.device)
    kept = from_host(np.ascontiguousarray(inside), data.device)
    return _rows_padded(data, index, kept, padding_value), from_host(lengths)


def _fitted(s: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A sequence in the shape that it has among the others, to which it may be expanded."""
    own = tuple(s.shape)
    if own == shape:
        return s
    for k in range(1, min(len(own), len(shape)) + 1):
        if own[-k] not in (1, shape[-k]):
            raise RuntimeError(
                f"The size of tensor a ({shape[-k]}) must match the size of tensor b ({own[-k]}) at non-singleton dimension "
                f"{max(len(own), len(shape)) - k}"
            )
    return s.expand(shape)


def pad_list(sequences: list[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    """Sequences (L_b, *), padded with `padding_value` to the longest: (T, B, *), or (B, T, *) with `batch_first`."""
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    for i, s in enumerate(sequences):
        if not isinstance(s, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(s).__name__}")
    if not sequences[0].dim():
        raise RuntimeError("pad_sequence: expected sequences of at least one dimension, but got one of none")
    lengths = np.array([s.size(0) for s in sequences])
    steps = int(lengths.max())
    rest = tuple(sequences[0].shape)[1:]
    sequences = [_fitted(s, (s.size(0), *rest)) for s in sequences]
    starts = steps - lengths if padding_side == "left" else 0 * lengths
    inside = (np.arange(steps) >= starts[:, None]) & (np.arange(steps) < (starts + lengths)[:, None])
    arrays = _on_host(sequences)
    if arrays is not None:
        padded = np.full((len(arrays), steps, *rest), padding_value, arrays[0].dtype)
        for out, start, array in zip(padded, starts, arrays, strict=True):
            out[start : start + len(array)] = array
        return from_host(padded if batch_first else np.ascontiguousarray(padded.swapaxes(0, 1)))
    rows = np.where(inside, (np.cumsum(lengths) - lengths - starts)[:, None] + np.arange(steps), 0)
    if not batch_first:
        rows, inside = np.ascontiguousarray(rows.T), np.ascontiguousarray(inside.T)
    first = sequences[0]
    same = [s if s.dtype == first.dtype else s.to(first.dtype) for s in sequences]
    return _rows_padded(cat(same), from_host(rows, first.device), from_host(inside, first.device), padding_value)
