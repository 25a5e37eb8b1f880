"""From a list of samples to a batch, and from NumPy to tensors.

A batch of host tensors or NumPy arrays becomes one NumPy array and one tensor: the engine runs nothing. What
that path cannot do exactly (mixed dtypes, gradients, data on a device) goes through `torch.stack`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from .. import _engine
from . import copying, transport

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

CollateMap = dict[Any, Callable[..., Any]]

np_str_obj_array_pattern = re.compile("[SaUO]")  # NumPy types that make no tensors; libraries ask
_NUMERIC_KINDS = frozenset("biufc")


def default_convert(data: Any) -> Any:
    """Turns NumPy arrays and scalars inside `data` into tensors; leaves all else as it is.

    Tuples become lists, as in PyTorch. Used when automatic batching is off (`batch_size=None`).
    """
    if isinstance(data, _engine.Tensor):
        return data
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else _engine.as_tensor(data)
    if isinstance(data, Mapping):
        return _rebuild_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return _rebuild_sequence(data, [default_convert(value) for value in data])
    return data


def default_collate(batch: Any) -> Any:
    """Stacks a list of samples field by field along a new first dimension; PyTorch's rules and errors."""
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Collates by the type of the first sample.

    Exact types in `collate_fn_map` come first, then base classes in its order, then mappings, namedtuples and
    sequences, whose fields are collated by the same map. TypeError for any other type; RuntimeError for
    sequences of unequal length.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        function = collate_fn_map.get(kind)
        if function is None:
            function = next((f for base, f in collate_fn_map.items() if isinstance(first, base)), None)
        if function is not None:
            return function(batch, collate_fn_map=collate_fn_map)

    def column(values: Any) -> Any:
        return collate(values, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _rebuild_mapping(first, {key: column([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(column(values) for values in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if len(set(map(len, batch))) != 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [column(values) for values in zip(*batch, strict=False)]
        return columns if isinstance(first, tuple) else _rebuild_sequence(first, columns)
    raise _unsupported(kind)


default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _unsupported(found: Any) -> TypeError:
    return TypeError(default_collate_err_msg_format.format(found))


def _rebuild_mapping(like: Mapping[Any, Any], values: dict[Any, Any]) -> Any:
    """A mapping of the type of `like`, or a dict where the type cannot be rebuilt."""
    try:
        if isinstance(like, MutableMapping):
            clone = copy.copy(like)
            clone.update(values)
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _rebuild_sequence(like: Sequence[Any], values: list[Any]) -> Any:
    """A sequence of the type of `like`, or a list where the type cannot be rebuilt."""
    if type(like) is list:
        return values
    try:
        if isinstance(like, MutableSequence):
            clone = copy.copy(like)
            for position, value in enumerate(values):
                clone[position] = value
            return clone
        return type(like)(values)  # type: ignore[call-arg]
    except TypeError:
        return values


def _stack_arrays(arrays: list[np.ndarray]) -> Any:
    """One new tensor from arrays of one shape and dtype, or None where dtypes differ.

    Raises the error of `torch.stack` where shapes differ.
    """
    first = arrays[0]
    shape, dtype = first.shape, first.dtype
    if len({array.shape for array in arrays}) != 1:
        position, other = next((i, array.shape) for i, array in enumerate(arrays) if array.shape != shape)
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 "
            f"and {list(other)} at entry {position}"
        )
    if len({array.dtype for array in arrays}) != 1:
        return None
    if first.ndim == 0:
        return _engine.from_host(np.array([array.item() for array in arrays], dtype=dtype))
    making = _engine.sample_memory.current()
    out = making.joined(arrays) if making is not None else None
    if out is not None:
        return _engine.from_host(out)
    out = transport.allocate((len(arrays), *shape), dtype)
    copying.concatenate(arrays, out)
    return _engine.from_host(out)


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stacks tensors."""
    if not isinstance(batch, list | tuple):
        return _engine.stack(batch)
    if not all(issubclass(kind, _engine.Tensor) for kind in set(map(type, batch))):
        return _engine.stack(batch)
    arrays: list[Any] = [_engine.plain_host_array(value) for value in batch]
    if type(None) in set(map(type, arrays)):
        return _engine.stack(batch)
    stacked = _stack_arrays(arrays)
    return _engine.stack(batch) if stacked is None else stacked


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """Stacks NumPy arrays; TypeError for arrays of strings or objects."""
    first = batch[0]
    if first.dtype.kind in "SUO":
        raise _unsupported(first.dtype)
    numeric = first.dtype.kind in _NUMERIC_KINDS and first.dtype.isnative
    if numeric and all(isinstance(value, np.ndarray) for value in batch):
        stacked = _stack_arrays(list(batch))
        if stacked is not None:
            return stacked
    return collate([_engine.as_tensor(value) for value in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """A 1-d tensor from NumPy scalars."""
    kind = type(batch[0])
    if set(map(type, batch)) == {kind} and np.dtype(kind).kind in _NUMERIC_KINDS:
        return _engine.from_host(np.array(batch, dtype=kind))
    return _engine.as_tensor(batch)


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """A float64 tensor from Python floats."""
    if set(map(type, batch)) <= {float, int}:
        return _engine.from_host(np.array(batch, dtype=np.float64))
    return _engine.tensor(batch, dtype="float64")


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: CollateMap | None = None) -> Any:
    """An int64 or bool tensor from Python ints or bools."""
    kind = type(batch[0])
    plain = isinstance(batch, list | tuple) and (kind is int or kind is bool)
    if plain and set(map(type, batch)) == {kind}:
        try:
            return _engine.from_host(np.array(batch, dtype=np.int64 if kind is int else np.bool_))
        except OverflowError:
            pass
    return _engine.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: CollateMap | None = None) -> Any:
    """Strings stay as they are."""
    return batch


default_collate_fn_map: CollateMap = {
    _engine.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}
