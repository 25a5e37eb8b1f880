"""Looking rows up: `embedding`, `embedding_bag`, `one_hot`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import ad

from ..._core import native
from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, function, functions, inner_op, numpy_names
from ..._core.define.signature import need_kind
from ..._core.record.value_checks import Bounds, Within, flag
from ..._core.run.runner import concrete_array
from ..._core.tensor.sparse_value import makers
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.transforms import forward_mode
from ..._core.types import dtypes
from ..._core.types.grad_mode import state
from ..._core.types.size import LONG
from ..._core.types.warn_once import warn
from ..common.exact_division import quotient
from ..common.primitives import linear_in, primitive
from ..common.rules import scalar_name

_LEGACY = {
    "Float": "torch.FloatTensor", "Double": "torch.DoubleTensor", "Half": "torch.HalfTensor",
    "Byte": "torch.ByteTensor", "Short": "torch.ShortTensor", "Char": "torch.CharTensor",
    "Bool": "CPUBoolType", "BFloat16": "torch.BFloat16Tensor",
    "ComplexFloat": "CPUComplexFloatType", "ComplexDouble": "CPUComplexDoubleType",
}  # fmt: skip


def _check_indices(index: Any, name: str) -> None:
    if index.dtype not in (jnp.int64, jnp.int32):
        kind = scalar_name(index)
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "
            "Int; but got "
            f"{_LEGACY.get(kind, kind)} instead (while checking arguments for {name})"
        )


def _out_of_range(code: int) -> Exception:
    return IndexError("index out of range in self")


def _check_range(index: Any, size: int, make: Callable[[int], Exception]) -> None:
    """Report an index that is not from 0 to below `size`; `make` gets its place, plus 1, above 32 bits with the index itself."""
    if index.size:
        bad = ((index < 0) | (index >= size)).reshape(-1)
        place = jnp.argmax(bad).astype(jnp.int64)
        value = index.reshape(-1)[place].astype(jnp.int64) & 0xFFFFFFFF
        flag(jnp.where(jnp.any(bad), ((place + 1) << 32) | value, 0), make, Within("input", 0, size))


def _rows(weight: Any, index: Any, make: Callable[[int], Exception] = _out_of_range, padding: int = -1) -> Any:
    """weight[index], PyTorch's error at the next synchronisation for an index out of range; the row `padding` has no gradient."""
    size = weight.shape[0]
    _check_range(index, size, make)
    if size == 0:
        return jnp.zeros((*index.shape, *weight.shape[1:]), weight.dtype)
    return _picked_p.bind(weight, index, size=size, padding=padding, zero=False)


def _pick(table: Any, index: Any, *, size: int, padding: int, zero: bool) -> Any:
    rows = jnp.take(table, index, axis=0, mode="clip")
    return jnp.where((index == padding)[..., None], 0, rows) if zero and padding >= 0 else rows


def _add(g: Any, index: Any, *, size: int, padding: int) -> Any:
    table = jax.ShapeDtypeStruct((size, *g.shape[index.ndim :]), g.dtype)
    return jax.linear_transpose(lambda t: _pick(t, index, size=size, padding=padding, zero=True), table)(g)[0]


def _add_natively(g: Any, index: Any, *, size: int, padding: int) -> Any:
    if not native.fits(g) or g.ndim != index.ndim + 1:
        return None
    within = jnp.clip(index, 0, size - 1).astype(jnp.int32)
    if padding >= 0:
        within = jnp.where(index == padding, -1, within)
    return native.add_picked(g.reshape(-1, g.shape[-1]), within.reshape(-1), size)


def _pick_tangent(primals: Any, tangents: Any, **params: Any) -> Any:
    out, moved = _picked_p.bind(*primals, **params), tangents[0]
    if type(moved) is ad.Zero:
        return out, ad.Zero.from_primal_value(out)  # pyright: ignore[reportAttributeAccessIssue]
    return out, _picked_p.bind(moved, primals[1], **{**params, "zero": True})


# Rows of a table (size, ...) by their numbers, of any shape: where they are `padding`, tangents are zero, and rows if `zero`. And the
# sums of the rows of g that have the same number, without those of the padding.
_picked_p = primitive("picked", _pick)
_added_p = primitive("added", _add, _add_natively)
linear_in(_picked_p, _pick, 1, lambda g, index, *, zero, **params: [_added_p.bind(g, index, **params)])
linear_in(_added_p, _add, 1, lambda g, index, **params: [_picked_p.bind(g, index, zero=True, **params)])
ad.primitive_jvps[_picked_p] = _pick_tangent


