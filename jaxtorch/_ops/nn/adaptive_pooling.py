"""Pooling to a given size: adaptive, fractional, and the inverse of max pooling."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.compile.context import target
from ..._core.compile.symbolic_sizes import up_to
from ..._core.define.op import Array, Ints, inner_op, op
from ..._core.record.value_checks import flag
from ..._core.tensor.strides import wrap_dim
from ..._core.types.size import need_sizes
from ..common.exact_division import average, quotient
from ..common.rules import check_mean, in_single, kind, unsupported
from .pooling import _avg_pool, _lowest, _max_places, _max_values
from .weighted_gather import Taps, sums


def _windows(size: int, out: int) -> tuple[Any, Any]:
    """The windows that divide `size` elements into `out` parts: element numbers (out, longest), and which
    of them count.
    """
    start = np.arange(out) * size // max(out, 1)
    stop = -((-(np.arange(out) + 1) * size) // max(out, 1))
    longest = int((stop - start).max()) if out else 1
    index = start[:, None] + np.arange(longest)
    inside = index < stop[:, None]
    return np.minimum(index, size - 1), inside


def _targets(x: Any, n: int, output_size: Any, name: str) -> list[int]:
    several = isinstance(output_size, (tuple, list))
    need_sizes(
        name, "output_size", [1 if g is None else g for g in output_size] if several else output_size, 2, alone=True
    )
    given: tuple[Any, ...] = (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
    if len(given) != n:
        if n == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})")
        text = "(): internal error: output_size.size() must be" if "max" in name else ": output_size must be"
        raise RuntimeError(f"{name}{text} {n}")
    return [s if g is None else g for g, s in zip(given, x.shape[-n:], strict=True)]


def _check(x: Any, n: int, name: str, colon: str) -> None:
    if n == 1:
        if x.ndim not in (2, 3):
            raise RuntimeError(
                f"Expected 2 to 3 dimensions, but got {x.ndim}-dimensional tensor for argument #1 'self' "
                "(while checking "
                f"arguments for {name})"
            )
    elif x.ndim not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got{colon} {list(x.shape)}")
    averaged = (
        "avg" in name and n < 3
    )  # these look at the sizes of what they divide only, and at one dimension as at two
    shape = [*x.shape[:-1], 1, x.shape[-1]] if averaged and n == 1 else list(x.shape)
    for i in range(x.ndim - n if averaged else 1, len(shape)):
        if shape[i] == 0:
            raise RuntimeError(
                f"{'adaptive_avg_pool2d' if averaged else name}(): Expected input to have non-zero size for non-batch "
                f"dimensions, but input has sizes {shape} with dimension {i} being empty"
            )


def _even(x: Any, n: int, sizes: list[int]) -> Any:
    """(kernel, kernel as stride) where all windows have one size and do not overlap; None otherwise."""
    if any(s < 1 or i % s for i, s in zip(x.shape[-n:], sizes, strict=True)):
        return None
    return tuple(i // s for i, s in zip(x.shape[-n:], sizes, strict=True))


def adaptive_average(x: Any, n: int, sizes: list[int]) -> Any:
    """The mean of the windows that divide each of the last n dimensions into `sizes` parts."""
    kernel = _even(x, n, sizes)
    if kernel is not None:
        if all(s == 1 for s in sizes):
            axes = tuple(range(x.ndim - n, x.ndim))
            return average(x, axes, keepdims=True)
        if x.size:
            return in_single(lambda v: _avg_pool(v, n, kernel, kernel, 0, False, True, None))(x)

    if target() == "meta":
        return jnp.zeros((*x.shape[:-n], *sizes), x.dtype)
    windows = [_windows(size, out) for size, out in zip(x.shape[-n:], sizes, strict=True)]

    def averaged(v: Any) -> Any:
        v = sums(
            v, [Taps(size, index, None, inside) for size, (index, inside) in zip(x.shape[-n:], windows, strict=True)]
        )
        for i, (_, inside) in enumerate(windows):
            v = quotient(v, jnp.asarray(inside.sum(1), v.dtype).reshape(-1, *(1,) * (n - i - 1)))
        return v

    return in_single(averaged)(x)


def _adaptive_avg(x: Any, n: int, output_size: Any) -> Any:
    name = f"adaptive_avg_pool{n}d"
    if n > 1 and output_size in (1, (1,) * n):  # then it is a mean, of any tensor that has these dimensions
        check_mean(x)
        for dim in range(-1, -n - 1, -1):
            wrap_dim(dim, x.ndim, scalar=False)
    else:
        _check(x, n, name, "")
    sizes = _targets(x, n, output_size, name)
    if any(s < 0 for s in sizes):
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received "
            f"{{{', '.join(map(str, sizes))}}}"
        )

    if kind(x) != "float":
        if all(s == 1 for s in sizes):
            check_mean(x)
            return jnp.mean(x, tuple(range(-n, 0)), keepdims=True)
        if n == 3 or (x.size and math.prod(sizes)):
            unsupported("adaptive_avg_pool3d_cpu" if n == 3 else "adaptive_avg_pool2d", x)
        return jnp.zeros((*x.shape[:-n], *sizes), x.dtype)
    return adaptive_average(x, n, sizes)


def _mean_name(n: int, ordinary: str) -> Any:
    """Global averages are plain means in PyTorch."""

    def name(operands: Any, statics: Any) -> str:
        given = statics[0]
        ones = given == 1 or given == (1,) * n or given == (1,)
        return "MeanBackward1" if ones else ordinary

    return name


def _saved_by(n: int) -> Any:
    name = _mean_name(n, "")
    return lambda operands, statics: () if name(operands, statics) else ("input",)


@op(method=False, out=False, grad="SqueezeBackward1", saved=_saved_by(1))
def adaptive_avg_pool1d(input: Array, output_size: Ints):
    """Means over windows that divide the last dimension into `output_size` parts."""
    return _adaptive_avg(input, 1, output_size)


@inner_op(grad=_mean_name(2, "AdaptiveAvgPool2DBackward0"), saved=_saved_by(2), channels=1)
def adaptive_avg_pool2d(input: Array, output_size: Any):
    """Means over windows that divide the last 2 dimensions into `output_size` parts; None keeps a size."""
    return _adaptive_avg(input, 2, output_size)


@inner_op(grad=_mean_name(3, "AdaptiveAvgPool3DBackward0"), saved=_saved_by(3))
def adaptive_avg_pool3d(input: Array, output_size: Any):
    """Means over windows that divide the last 3 dimensions into `output_size` parts; None keeps a size."""
    return _adaptive_avg(input, 3, output_size)


def _gathered_max(x: Any, n: int, windows: Any) -> Any:
    """The maxima and their flat positions, for windows given by an (element numbers, which count) pair for
    each axis.
    """
    spatial = x.shape[-n:]
    place = jnp.broadcast_to(up_to(math.prod(spatial), jnp.int64).reshape(spatial), x.shape)
    for i in reversed(range(n)):
        axis = x.ndim - n + i
        index, inside = windows[i]
        mask = inside.reshape(*inside.shape, *(1,) * (x.ndim - axis - 1))
        values = jnp.where(mask, jnp.take(x, index, axis=axis), _lowest(x.dtype))
        best = jnp.expand_dims(jnp.argmax(values, axis=axis + 1), axis + 1)
        x = jnp.take_along_axis(values, best, axis=axis + 1).squeeze(axis + 1)
        place = jnp.take_along_axis(jnp.take(place, index, axis=axis), best, axis=axis + 1).squeeze(axis + 1)
    return x, place


def _adaptive_max(x: Any, n: int, output_size: Any) -> Any:
    name = f"adaptive_max_pool{n}d"
    _check(x, n, name, ":")
    sizes = _targets(x, n, output_size, name)
    bad = next((s for s in sizes if s < 0), None)
    if bad is not None:
        shape = [*x.shape[:-n], *sizes]
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {shape}")
    if kind(x) != "float":
        unsupported("adaptive_max_pool3d_cpu" if n == 3 else "adaptive_max_pool2d", x)
    kernel = _even(x, n, sizes)
    if kernel is not None and max(kernel) <= 64:
        window = (x, n, kernel, kernel, (0,) * n, (1,) * n, sizes)
        return _max_values(*window), _max_places(*window)
    return _gathered_max(x, n, [_windows(s, o) for s, o in zip(x.shape[-n:], sizes, strict=True)])


def _define_adaptive_max(n: int, grad: str) -> Any:
    def adaptive_max_pool(input: Array, output_size: Any) -> Any:
        return _adaptive_max(input, n, output_size)

    if n == 1:  # None keeps no size here
        adaptive_max_pool.__annotations__["output_size"] = "Ints"
    adaptive_max_pool.__doc__ = f"Maxima, and their flat positions, of windows dividing the last {n} dimensions."
    name = f"adaptive_max_pool{n}d_with_indices"
    public = f"adaptive_max_pool{n}d" if n == 1 else False
    return op(
        name=name,
        function=public,
        method=False,
        out=False,
        grad=grad,
        unsaved=["result"],
        saved=["result1"],
        channels=int(n == 2),
    )(adaptive_max_pool)


adaptive_max_pool1d_with_indices = _define_adaptive_max(1, "SqueezeBackward1")
adaptive_max_pool2d_with_indices = _define_adaptive_max(2, "AdaptiveMaxPool2DBackward0")
adaptive_max_pool3d_with_indices = _define_adaptive_max(3, "AdaptiveMaxPool3DBackward0")


def _unpool_name(n: int) -> str:
    return "SqueezeBackward1" if n == 1 else f"MaxUnpool{n}DBackward0"


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _put(volume: int, flat: Any, where: Any) -> Any:
    """Values at their places. Each gets the gradient of its place, also where another one has been put there."""
    out = jnp.zeros((*flat.shape[:-1], volume), flat.dtype)
    return jnp.put_along_axis(out, where, flat, axis=-1, inplace=False)


@_put.defjvp
def _put_rule(volume: int, primals: Any, tangents: Any) -> Any:
    # Called unique, so that JAX transposes it to a gather.
    flat, where = primals
    t, at = tangents[0].reshape(-1, flat.shape[-1]), where.reshape(-1, flat.shape[-1])
    out = jnp.zeros((t.shape[0], volume), t.dtype)
    moved = out.at[up_to(t.shape[0])[:, None], at].set(t, mode="promise_in_bounds", unique_indices=True)
    return _put(volume, flat, where), moved.reshape(*flat.shape[:-1], volume)


def _define_unpool(n: int) -> Any:
    def max_unpool(input: Array, indices: Array, output_size: Any) -> Any:
        if indices.dtype != jnp.int64:
            raise RuntimeError("elements in indices should be type int64 but got: " + str(indices.dtype))
        if indices.shape != input.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) "
                "but got indices "
                f"tensor with shape: {list(indices.shape)}"
            )
        for i in range(1, input.ndim):
            if input.shape[i] == 0:
                raise RuntimeError(
                    f"max_unpooling{max(n, 2)}d_forward_out_cpu(): Expected input to have non-zero size for non-batch "
                    f"dimensions, but got {list(input.shape)} with dimension {i} being empty."
                )
        least = max(n, 2) + 1 - (n == 1)
        if input.ndim not in (least, least + 1):
            raise RuntimeError(
                f"Input to max_unpooling{max(n, 2)}d should be a {max(n, 2) + 1}d or {max(n, 2) + 2}d Tensor, but got a tensor "
                f"with {input.ndim + (n == 1)} dimensions."
            )
        if kind(input) != "float":
            unsupported(f"max_unpool{max(n, 2)}d", input)
        volume = math.prod(output_size)
        shown = "x".join(map(str, output_size)) + "x1" * (n == 1)
        if not volume:
            return jnp.zeros((*input.shape[:-n], *output_size), input.dtype)
        rows = (*input.shape[:-n], math.prod(input.shape[-n:]))
        flat, where = input.reshape(rows), indices.reshape(rows)
        bad = (where < 0) | (where >= volume)
        if where.size:
            first = where.reshape(-1)[jnp.argmax(bad.reshape(-1))]
            flag(
                jnp.where(jnp.any(bad), first + 2**40, 0),
                lambda code: RuntimeError(
                    f"Found an invalid max index: {code - 2**40} (output volumes are of size {shown})"
                ),
            )
        out: Any = _put(volume, flat, jnp.clip(where, 0, volume - 1))
        return out.reshape(*input.shape[:-n], *output_size)

    max_unpool.__doc__ = f"Put values at their flat positions in the last {n} dimensions, zeros elsewhere."
    return op(name=f"_max_unpool{n}d", function=False, method=False, out=False, grad=_unpool_name(n), channels=1)(
        max_unpool
    )


max_unpool1d, max_unpool2d, max_unpool3d = (_define_unpool(n) for n in (1, 2, 3))


def _fractional_starts(sample: Any, size: int, out: int, kernel: int) -> Any:
    """Where the windows begin, for random numbers (N, C): PyTorch's sequence."""
    if out == 1:
        return jnp.full((*sample.shape, 1), size - kernel)
    alpha = (size - kernel) / (out - 1)
    alpha = jnp.asarray(alpha, sample.dtype)
    steps = jnp.arange(out - 1, dtype=sample.dtype)
    start = ((steps + sample[..., None]) * alpha).astype(jnp.int64) - (sample[..., None] * alpha).astype(jnp.int64)
    return jnp.concatenate([start, jnp.full((*sample.shape, 1), size - kernel)], axis=-1)


