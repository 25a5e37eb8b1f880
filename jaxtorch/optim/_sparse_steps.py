"""Optimizer steps with sparse gradients: only the rows that a gradient has are read and written."""

from __future__ import annotations

from typing import Any

from .._core.capture import breaks
from .._core.modes import no_grad
from .._core.tensor import Tensor
from .optimizer import number


def _add(p: Tensor, sparse: Any, values: Tensor) -> None:
    """p += values at the places of a sparse tensor, in place."""
    indices = sparse._indices()
    if sparse.sparse_dim() == 1:
        p.index_add_(0, indices[0], values.to(p.dtype))
    else:
        p.index_put_(tuple(indices), values.to(p.dtype), accumulate=True)


def _gradient(p: Tensor, group: dict[str, Any]) -> Any:
    grad: Any = p.grad
    return -grad if group["maximize"] else grad


@no_grad()
def sgd(optimizer: Any, p: Tensor, group: dict[str, Any]) -> None:
    """One step of SGD; the momentum buffer is sparse too, and gathers the rows of all steps."""
    breaks("a sparse gradient is applied")
    grad = _gradient(p, group)
    if number(group["weight_decay"]) != 0:
        raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")
    momentum = number(group["momentum"])
    if momentum:
        state = optimizer.state[p]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - number(group["dampening"]))
        grad = grad + buffer * momentum if group["nesterov"] else buffer
    _add(p, grad, grad._values() * -number(group["lr"]))


@no_grad()
def adagrad(optimizer: Any, p: Tensor, group: dict[str, Any]) -> None:
    """One step of Adagrad."""
    breaks("a sparse gradient is applied")
    if number(group["weight_decay"]) != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    state = optimizer.state[p]
    state["step"] += 1
    grad = _gradient(p, group).coalesce()
    if grad._nnz() == 0:
        return
    values = grad._values()
    rate = number(group["lr"]) / (1 + (number(state["step"]) - 1) * number(group["lr_decay"]))
    _add(state["sum"], grad, values**2)
    deviation = state["sum"].sparse_mask(grad)._values().sqrt() + group["eps"]
    _add(p, grad, values / deviation * -rate)


@no_grad()
def adam(optimizer: Any, p: Tensor, group: dict[str, Any]) -> None:
    """One step of SparseAdam."""
    breaks("a sparse gradient is applied")
    state = optimizer.state[p]
    if not state:
        state["step"] = 0
        state["exp_avg"], state["exp_avg_sq"] = p.new_zeros(p.shape), p.new_zeros(p.shape)
    state["step"] += 1
    grad = _gradient(p, group).coalesce()
    if grad._nnz() == 0:
        return
    b1, b2 = (number(b) for b in group["betas"])
    values = grad._values()
    old, old_square = (state[name].sparse_mask(grad)._values() for name in ("exp_avg", "exp_avg_sq"))
    update = (values - old) * (1 - b1)
    update_square = (values**2 - old_square) * (1 - b2)
    _add(state["exp_avg"], grad, update)
    _add(state["exp_avg_sq"], grad, update_square)
    deviation = (update_square + old_square).sqrt() + group["eps"]
    step = number(state["step"])
    rate = number(group["lr"]) * (1 - b2**step) ** 0.5 / (1 - b1**step)
    _add(p, grad, (update + old) / deviation * -rate)
