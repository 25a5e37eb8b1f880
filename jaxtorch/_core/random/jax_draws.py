"""Random numbers inside JAX's transformations.

A number drawn on the host while `jax.jit` traces would be the same in every later call, silently; so that is an error, unless a
JAX key has been supplied (`random_key`). Under `torch.func.vmap` the `randomness` argument decides. Elsewhere (`jax.grad`
without `jit`, say) Python runs at each call, and numbers are drawn as usual.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core as _core

from ..compile.context import x64
from ..record.program import force
from ..run import capture
from ..run.traced_kernels import is_staging, kernel_p, trace, within
from ..types.grad_mode import carried
from ..types.value import Mapped as Example
from ..types.value import Value


class _Sources(threading.local):
    """What draws in this thread go through, innermost last: `Mapped`, a level of transforms/vmap.py, or `_Key`.

    told:  lists that get the values which are drawn for a function that is being traced (`staging`).
    again: those that are to be handed out instead of drawing.
    """

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.listeners: list[list[Value]] = []
        self.again: Iterator[Value] | None = None


sources = _Sources()
carried.append(sources)


class Mapped:
    """One `vmap`: its randomness, its size, the number of the example as a tracer, and what its traces are known by."""

    def __init__(self, randomness: str, size: int, index: Any) -> None:
        self.randomness, self.size, self.index = randomness, size, index
        self.tag: Any = index._trace.tag


class _Key:
    """A supplied JAX key; each draw takes a key of its own from it."""

    def __init__(self, key: Any) -> None:
        self.key = key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)

    def next(self) -> Any:
        self.key, own = jax.random.split(self.key)
        return own


def transforming() -> bool:
    """Is a JAX transformation running Python now?"""
    return not isinstance(_core.trace_ctx.trace, _core.EvalTrace) or bool(sources.stack)


@contextlib.contextmanager
def _source(source: Any) -> Iterator[None]:
    sources.stack.append(source)
    try:
        yield
    finally:
        sources.stack.remove(source)


def mapping(randomness: str, size: int, index: Any) -> Any:
    """Context for the function that `vmap` maps."""
    return _source(Mapped(randomness, size, index))


def mapping_at(level: Any) -> Any:
    """The same for a level of this engine's own (transforms/vmap.py)."""
    return _source(level)


def mapped_by(trace: Any) -> Mapped | None:
    """The `vmap` that a trace belongs to, while it is at work."""
    tag = getattr(trace, "tag", None)
    return next((s for s in sources.stack if isinstance(s, Mapped) and s.tag is tag), None)


def is_mapping() -> bool:
    """Is a `vmap` at work?"""
    return any(not isinstance(s, _Key) for s in sources.stack)


def is_example(array: Any) -> bool:
    """Does it stand for one example of a `vmap` that is at work?"""
    if type(array) is Example:
        return True
    while array is not None and hasattr(array, "_trace"):
        if mapped_by(array._trace) is not None:
            return True
        array = within(array)
    return False


@contextlib.contextmanager
def outside(mapped: Mapped) -> Iterator[None]:
    """Context in which that `vmap` is not at work."""
    before = sources.stack
    sources.stack = [s for s in before if s is not mapped]
    try:
        yield
    finally:
        sources.stack = before


def random_key(key: Any) -> Any:
    """Context in which random operations on the host's generators use a JAX key instead, so that they work under `jax.jit`.

    key: a `jax.random.key`, may be a tracer. The numbers are JAX's, not PyTorch's.
    """
    return _source(_Key(key))


@contextlib.contextmanager
def replaying_draws(values: list[Value]) -> Iterator[None]:
    """Context in which a function gets the numbers that it was told of before."""
    before, sources.again = sources.again, iter(values)
    try:
        yield
    finally:
        sources.again = before


def _refuse(source: Any) -> None:
    if source.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def refuse_mapping() -> None:
    """RuntimeError where a `vmap` is at work in which nothing may be drawn."""
    for source in reversed(sources.stack):
        if isinstance(source, _Key):
            return
        _refuse(source)


def draw(generator: Any, method: Any, args: tuple[Any, ...]) -> Any:
    """What `generator.engine.method(*args)` draws inside a transformation: a NumPy array or a tracer."""
    stack = sources.stack
    if stack and isinstance(stack[-1], _Key):
        return _with_key(stack[-1].next(), method, args)
    if is_staging():
        raise RuntimeError(
            "a random operation was called while JAX traces the function (jax.jit, jax.lax.scan, ...): its numbers would be "
            "drawn now and be the same in every call. Draw them outside and pass them in, or supply a key: "
            "`with jaxtorch.interop.random_key(key): ...`"
        )
    maps: list[Any] = []
    for source in reversed(stack):
        if isinstance(source, _Key):
            break
        _refuse(source)
        if source.randomness == "different":
            maps.append(source)
    if not maps:
        return _call(generator, method, args)
    sizes = [m.size for m in reversed(maps)]
    values = _several(generator, method, args, sizes)
    if maps[0].index is None:  # of this engine's own, see transforms/vmap.py
        found: Any = values
        for m in reversed(maps):
            found = m.one_of(found)
        return found.array
    with x64():
        found = jnp.asarray(values)
        for m in reversed(maps):
            found = found[m.index]
    return found


