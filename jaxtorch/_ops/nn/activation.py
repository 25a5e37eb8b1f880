"""Activation functions, and the softmax family."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..._core import native
from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, Real, Scalar, function, inner_op, op
from ..._core.define.signature import need_kind
from ..._core.dispatch.number_limits import check_number
from ..._core.random.generator import check_generator, engine_for
from ..._core.run.runner import concrete_array
from ..._core.tensor import strides
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.tuning import GELU_KERNEL
from ..._core.types import dtypes
from ..._core.types.device import cpu
from ..common.primitives import linear_in, natively, primitive, with_tangent
from ..common.rules import (
    check_negation,
    check_subtraction,
    derivatives,
    in_single,
    kind,
    refuse,
    scalar_name,
    to_float,
    unsupported,
    zeros_mask,
)
from ..random.random import sample
from ..types.casting import computed_in

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def normal_dim(dim: int, ndim: int) -> int:
    """A dimension counted from the front; IndexError where the tensor has none such."""
    n = max(ndim, 1)
    if dim.__class__ is not int:
        return strides.wrap_dim(dim, ndim)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim % n


def _needs_float(kernel: str, x: Any) -> None:
    refuse(kernel, x, "bool", "int", "complex")


def _ordered(x: Any) -> None:
    if kind(x) == "complex":
        raise NotImplementedError("clamp is not supported for complex types")


# -- rectifiers --------------------------------------------------------------------------------------------


@derivatives(lambda t, ans, x: jnp.where(ans <= 0, 0, t))
def rectified(x: Any) -> Any:
    """max(x, 0), NaN kept."""
    return jnp.maximum(x, 0)


@op(promote=True, inplace=True, out=False, saved=["result"])
def relu(input: Array):
    """max(input, 0), elementwise."""
    if input.dtype == jnp.bool_:
        raise RuntimeError("Boolean inputs not supported for relu")
    _ordered(input)
    return rectified(input)


@inner_op(promote=True, inplace=True)
def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0):
    """The input, limited to [min_val, max_val]; the gradient is 0 on the bounds themselves."""
    if input.dtype == jnp.bool_:
        raise RuntimeError("Bool inputs not supported for hardtanh")
    _ordered(input)
    if is_rare(dtypes.from_numpy(input.dtype)):
        unsupported("clamp_scalar_cpu", input)
    for limit in (min_val, max_val):
        check_number(limit, dtypes.from_numpy(input.dtype))
    low, high = np.asarray(min_val).astype(input.dtype), np.asarray(max_val).astype(input.dtype)
    return _limited(input, low, high)


@derivatives(lambda t, ans, x, low, high: jnp.where((x > low) & (x < high), t, 0), None, None)
def _limited(x: Any, low: Any, high: Any) -> Any:
    return jnp.minimum(jnp.maximum(x, low), high)


@inner_op(promote=True, inplace=True, saved=["written"])
def leaky_relu(input: Array, negative_slope: Real = 0.01):
    """The input where positive, `negative_slope` times it elsewhere."""
    _needs_float("leaky_relu_cpu", input)
    return in_single(lambda x: jnp.where(x > 0, x, x * negative_slope))(input)


@op(promote=True, inplace=True, method=False, out=False)
def threshold(input: Array, threshold: Real, value: Real):
    """The input where it is above `threshold`, `value` elsewhere."""
    refuse("threshold_cpu", input, "bool", "complex")
    check_number(value, dtypes.from_numpy(input.dtype))
    least = int(threshold) if kind(input) == "int" and math.isfinite(threshold) else threshold
    return in_single(lambda x: jnp.where(x <= least, np.asarray(value).astype(x.dtype), x))(input)


@derivatives(lambda t, ans, x, w: t * jnp.where(x > 0, 1, w), lambda t, ans, x, w: t * jnp.where(x > 0, 0, x))
def _preferred(x: Any, weight: Any) -> Any:
    return jnp.where(x > 0, x, x * weight)


@op(grad="PreluKernelBackward0", out=False, like_input=True)
def prelu(input: Array, weight: Array):
    """The input where positive, `weight` times it elsewhere: one weight, or one a channel (dimension 1)."""
    if input.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {scalar_name(input)} and {scalar_name(weight)}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    if weight.size != 1:
        if input.ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.ndim > 1 else 1
        if channels != weight.size:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{weight.size} and channel size = {channels}."
            )
    refuse("prelu_cpu", input, "int", "bool", "complex")
    shape = [1] * input.ndim
    if input.ndim > 1:
        shape[1] = -1
    return _preferred(input, weight.reshape(shape))


@inner_op(promote=True, inplace=True, grad="RreluWithNoiseBackward0", saved=["written"])
def _rrelu(input: Array, noise: Array):
    return jnp.where(input > 0, input, input * noise)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper) where the input is not positive; their mean in
    evaluation.
    """
    return _randomly_leaky((leaky_relu, _rrelu), input, lower, upper, training, generator)


