"""Update rules as pure functions on lists of arrays, made of optax's transformations where optax has the rule.

Each takes (params, grads, states, numbers, *static) and returns (new params, new states); see `optimizer.update`.
The arrays are real and of one type. `numbers` are float64 scalars of the program; `_cast` brings one to the precision
a parameter computes in.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..._core.types import dtypes
from ..._ops.indexing.setitem import C_NAMES
from . import half_precision
from .half_precision import in_halves
from .joined_updates import by_elements

Arrays = list[Any]


def _cast(x: Any, like: Any) -> Any:
    """A number in the real type that arithmetic on `like` uses."""
    return x.astype(jnp.float64 if like.dtype == jnp.float64 else jnp.float32)


def _apply(tx: Any, params: Arrays, grads: Arrays, state: Any = None) -> tuple[Arrays, Any]:
    """One step of an optax transformation."""
    updates, state = tx.update(grads, tx.init(params) if state is None else state, params)
    return [p + u.astype(p.dtype) for p, u in zip(params, updates, strict=True)], state


def _signed(grads: Arrays, maximize: bool) -> Arrays:
    return [-g for g in grads] if maximize else grads


@by_elements
@in_halves(half_precision.sgd)
def sgd(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], decayed: bool, damped: bool,
    nesterov: bool, maximize: bool, first: bool,
) -> tuple[Arrays, list[Arrays]]:  # fmt: skip
    """SGD with momentum, as `optax.chain(add_decayed_weights, trace, scale_by_learning_rate)`.

    PyTorch's dampening, which optax does not have, scales the gradient before it enters the momentum; and the first momentum is
    the gradient itself.
    """
    import optax

    like = params[0]
    grads = _signed(grads, maximize)
    if decayed:
        grads, _ = optax.add_decayed_weights(_cast(numbers["weight_decay"], like)).update(
            grads, optax.EmptyState(), params
        )  # pyright: ignore[reportAssignmentType]
    if states:
        momentum = _cast(numbers["momentum"], like)
        if first:
            buffers = [jax.lax.stop_gradient(g) for g in grads]  # PyTorch detaches them
            grads = [g + momentum * b for g, b in zip(grads, buffers, strict=True)] if nesterov else buffers
        else:
            entering = [(1 - _cast(numbers["dampening"], like)) * g for g in grads] if damped else grads
            if damped and nesterov:
                buffers = [momentum * b + e for b, e in zip(states[0], entering, strict=True)]
                grads = [g + momentum * b for g, b in zip(grads, buffers, strict=True)]
            else:
                grads, trace = optax.trace(momentum, nesterov).update(entering, optax.TraceState(states[0]))  # pyright: ignore[reportAssignmentType]
                buffers = trace.trace  # pyright: ignore[reportAttributeAccessIssue]
        states = [buffers]  # pyright: ignore[reportAssignmentType]
    new, _ = _apply(optax.scale_by_learning_rate(_cast(numbers["lr"], like)), params, grads, optax.ScaleState())
    return new, states


def alike(states: Arrays, grads: Arrays) -> None:
    """Raise PyTorch's error where averages are not of their gradients' type: the parameter's has changed since they were made."""
    for state, grad in zip(states, grads, strict=True):
        if state.dtype != grad.dtype:
            raise RuntimeError(
                f"expected dtype {C_NAMES[dtypes.from_numpy(state.dtype).name]} for `end` but got dtype "
                f"{C_NAMES[dtypes.from_numpy(grad.dtype).name]}"
            )


def _moment(new: Arrays, old: Arrays, decay: Any, complement: Any, order: int) -> Arrays:
    """Exponential moving average of the order-th power.

    A decay that is part of the program goes through optax; one that varies is a number, whose complement to 1 comes along in
    full precision.
    """
    import optax

    if order == 1:
        alike(old, new)
    if isinstance(decay, float):
        return optax.tree.update_moment(new, old, decay, order)
    return [decay.astype(o.dtype) * o + complement.astype(o.dtype) * n**order for n, o in zip(new, old, strict=True)]