def _call(generator: Any, method: Any, args: tuple[Any, ...]) -> Any:
    if sources.again is not None:
        return force(next(sources.again))
    engine = generator.engine
    values = getattr(engine, method)(*args) if isinstance(method, str) else method(engine, *args)
    if capture.staging is None:
        return values
    value = capture.staging.traced_draw(values, generator, method, args)
    for each in sources.listeners:
        each.append(value)
    return capture.staging.take(value)


_SHAPE_AT = {
    "uniform": 0, "normal": 0, "randint": 2, "random_": 0, "bernoulli_scalar": 1, "dropout_mask": 1, "exponential": 0,
    "geometric": 0, "cauchy": 0, "log_normal": 0,
}  # fmt: skip


def _several(generator: Any, method: Any, args: tuple[Any, ...], sizes: list[int]) -> Any:
    """Numbers for every example at once, as one larger draw where the method takes a shape."""
    at = _SHAPE_AT.get(method) if isinstance(method, str) else None
    if at is not None:
        return _call(generator, method, (*args[:at], (*sizes, *args[at]), *args[at + 1 :]))
    drawn = [_call(generator, method, args) for _ in range(int(np.prod(sizes)))]
    stack = np.stack if capture.staging is None else jnp.stack
    return stack(drawn).reshape((*sizes, *drawn[0].shape))


class Engine:
    """Stands for a generator's engine while a transformation runs: what is drawn from it goes through `draw`."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator

    def __getattr__(self, name: str) -> Any:
        if name not in _SHAPE_AT and name not in ("randperm", "bernoulli_tensor", "normal_tensor"):
            return getattr(self._generator.engine, name)
        return lambda *args: draw(self._generator, name, args)


# -- drawing with a key


def _uniform(key: Any, shape: Any, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Any:
    return jax.random.uniform(key, shape, dtype, low, high)


def _normal(
    key: Any, shape: Any, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
) -> Any:
    return (jax.random.normal(key, shape, dtype) * std + mean).astype(dtype)


def _randint(key: Any, low: int, high: int | None, shape: Any, dtype: Any = np.int64) -> Any:
    return jax.random.randint(key, shape, low, 2**63 - 1 if high is None else high, jnp.int64).astype(dtype)


def _bernoulli(key: Any, p: Any, shape: Any = None) -> Any:
    return jax.random.bernoulli(key, p, shape)


def _keep(key: Any, p: float, shape: Any) -> Any:
    return jax.random.bernoulli(key, 1.0 - p, shape)


def _randperm(key: Any, n: int, dtype: Any = np.int64) -> Any:
    return jax.random.permutation(key, n).astype(dtype)


def _exponential(key: Any, shape: Any, dtype: Any = np.float32, lambd: float = 1.0) -> Any:
    return (jax.random.exponential(key, shape, dtype) / lambd).astype(dtype)


_WITH_KEY = {
    "uniform": _uniform, "normal": _normal, "randint": _randint, "bernoulli_scalar": _bernoulli,
    "bernoulli_tensor": _bernoulli, "dropout_mask": _keep, "randperm": _randperm, "exponential": _exponential,
}  # fmt: skip


def _with_key(key: Any, method: Any, args: tuple[Any, ...]) -> Any:
    made = _WITH_KEY.get(method) if isinstance(method, str) else None
    if made is None:
        name = method if isinstance(method, str) else method.__name__
        raise NotImplementedError(f"random_key(): no version of the random operation '{name}' draws with a JAX key")
    impl = str(jax.random.key_impl(key))
    try:
        closed = _keyed(made, impl, args)
    except TypeError:  # an array among the arguments
        closed = _keyed.__wrapped__(made, impl, args)
    return kernel_p.bind(jax.random.key_data(key), closed=closed)[0]


@functools.lru_cache(maxsize=1024)
def _keyed(made: Any, impl: str, args: tuple[Any, ...]) -> Any:
    """Key data -> numbers, as a jaxpr that keeps 64-bit types."""
    args = tuple([tuple(a) if isinstance(a, list) else a for a in args])
    data = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=impl)))
    return trace(lambda words: [made(jax.random.wrap_key_data(words, impl=impl), *args)], [data])
