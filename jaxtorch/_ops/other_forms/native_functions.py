"""Operations that PyTorch shows from inside its layers: normalisations with the statistics they used, dropout with its mask,
the samplers of grids, and splits that are not views.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ..._core.define.op import (
    Array,
    Arrays,
    Ints,
    Number,
    Sizes,
    function,
    functions,
    inner_op,
    methods,
    numpy_names,
    op,
)
from ..._core.define.signature import checked, need_kind
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, need_tensor, write_out
from ..common.rules import kind, unsupported
from ..nn.activation import normal_dim
from ..nn.dropout import check_dropped
from ..nn.normalization import (
    _affine,
    _channel_shape,
    _check_both,
    _check_channels,
    _check_float,
    _check_groups,
    _check_momentum,
    _check_parameters,
    _check_vectors,
    _normalised_axes,
    _wide,
    of_sample,
    store_running,
)
from ..nn.resampling import _affine_grid, _grid_sample
from ..nn.standardize import first_of_two, moments
from ..random.random import keep_mask
from ..shapes import splitting
from ..shapes.rearranging import _apart


def _normal(x: Any, axes: tuple[int, ...], eps: float) -> tuple[Any, Any, Any]:
    """(normalised, mean, 1 / standard deviation)."""
    mean, var = moments(x, axes)
    scale = lax.rsqrt(var + np.asarray(eps, x.dtype))
    return (x - mean) * scale, mean, scale


@op(method=False, out=False, saved=["input", "weight", "bias", "result1", "result2"])
def native_layer_norm(input: Array, normalized_shape: Sizes, weight: Array | None, bias: Array | None, eps: float):
    """`layer_norm`, with the mean and the inverse standard deviation of each row."""
    axes = _normalised_axes(input, normalized_shape, "", weight=weight, bias=bias)
    _check_parameters(input, weight, bias)
    _check_float("LayerNormKernelImpl", input)
    out, mean, scale = _normal(_wide(input), axes, eps)
    shape = tuple(input.shape[a] for a in axes)
    statistics = input.dtype if weight is None else jnp.promote_types(input.dtype, weight.dtype)
    return (_affine(out, weight, bias, shape).astype(input.dtype), mean.astype(statistics), scale.astype(statistics))


@op(method=False, out=False, saved=["input", "weight", "result1", "result2"])
def native_group_norm(
    input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
):
    """`group_norm` of (N, C, *), with the mean and the inverse standard deviation of each group, of shape (N, group)."""
    _check_parameters(input, weight, bias)
    _check_groups(input, C, group, weight, bias)
    if input.size != N * C * HxW:
        raise RuntimeError("Expected X.numel() == N * C * HxW to be true, but got false.")
    _check_float("GroupNormKernelImpl", input)
    x = _wide(input).reshape(N, group, -1) if input.size else _wide(input).reshape(N, group, C // group * HxW)
    out, mean, scale = _normal(x, (2,), eps)
    out = _affine(out.reshape(N, C, HxW), weight, bias, (1, C, 1)).astype(input.dtype).reshape(input.shape)
    statistics = input.dtype if weight is None else jnp.promote_types(input.dtype, weight.dtype)
    return out, mean.reshape(N, group).astype(statistics), scale.reshape(N, group).astype(statistics)


@inner_op(
    grad="NativeBatchNormBackward0", saved=["input", "weight", "result1", "result2", "running_mean", "running_var"]
)
def _native_batch_norm(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    training: bool,
    momentum: Number,
    eps: float,
):
    """(normalised, saved mean, saved inverse deviation, new running mean, new running variance)."""
    _check_momentum("native_batch_norm", momentum)
    _check_both(running_mean, running_var)
    _check_float("batch_norm", input)
    channels = input.shape[1]
    _check_parameters(input, weight, bias, running_mean, running_var)
    _check_vectors(running_mean, running_var)
    _check_channels(channels, running_mean=running_mean, running_var=running_var)
    for name, x in (("weight", weight), ("bias", bias)):
        if x is not None and x.size < channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {x.size}")
    weight, bias = [None if x is None else x.reshape(-1)[:channels] for x in (weight, bias)]
    if training and 0 in input.shape:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    x, shape = _wide(input), _channel_shape(input)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
        scale = lax.rsqrt(running_var.astype(x.dtype) + np.asarray(eps, x.dtype)).reshape(shape)
        out = _affine((x - running_mean.astype(x.dtype).reshape(shape)) * scale, weight, bias, shape)
        empty = jnp.zeros(0, input.dtype)
        return out.astype(input.dtype), empty, empty
    axes = (0, *range(2, input.ndim))
    out, mean, scale = _normal(x, axes, eps)
    statistics = input.dtype if weight is None else jnp.promote_types(input.dtype, weight.dtype)
    saved = [_affine(out, weight, bias, shape).astype(input.dtype)]
    saved += [mean.reshape(-1).astype(statistics), scale.reshape(-1).astype(statistics)]
    count = math.prod(input.shape) // max(channels, 1)
    var = moments(x, axes)[1] * of_sample(count)
    for running, fresh in ((running_mean, mean), (running_var, var)):
        if running is not None:
            fresh = lax.stop_gradient(fresh.reshape(-1).astype(running.dtype))
            saved.append(lax.stop_gradient(running) * (1 - momentum) + fresh * momentum)
    return tuple(saved)


@function("native_batch_norm")
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> Any:
    """`batch_norm`, with the mean and the inverse standard deviation used (empty in evaluation).

    In training the running moments, where given, are updated in place.
    """
    momentum = float(momentum) if momentum.__class__ is int else momentum  # however large
    given = (input, weight, bias, running_mean, running_var, training, momentum, eps)
    found, apart = first_of_two(_native_batch_norm, given, (input, None, None, *given[3:]))
    if training:
        store_running(found[3:], running_mean, running_var)
    if apart:
        found = _native_batch_norm(*given)
    return found[:3] if out is None else write_out(out, found[:3], "native_batch_norm")


@function("_native_batch_norm_legit")
def _native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, *args: Any, out: Any = None
) -> Any:
    """`native_batch_norm`; the running moments may be left out altogether."""
    running = args[:2] if len(args) == 5 else (None, None)
    if len(args) == 5:
        for place, name in enumerate(("running_mean", "running_var")):
            need_tensor(running[place], "native_batch_norm_legit", name, 4 + place)
    return native_batch_norm(input, weight, bias, *running, *args[-3:], out=out)


@function("native_dropout")
@checked
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of what was kept."""
    if train is False or not input.numel():
        return input.clone(), functions["ones_like"](input).bool()
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={1 - p:g}")
    aval = input._value.aval
    if p != 1:
        check_dropped(aval)
    keep = keep_mask(aval.slot, p, aval.shape).bool()
    return input * keep * (0.0 if p == 1 else 1 / (1 - p)), keep