def _randomly_leaky(
    forms: tuple[Any, Any], input: Tensor, lower: float, upper: float, training: bool, generator: Any
) -> Tensor:
    """`rrelu` by these forms of `leaky_relu` and `_rrelu`."""
    need_kind("rrelu", "training", "bool", training)
    check_generator(generator, cpu.slot)
    if training and is_rare(need_tensor(input, "rrelu").dtype):
        unsupported("rrelu_with_noise_out_cpu", input)
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound.__class__ is not float:
            need_kind("rrelu", name, "Number", bound)
            check_number(bound, dtypes.float64)
        if not math.isfinite(bound):
            raise RuntimeError(f"rrelu: {name} bound must be finite, got {bound:g}")
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    if not training:
        return forms[0](input, (lower + upper) / 2)
    aval = need_tensor(input, "rrelu")._value.aval
    if not aval.dtype.is_floating_point or aval.dtype is dtypes.float16:
        raise NotImplementedError(
            f"\"rrelu_with_noise_out_cpu\" not implemented for '{dtypes.scalar_name(aval.dtype)}'"
        )
    if aval.slot is not cpu.slot:
        host = ("uniform", aval.shape, aval.dtype.np, float(lower), float(upper))
        return forms[1](
            input, sample(aval.slot, generator, aval.shape, aval.dtype, host, "uniform", float(lower), float(upper))
        )
    low = concrete_array(input._array()) <= 0  # PyTorch draws a number only where one is needed
    noise = np.ones(low.shape, np.float64)
    drawn = engine_for(generator, aval.slot).uniform((int(low.sum()),), np.float64, float(lower), float(upper))
    noise[low] = drawn
    return forms[1](input, from_host(noise.astype(aval.dtype.np)))


function("rrelu")(rrelu)


@function("rrelu_")
def rrelu_(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    generator: Any = None,
) -> Tensor:
    """In-place form of `rrelu`."""
    return _randomly_leaky((leaky_relu.inplace, _rrelu.inplace), input, lower, upper, training, generator)


# -- exponential and sigmoid units -------------------------------------------------------------------------


@functools.partial(jax.custom_jvp, nondiff_argnums=(1, 2, 3))
def _elu(x: Any, negative: float, scale: float, inner: float) -> Any:
    return jnp.where(x < 0, jnp.expm1(x * inner) * negative, x * scale)