@by_elements
@in_halves(half_precision.adam)
def adam(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], betas: Any, decay: str, amsgrad: bool,
    maximize: bool,
) -> tuple[Arrays, list[Arrays]]:  # fmt: skip
    """Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019: decay='decoupled') and AMSGrad.

    Moments are optax's; the bias corrections are computed on the host in double precision, as PyTorch does.
    """
    like = params[0]
    lr, eps = _cast(numbers["lr"], like), _cast(numbers["eps"], like)
    grads = _signed(grads, maximize)
    old = params
    if decay == "decoupled":
        params = [p * (1 - lr * _cast(numbers["weight_decay"], like)).astype(p.dtype) for p in params]
    elif decay == "coupled":
        weight_decay = _cast(numbers["weight_decay"], like)
        grads = [g + weight_decay.astype(g.dtype) * p for g, p in zip(grads, old, strict=True)]
    b1, b2 = betas if betas else (numbers["beta1"], numbers["beta2"])
    mu = _moment(grads, states[0], b1, numbers.get("complement1"), 1)
    nu = _moment(grads, states[1], b2, numbers.get("complement2"), 2)
    c1, root2 = _cast(numbers["correction1"], like), _cast(jnp.sqrt(numbers["correction2"]), like)
    kept = [mu, nu]
    largest = nu
    if amsgrad:
        largest = [jnp.maximum(a, b) for a, b in zip(states[2], nu, strict=True)]
        kept.append(largest)
    new = []
    for p, m, v in zip(params, mu, largest, strict=True):
        denominator = jnp.sqrt(v) / root2.astype(v.dtype) + eps.astype(v.dtype)
        new.append(p - (lr / c1).astype(v.dtype) * (m / denominator))
    return new, kept


@by_elements
@in_halves(half_precision.adagrad)
def adagrad(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], decayed: bool, maximize: bool
) -> tuple[Arrays, list[Arrays]]:
    """Adagrad (Duchi, Hazan and Singer, 2011). optax puts eps inside the root (`scale_by_rss`), PyTorch outside."""
    like = params[0]
    grads = _signed(grads, maximize)
    if decayed:
        grads = [
            g + _cast(numbers["weight_decay"], like).astype(g.dtype) * p for g, p in zip(grads, params, strict=True)
        ]
    sums = [s + g * g for s, g in zip(states[0], grads, strict=True)]
    eps, rate = _cast(numbers["eps"], like), _cast(numbers["rate"], like)
    new = [p - rate * (g / (jnp.sqrt(s) + eps)) for p, g, s in zip(params, grads, sums, strict=True)]
    return new, [sums]


@by_elements
@in_halves(half_precision.rmsprop)
def rmsprop(
    params: Arrays, grads: Arrays, states: list[Arrays], numbers: dict[str, Any], decayed: bool, centered: bool,
    momentum: bool, maximize: bool,
) -> tuple[Arrays, list[Arrays]]:  # fmt: skip
    """RMSprop (Tieleman and Hinton, 2012), centered or not, with momentum: eps is added outside the root."""
    like = params[0]
    grads = _signed(grads, maximize)
    if decayed:
        grads = [
            g + _cast(numbers["weight_decay"], like).astype(g.dtype) * p for g, p in zip(grads, params, strict=True)
        ]
    alpha, complement = _cast(numbers["alpha"], like), _cast(numbers["complement"], like)
    rest = list(states)
    squares = [alpha * s + complement * g * g for s, g in zip(rest.pop(0), grads, strict=True)]
    kept = [squares]
    spread = squares
    means: Arrays = []
    if centered:
        means = [m + complement * (g - m) for m, g in zip(rest.pop(), grads, strict=True)]
        spread = [s - m * m for s, m in zip(squares, means, strict=True)]
    eps, lr = _cast(numbers["eps"], like), _cast(numbers["lr"], like)
    updates = [g / (jnp.sqrt(s) + eps) for g, s in zip(grads, spread, strict=True)]
    if momentum:
        updates = [_cast(numbers["momentum"], like) * b + u for b, u in zip(rest.pop(0), updates, strict=True)]
        kept.append(updates)
    if centered:
        kept.append(means)
    return [p - lr * u for p, u in zip(params, updates, strict=True)], kept
