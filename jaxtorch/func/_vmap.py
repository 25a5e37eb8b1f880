"""`vmap`: a function of one example as a function of many, recorded (`_by_recording.py`), or by JAX's transformation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._core.define.op import functions
from .._core.random import jax_draws
from .._core.random.generator import default_generator
from .._core.tensor.sparse_value import refuse_compressed
from .._core.tensor.tensor import Tensor
from .._core.transforms.vmap import Level
from ..utils._pytree import TreeSpec, treespec_leaf
from ..utils._pytree import _broadcast_to_and_flatten as spread
from ..utils._pytree import tree_flatten as flatten
from ..utils._pytree import tree_unflatten as unflatten
from . import _by_recording
from ._jax_calls import Call, array_of, differentiable

Dims = int | tuple[Any, ...] | None


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _in_dims(func: Any, in_dims: Any, args: tuple[Any, ...], leaves: list[Any], spec: TreeSpec) -> list[int | None]:
    """The dimension to map for each leaf of the positional arguments, as PyTorch checks it."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if isinstance(in_dims, bool) or not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{where}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    found = spread(in_dims, spec)
    if found is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {flatten(in_dims)[1]} "
            f"but inputs has structure {spec}."
        )
    dims: list[int | None] = []
    for x, d in zip(leaves, found, strict=True):
        if d is None:
            dims.append(None)
            continue
        if not isinstance(d, int) or isinstance(d, bool):
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        n = x._value.aval.ndim
        if not -n <= d < n:
            raise ValueError(
                f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {n} so expected in_dim "
                f"to satisfy -{n} <= in_dim < {n}."
            )
        dims.append(d % n)
    return dims


def _size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: at least one input must have a dimension to map over, but all in_dims are None")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0]


