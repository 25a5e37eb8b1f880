"""Programs with convolutions on the CPU: channels are laid out last throughout, and each convolution runs its fastest way.

PyTorch's convolutions are channels first, XLA's CPU library wants channels last, and XLA transposes before and after each one. So
a program is read once more before it is compiled: what a convolution gives stays channels last, and element by element operations,
reductions, paddings and slices follow it, each with its dimensions renumbered. Only what needs the order of elements (a reshape,
the program's results) is transposed back. Values do not change but for the rounding of the convolutions (`convolution.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.core as jax_core
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from .. import native
from ..tuning import SUMMED_BY_XLA, YNN_DIMENSIONS
from . import convolution, matvec
from .convolution import Window

INLINE = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
"""Primitives that only call a jaxpr, once every derivative has been taken."""

_ELEMENTWISE = frozenset(
    """abs acos acosh add add_any and asin asinh atan atan2 atanh cbrt ceil clamp convert_element_type copy copy_p cos cosh div eq
    erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le log log1p log2 logistic lt max min mul ne neg nextafter not
    one_minus_square or pow reduce_precision rem round rsqrt
    select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square sub tan tanh
    xor""".split()
)


class _Laid:
    """An array whose dimension i is dimension `order[i]` of the value it holds, of which `reversed` run backwards."""

    __slots__ = ("array", "order", "reversed")

    def __init__(self, array: Any, order: tuple[int, ...], reversed: tuple[int, ...] = ()) -> None:
        self.array = array
        self.order = order
        self.reversed = reversed


def _laid(array: Any, order: Any) -> Any:
    order = tuple(order)
    return array if order == tuple(range(len(order))) else _Laid(array, order)


def _in_order(value: Any, order: Any) -> Any:
    """The array of a value with its dimensions in this order."""
    order = tuple(order)
    if isinstance(value, _Laid):
        if value.reversed:
            value = _Laid(lax.rev(value.array, [value.order.index(d) for d in value.reversed]), value.order)
        if value.order == order:
            return value.array
        return lax.transpose(value.array, [value.order.index(d) for d in order])
    return value if order == tuple(range(len(order))) else lax.transpose(value, order)


def _straight(value: Any) -> Any:
    return _in_order(value, range(len(value.order))) if isinstance(value, _Laid) else value


def has_convolution(jaxpr: Any) -> bool:
    return _has(jaxpr, lambda eqn: eqn.primitive.name == "conv_general_dilated")


def needs_rewriting(jaxpr: Any) -> bool:
    """Does it hold anything beside convolutions that `rewritten_for_cpu` writes otherwise?"""
    return _has(jaxpr, lambda eqn: matvec.is_thin(eqn) or _is_long_sum(eqn, False) or _may_lose_nan(eqn))


def _has(jaxpr: Any, wanted: Callable[[Any], bool]) -> bool:
    return any(_has(_inner(eqn).jaxpr, wanted) if eqn.primitive.name in INLINE else wanted(eqn) for eqn in jaxpr.eqns)


def _inner(eqn: Any) -> Any:
    return eqn.params[INLINE[eqn.primitive.name]]


def rewritten_for_cpu(fn: Callable[..., Any], high_rank: bool = False) -> Callable[..., Any]:
    """The function of arrays, with its convolutions and all that follows them laid out for the CPU, products of matrix and
    vector as `thin` has them, long sums in stages, and limits that keep NaN; not to be differentiated. deep: do XLA's kernels
    for sums stay away from it (`xla_options.py`)?"""

    def run(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(fn, return_shape=True)(*args)
        outs = [_straight(o) for o in _evaluate(closed.jaxpr, closed.consts, args, high_rank)]
        return jax.tree.unflatten(jax.tree.structure(shape), outs)

    return run


def _evaluate(jaxpr: Any, consts: Any, args: Any, high_rank: bool) -> list[Any]:
    env: dict[Any, Any] = {}
    parts = {v for eqn in jaxpr.eqns if eqn.primitive.name == "slice" for v in eqn.outvars}

    def read(v: Any) -> Any:
        return v.val if isinstance(v, jex_core.Literal) else env[v]

    env.update(zip(jaxpr.constvars, consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))
    for eqn in jaxpr.eqns:
        inputs = [read(v) for v in eqn.invars]
        name = eqn.primitive.name
        if name in INLINE:
            inner = _inner(eqn)
            outs = _evaluate(inner.jaxpr, inner.consts, inputs, high_rank)
        elif name == "conv_general_dilated":
            outs = [_convolve(eqn, *inputs)]
        elif matvec.is_thin(eqn):
            outs = [matvec.product(eqn, *[_straight(x) for x in inputs])]
        elif _may_lose_nan(eqn) and parts.isdisjoint(v for v in eqn.invars if isinstance(v, jex_core.Var)):
            outs = [_keeping_nan(name, *inputs)]
        elif _is_long_sum(eqn, high_rank):
            outs = [_in_stages(eqn, _straight(inputs[0]))]
        elif name == "rev" and native.available() and not isinstance(inputs[0], _Laid) and inputs[0].ndim in (3, 4):
            outs = [_Laid(inputs[0], tuple(range(inputs[0].ndim)), eqn.params["dimensions"])]  # free for a convolution
        elif any(isinstance(x, _Laid) for x in inputs):
            outs = _follow(eqn, name, [_straight(x) if isinstance(x, _Laid) and x.reversed else x for x in inputs])
        else:
            outs = bound(eqn, inputs, {})
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(v) for v in jaxpr.outvars]


def bound(eqn: Any, inputs: list[Any], changed: dict[str, Any]) -> list[Any]:
    params = eqn.primitive.get_bind_params({**eqn.params, **changed})
    with eqn.ctx.manager:
        outs = eqn.primitive.bind(*inputs, **params)
    return list(outs) if eqn.primitive.multiple_results else [outs]


# -- limits ------------------------------------------------------------------------------------------------


def _may_lose_nan(eqn: Any) -> bool:
    """Is this the larger or smaller of two numbers? XLA's library of kernels, which takes it where a reduction follows, makes 0 of
    max(NaN, 0) (jaxlib 0.10.2). It does not take those of parts of an array, as pooling has them."""
    return eqn.primitive.name in ("max", "min") and jnp.issubdtype(eqn.outvars[0].aval.dtype, jnp.floating)


def _keeping_nan(name: str, x: Any, y: Any) -> Any:
    """The larger or smaller of two numbers by a comparison, which the library does not take: NaN where one is."""
    x, y = [_straight(v) if isinstance(v, _Laid) and v.reversed else v for v in (x, y)]
    order = next((v.order for v in (x, y) if isinstance(v, _Laid)), None)
    if order is not None:
        x, y = _alike([x, y], order)
    if not isinstance(y, (jax_core.Tracer, jax.Array)) and np.ndim(y) == 0 and not np.isnan(y):
        out = jnp.where(x <= y if name == "max" else x >= y, y, x)
    else:
        out = jnp.where(x != x, x, lax.max(x, y) if name == "max" else lax.min(x, y))
    return out if order is None else _laid(out, order)


# -- sums over several dimensions --------------------------------------------------------------------------


def _is_long_sum(eqn: Any, high_rank: bool) -> bool:
    """Is this a sum over several dimensions that XLA would add up number by number, so that errors add up too?

    Along one dimension XLA adds sums of 32. Over several it does so only as far as its library of kernels takes the sum: real
    numbers, in programs whose arrays do not have too many dimensions.
    """
    if eqn.primitive.name != "reduce_sum":
        return False
    x = eqn.invars[0].aval
    sizes = [x.shape[d] for d in eqn.params["axes"]]
    if x.dtype.kind != "c" and not (x.dtype.kind == "f" and (high_rank or x.ndim >= YNN_DIMENSIONS)):
        return False
    return sum(n > 1 for n in sizes) > 1 and math.prod(sizes) > SUMMED_BY_XLA


def _in_stages(eqn: Any, x: Any) -> Any:
    """This sum along one dimension after the other, which XLA must not join again; the longest is first, for it leaves least."""
    left = sorted(eqn.params["axes"], key=lambda d: x.shape[d])
    while left:
        axis = left.pop()
        (x,) = bound(eqn, [x], {"axes": (axis,)})
        left = [d - (d > axis) for d in left]
        x = lax.optimization_barrier(x) if left else x
    return x


# -- following a layout ------------------------------------------------------------------------------------


def _follow(eqn: Any, name: str, inputs: list[Any]) -> list[Any]:
    """An operation on values of which some may be laid out."""
    if not any(isinstance(x, _Laid) for x in inputs):
        return bound(eqn, inputs, {})
    order = next(x.order for x in inputs if isinstance(x, _Laid))
    first = inputs[0]
    if name in _ELEMENTWISE:
        return [_laid(bound(eqn, _alike(inputs, order), {})[0], order)]
    if name == "optimization_barrier":
        arrays = [x.array if isinstance(x, _Laid) else x for x in inputs]
        outs = bound(eqn, arrays, {})
        return [_laid(o, x.order) if isinstance(x, _Laid) else o for o, x in zip(outs, inputs, strict=True)]
    if name == "concatenate":
        place = order.index(eqn.params["dimension"])
        return [_laid(bound(eqn, [_in_order(x, order) for x in inputs], {"dimension": place})[0], order)]
    if isinstance(first, _Laid) and len([x for x in inputs if isinstance(x, _Laid)]) == 1:
        rule = _RULES.get(name)
        done = rule(eqn, first, inputs[1:]) if rule is not None else None
        if done is not None:
            return done
    return bound(eqn, [_straight(x) for x in inputs], {})


def _alike(inputs: list[Any], order: tuple[int, ...]) -> list[Any]:
    return [_in_order(x, order) if getattr(x, "ndim", 0) == len(order) or isinstance(x, _Laid) else x for x in inputs]


def _permuted(names: tuple[str, ...]) -> Any:
    """The rule of operations whose parameters have an entry for each dimension, or None."""

    def rule(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
        given = {n: eqn.params[n] for n in names if eqn.params[n] is not None}
        changed = {n: tuple(v[d] for d in x.order) for n, v in given.items()}
        return [_laid(o, x.order) for o in bound(eqn, [x.array, *rest], changed)]

    return rule


def _numbered(name: str) -> Any:
    """The rule of operations that go along dimensions given by their numbers, and keep the shape's rank."""

    def rule(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
        at = eqn.params[name]
        changed = tuple(x.order.index(d) for d in at) if isinstance(at, tuple) else x.order.index(at)
        return [_laid(o, x.order) for o in bound(eqn, [x.array, *rest], {name: changed})]

    return rule


def _reduce(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
    axes = eqn.params["axes"]
    left = [d for d in x.order if d not in axes]
    names = sorted(left)
    out = bound(eqn, [x.array], {"axes": tuple(sorted(x.order.index(d) for d in axes))})[0]
    return [_laid(out, [names.index(d) for d in left])]


def _transpose(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
    to = eqn.params["permutation"]
    return [_laid(x.array, [to.index(d) for d in x.order])]


def _broadcast(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
    shape, dims = eqn.params["shape"], eqn.params["broadcast_dimensions"]
    if rest or dims != tuple(range(len(shape))):
        return None
    out = lax.broadcast_in_dim(x.array, [shape[d] for d in x.order], dims)
    return [_laid(out, x.order)]


def _reshape(eqn: Any, x: _Laid, rest: list[Any]) -> Any:
    """Dropping dimensions of size one keeps the order of the others."""
    shape = eqn.outvars[0].aval.shape
    full = [0] * len(x.order)
    for place, d in enumerate(x.order):
        full[d] = x.array.shape[place]
    kept = [d for d, n in enumerate(full) if n != 1]
    if rest or tuple(full[d] for d in kept) != tuple(shape):
        return None
    left = [d for d in x.order if d in kept]
    return [_laid(x.array.reshape([full[d] for d in left]), [kept.index(d) for d in left])]


_WINDOWED = ("window_dimensions", "window_strides", "padding", "base_dilation", "window_dilation")
_RULES: dict[str, Any] = {
    "pad": _permuted(("padding_config",)),
    "slice": _permuted(("start_indices", "limit_indices", "strides")),
    "rev": _numbered("dimensions"),
    "split": _numbered("axis"),
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshape,
    "squeeze": _reshape,
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin"), _numbered("axis")),
    **dict.fromkeys(("reduce_window_sum", "reduce_window_max", "reduce_window_min"), _permuted(_WINDOWED)),
    **dict.fromkeys("extreme reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or".split(), _reduce),
}


# -- convolutions ------------------------------------------------------------------------------------------


def _convolve(eqn: Any, x: Any, w: Any) -> Any:
    """One convolution. That of an image with a kernel larger than the result is taken for the gradient of a kernel, which it is if
    images and channels change places."""
    p = eqn.params
    numbers, groups, splits = p["dimension_numbers"], p["feature_group_count"], p["batch_group_count"]
    (xb, xc, *xs), (wo, wi, *ws), (ob, oc, *os) = numbers
    of_x, of_w, of_out = (v.aval.shape for v in (*eqn.invars, *eqn.outvars))
    kernel, sizes = [of_w[d] for d in ws], [of_out[d] for d in os]
    as_type = p["preferred_element_type"] in (None, eqn.invars[0].aval.dtype)
    window = Window(tuple(p["window_strides"]), tuple(p["padding"]), tuple(p["lhs_dilation"]), tuple(p["rhs_dilation"]))
    channels, outs = of_x[xc], of_w[wo]
    for_kernel = all(n == 1 for n in window.stride) and (splits > 1 or math.prod(sizes) < math.prod(kernel))
    if for_kernel and groups == 1 and as_type:
        moved = Window(window.dilation, window.pads, window.spread, window.stride)
        moved = moved._replace(pads=_to_the_end(of_x, xs, kernel, sizes, moved))
        place = native.Kernel(tuple(sizes), *_steps(of_out, os, ob, oc))
        operands = _in_order(x, (xc, *xs, xb)), _in_order(w, (wi, *ws, wo))
        out = convolution.natively_for_kernel(*operands, of_out, place, splits, moved)
        if out is not None:
            return out
        if splits > 1 and all(n == 1 for n in moved.spread):
            out = convolution.grouped_for_kernel(*operands, tuple(sizes), splits, moved)
            return _laid(out, (*os, ob, oc))
    elif splits == 1 and as_type and convolution.by_terms_pays(*_first(eqn), groups, window):
        out = convolution.by_terms(_in_order(x, (xb, xc, *xs)), _in_order(w, (wo, wi, *ws)), groups, window)
        return _laid(out, (ob, oc, *os))
    elif splits == 1 and as_type:
        array, place = _as_kernel(w, ws, wi, wo)
        out = convolution.natively(_in_order(x, (xb, *xs, xc)), array, place, outs, groups, window)
        if out is not None:
            return _laid(out, (ob, *os, oc))
    if groups == splits == 1 and as_type:
        if math.prod(sizes) < math.prod(kernel) and all(n == 1 for n in window.stride):
            moved = Window(window.dilation, window.pads, window.spread, window.stride)
            moved = moved._replace(pads=_to_the_end(of_x, xs, kernel, sizes, moved))
            operands = _in_order(x, (xc, *xs, xb)), _in_order(w, (wi, *ws, wo))
            out = convolution.run_for_kernel(*operands, tuple(sizes), moved, p["precision"])
            return _laid(out, (*os, ob, oc))
        out = convolution.run(_in_order(x, (xb, *xs, xc)), _in_order(w, (*ws, wi, wo)), window, p["precision"])
        return _laid(out, (ob, *os, oc))
    if groups == channels == outs and splits == 1 and as_type and all(n == 1 for n in window.spread):
        kernels = _in_order(w, (*ws, wi, wo))
        out = convolution.depthwise(_in_order(x, (xb, *xs, xc)), kernels.reshape(*kernel, outs), window)
        return _laid(out, (ob, *os, oc))
    return bound(eqn, [_straight(x), _straight(w)], {})[0]


def _first(eqn: Any) -> tuple[Any, Any]:
    """The types of a convolution's operands with the channels first."""
    (xb, xc, *xs), (wo, wi, *ws), _ = eqn.params["dimension_numbers"]
    x, w = (v.aval for v in eqn.invars)
    of_x, of_w = ([a.shape[d] for d in order] for a, order in ((x, (xb, xc, *xs)), (w, (wo, wi, *ws))))
    return jax.ShapeDtypeStruct(of_x, x.dtype), jax.ShapeDtypeStruct(of_w, w.dtype)


def _steps(shape: Any, spatial: Any, inner: int, outer: int) -> tuple[tuple[int, ...], int, int, int]:
    """Elements from one to the next along these dimensions, in an array of this shape; and those before the first: none."""
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return tuple(steps[d] for d in spatial), steps[inner], steps[outer], 0


def _as_kernel(w: Any, spatial: Any, inner: int, outer: int) -> tuple[Any, native.Kernel]:
    """The array that holds a kernel, and how it lies there."""
    w = w if isinstance(w, _Laid) else _Laid(w, tuple(range(w.ndim)))
    shape = w.array.shape
    at = [w.order.index(d) for d in (*spatial, inner, outer)]
    steps, along_in, along_out, _ = _steps(shape, at[:-2], at[-2], at[-1])
    found = dict(zip((*spatial, inner, outer), (*steps, along_in, along_out), strict=True))
    offset = sum(found[d] * (shape[w.order.index(d)] - 1) for d in w.reversed)
    turned = {d: -n if d in w.reversed else n for d, n in found.items()}
    sizes = tuple(shape[n] for n in at[:-2])
    return w.array, native.Kernel(sizes, tuple(turned[d] for d in spatial), turned[inner], turned[outer], offset)


def _to_the_end(shape: Any, spatial: Any, steps: Any, kernel: Any, window: Window) -> Any:
    """The padding, that after the end so that the windows just reach it."""
    pads = []
    for i, d in enumerate(spatial):
        size = (shape[d] - 1) * window.spread[i] + 1
        reach = (steps[i] - 1) * window.stride[i] + (kernel[i] - 1) * window.dilation[i] + 1
        pads.append((window.pads[i][0], reach - window.pads[i][0] - size))
    return tuple(pads)