@jax.custom_jvp
def _with_slope(x: Any, slope: Any) -> Any:
    """x itself, whose derivative is multiplied by `slope`."""
    return x


@_with_slope.defjvp
def _with_slope_rule(primals: Any, tangents: Any) -> Any:
    return primals[0], tangents[0] * primals[1]


def _frequencies(index: Any, size: int) -> Any:
    return jnp.zeros((size,), jnp.int64).at[index.reshape(-1)].add(1, mode="drop")


@inner_op(grad="EmbeddingBackward0")
def _embedding(input: Array, weight: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False):
    _check_indices(input, "embedding")
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if input.size and not weight.shape[0]:
        raise RuntimeError("index_select(): self indexing axis dim should be positive")
    rows = _rows(weight, input, padding=padding_idx)
    if scale_grad_by_freq:
        count = _frequencies(input, weight.shape[0])[input]
        rows = _with_slope(rows, (1 / count).astype(rows.dtype)[..., None])
    return rows


@inner_op(differentiable=False)
def _renormalised(weight: Array, index: Array, max_norm: float, norm_type: float):
    """The weight with the rows that are looked up shortened to `max_norm`."""
    used = _frequencies(index, weight.shape[0]) > 0
    w = weight.astype(jnp.promote_types(weight.dtype, jnp.float32))
    norms = jnp.linalg.norm(w, ord=norm_type, axis=1).astype(weight.dtype).astype(jnp.float64)
    scale = jnp.where(used & (norms > max_norm), max_norm / (norms + 1e-7), 1)
    return (w * scale.astype(weight.dtype).astype(w.dtype)[:, None]).astype(weight.dtype)


