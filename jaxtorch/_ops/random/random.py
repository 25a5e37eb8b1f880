"""Random tensors. On the CPU they are PyTorch's own numbers, drawn on the host; on accelerators a keyed program draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, Arrays, Scalar, function, inner_op
from ..._core.define.signature import checked, need_kind
from ..._core.random import jax_draws
from ..._core.random.generator import Generator, check_generator, draw, generator_of, key_of
from ..._core.random.mersenne import in_memory_order
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, check_writable, from_host, wrap
from ..._core.types import device as devices
from ..._core.types import dtypes
from ..._core.types.size import check_long
from ..._core.types.value import Mapped, Value, aval_of
from ..creation.filled import filled, finish_factory, like_filled, out_dtype, place, size_of

_FLOATS = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
_COMPLEX = (dtypes.complex64, dtypes.complex128)
_INTEGERS = (dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64)

_CPU = devices.cpu.slot


def unsupported(kernel: str, dtype: dtypes.dtype) -> NotImplementedError:
    jax_draws.refuse_mapping()  # that comes first
    return NotImplementedError(f"\"{kernel}\" not implemented for '{dtypes.scalar_name(dtype)}'")


# -- drawing on a device that is not the CPU: one program a kind, keyed by the generator's seed and counter


def _uniform_bits(key: Array, size: Any, kind: Any) -> Array:
    return jax.random.uniform(key, size, kind)


def _uniform_on(key: Array, size: Any, kind: Any, low: Any, high: Any) -> Array:
    if jnp.issubdtype(kind, jnp.complexfloating):
        part = jnp.float32 if kind == np.complex64 else jnp.float64
        first, second = jax.random.split(key)
        return jax.lax.complex(_uniform_on(first, size, part, low, high), _uniform_on(second, size, part, low, high))
    values = _uniform_bits(key, size, kind) * (high - low).astype(kind) + low.astype(kind)
    return jnp.where(values >= high.astype(kind), low.astype(kind), values)


def _normal_on(key: Array, size: Any, kind: Any, mean: Any, std: Any) -> Array:
    return jax.random.normal(key, size, kind) * std.astype(kind) + mean.astype(kind)


def _integers_on(key: Array, size: Any, kind: Any, low: Any, high: Any) -> Array:
    return jax.random.randint(key, size, low, high, jnp.int64).astype(kind)


def _bernoulli_on(key: Array, size: Any, kind: Any, p: Any, _: Any) -> Array:
    return (jax.random.uniform(key, size, jnp.float32) < p).astype(kind)


def _exponential_on(key: Array, size: Any, kind: Any, rate: Any, _: Any) -> Array:
    return (jax.random.exponential(key, size, jnp.float32) / rate).astype(kind)


def _geometric_on(key: Array, size: Any, kind: Any, p: Any, _: Any) -> Array:
    uniform = 1 - jax.random.uniform(key, size, jnp.float32)  # in (0, 1]: the logarithm is finite
    return jnp.maximum(jnp.ceil(jnp.log(uniform) / jnp.log1p(-p)), 1).astype(kind)


def _cauchy_on(key: Array, size: Any, kind: Any, median: Any, sigma: Any) -> Array:
    return (median + sigma * jax.random.cauchy(key, size, jnp.float32)).astype(kind)


def _log_normal_on(key: Array, size: Any, kind: Any, mean: Any, std: Any) -> Array:
    return jnp.exp(jax.random.normal(key, size, jnp.float32) * std + mean).astype(kind)


def _randperm_on(key: Array, size: Any, kind: Any, _: Any, __: Any) -> Array:
    return jax.random.permutation(key, size[0]).astype(kind)


_ON_DEVICE: dict[str, Callable[..., Array]] = {
    "uniform": _uniform_on, "normal": _normal_on, "integers": _integers_on, "bernoulli": _bernoulli_on,
    "exponential": _exponential_on, "geometric": _geometric_on, "cauchy": _cauchy_on, "log_normal": _log_normal_on,
    "randperm": _randperm_on,
}  # fmt: skip


def key_from(words: Array) -> Array:
    """A JAX key from (seed, seed, counter): a counter-based stream, so every draw has a key of its own."""
    return jax.random.fold_in(jax.random.wrap_key_data(words[:2], impl="threefry2x32"), words[2])


@inner_op(differentiable=False)
def _draw_on(key: Array, a: Scalar, b: Scalar, kind: str, size: Any, dtype: Any, device: Any):
    """Random numbers of a kind with two parameters, drawn on the device."""
    return _ON_DEVICE[kind](key_from(key), size, dtype.np, jnp.asarray(a), jnp.asarray(b))


# -- one door for all draws


def sample(
    slot: Any, generator: Generator | None, shape: Sequence[int], dtype: dtypes.dtype, host: tuple[Any, ...],
    kind: str = "", a: Any = 0.0, b: Any = 0.0,
) -> Tensor:  # fmt: skip
    """A new tensor from a generator: `host` is (engine method, its arguments); `kind`, a, b say the same to a device."""
    if slot is _CPU:
        return wrap(Value(aval_of(shape, dtype, slot), draw(generator, *host)))  # type: ignore[arg-type]
    if slot.is_meta:
        return filled(shape, 0, dtype, slot.device)
    check_generator(generator, slot)
    if jax_draws.transforming():
        found = generator_of(slot) if generator is None else generator
        return from_host(jax_draws.draw(found, host[0], host[1:]), slot.device).to(dtype)
    return _draw_on(from_host(key_of(generator, slot), slot.device), a, b, kind, tuple(shape), dtype, slot.device)


def keep_mask(slot: Any, p: float, shape: Sequence[int]) -> Tensor:
    """Which elements dropout keeps: True with probability 1 - p."""
    if slot is _CPU:
        return from_host(draw(None, "dropout_mask", p, tuple(shape)))
    return sample(slot, None, shape, dtypes.bool_, ("dropout_mask", p, tuple(shape)), "bernoulli", 1.0 - p)


@inner_op(grad=lambda keys, statics: statics[0])
def _drawn(inputs: Arrays, values: Array, node: str):
    """Values drawn with parameters that require a gradient, which is zero."""
    return values


def with_history(inputs: Sequence[Tensor], values: Tensor, node: str) -> Tensor:
    """The values, with a node of a zero gradient on the tape if an input wants one."""
    return _drawn(list(inputs), values, node) if any(t._rg for t in inputs) else values


def store(t: Tensor, values: Tensor, node: str) -> Tensor:
    """Write drawn values into a tensor, in place."""
    if t._rg or t._alias is not None:
        check_writable(t)
        values = with_history([t], values, node)
    return t._rebind(values)


def fill(
    t: Tensor, node: str, generator: Generator | None, host: tuple[Any, ...], kind: str, a: Any = 0.0, b: Any = 0.0,
    as_type: bool = False,
) -> Tensor:  # fmt: skip
    """Fill a tensor with new numbers, in the order of its memory; `as_type`: they come as bool, to be converted."""
    if t._rg or t._alias is not None:
        check_writable(t)
    aval = t._value.aval
    slot = aval.slot
    if slot is not _CPU:
        return store(t, sample(slot, generator, aval.shape, aval.dtype, host, kind, a, b), node)
    values = draw(generator, *host)
    if type(values) is Mapped:  # one example's numbers
        drawn = wrap(Value(aval_of(aval.shape, dtypes.bool_ if as_type else aval.dtype, slot), values))
        return store(t, drawn.to(aval.dtype), node)
    if as_type:
        values = values.astype(aval.dtype.np)
    if t._layout is not None and aval.ndim > 1:
        values = in_memory_order(values, aval.shape, t._layout[0])
    return store(t, wrap(Value(aval, values)), node)


def _check_uniform(dtype: dtypes.dtype) -> None:
    if dtype not in _FLOATS and dtype not in _COMPLEX:
        raise unsupported("check_uniform_bounds", dtype)


def check_normal(dtype: dtypes.dtype) -> None:
    if dtype not in _FLOATS and dtype not in _COMPLEX:
        raise unsupported("normal_kernel_cpu", dtype)


# -- factories


@function("rand")
def rand(
    *items: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1) of the given size; on the CPU those that PyTorch draws from the same seed."""
    shape = size_of(items, size, "rand")
    device = place("rand", device, out, layout, pin_memory, requires_grad)
    dtype = dtypes._Defaults.floating if dtype is None and out is None else out_dtype(dtype, out)
    if dtype is not dtypes.float32:
        _check_uniform(dtype)
    t = sample(devices.resolve(device), generator, shape, dtype, ("uniform", shape, dtype.np), "uniform", 0.0, 1.0)
    return finish_factory(t, out, requires_grad, "rand") if requires_grad is not False or out is not None else t


