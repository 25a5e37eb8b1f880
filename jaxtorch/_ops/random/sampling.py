"""Draws whose parameters are tensors: bernoulli, normal, multinomial, Poisson, binomial, gamma."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core.define.op import Array, function, functions, inner_op, op
from ..._core.define.overloads import signed
from ..._core.define.signature import need_kind
from ..._core.random import jax_draws, sampling
from ..._core.random.generator import Generator, check_generator, draw, key_of
from ..._core.run.runner import concrete_array, is_tracer
from ..._core.tensor import strides
from ..._core.tensor.layouts import strides_of
from ..._core.tensor.tensor import Tensor, from_host, need_tensor, write_out
from ..._core.types import device as devices
from ..._core.types import dtypes
from ..._core.types.grad_mode import state
from ..._core.types.size import check_long
from ..common.underived import refuse_tangents, underived
from ..creation.filled import finish_factory, like_filled, out_dtype, place, size_of
from ..types import constants
from ..types.casting import cast
from .random import _FLOATS, check_normal, fill, key_from, sample, store, unsupported, with_history


@inner_op(differentiable=False)
def _bernoulli_tensor_on(key: Array, p: Array, dtype: Any):
    """True with the probabilities given, drawn on their device."""
    return (jax.random.uniform(key_from(key), p.shape, jnp.float32) < p).astype(dtype.np)


@inner_op(differentiable=False)
def _poisson_on(key: Array, rates: Array):
    """Poisson counts of the rates given, drawn on their device."""
    return jax.random.poisson(key_from(key), rates.astype(jnp.float32), rates.shape).astype(rates.dtype)


@inner_op(differentiable=False)
def _multinomial_on(key: Array, probs: Array, num_samples: int, replacement: bool):
    """Indices drawn by weight, on the device of the weights."""
    weights = jnp.log(probs.astype(jnp.float32))
    shape = (*probs.shape[:-1], num_samples)
    if replacement:
        picked = jax.random.categorical(key_from(key), weights[..., None, :], axis=-1, shape=shape)
    else:
        scores = weights + jax.random.gumbel(key_from(key), probs.shape, jnp.float32)
        picked = jax.lax.top_k(scores, num_samples)[1]
    return picked.astype(jnp.int64)


def _host(t: Tensor) -> np.ndarray[Any, Any]:
    """The content of a tensor, for a draw on the host."""
    jax_draws.refuse_mapping()
    _traced(t)
    return concrete_array(t._array())


def _traced(*tensors: Tensor) -> bool:
    """Is one a tracer? RuntimeError where `vmap` maps over it and all examples are to have the same numbers."""
    tracers = [a for a in [t._array() for t in tensors] if is_tracer(a)]
    for tracer in tracers:
        mapped = jax_draws.mapped_by(tracer._trace)
        if mapped is not None and mapped.randomness == "same":
            raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input.")
    return bool(tracers)


def _keyed(generator: Generator | None, t: Tensor) -> Tensor:
    """The key of a draw on the device of a tensor."""
    slot = t._value.aval.slot
    check_generator(generator, slot)
    return from_host(key_of(generator, slot), slot.device)


def _on_cpu(t: Tensor) -> bool:
    return t._value.aval.slot.name == "cpu"


# -- yes and no


def _p_error(array: Any) -> RuntimeError:
    return RuntimeError(
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  If so, "
        "please report an enhancement request to PyTorch.)"
    )


def _flips(p: Tensor, generator: Generator | None, dtype: dtypes.dtype) -> Tensor:
    """0 or 1 in `dtype`, with the probabilities given."""
    if not _on_cpu(p):
        return _bernoulli_tensor_on(_keyed(generator, p), p, dtype)
    if _traced(p):
        return (functions["rand_like"](p, generator=generator) < p).to(dtype)
    array = _host(p)
    if not ((array >= 0) & (array <= 1)).all():
        raise _p_error(array)
    return cast(from_host(draw(generator, "bernoulli_tensor", array)), dtype)


@function("bernoulli", method=True)
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """0 or 1 with the probabilities of `input`; with `p`, ones with that probability in a tensor like the input."""
    check_generator(generator, need_tensor(input, "bernoulli")._value.aval.slot)
    if p is not None:
        if out is not None:
            raise TypeError(
                "bernoulli() received an invalid combination of arguments: 'p' and 'out' exclude each other"
            )
        if p.__class__ is not float and not isinstance(p, Tensor):
            need_kind("bernoulli", "p", "float", p)
        empty = like_filled(input, 0, None, None, False, constants.contiguous_format, "bernoulli")
        result = bernoulli_(empty, p, generator=generator)
    else:
        dtype = need_tensor(input, "bernoulli")._value.aval.dtype
        if dtype not in _FLOATS:
            kernel = "bernoulli_tensor_cpu_self_" if dtype.is_complex else "bernoulli_tensor_cpu_p_"
            raise unsupported(kernel, dtype)
        result = _flips(input, generator, dtype if out is None else out._value.aval.dtype)
        result = with_history([input], result, "BernoulliBackward0")
    return result if out is None else write_out(out, result, "bernoulli")


@function("bernoulli_", method=True, function=False)
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with 0 and 1, in place; `p` is the probability of 1: a number, or a tensor that broadcasts to this one."""
    aval = self._value.aval
    check_generator(generator, aval.slot)
    if isinstance(p, Tensor):
        if p._value.aval.dtype not in _FLOATS:
            raise unsupported("bernoulli_tensor_cpu_p_", p._value.aval.dtype)
        values = _flips(p.expand(aval.shape), generator, aval.dtype)
        return store(self, with_history([p], values, "BernoulliBackward1"), "BernoulliBackward1")
    if aval.dtype.is_complex:
        raise unsupported("bernoulli_scalar_cpu_", aval.dtype)
    need_kind("bernoulli_", "p", "float", p)
    p = float(p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    host = ("bernoulli_scalar", p, aval.shape)
    return fill(self, "BernoulliBackward2", generator, host, "bernoulli", p, as_type=True)


# -- normal with tensors


@function("normal")
def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
    dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normal numbers of the given means and standard deviations (one or both tensors), or of a `size` for numbers."""
    if size is not None:
        mean, std = (x.item() if isinstance(x, Tensor) and not x.ndim else x for x in (mean, std))
    for name, x in (("mean", mean), ("std", std)):
        if x.__class__ is not float and not isinstance(x, Tensor):
            need_kind("normal", name, "float", x)
    tensors = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not tensors:
        if size is None:
            raise TypeError(
                f"normal() received an invalid combination of arguments - got ({type(mean).__name__}, "
                f"{type(std).__name__}): two numbers need a 'size'"
            )
        device = place("normal", device, out, layout, pin_memory, requires_grad)
        found = out_dtype(dtype, out)
        check_normal(found)
        shape, mean, std = size_of((), size, "normal"), float(mean), float(std)
        if not std >= 0:
            raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
        slot = devices.resolve(device)
        t = sample(slot, generator, shape, found, ("normal", shape, found.np, mean, std), "normal", mean, std)
        return finish_factory(t, out, requires_grad, "normal")
    if size is not None or any(x is not None for x in (dtype, layout, device)) or pin_memory or requires_grad:
        raise TypeError("normal() received an invalid combination of arguments: a tensor and options of a new one")
    if isinstance(std, Tensor) and std._value.aval.dtype.is_complex:
        raise RuntimeError("normal expects standard deviation to be non-complex")
    found = tensors[0]._value.aval.dtype if out is None else out._value.aval.dtype
    check_normal(found)
    if (
        isinstance(mean, Tensor) and isinstance(out, Tensor) and not isinstance(std, Tensor)
    ):  # `out` is filled, then added to
        mean = mean.expand(strides.broadcast_shapes(mean.shape, out.shape))
    node = f"NormalBackward{3 if len(tensors) == 2 else 1 if isinstance(mean, Tensor) else 2}"
    if _traced(*tensors):
        base = like_filled((tensors[0] + tensors[-1]).detach(), 0, found, None, False, None, "normal")
        result = cast(functions["randn_like"](base, generator=generator) * std + mean, found).detach()
    elif _on_cpu(tensors[0]):
        arguments = [_host(x).astype(found.np, copy=False) if isinstance(x, Tensor) else float(x) for x in (mean, std)]
        try:
            shape = np.broadcast_shapes(np.shape(arguments[0]), np.shape(arguments[1]))
        except ValueError:
            shape = strides.broadcast_shapes(np.shape(arguments[0]), np.shape(arguments[1]))
        _check_std(arguments[1])
        result = cast(from_host(draw(generator, "normal_tensor", *arguments)), found).reshape(shape)
    else:
        base = like_filled((tensors[0] + tensors[-1]).detach(), 0, found, None, False, None, "normal")
        result = cast(base.normal_(generator=generator) * std + mean, found).detach()
    if state.grad and result.is_complex() and any(t._rg for t in tensors):
        raise RuntimeError("normal does not support automatic differentiation for outputs with complex dtype.")
    result = with_history(tensors, result, node)
    return result if out is None else write_out(out, result, "normal")


def _check_std(std: Any) -> None:
    if isinstance(std, np.ndarray):
        if not (std >= 0).all():
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


# -- counts and categories


@function("multinomial", method=True)
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Indices drawn by weight along the last dimension: (n,) or (rows, n) -> int64 with n replaced by `num_samples`."""
    if type(input) is not Tensor:
        need_tensor(input, "multinomial", "input")
    if num_samples.__class__ is not int:
        need_kind("multinomial", "num_samples", "int", num_samples)
    check_long(num_samples)
    if replacement is not True and replacement is not False:
        need_kind("multinomial", "replacement", "bool", replacement)
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {dtypes.scalar_name(out.dtype)}")
    if _traced(input) and (num_samples == 1 or not replacement):
        times = functions["empty_like"](input).exponential_(generator=generator)  # the first to arrive are drawn
        result = (input.detach() / times).topk(num_samples, -1)[1]
    elif _on_cpu(input):
        stride = strides.preserved(input.shape, strides_of(input))
        result = from_host(draw(generator, sampling.multinomial, _host(input), num_samples, replacement, stride))
    else:
        result = _multinomial_on(_keyed(generator, input), input.detach(), int(num_samples), bool(replacement))
    return result if out is None else write_out(out, result, "multinomial")


@function("poisson")
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Poisson counts of the rates given, in their type."""
    dtype = need_tensor(input, "poisson")._value.aval.dtype
    if dtype not in _FLOATS:
        raise unsupported("poisson_cpu", dtype)
    if _on_cpu(input):
        result = from_host(draw(generator, sampling.poisson, _host(input)))
    else:
        result = _poisson_on(_keyed(generator, input), input.detach())
    return with_history([input], result, "PoissonBackward0")


@inner_op(differentiable=False)
def _binomial_on(key: Array, count: Array, prob: Array):
    """Numbers of successes, drawn on the device."""
    return jax.random.binomial(key_from(key), count, prob).astype(count.dtype)


@function("binomial")
@signed("binomial")
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """Successes in `count` trials of probability `prob` each; the two broadcast. No gradient, as in PyTorch."""
    dtype = need_tensor(count, "binomial", "count")._value.aval.dtype
    need_tensor(prob, "binomial", "prob", 2)
    if dtype not in _FLOATS:
        raise ValueError(f"binomial only supports floating-point dtypes for count, got: {dtypes.scalar_name(dtype)}")
    if prob._value.aval.dtype is not dtype:
        raise RuntimeError(
            f"Found dtype {dtypes.scalar_name(prob._value.aval.dtype)} but expected {dtypes.scalar_name(dtype)}"
        )
    if _on_cpu(count):
        strides.broadcast_shapes(count._value.aval.shape, prob._value.aval.shape)
        arrays = np.broadcast_arrays(_host(count), _host(prob))
        return underived("binomial", from_host(draw(generator, sampling.binomial, *arrays)), count, prob)
    return underived("binomial", _binomial_on(_keyed(generator, count), count.detach(), prob.detach()), count, prob)


# -- gamma, whose gradient is that of its inverse distribution function


@jax.custom_jvp
def _gamma_value(alpha: Any, values: Any) -> Any:
    return values


@_gamma_value.defjvp
def _gamma_tangent(primals: Any, tangents: Any) -> Any:
    alpha, values = primals
    return values, jax.lax.random_gamma_grad(alpha, values) * tangents[0]  # pyright: ignore[reportCallIssue]


@inner_op(grad="StandardGammaBackward0")
def _gamma_with_grad(alpha: Array, values: Array):
    """Gamma numbers drawn with shape `alpha`."""
    return _gamma_value(alpha, values)


@inner_op(differentiable=False)
def _gamma_on(key: Array, alpha: Array):
    """Gamma numbers of rate 1 with the shapes given, drawn on their device."""
    values = jax.random.gamma(key_from(key), alpha)
    return jnp.maximum(values, jnp.finfo(alpha.dtype).tiny)


@function("_standard_gamma")
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma numbers of rate 1 with the shapes given."""
    refuse_tangents("_standard_gamma", input)
    if _on_cpu(input):
        values = from_host(draw(generator, sampling.standard_gamma, _host(input)))
    else:
        values = _gamma_on(_keyed(generator, input), input.detach())
    return _gamma_with_grad(input, values) if input._rg else values


@op(name="_standard_gamma_grad", method=False, out=False, differentiable=False)
def _standard_gamma_grad(input: Array, output: Array):
    """The derivative of a gamma number by its shape."""
    return jax.lax.random_gamma_grad(input, output)  # pyright: ignore[reportCallIssue]