def _renormalise(weight: Tensor, index: Tensor, max_norm: float | None, norm_type: float) -> None:
    if max_norm is not None:
        need_tensor(weight, "embedding_renorm_")
        need_tensor(index, "embedding_renorm_", "indices", 2)
        if weight.ndim != 2:
            raise RuntimeError(
                f"Expected 2-dimensional tensor, but got {weight.ndim}-dimensional tensor for argument #1 'self' (while checking "
                "arguments for embedding_renorm_)"
            )
        if max_norm.__class__ is not float:
            need_kind("embedding_renorm_", "max_norm", "float", max_norm)
        if norm_type.__class__ is not float:
            need_kind("embedding_renorm_", "norm_type", "float", norm_type)
        if dtypes.category(weight.dtype) < 2 and index.numel():
            raise RuntimeError(
                "norm(): input dtype should be either floating point or complex. Got "
                f"{dtypes.scalar_name(weight.dtype)} instead."
            )
        if not weight.shape[0] and index.numel():
            raise IndexError(f"select(): index 0 out of range for tensor of size {list(weight.shape)} at dimension 0")
        before = weight._read()
        with forward_mode.pausing():
            new = _renormalised(weight, index, float(max_norm), float(norm_type))._value
        for at, tangent in forward_mode.tangents_of(before):  # as in PyTorch: the tangent stays what it was
            forward_mode.set_tangent(new, tangent, at)
        weight._write(new)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight`: (*) indices give (*, dim). IndexError at the next synchronisation if one is out of
    range.

    sparse: the gradient of `weight` is a sparse tensor of the rows that were looked up.
    """
    if padding_idx is None:
        padding_idx = -1
    else:
        if not need_tensor(weight, "embedding", "weight").dim():
            raise RuntimeError("'weight' must be 2-D")
        n = weight.shape[0]
        if padding_idx == padding_idx and not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx.__class__ is not int:
            need_kind("embedding", "padding_idx", "int", padding_idx)
        padding_idx %= n
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    if sparse is not True and sparse is not False:
        need_kind("embedding", "sparse", "bool", sparse)
    if sparse and need_tensor(weight, "embedding", "weight").requires_grad and state.grad:
        return makers["embedding"](weight, input, padding_idx, scale_grad_by_freq)
    return _embedding(input, weight, padding_idx, scale_grad_by_freq)


@function("embedding")
def _torch_embedding(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of `weight`, with the arguments in the order of `torch.embedding`."""
    if sparse is not True and sparse is not False:
        need_kind("embedding", "sparse", "bool", sparse)
    need_tensor(weight, "embedding", "weight")
    need_tensor(indices, "embedding", "indices", 2)
    if sparse and weight.requires_grad and state.grad:
        return makers["embedding"](weight, indices, padding_idx, scale_grad_by_freq)
    return _embedding(indices, weight, padding_idx, scale_grad_by_freq)


@inner_op(grad="EmbeddingBagBackward0", unsaved=["weight"], saved=["input"])
def _embedding_bag(
    input: Array,
    weight: Array,
    offsets: Array | None,
    per_sample_weights: Array | None,
    mode: str,
    scale_grad_by_freq: bool,
    padding_idx: int | None,
    include_last_offset: bool,
):
    _check_indices(input, "embedding_bag")
    index = input.reshape(-1)
    if offsets is None:
        bags, length = input.shape
        bag = jnp.repeat(up_to(bags), length)
        starts = up_to(bags) * length
    else:
        _check_indices(offsets, "embedding_bag")
        starts = lax.slice_in_dim(offsets, 0, max(offsets.shape[0] - 1, 0)) if include_last_offset else offsets
        bags = starts.shape[0]
        _check_offsets(offsets.astype(jnp.int64), index.shape[0])
        begun = jnp.zeros(index.shape[0] + 1, jnp.int64).at[starts].add(1)  # the last place: bags after the last index
        bag = jnp.cumsum(lax.slice_in_dim(begun, 0, index.shape[0])) - 1
    fast = weight.dtype != jnp.float64 and mode != "max" and padding_idx is None
    rows = _rows(weight, index, functools.partial(_not_in_bag, weight.shape[0], fast))
    if mode != "max" and weight.dtype in (jnp.float16, jnp.bfloat16):
        rows = rows.astype(jnp.float32)
    if scale_grad_by_freq:
        count = _frequencies(index, weight.shape[0])[index]
        rows = _with_slope(rows, (1 / count).astype(rows.dtype)[:, None])
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1)[:, None].astype(rows.dtype)
    counted = jnp.ones(index.shape, bool) if padding_idx is None else index != padding_idx
    segments = functools.partial(jax.ops.segment_sum, segment_ids=bag, num_segments=bags)
    if mode == "max":
        rows = jnp.where(counted[:, None], rows, -jnp.inf)
        best = jax.ops.segment_max(rows, bag, bags)
        empty = segments(counted.astype(jnp.int64)) == 0
        return jnp.where(empty[:, None], 0, _first_of_bag(rows, best, bag, bags))
    summed = counted
    if fast and include_last_offset and offsets is not None and offsets.shape[0]:
        summed = counted & (
            up_to(index.shape[0]) < offsets[-1]
        )  # PyTorch's other kernels take the rest for the last bag's
    total = segments(jnp.where(summed[:, None], rows, 0))
    if mode == "mean":
        total = quotient(total, jnp.maximum(segments(counted.astype(rows.dtype)), 1)[:, None])
    return total.astype(weight.dtype)


@inner_op(differentiable=False)
def _bag_indices(input: Array, size: int, fast: bool):
    _check_indices(input, "embedding_bag")
    _check_range(input, size, functools.partial(_not_in_bag, size, fast))
    return input.reshape(-1)


def _not_in_bag(size: int, fast: bool, code: int) -> Exception:
    """PyTorch's error where an index is out of range: its kernel for most cases has a text of its own."""
    place, index = (code >> 32) - 1, (code & 0xFFFFFFFF) - ((code & 0x80000000) << 1)
    if fast:
        return RuntimeError(f"Index {place} of input takes value {index} which is not in the valid range [0, {size})")
    return RuntimeError(f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {index}")


def _check_offsets(offsets: Any, length: int) -> None:
    if not offsets.shape[0]:
        return
    flag(offsets[0], _bad_first, Bounds("offsets", first=0))
    flag(
        jnp.where(offsets[-1] > length, offsets[-1], 0),
        lambda code: RuntimeError(
            f"offsets[-1] can not be greater than input's length {length} but got offsets[-1] of {code}"
        ),
        Bounds("offsets", last=length),
    )


def _bad_first(code: int) -> Exception:
    return RuntimeError(
        "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
        f"However, got {code}"
    )


def _first_of_bag(rows: Any, best: Any, bag: Any, bags: int) -> Any:
    """The bags' largest entries, taken from the first row that has them, so that only that one gets a
    gradient.
    """
    n = rows.shape[0]
    if n == 0:
        return best
    place = jnp.where(rows == best[bag], up_to(n)[:, None], n)
    first = jnp.minimum(jax.ops.segment_min(place, bag, bags), n - 1)
    return jnp.take_along_axis(rows, first, axis=0)


def _check_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    mode: str,
    scale_grad_by_freq: bool,
    sparse: bool,
    per_sample_weights: Tensor | None,
) -> None:
    """PyTorch's errors for what `embedding_bag` does not take."""
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not None, then "
            "it must have the "
            f"same shape as the input ({tuple(input.shape)})"
        )
    if weight.dim() != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                "fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            f"embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode={mode!r}). Please open a feature request on GitHub."
        )
    if sparse and mode == "max":
        raise ValueError("max mode does not support sparse weights")
    checking = "(while checking arguments for embedding_bag)"
    if not weight.is_floating_point():
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; "
            f"but got {weight.type()} instead {checking}"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; "
            f"but type {weight.type()} does not equal {per_sample_weights.type()} {checking}"
        )


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """Sums, means or maxima of bags of rows: (B, N) indices, or (N) indices cut into bags at `offsets`."""
    if weight.dtype is dtypes.int64 and input.is_floating_point():  # the order of old PyTorch
        warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is deprecated, "
             "and should now be `embedding_bag(input, weight, ...)`.")  # fmt: skip
        input, weight = weight, input
    _check_bag(input, weight, offsets, mode, scale_grad_by_freq, sparse, per_sample_weights)
    need_kind("embedding_bag", "scale_grad_by_freq", "bool", scale_grad_by_freq)
    need_kind("embedding_bag", "sparse", "bool", sparse)
    if offsets is not None:
        need_kind("embedding_bag", "include_last_offset", "bool", include_last_offset)
    if padding_idx is not None:
        need_kind("embedding_bag", "padding_idx", "int", padding_idx)
    _renormalise(weight, input, max_norm, norm_type)
    if offsets is not None and offsets.dtype is not input.dtype:
        common = dtypes.promote(offsets.dtype, input.dtype)
        offsets, input = offsets.to(common), input.to(common)
    n = weight.shape[0]
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise RuntimeError("padding_idx must be within the number of embeddings")
        padding_idx %= n
    if sparse and weight.requires_grad and state.grad:
        if scale_grad_by_freq:
            raise RuntimeError("embedding_bag: scale_grad_by_freq is not supported with sparse gradients")
        weight, input, padding_idx = _looked_up(weight, input, padding_idx)
    return _embedding_bag(
        input,
        weight,
        offsets,
        per_sample_weights,
        mode,
        scale_grad_by_freq,
        padding_idx,
        include_last_offset and offsets is not None,
    )


def _looked_up(weight: Tensor, input: Tensor, padding: int | None) -> tuple[Tensor, Tensor, int | None]:
    """The rows that are looked up as a weight of their own, with the sparse gradient, and the indices into it."""
    flat = _bag_indices(input, weight.shape[0], weight.dtype.name != "float64" and padding is None)
    rows = makers["embedding"](weight, flat, -1 if padding is None else padding, False)
    count = flat.shape[0]
    index = functions["arange"](count, device=flat.device)
    if padding is not None:
        rows = functions["cat"]([rows, functions["zeros"](1, rows.shape[1], dtype=rows.dtype, device=rows.device)])
        index = functions["where"](flat == padding, count, index)
        padding = count
    return rows, index.reshape(input.shape), padding


@inner_op(differentiable=False)
def _one_hot(tensor: Array, num_classes: int):
    if tensor.size:
        flag(
            jnp.any(tensor < 0).astype(jnp.int64),
            lambda code: RuntimeError("Class values must be non-negative."),
            Within("tensor", 0, 2**63),
        )
        flag(
            jnp.any(tensor >= num_classes).astype(jnp.int64),
            lambda code: RuntimeError("Class values must be smaller than num_classes."),
            Within("tensor", -(2**63), num_classes),
        )
    return (tensor[..., None] == up_to(num_classes)).astype(jnp.int64)


@numpy_names
def one_hot(input: Tensor, num_classes: int = -1) -> Tensor:
    """(*) class numbers as (*, num_classes) zeros and ones; -1 reads the number of classes off the data."""
    if need_tensor(input, "one_hot", "self").dtype.name != "int64":
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes.__class__ is not int or not -LONG <= num_classes < LONG:
        need_kind("one_hot", "num_classes", "int", num_classes)
    if num_classes == -1:
        if input._value.aval.numel == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        values = concrete_array(input._array())
        num_classes = int(values.max()) + 1
        if int(values.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
    elif num_classes < 1:
        raise RuntimeError("num_classes should be positive")
    return _one_hot(input, num_classes)