def _samples_for(x: Any, samples: Any, n: int) -> Any:
    """The random numbers (N, C, n) for an input (N, C, *)."""
    if samples.dtype != x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.ndim}")
    if samples.shape[0] < x.shape[0]:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != x.shape[1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {samples.shape[2]}.")
    return samples[: x.shape[0]]


def _define_fractional(n: int) -> Any:
    def fractional_max_pool(input: Array, random_samples: Array, kernel_size: Any, output_size: Any) -> Any:
        if 0 in input.shape[1:]:
            raise RuntimeError(
                f"fractional_max_pool{n}d{'_out' * (n == 3)}(): Expected input to have non-zero size for non-batch dimensions, "
                f"but got{list(input.shape)} with dimension {input.shape.index(0, 1)} being empty."
            )
        if input.ndim not in (n + 1, n + 2):
            name = f"fractional_max_pool{n}d{'_out' * (n == 3)}"
            raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(input.shape)}")
        x = input[None] if input.ndim == n + 1 else input
        names = ("time", "height", "width")[-n:]
        for axis, k, o, s in zip(names, kernel_size, output_size, x.shape[-n:], strict=True):
            if o + k - 1 > s - (n == 3):  # in three dimensions PyTorch wants one more
                raise RuntimeError(f"fractional_max_pool{n}d(): pool {axis} {k} too large relative to input {axis} {s}")
        if kind(input) != "float":
            unsupported(f"fractional_max_pool{n}d_out_frame", input)
        random_samples = _samples_for(x, random_samples, n)
        if 0 in output_size:
            empty = jnp.zeros((*input.shape[:-n], *output_size), input.dtype)
            return empty, empty.astype(jnp.int64)
        # PyTorch reads the samples from the last axis back in two dimensions, from the first in three.
        order = [1, 0] if n == 2 else [0, 1, 2]
        spatial = x.shape[-n:]
        flat = jnp.zeros((*x.shape[:2], *(1,) * (2 * n)), jnp.int64)
        for i in range(n):
            starts = _fractional_starts(random_samples[..., order[i]], spatial[i], output_size[i], kernel_size[i])
            index = starts[..., None] + up_to(kernel_size[i])  # (N, C, out, k)
            shape = [*x.shape[:2], *(1,) * (2 * n)]
            shape[2 + i], shape[2 + n + i] = output_size[i], kernel_size[i]
            flat = flat * spatial[i] + index.reshape(shape)
        windows = flat.reshape(*x.shape[:2], math.prod(output_size), math.prod(kernel_size))
        values = jnp.take_along_axis(x.reshape(*x.shape[:2], 1, math.prod(spatial)), windows, axis=-1)
        best = jnp.argmax(values, axis=-1, keepdims=True)
        out = [jnp.take_along_axis(v, best, axis=-1).reshape(*x.shape[:2], *output_size) for v in (values, windows)]
        return tuple(v[0] if input.ndim == n + 1 else v for v in out)

    fractional_max_pool.__doc__ = f"Max pooling of the last {n} dimensions over windows of random steps."
    grad = f"FractionalMaxPool{n}DBackward0"
    name = f"_fractional_max_pool{n}d"
    return op(name=name, function=False, method=False, out=False, grad=grad)(fractional_max_pool)


fractional_max_pool2d, fractional_max_pool3d = (_define_fractional(n) for n in (2, 3))