# -- grids

_MODES = {
    "interpolation_mode": ("bilinear", "nearest", "bicubic"),
    "padding_mode": ("zeros", "border", "reflection"),
}


def _sampled(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """`grid_sample`; RuntimeError for a number that stands for no mode, of which PyTorch returns memory as it is."""
    words = []
    for name, mode in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
        if not 0 <= mode < 3:
            raise RuntimeError(f"grid_sampler: {name} must be 0, 1 or 2, but got {mode}")
        words.append(_MODES[name][mode])
    return _grid_sample(input, grid, *words, bool(align_corners))


def _sampler(n: int) -> Any:
    def grid_sampler(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        need_tensor(input, f"grid_sampler_{n}d")
        need_kind(f"grid_sampler_{n}d", "align_corners", "bool", align_corners)
        need_tensor(input, f"grid_sampler_{n}d", "input")
        for name, mode in (("interpolation_mode", interpolation_mode), ("padding_mode", padding_mode)):
            need_kind(f"grid_sampler_{n}d", name, "int", mode)
        if not input.ndim:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        if input.ndim != n + 2:
            raise RuntimeError(f"grid_sampler_{n}d(): expected a {n + 2}D input, but got {input.ndim}D")
        return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)

    grid_sampler.__name__ = grid_sampler.__qualname__ = f"grid_sampler_{n}d"
    grid_sampler.__doc__ = f"`grid_sample` of a {n + 2}D input, with the modes as numbers."
    return function(f"grid_sampler_{n}d")(grid_sampler)


_sampler(2)
_sampler(3)


@function("grid_sampler")
@checked
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sample` with the modes as numbers."""
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners)


@function("affine_grid_generator")
@checked
def affine_grid_generator(theta: Tensor, size: Sizes, align_corners: bool) -> Tensor:
    """The grid of an affine map, for `grid_sampler`."""
    return _affine_grid(theta, tuple(size), bool(align_corners))


# -- splits whose parts are no views


def _unsafe(name: str) -> None:
    split = getattr(splitting, name)

    @numpy_names
    def parts(input: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        if "split_size" in kwargs:
            kwargs["split_size_or_sections"] = kwargs.pop("split_size")
        if name == "split" and (args or "split_size_or_sections" in kwargs):
            size = args[0] if args else kwargs.pop("split_size_or_sections")
            if isinstance(size, np.ndarray) and not size.ndim:
                size = size.item()
            need_kind("unsafe_split", "split_size", "int", size)
            args = (int(size), *args[1:])
        views = split(need_tensor(input, "unsafe_" + name), *args, **kwargs)
        if name == "split" and isinstance(args[0] if args else None, int) and len(views) > 1:
            return _apart(input, args[0], args[1] if len(args) > 1 else kwargs.get("dim", 0))
        return tuple([part.clone() for part in views])

    parts.__name__ = parts.__qualname__ = "unsafe_" + name
    parts.__doc__ = f"`{name}` whose parts have memory of their own."
    function("unsafe_" + name, method=True)(parts)


for _name in ("chunk", "split", "split_with_sizes"):
    _unsafe(_name)


@op(method=False, name="_chunk_cat", grad="NotImplemented")
def _chunk_cat(tensors: Arrays, dim: int, num_chunks: int):
    """Each tensor split into chunks along `dim`, padded with zeros; chunks of the same number flattened and joined."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError(f"_chunk_cat expects positive num_chunks, but got {num_chunks}")
    if dim < 0 and len({x.ndim for x in tensors}) > 1:
        raise RuntimeError(
            "_chunk_cat expects a non-negative dim when the tensors have different numbers of dimensions"
        )
    axis = normal_dim(dim, tensors[0].ndim)
    pieces = []
    for x in tensors:
        if not x.size:
            raise RuntimeError("_chunk_cat expects non-empty tensors")
        if axis >= x.ndim or x.shape[:axis] != tensors[0].shape[:axis]:
            raise RuntimeError(f"_chunk_cat expects tensors of the same sizes before dimension {axis}")
        each = -(-x.shape[axis] // num_chunks)
        pads = [(0, 0)] * x.ndim
        pads[axis] = (0, each * num_chunks - x.shape[axis])
        pieces.append(jnp.pad(x, pads).reshape(*x.shape[:axis], num_chunks, -1))
    return jnp.concatenate(pieces, axis + 1)


@function("norm_except_dim")
@checked
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which stays; over all of them for dim = -1."""
    if dim == -1:
        return functions["norm"](v, pow)
    axis = strides.wrap_dim(dim, v.ndim)
    shape = [1] * v.ndim
    shape[axis] = v.shape[axis]
    flat = v.transpose(0, axis).reshape(v.shape[axis], -1)
    return functions["norm"](flat, pow, 1).view(shape)


# -- indices without checks


def _within(name: str, input: Tensor, mask: Any, indices: Any) -> list[Tensor]:
    """The indices, limited to the sizes of the dimensions."""
    need_tensor(mask, name, "mask", 2)
    if not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 3) must be tuple of Tensors, not {type(indices).__name__}"
        )
    for i, index in enumerate(indices):
        if not isinstance(index, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 2, but got {type(index).__name__}")
    if not indices:
        raise IndexError("at least one index must be provided")
    if len(indices) > input.ndim:
        raise IndexError(f"too many indices for tensor of dimension {input.ndim} (got {len(indices)})")
    return [index.clamp(-n, n - 1) for index, n in zip(indices, input.shape, strict=False)]


@function("_unsafe_masked_index")
def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: Any, fill: Any) -> Tensor:
    """`input[indices]`, and `fill` where the mask is False; indices out of range count there alone."""
    within = _within("_unsafe_masked_index", input, mask, indices)
    need_kind("_unsafe_masked_index", "fill", "Number", fill)
    if not input.numel():
        return functions["full"](mask.shape, fill, dtype=input.dtype)
    return input[tuple(within)].masked_fill(mask.logical_not(), fill)


@function("_unsafe_masked_index_put_accumulate")
def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: Any, values: Tensor) -> Tensor:
    """The input with values added at indices, where the mask is True."""
    within = _within("_unsafe_masked_index_put_accumulate", input, mask, indices)
    need_tensor(values, "_unsafe_masked_index_put_accumulate", "values", 4)
    if not input.numel():
        return input.clone()
    return input.index_put(within, values.masked_fill(mask.logical_not(), 0), accumulate=True)


# -- whole-tensor hashes


@op(differentiable=False, method=True)
def hash_tensor(input: Array, dim: Ints | None = (), *, keepdim: bool = False, mode: int = 0):
    """The exclusive or of the elements' bits over dimensions, as uint64: floats by their double precision pattern."""
    if mode != 0:
        raise RuntimeError(f"hash_tensor: expected mode 0 (xor), but got {mode}")
    if kind(input) == "complex":
        unsupported("xor_sum_cpu", input)
    given = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if not input.size and not given:
        raise RuntimeError("hash_tensor: expected a dimension to reduce, since the input has no elements; give `dim`")
    axes = tuple(normal_dim(d, input.ndim) for d in given) or tuple(range(input.ndim))
    if kind(input) == "float":
        words = lax.bitcast_convert_type(input.astype(np.float64), np.uint64)
    else:
        words = input.astype(np.int64).astype(np.uint64)
    out = lax.reduce(words, np.uint64(0), lax.bitwise_xor, axes if input.ndim else ())
    if keepdim:
        out = out.reshape([1 if a in axes else n for a, n in enumerate(input.shape)])
    return out


methods.setdefault("unsafe_chunk", functions["unsafe_chunk"])