def vmap(
    func: Callable[..., Any], in_dims: Dims = 0, out_dims: Dims = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Map a function over a dimension of its positional tensor arguments; keyword arguments are the same for all examples.

    in_dims, out_dims: the dimension, or a structure of them; None: the argument is the same for all.
    randomness: 'error', 'same' numbers for all examples, or 'different' ones. chunk_size: how many examples at a time.

        >>> rows, w = torch.arange(6.0).reshape(3, 2), torch.ones(2)
        >>> torch.vmap(torch.dot, in_dims=(0, None))(rows, w)
        tensor([1., 5., 9.])
        >>> torch.vmap(torch.func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(w, rows)  # a gradient for each row
        tensor([[ 0.,  2.],
                [20., 30.],
                [72., 90.]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = flatten(args)
        dims = _in_dims(func, in_dims, args, leaves, spec)
        extra = flatten(kwargs)[0]  # not mapped over
        size = _size(leaves, dims)
        refuse_compressed(x for x, d in zip(leaves, dims, strict=True) if d is not None)
        if chunk_size is None or size <= chunk_size:
            return _mapped(
                func, args, kwargs, [*leaves, *extra], [*dims, *[None] * len(extra)], size, out_dims, randomness
            )
        parts, engine = [], default_generator.engine
        stream = engine.get_state() if randomness == "same" else None
        for begin in range(0, size, chunk_size):
            if stream is not None:
                engine.set_state(stream)
            n = min(chunk_size, size - begin)
            part = [x if d is None else x.narrow(d, begin, n) for x, d in zip(leaves, dims, strict=True)]
            some, full = unflatten(part, spec), [*dims, *[None] * len(extra)]
            parts.append(flatten(_mapped(func, some, kwargs, [*part, *extra], full, n, out_dims, randomness)))
        out_spec = parts[0][1]
        places = _out_dims(func, out_dims, out_spec)
        joined = [
            xs[0] if d is None else functions["cat"](list(xs), d)
            for xs, d in zip(zip(*[p[0] for p in parts], strict=True), places, strict=True)
        ]
        return unflatten(joined, out_spec)

    return wrapped


def _mapped(
    func: Any,
    args: Any,
    kwargs: Any,
    everything: list[Any],
    dims: list[int | None],
    size: int,
    out_dims: Any,
    randomness: str,
) -> Any:
    by_jax = functools.partial(_mapped_by_jax, func, args, kwargs, everything, dims, size, out_dims, randomness)
    if not isinstance(size, int) or not all(
        d is None or isinstance(x, Tensor) for x, d in zip(everything, dims, strict=True)
    ):
        return by_jax()
    n = len(everything) - len(flatten(kwargs)[0])

    def recorded() -> Any:
        level = Level(size, randomness)
        specs = [treespec_leaf()]

        def run(leaves: list[Any]) -> list[Any]:
            out = func(*unflatten(leaves, flatten(args)[1]), **kwargs)
            found, specs[0] = flatten(out)
            made = []
            among = list(zip(leaves, everything, strict=False)), dims[: len(leaves)]
            own = {id(h): (x, d) for h, x, d in zip(leaves, everything, dims, strict=False) if d is not None}
            for x, d in zip(found, _out_dims(func, out_dims, specs[0]), strict=True):
                _check_out(func, x, d)
                if d is not None:
                    made.append(_by_recording.all_of(level, x, d, *own.get(id(x), (None, 0)), among=among))
                    continue
                if isinstance(x, Tensor) and _by_recording.one_of(level, x):
                    raise ValueError(_no_out_dim(func))
                made.append(x)
            return made

        found = _by_recording.map_over(run, everything[:n], dims[:n], level)
        return unflatten(found, specs[0])

    return _by_recording.by_tape(recorded, by_jax)


def _check_out(func: Any, x: Any, d: Any) -> None:
    if d is not None and not isinstance(x, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(x)}. Did you mean "
            "to set out_dims= to None for output?"
        )
    if d is not None:
        refuse_compressed((x,))


def _no_out_dim(func: Any) -> str:
    return f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"


def _mapped_by_jax(
    func: Any,
    args: Any,
    kwargs: Any,
    everything: list[Any],
    dims: list[int | None],
    size: int,
    out_dims: Any,
    randomness: str,
) -> Any:
    call = Call(func, args, kwargs)
    along = [d for x, d in zip(everything, dims, strict=True) if isinstance(x, Tensor)]
    specs = [treespec_leaf()]
    places: list[Any] = []

    def run(arrays: list[Any]) -> list[Any]:
        def example(index: Any, xs: list[Any]) -> Any:
            with jax_draws.mapping(randomness, size, index):
                out, written = call.run(xs)
            found, specs[0] = flatten(out)
            places[:] = _out_dims(func, out_dims, specs[0])
            for x, d in zip(found, places, strict=True):
                _check_out(func, x, d)
            results = [array_of(x) for x, d in zip(found, places, strict=True) if d is not None]
            single[:] = [x if d is None else None for x, d in zip(found, places, strict=True)]
            constant = [array_of(x) for x in single if isinstance(x, Tensor)]
            for i in call.written:
                if along[i] is None:
                    raise RuntimeError(_by_recording.WRITTEN)
            return results, constant, written

        single: list[Any] = []
        outs, constant, written = _batch(example, arrays, along, size, func)
        kept[:] = single
        written = [jnp.moveaxis(w, 0, along[i] or 0) for i, w in zip(call.written, written, strict=True)]
        moved = [_move(o, d) for o, d in zip(outs, [d for d in places if d is not None], strict=True)]
        return [*moved, *constant, *written]

    kept: list[Any] = []
    made = differentiable(run, call.tensors)
    mapped = iter(made[: sum([d is not None for d in places])])
    n = sum([d is not None for d in places])
    constant = [x for x in kept if isinstance(x, Tensor)]
    call.finish(made[n + len(constant) :])
    fixed = iter(made[n : n + len(constant)])
    found = [
        next(mapped) if d is not None else next(fixed) if isinstance(x, Tensor) else x
        for d, x in zip(places, kept, strict=True)
    ]
    return unflatten(found, specs[0])


def _batch(example: Any, arrays: list[Any], along: list[int | None], size: int, func: Any) -> Any:
    """JAX's vmap of `example(index, arrays)`; what is constant must not depend on the example."""
    try:
        return jax.vmap(example, in_axes=(0, along), out_axes=(0, None, 0))(jnp.arange(size), arrays)
    except ValueError as error:
        if "got axis spec None but output was batched" not in str(error):
            raise
    raise ValueError(_no_out_dim(func))


def _move(array: Any, d: int) -> Any:
    if not -array.ndim <= d < array.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-array.ndim}, {array.ndim - 1}], but got {d})"
        )
    return jnp.moveaxis(array, 0, d)


def _out_dims(func: Any, out_dims: Any, spec: TreeSpec) -> list[Any]:
    """The place of the mapped dimension in each result."""
    if not all(d is None or (isinstance(d, int) and not isinstance(d, bool)) for d in flatten(out_dims)[0]):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    if spec.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        out_dims = out_dims[0]
    found = spread(out_dims, spec)
    if found is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return found