@function("randn")
def randn(
    *items: Any, size: Any = None, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Standard normal numbers of the given size; on the CPU those that PyTorch draws from the same seed."""
    shape = size_of(items, size, "randn")
    device = place("randn", device, out, layout, pin_memory, requires_grad)
    dtype = dtypes._Defaults.floating if dtype is None and out is None else out_dtype(dtype, out)
    if dtype is not dtypes.float32:
        check_normal(dtype)
    t = sample(devices.resolve(device), generator, shape, dtype, ("normal", shape, dtype.np), "normal", 0.0, 1.0)
    return finish_factory(t, out, requires_grad, "randn") if requires_grad is not False or out is not None else t


def _integer(value: Any, name: str, argument: str, position: int) -> int:
    if isinstance(value, Tensor):
        need_kind(name, argument, "int", value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be int, not {type(value).__name__}"
        )
    return check_long(int(value))


def _real(value: Any, name: str, argument: str, position: int) -> float:
    if value.__class__ is float or value.__class__ is int:
        return float(value)
    if getattr(value, "ndim", 0) or isinstance(value, np.ndarray) or not hasattr(value, "__float__"):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be float, not {type(value).__name__}"
        )
    return float(value)


def _draw_integers(
    slot: Any, generator: Generator | None, low: int, high: int, shape: Any, dtype: dtypes.dtype
) -> Tensor:
    if dtype in _COMPLEX:
        jax_draws.refuse_mapping()
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype in dtypes._FLOAT8:
        raise unsupported("random_update_from_to", dtype)
    return sample(slot, generator, shape, dtype, ("randint", low, high, shape, dtype.np), "integers", low, high)


@function("randint")
def randint(
    *args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Generator | None = None,
    out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Whole numbers in [low, high) of the given size: `randint(high, size)` or `randint(low, high, size)`."""
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)) and size is None:
        size = given.pop()
    if len(given) == 2 and low is None and high is None and size is not None:
        low, high = _integer(given[0], "randint", "low", 1), given[1]
    elif len(given) == 1 and high is None:
        high = given[0]
    elif len(given) == 1 and low is None:
        low = given[0]
    elif given:
        position = 2 if len(given) == 2 else 3
        raise TypeError(
            f"randint(): argument 'size' (position {position}) must be tuple of ints, not {type(given[-1]).__name__}"
        )
    if high is None or size is None:
        kinds = ", ".join(type(a).__name__ for a in args)
        raise TypeError(
            f"randint() received an invalid combination of arguments - got ({kinds}): 'high' and 'size' are needed"
        )
    high = _integer(high, "randint", "high", 1 if low is None else 2)
    low = 0 if low is None else _integer(low, "randint", "low", 1)
    shape = size_of((), size, "randint")
    device = place("randint", device, out, layout, pin_memory, requires_grad)
    dtype = out_dtype(dtype, out, dtypes.int64)
    t = _draw_integers(devices.resolve(device), generator, low, high, shape, dtype)
    return finish_factory(t, out, requires_grad, "randint")


