"""Elements at the places an index tensor names: `gather`, `take`, `take_along_dim`, `index_select`.

Unlike in `x[index]`, indices may not be negative (except in `take`). One out of range raises PyTorch's
error at the next synchronisation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, function, inner_op, numpy_names, op
from ..._core.define.signature import need_kind
from ..._core.record.value_checks import Within, first, flag
from ..._core.tensor import strides
from ..._core.tensor.out_tensors import refuse_shared
from ..._core.tensor.tensor import Tensor, need_tensor, strict_out, write_out
from ..._core.types import dtypes
from ..common.rules import C_NAMES, scalar_name

# -- indices


def flag_outside(index: Any, low: int, high: int, make: Callable[[int], Exception]) -> None:
    """Raise `make(i)` if an element of an operation's parameter `index` is not in `low ... high - 1`: `i` is the first."""
    if not index.size:
        return
    index = index.astype(np.int64)
    found, wrong = first((index < low) | (index >= high), index)
    nearest = (
        low if low < high else low - (1 << 62)
    )  # a number that is never wrong: less this, the wrong ones are flags
    code = wrong - nearest if nearest else wrong
    flag(
        jnp.where(found, code, jnp.zeros_like(code)),
        lambda code: make((code + nearest + (1 << 63)) % (1 << 64) - (1 << 63)),
        Within("index", low, high),
    )


def _out_of_bounds(dim: int, n: int, prefix: str = "", error: Any = RuntimeError) -> Callable[[int], Exception]:
    return lambda i: error(f"{prefix}index {i} is out of bounds for dimension {dim} with size {n}")


def _integers(index: Any, message: str, allowed: Any = ("int32", "int64"), error: Any = RuntimeError) -> None:
    if index.dtype.name not in allowed:
        raise error(message)


def _lifted(*arrays: Any) -> list[Any]:
    """0-dimensional arrays as arrays of one element."""
    return [a.reshape((1,)) if a is not None and not a.ndim else a for a in arrays]


def _along(index: Any, dim: int) -> tuple[Any, ...]:
    """The NumPy index of each element's own place but for `dim`, where the element of `index` says."""
    at = [up_to(n).reshape([-1 if k == d else 1 for k in range(index.ndim)]) for d, n in enumerate(index.shape)]
    at[dim] = index
    return tuple(at)


def _taken(x: Any, at: Any) -> Any:
    return x.at[at].get(mode="promise_in_bounds", wrap_negative_indices=False)


@op(saved=["input"])
def gather(input: Array, dim: int, index: Array, *, sparse_grad: bool = False):
    """For each element of `index`, the input's element at its place but for `dim`, where the index says.

    The result has the index's shape. An index out of range raises RuntimeError when the result is read.

        >>> x = torch.tensor([[10, 11], [20, 21]])
        >>> torch.gather(x, 1, torch.tensor([[1], [0]]))  # x[i, index[i, j]]
        tensor([[11],
                [20]])
    """
    shape = index.shape
    d = strides.wrap_dim(dim, input.ndim)
    input, index = _lifted(input, index)
    if not index.size:
        return jnp.zeros(shape, input.dtype)
    _integers(index, "gather(): Expected dtype int32/int64 for index")
    if input.ndim != index.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for k, (n, m) in enumerate(zip(index.shape, input.shape, strict=True)):
        if k != d and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(index.shape)} to be no larger "
                f"than self "
                f"{list(input.shape)} apart from dimension {d}"
            )
    n = input.shape[d]
    if not n:
        raise RuntimeError(f"gather(): no index is in bounds for dimension {d} with size 0")
    flag_outside(index, 0, n, _out_of_bounds(d, n))
    return _taken(input, _along(index, d)).reshape(shape)


def _wrapped(index: Any, n: int) -> Any:
    """Flat indices that may be negative, checked."""

    def make(i: int) -> Exception:
        return IndexError(f"out of range: tried to access index {i} on a tensor of {n} elements.")

    flag_outside(index, -n, n, make)
    return jnp.where(index < 0, index + n, index)