@_elu.defjvp
def _elu_rule(negative: float, scale: float, inner: float, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    slope = jnp.where(x <= 0, jnp.exp(jnp.where(x <= 0, x, 0) * inner) * (negative * inner), jnp.where(x > 0, scale, x))
    return _elu(x, negative, scale, inner), t * slope.astype(x.dtype)


def _elu_of(x: Any, alpha: float, scale: float = 1.0, inner: float = 1.0) -> Any:
    _needs_float("elu_cpu", x)
    return in_single(lambda v: _elu(v, alpha * scale, scale, inner))(x)


@inner_op(promote=True, inplace=True, saved=["written"])
def elu(input: Array, alpha: Real = 1.0, scale: Real = 1.0, input_scale: Real = 1.0):
    """The input where positive, alpha * (exp(input) - 1) elsewhere (Clevert et al., 2016)."""
    return _elu_of(input, alpha, scale, input_scale)


@op(promote=True, inplace=True, method=False, out=False, grad="EluBackward0", saved=["written"])
def selu(input: Array):
    """The self-normalising exponential unit of Klambauer et al. (2017)."""
    return _elu_of(input, _SELU_ALPHA, _SELU_SCALE)


@op(promote=True, inplace=True, method=False, out=False, saved=["written"])
def celu(input: Array, alpha: Real = 1.0):
    """max(0, input) + min(0, alpha * (exp(input / alpha) - 1))."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _elu_of(input, alpha, 1.0, 1.0 / alpha)


def sigmoid_of(x: Any) -> Any:
    return jax.lax.logistic(x)


@inner_op(promote=True, inplace=True)
def silu(input: Array):
    """input * sigmoid(input); Elfwing et al. (2018)."""
    refuse("silu_cpu", input, "bool", "int")
    return in_single(lambda x: x * sigmoid_of(x))(input)


@inner_op(promote=True, inplace=True)
def mish(input: Array):
    """input * tanh(softplus(input)); Misra (2019)."""
    _needs_float("mish_cpu", input)
    return in_single(lambda x: x * jnp.tanh(jnp.logaddexp(x, 0)))(input)


@op(promote=True, method=False, function=False)
def gelu(input: Array, *, approximate: str = "none"):
    """input * Phi(input), Phi the normal distribution function; approximate='tanh' approximates it.

    Hendrycks and Gimpel (2016).
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    _needs_float("GeluKernelImpl", input)
    if approximate == "tanh":
        return in_single(functools.partial(jax.nn.gelu, approximate=True))(input)
    return in_single(_gelu_p.bind if input.size >= GELU_KERNEL else _gelu)(input)


def _gelu(x: Any) -> Any:  # by erf as PyTorch has it: XLA's erfc is several times slower on a CPU
    return 0.5 * x * (1 + jax.lax.erf(x * math.sqrt(0.5)))


def _gelu_tangent(t: Any, x: Any) -> Any:
    density = jnp.exp(x * x * -0.5) * math.sqrt(0.5 / math.pi)
    return t * (0.5 * (1 + jax.lax.erf(x * math.sqrt(0.5))) + x * density)


_gelu_p = primitive("gelu", _gelu, natively(native.gelu))
_gelu_tangent_p = primitive("gelu_tangent", _gelu_tangent, natively(native.gelu_back))
linear_in(_gelu_tangent_p, _gelu_tangent, 1, lambda g, x: [_gelu_tangent_p.bind(g, x)])
with_tangent(_gelu_p, lambda moved, x: _gelu_tangent_p.bind(*moved, x))


@op(promote=True, method=False, function=False)
def softplus(input: Array, beta: Real = 1.0, threshold: Real = 20.0):
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input is above `threshold`."""
    _needs_float("softplus_cpu", input)

    @derivatives(lambda t, ans, x: t * jnp.where(x * beta > threshold, 1, sigmoid_of(x * beta)))
    def formula(x: Any) -> Any:
        scaled = x * beta
        above = scaled > threshold
        return jnp.where(above, x, jnp.logaddexp(jnp.where(above, 0, scaled), 0) / beta)

    return in_single(formula)(input)


@op(promote=True, method=False, function=False, grad="LogSigmoidBackward0", name="logsigmoid")
def logsigmoid(input: Array):
    """log(sigmoid(input))."""
    _needs_float("log_sigmoid_cpu", input)
    return in_single(lambda x: -jnp.logaddexp(-x, 0))(input)


@inner_op(promote=True, inplace=True)
def hardsigmoid(input: Array):
    """min(max(input + 3, 0), 6) / 6."""
    _needs_float("hardsigmoid_cpu", input)
    return in_single(lambda x: _limited(x + 3, np.float32(0), np.float32(6)) / 6)(input)


@derivatives(lambda t, ans, x: t * jnp.where(x <= -3, 0, jnp.where(x >= 3, 1, x / 3 + 0.5)).astype(x.dtype))
def _hardswish(x: Any) -> Any:
    return x * jnp.minimum(jnp.maximum(x + 3, 0), 6) / 6


@inner_op(promote=True, inplace=True)
def hardswish(input: Array):
    """input * hardsigmoid(input)."""
    _needs_float("hardswish_cpu", input)
    return in_single(_hardswish)(input)


# -- shrinkage, gates --------------------------------------------------------------------------------------


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def _outside(x: Any, limit: float) -> Any:
    return jnp.where((x >= -limit) & (x <= limit), 0, x)


@_outside.defjvp
def _outside_rule(limit: float, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return _outside(x, limit), zeros_mask((x < -limit) | (x > limit), t)  # 0 at NaN


@op(promote=True)
def hardshrink(input: Array, lambd: Real = 0.5):
    """The input outside [-lambd, lambd], 0 inside."""
    _needs_float("hardshrink_cpu", input)
    check_number(lambd, dtypes.from_numpy(input.dtype))
    return _outside(input, lambd)


@op(promote=True, method=False, function=False)
def softshrink(input: Array, lambd: Real = 0.5):
    """The input moved towards 0 by `lambd`, 0 inside [-lambd, lambd]."""
    limit = float(jnp.finfo(input.dtype).max) if kind(input) == "float" else math.inf
    if not 0 <= lambd <= limit:
        shown = limit if limit < math.inf else 0
        raise RuntimeError(
            f"lambda must be in range [0, {shown:g}] for input dtype {scalar_name(input)}, but found {lambd:g}"
        )
    _needs_float("softshrink_check", input)
    return in_single(lambda x: jnp.where(x > lambd, x - lambd, jnp.where(x < -lambd, x + lambd, x * 0)))(input)


@derivatives(lambda t, ans, x: t * jnp.square(jnp.tanh(x)))
def _tanhshrink(x: Any) -> Any:
    return x - jnp.tanh(x)


@inner_op(promote=True, grad="SubBackward0", unsaved=["input"])
def tanhshrink(input: Array):
    """input - tanh(input)."""
    check_subtraction(input, to_float(input))
    return _tanhshrink(to_float(input))


@inner_op(promote=True, grad="DivBackward0")
def softsign(input: Array):
    """input / (1 + |input|)."""
    refuse("abs_cpu", input, "bool")
    x = to_float(input)
    return x / (jnp.abs(x) + 1)


@inner_op()
def glu(input: Array, dim: int = -1):
    """The first half of `dim` times the sigmoid of the second."""
    if input.ndim == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    axis = normal_dim(dim, input.ndim)
    if input.shape[axis] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {axis} is size {input.shape[axis]}")
    _needs_float("glu_cpu", input)
    return in_single(lambda x: _glu(x, axis))(input)


def _glu(x: Any, axis: int) -> Any:
    a, b = jnp.split(x, 2, axis)
    return a * sigmoid_of(b)


# -- softmax -----------------------------------------------------------------------------------------------


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def softmax_of(x: Any, axis: int) -> Any:
    """exp(x) / sum(exp(x)) along an axis."""
    if x.shape[axis] == 0:
        return x
    weights = jnp.exp(x - _stop(jnp.max(x, axis, keepdims=True)))
    return weights / jnp.sum(weights, axis, keepdims=True)


@softmax_of.defjvp
def _softmax_rule(axis: int, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    ans = softmax_of(x, axis)
    return ans, ans * (t - jnp.sum(ans * t, axis, keepdims=True))


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def log_softmax_of(x: Any, axis: int) -> Any:
    """log(softmax(x)) along an axis."""
    if x.shape[axis] == 0:
        return x
    shifted = x - _stop(jnp.max(x, axis, keepdims=True))
    return shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis, keepdims=True))


@log_softmax_of.defjvp
def _log_softmax_rule(axis: int, primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    ans = log_softmax_of(x, axis)
    return ans, t - jnp.sum(jnp.exp(ans) * t, axis, keepdims=True)


def _stop(x: Any) -> Any:
    return jax.lax.stop_gradient(x)


def _softmax(x: Any, dim: int, dtype: Any, rule: Any, kernel: str) -> Any:
    if dtype is not None:
        x = computed_in(x, dtype)
    axis = normal_dim(dim, x.ndim)
    if x.size == 0:
        return x
    if kind(x) != "float":
        unsupported(f"{kernel}_lastdim_kernel_impl" if axis == max(x.ndim, 1) - 1 else f"{kernel}_kernel_impl", x)
    if x.ndim == 0:
        return in_single(lambda v: rule(v.reshape(1), 0).reshape(()))(x)
    return in_single(lambda v: rule(v, axis))(x)


@op(saved=["result"])
def softmax(input: Array, dim: int, dtype: Any = None):
    """exp(input), normalised to sum 1 along `dim`; `dtype` converts the input first."""
    return _softmax(input, dim, dtype, softmax_of, "softmax")


@op(saved=["result"])
def log_softmax(input: Array, dim: int, dtype: Any = None):
    """The logarithm of `softmax`, computed stably."""
    return _softmax(input, dim, dtype, log_softmax_of, "log_softmax")


@inner_op(grad="SafeSoftmaxBackward0")
def _safe_softmax(input: Array, dim: int, dtype: Any = None):
    made = _softmax(input, dim, dtype, softmax_of, "softmax")
    return jnp.where(jnp.all(input == -jnp.inf, dim, keepdims=True), jnp.zeros((), made.dtype), made)


@inner_op(grad="SoftmaxBackward0")
def _softmin(input: Array, dim: int, dtype: Any = None):
    check_negation(input)
    if is_rare(dtypes.from_numpy(input.dtype)):
        unsupported("neg_cpu", input)
    return _softmax(-input, dim, dtype, softmax_of, "softmax")


def implicit_dim(name: str, ndim: int, stacklevel: int = 3) -> int:
    """The dimension that softmax functions assume, with PyTorch's warning, when none is given."""
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


@inner_op(grad="AddBackward0")
def _straight_through(soft: Array, dim: int):
    """One-hot at the largest entry going forward, the soft values' gradient going back."""
    hard = jax.nn.one_hot(jnp.argmax(soft, dim), soft.shape[dim], axis=dim, dtype=soft.dtype)
    return hard - _stop(soft) + soft


@inner_op(grad="SoftmaxBackward0")
def _gumbel_softmax(logits: Array, noise: Array, tau: Scalar, dim: int):
    # Divided by a constant NaN, XLA would lose it.
    scaled = in_single(lambda x, e: softmax_of((x - jnp.log(e)) / jnp.asarray(tau, x.dtype), normal_dim(dim, x.ndim)))
    return scaled(logits, noise)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; `hard` makes it one-hot, with the soft sample's
    gradient.
    """
    if eps != 1e-10:
        import warnings

        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    aval = need_tensor(logits, "gumbel_softmax", "logits")._value.aval
    if kind(aval) != "float" and not aval.numel:
        soft = (logits / tau).softmax(dim)
        return soft.max(dim, keepdim=True)[0] if hard else soft
    if kind(aval) == "float" and is_rare(aval.dtype):
        unsupported("exponential_cpu" if aval.numel else "log_vml_cpu", aval)
    if not aval.ndim:
        return gumbel_softmax(logits.reshape(1), tau, hard, eps, normal_dim(dim, 0)).reshape(())
    if kind(aval) != "float":
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {scalar_name(aval)}"
        )
    noise = sample(
        aval.slot, None, aval.shape, aval.dtype, ("exponential", aval.shape, aval.dtype.np), "exponential", 1.0
    )
    if isinstance(tau, Tensor) and tau.ndim:
        soft = ((logits - noise.log()) / tau).softmax(dim)
    else:
        soft = _gumbel_softmax(logits, noise, tau, dim)
    if not hard:
        return soft
    if not aval.numel:
        soft.max(dim, keepdim=True)  # its IndexError
    return _straight_through(soft, normal_dim(dim, aval.ndim))