@function("randperm")
def randperm(
    n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, layout: Any = None,
    device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers 0 to n-1 in random order; on the CPU the order that PyTorch draws from the same seed."""
    n = _integer(n, "randperm", "n", 1)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    device = place("randperm", device, out, layout, pin_memory, requires_grad)
    dtype = out_dtype(dtype, out, dtypes.int64)
    if dtype not in _INTEGERS and dtype not in _FLOATS:
        raise unsupported("randperm", dtype)
    if dtype in _INTEGERS and n - 1 > np.iinfo(dtype.np).max:
        raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    slot = devices.resolve(device)
    t = sample(slot, generator, (n,), dtype, ("randperm", n, dtype.np), "randperm")
    return finish_factory(t, out, requires_grad, "randperm")


@function("rand_like")
def rand_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Uniform numbers in [0, 1) of the input's size and type."""
    t = uniform_(like_filled(input, 0, dtype, device, False, memory_format, "rand_like", layout), generator=generator)
    return finish_factory(t, None, requires_grad, "rand_like", pin_memory=pin_memory)


@function("randn_like")
def randn_like(
    input: Tensor, *, generator: Generator | None = None, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: bool = False, requires_grad: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Standard normal numbers of the input's size and type."""
    t = normal_(like_filled(input, 0, dtype, device, False, memory_format, "randn_like", layout), generator=generator)
    return finish_factory(t, None, requires_grad, "randn_like", pin_memory=pin_memory)


@function("randint_like")
def randint_like(
    input: Tensor, low: Any = None, high: Any = None, *, generator: Generator | None = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """Whole numbers in [low, high) of the input's size and type: `randint_like(input, high)` or with `low` too."""
    if high is None:
        low, high = 0, low
    low, high = (_integer(v, "randint_like", n, p) for v, n, p in ((low, "low", 2), (high, "high", 3)))
    t = random_(
        like_filled(input, 0, dtype, device, False, memory_format, "randint_like", layout),
        low,
        high,
        generator=generator,
    )
    return finish_factory(t, None, requires_grad, "randint_like", pin_memory=pin_memory)


# -- in place


def _contiguous(t: Tensor) -> bool:
    return t._layout is None or strides.is_contiguous(t._value.aval.shape, t._layout[0])


@function("normal_", method=True, function=False)
@checked
def normal_(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with normal numbers, in place."""
    aval = self._value.aval
    mean, std = _real(mean, "normal_", "mean", 1), _real(std, "normal_", "std", 2)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    check_normal(aval.dtype)
    host = ("normal", aval.shape, aval.dtype.np, mean, std, _contiguous(self))
    return fill(self, "NormalBackward0", generator, host, "normal", mean, std)


@function("uniform_", method=True, function=False)
def uniform_(self: Tensor, *args: float, generator: Generator | None = None, **kwargs: float) -> Tensor:
    """Fill with uniform numbers in [from, to), in place; `from` is 0 and `to` is 1 unless given."""
    check_generator(generator, self._value.aval.slot)
    low, high = _two(args, kwargs, ("from", "to"), (0.0, 1.0), "uniform_")
    low, high = _real(low, "uniform_", "from", 1), _real(high, "uniform_", "to", 2)
    aval = self._value.aval
    dtype = aval.dtype
    _check_uniform(dtype)
    if low != 0.0 or high != 1.0:
        _check_bounds(dtype, low, high)
    return fill(self, "UniformBackward0", generator, ("uniform", aval.shape, dtype.np, low, high), "uniform", low, high)


def _two(args: Any, kwargs: Any, names: tuple[str, str], defaults: tuple[Any, Any], function: str) -> tuple[Any, Any]:
    """Two optional arguments, of which the first may be called `from`, which is a Python keyword."""
    if len(args) > 2:
        raise TypeError(f"{function}() takes from 0 to 2 positional arguments but {len(args)} were given")
    found = [*args, *defaults[len(args) :]]
    for key, value in kwargs.items():
        if key not in names or names.index(key) < len(args):
            raise TypeError(f"{function}() received an invalid combination of arguments: unexpected '{key}'")
        found[names.index(key)] = value
    return found[0], found[1]


_C_FLOATS = {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double"}


def _check_bounds(dtype: dtypes.dtype, low: float, high: float) -> None:
    real = dtype.to_real()
    largest = float(jnp.finfo(real.np).max)
    for name, bound in (("from", low), ("to", high)):
        if not -largest <= bound <= largest:
            raise RuntimeError(f"{name} is out of bounds for {_C_FLOATS[real.name]}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{dtypes.scalar_name(dtype)}>::max(), but found to={high:g} "
            f"and from={low:g} which result in to-from to exceed the limit"
        )


@function("random_", method=True, function=False)
def random_(self: Tensor, *args: Any, generator: Generator | None = None, **kwargs: Any) -> Tensor:
    """Fill with whole numbers, in place: `random_()`, `random_(to)` or `random_(from, to)`."""
    aval = self._value.aval
    dtype = aval.dtype
    given: dict[str, Any] = dict(
        zip(("from", "to") if len(args) == 2 or "to" in kwargs else ("to",), args, strict=False)
    )
    if len(args) > 2 or set(kwargs) - {"from", "to"} or set(kwargs) & set(given):
        raise TypeError("random_() received an invalid combination of arguments: expected at most 'from' and 'to'")
    given.update(kwargs)
    for name, value in given.items():
        if isinstance(value, np.ndarray):
            raise TypeError(f"random_(): argument '{name}' must be int, not numpy.ndarray")
    if not given:
        if dtype not in _INTEGERS and dtype not in _FLOATS and dtype is not dtypes.bool_:
            raise unsupported("random_kernel_cpu", dtype)
        digits = {dtypes.float32: 24, dtypes.float64: 53, dtypes.float16: 11, dtypes.bfloat16: 8}.get(dtype)
        limit = 2**digits + 1 if digits else 2 if dtype is dtypes.bool_ else int(np.iinfo(dtype.np).max)
        return fill(self, "RandomBackward2", generator, ("random_", aval.shape, dtype.np), "integers", 0, limit)
    node = "RandomBackward0" if "from" in given else "RandomBackward1"
    low = _integer(given.get("from", 0), "random_", "from", 1)
    high = given.get("to")
    high = None if high is None and "from" in given else _integer(high, "random_", "to", 2)
    if dtype in _COMPLEX:
        jax_draws.refuse_mapping()
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype in dtypes._FLOAT8:
        raise unsupported("random_update_from_to", dtype)
    host = ("randint", low, high, aval.shape, dtype.np)
    return fill(self, node, generator, host, "integers", low, 2**63 - 1 if high is None else high)


def _floating(t: Tensor, title: str, named: Callable[[dtypes.dtype], str]) -> dtypes.dtype:
    dtype = t._value.aval.dtype
    if dtype not in _FLOATS:
        jax_draws.refuse_mapping()
        raise RuntimeError(
            f"{title} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {named(dtype)}"
        )
    return dtype


_C_TYPES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


@function("exponential_", method=True, function=False)
@checked
def exponential_(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponential numbers of rate `lambd`, in place."""
    dtype = _floating(self, "Exponential", dtypes.scalar_name)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    host = ("exponential", self._value.aval.shape, dtype.np, float(lambd))
    return fill(self, "ExponentialBackward0", generator, host, "exponential", float(lambd))


@function("geometric_", method=True, function=False)
@checked
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with the numbers of trials up to the first success of probability `p`, in place."""
    dtype = self._value.aval.dtype
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if dtype not in _FLOATS and dtype not in _INTEGERS:
        raise unsupported("geometric_cpu", dtype)
    host = ("geometric", self._value.aval.shape, float(p), dtype.np)
    return fill(self, "GeometricBackward0", generator, host, "geometric", float(p))


@function("cauchy_", method=True, function=False)
@checked
def cauchy_(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Fill with Cauchy numbers, in place."""
    dtype = _floating(self, "Cauchy", lambda d: _C_TYPES.get(d.name, d.name))
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    host = ("cauchy", self._value.aval.shape, dtype.np, float(median), float(sigma))
    return fill(self, "CauchyBackward0", generator, host, "cauchy", float(median), float(sigma))


@function("log_normal_", method=True, function=False)
@checked
def log_normal_(self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
    """Fill with the exponentials of normal numbers, in place."""
    dtype = self._value.aval.dtype
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if dtype not in _FLOATS:
        raise unsupported("log_normal_cpu", dtype)
    host = ("log_normal", self._value.aval.shape, dtype.np, float(mean), float(std))
    return fill(self, "LogNormalBackward0", generator, host, "log_normal", float(mean), float(std))