@op(saved=["input"])
def take(input: Array, index: Array):
    """The elements at indices into the flattened input."""
    _integers(index, f"take(): Expected a long tensor for index, but got {scalar_name(index)}", ("int64",))
    if not input.size and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    return _taken(input.reshape(-1), (_wrapped(index, input.size),))


@inner_op(grad="GatherBackward0", saved=["input"], unsaved=["indices"])
def _along_dim(input: Array, indices: Array, dim: int):
    d = strides.wrap_dim(dim, input.ndim)
    shape = list(strides.broadcast_shapes(
        [1 if k == d else n for k, n in enumerate(input.shape)],
        [1 if k == d else n for k, n in enumerate(indices.shape)],
    ))  # fmt: skip
    n = input.shape[d]
    shape[d] = n
    input = jnp.broadcast_to(input, shape)
    shape[d] = indices.shape[d]
    indices = jnp.broadcast_to(indices, shape)
    return _taken(input, _along(jnp.mod(indices, n) if n else indices, d))


@function("take_along_dim", method=True)
@numpy_names
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather` with the other dimensions broadcast; of the flattened input if no dimension is given."""
    if type(input) is not Tensor:
        need_tensor(input, "take_along_dim", "input")
    if dim is not None and dim.__class__ is not int:
        need_kind("take_along_dim", "dim", "int", dim)
    if out is not None:
        refuse_shared(out, (input, indices))
    if need_tensor(indices, "take_along_dim", "indices").dtype is not dtypes.int64:
        raise RuntimeError(
            "torch.take_along_dim(): dtype of indices should be Long but got " + _scalar_name_of(indices)
        )
    if dim is None:
        result = gather(input.reshape(-1), 0, indices.reshape(-1))
    else:
        if input.ndim != indices.ndim:
            raise RuntimeError(
                "torch.take_along_dim(): input and indices should have the same number of dimensions, but "
                "got "
                f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
            )
        result = _along_dim(input, indices, dim)
    return result if out is None else write_out(out, result, "take_along_dim")


def _scalar_name_of(t: Tensor) -> str:
    return dtypes.scalar_name(t.dtype)


@op(saved=["index"])
def index_select(input: Array, dim: int, index: Array):
    """The slices of a dimension at the indices of a 1-d tensor."""
    d = strides.wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _integers(index, "index_select(): Expected dtype int32 or int64 for index")
    if not input.ndim:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        flag_outside(index, 0, 1, lambda i: IndexError("index out of range in self"))
        return input
    (index,) = _lifted(index)
    n = input.shape[d]
    if not n and index.size:
        if input.ndim > 1:
            raise RuntimeError("index_select(): self indexing axis dim should be positive")
        raise IndexError("index out of range in self")

    def make(i: int) -> Exception:
        if d == 0:
            return IndexError("index out of range in self")
        return RuntimeError(f"INDICES element is out of DATA bounds, id={i} axis_dim={n}")

    flag_outside(index, 0, n, make)
    return _taken(input, _slices(index, d))


def _slices(index: Any, dim: int) -> tuple[Any, ...]:
    return (*(slice(None),) * dim, index)


# -- `out=`


def need_same(source: dtypes.dtype, target: dtypes.dtype) -> None:
    wanted, given = [
        f"{C_NAMES[d.name]} int"
        if d.name in ("int64", "int16")
        else C_NAMES.get(d.name, f"c10::{dtypes.scalar_name(d)}")
        for d in (source, target)
    ]
    raise RuntimeError(f"Expected out tensor to have dtype {wanted}, but got {given} instead")


def _select_same(source: dtypes.dtype, target: dtypes.dtype) -> None:
    raise RuntimeError("index_select(): self and result must have the same scalar type")


def _take_same(source: dtypes.dtype, target: dtypes.dtype) -> None:
    raise RuntimeError(
        f"take(): self and out expected to have the same dtype, but got self.dtype = "
        f"{dtypes.scalar_name(source)} and "
        f"out.dtype = {dtypes.scalar_name(target)}"
    )


strict_out.update(
    gather=need_same, take_along_dim=need_same, tril=need_same, triu=need_same, diag=need_same,
    index_select=_select_same, take=_take_same,
)  # fmt: skip
