"""Pooling functions of `torch.nn.functional` that take defaults from their input or choose between two
results.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._core.define import op as _op
from .._core.tensor.tensor import Tensor, need_tensor
from .._core.types.size import need_sizes
from .._ops.nn import adaptive_pooling as _adaptive
from .._ops.nn import pooling as _pool

_SPATIAL = (1, 2, 3)


def _define_max_pool(n: int) -> tuple[Any, Any]:
    plain, both = getattr(_pool, f"max_pool{n}d"), getattr(_pool, f"max_pool{n}d_with_indices")

    def max_pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return (both if return_indices else plain)(input, kernel_size, stride, padding, dilation, ceil_mode)

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        return both(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__doc__ = f"The largest element of each window of the last {n} dimensions (and its flat position)."
    with_indices.__doc__ = max_pool.__doc__
    return _called(max_pool, f"max_pool{n}d"), _called(with_indices, f"max_pool{n}d_with_indices")


def _called(fn: Any, name: str) -> Any:
    fn.__name__ = fn.__qualname__ = name
    return fn


max_pool1d, max_pool1d_with_indices = _define_max_pool(1)
max_pool2d, max_pool2d_with_indices = _define_max_pool(2)
max_pool3d, max_pool3d_with_indices = _define_max_pool(3)


def _full_size(input: Tensor, output_size: Any) -> Any:
    """An output size without None: sizes of the input stand in."""
    sizes = input.size()
    if isinstance(output_size, int):
        return output_size
    if len(sizes) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if not any(o is None for o in output_size):
        return tuple(output_size)
    sizes = tuple(input.shape)[-len(output_size) :]
    return tuple(s if o is None else o for o, s in zip(output_size, sizes, strict=True))


def _plain_first(sizes: Any, name: str) -> Any:
    """The sizes, whose first may not be a flag: to those who look operations up it is the number 1."""
    if isinstance(sizes, tuple) and sizes and sizes[0].__class__ is bool:
        need_sizes(name, "output_size", sizes, 2)
    return sizes


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last 2 dimensions into `output_size` parts; None keeps a size."""
    return _adaptive.adaptive_avg_pool2d(input, _plain_first(_full_size(input, output_size), "adaptive_avg_pool2d"))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide the last 3 dimensions into `output_size` parts; None keeps a size."""
    return _adaptive.adaptive_avg_pool3d(input, _plain_first(_full_size(input, output_size), "adaptive_avg_pool3d"))


def _define_adaptive_max(n: int) -> tuple[Any, Any]:
    both = getattr(_adaptive, f"adaptive_max_pool{n}d_with_indices")

    def adaptive_max_pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        indices = bool(return_indices)
        found = both(input, _plain_first(output_size if n == 1 else _full_size(input, output_size), name))
        return found if indices else found[0]

    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        return both(input, _plain_first(output_size if n == 1 else _full_size(input, output_size), name))

    doc = f"Maxima of windows dividing the last {n} dimensions into `output_size` parts (and positions)."
    adaptive_max_pool.__doc__ = with_indices.__doc__ = doc
    name = f"adaptive_max_pool{n}d"
    return _called(adaptive_max_pool, name), _called(with_indices, name + "_with_indices")


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _define_adaptive_max(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _define_adaptive_max(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _define_adaptive_max(3)


def _each(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,) * n


def _unpooled_size(shape: Any, kernel: Any, stride: Any, padding: Any, output_size: Any) -> tuple[Any, ...]:
    """The size of the output of unpooling, checked against the sizes that pooling could have come from."""
    n = len(kernel)
    default = tuple([(shape[d - n] - 1) * stride[d] + kernel[d] - 2 * padding[d] for d in range(n)])
    if output_size is None:
        found = default
    else:
        found = output_size[2:] if len(output_size) == n + 2 else output_size
        if len(found) != n:
            raise ValueError(
                "output_size should be a sequence containing "
                f"{n} or {n + 2} elements, but it has a length of '{len(found)}'"
            )
        for d in range(n):
            low, high = default[d] - stride[d], default[d] + stride[d]
            if not low < found[d] < high:
                raise ValueError(f'invalid output_size "{found}" (dim {d} must be between {low} and {high})')
    for size in found:
        enough = size >= 0
        if enough.__class__ is not bool:
            raise TypeError(f"cond must be a bool, but got {type(enough)}")
        if not enough:
            raise ValueError(
                f"max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size={found}"
            )
    return tuple(found)


_DIMENSIONS = {2: "two elements (height, width)", 3: "three elements (depth, height, width)"}


def _define_unpool(n: int) -> Any:
    inner = getattr(_adaptive, f"max_unpool{n}d")
    name, rank = f"max_unpool{max(n, 2)}d", max(n, 2)

    def max_unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        kernel, pads = _each(kernel_size, n), _each(padding, n)
        steps = kernel if stride is None else _each(stride, n)
        size = _unpooled_size(input.size(), kernel, steps, pads, output_size)
        if n == 1:
            indices.unsqueeze  # noqa: B018  (its AttributeError)
        need_sizes(name, "output_size", size, 3)
        if len(size) != n:
            raise RuntimeError(
                f"There should be exactly {_DIMENSIONS[rank]} in output_size, but got {len(size) + (n == 1)} elements."
            )
        for place, (argument, given) in enumerate((("stride", steps), ("padding", pads)) if n == 3 else (), 4):
            need_sizes(name, argument, given, place)
            if len(given) != n:
                raise RuntimeError(
                    f"There should be exactly {_DIMENSIONS[rank]} in {argument}, but got: {len(given)} elements."
                )
            if place == 4 and min(given) <= 0:
                raise RuntimeError(f"strides should be greater than zero, but got stride: {list(given)}")
        return inner(input, indices, size)

    max_unpool.__doc__ = f"The partial inverse of max_pool{n}d: maxima back at their positions, zeros elsewhere."
    return _called(max_unpool, f"max_unpool{n}d")


max_unpool1d, max_unpool2d, max_unpool3d = (_define_unpool(n) for n in _SPATIAL)


def _define_fractional(n: int) -> tuple[Any, Any]:
    inner = getattr(_adaptive, f"fractional_max_pool{n}d")
    name = f"fractional_max_pool{n}d"

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if n == 2 and len(output_ratio) > 2:
                raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
            ratios = output_ratio if n == 2 else _each(output_ratio, n)
            output_size = [int(input.size(d - n) * ratios[d]) for d in range(n)]
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            shape = (batch, input.size(-n - 1), n)
            _random_samples = _op.functions["rand"](*shape, dtype=input.dtype, device=input.device)
        need_tensor(_random_samples, name, "random_samples", 4)
        for size, argument in ((kernel_size, "kernel_size"), (output_size, "output_size")):
            need_sizes(name, argument, size, 2 + (argument == "output_size"), alone=True)
        for size, argument in ((kernel_size, "kernel_size"), (output_size, "output_size")):
            if isinstance(size, (tuple, list)) and len(size) != n:
                raise RuntimeError(
                    f"{name}: {argument} must either be a single Int or tuple of {'three ' * (n == 3)}Ints"
                )
        if n == 3 and any(k <= 0 for k in _each(kernel_size, n)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        return inner(input, _random_samples, _each(kernel_size, n), _each(output_size, n))

    def plain(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return found if return_indices else found[0]

    plain.__doc__ = f"Max pooling over the last {n} dimensions with windows at random steps (Graham, 2014)."
    with_indices.__doc__ = plain.__doc__
    return _called(plain, name), _called(with_indices, name + "_with_indices")


fractional_max_pool2d, fractional_max_pool2d_with_indices = _define_fractional(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _define_fractional(3)
