"""Optimizer steps with sparse gradients: only the rows that a gradient has are read and written."""

from __future__ import annotations

from typing import Any

from ..._core.run.capture import break_capture
from ..._core.tensor.tensor import Tensor
from ..._core.types.grad_mode import no_grad
from ..._ops import sparse
from .._options import number


def _add(p: Tensor, grad: Any, values: Tensor) -> None:
    """p += values at the places of a sparse tensor, in place."""
    indices = grad._indices()
    if grad.sparse_dim() == 1:
        p.index_add_(0, indices[0], values.to(p.dtype))
    else:
        p.index_put_(tuple(indices), values.to(p.dtype), accumulate=True)


def _gradient(p: Tensor, group: dict[str, Any]) -> Any:
    grad: Any = p.grad
    return -grad if group["maximize"] else grad


class _Rows:
    """A sparse gradient whose indices name whole rows, each of them once, in shapes that do not depend on how often they were named:
    so the steps of a loop are one program."""

    def __init__(self, grad: Any) -> None:
        self.place, self.values = sparse._rows_merged(grad._indices()[0], grad._values(), grad.shape[0])

    def of(self, t: Tensor) -> Tensor:
        """These rows of a dense tensor."""
        return sparse._rows_read(t, self.place)

    def add(self, t: Tensor, values: Tensor) -> None:
        """Add to these rows, in place."""
        t.copy_(sparse._rows_added(t, self.place, values))


class _Elements:
    """The same for other sparse gradients, merged on the host."""

    def __init__(self, grad: Any) -> None:
        self.grad = grad.coalesce()
        self.values = self.grad._values()

    def of(self, t: Tensor) -> Tensor:
        return t.sparse_mask(self.grad)._values()  # pyright: ignore[reportAttributeAccessIssue]

    def add(self, t: Tensor, values: Tensor) -> None:
        _add(t, self.grad, values)


def _rows(p: Tensor, group: dict[str, Any]) -> Any:
    """The part of a parameter that its gradient has; None if that is nothing."""
    grad = _gradient(p, group)
    if grad._nnz() == 0:
        return None
    return _Rows(grad) if grad.sparse_dim() == 1 else _Elements(grad)


@no_grad()
def sgd(optimizer: Any, p: Tensor, group: dict[str, Any]) -> None:
    """One step of SGD; the momentum buffer is sparse too, and gathers the rows of all steps."""
    break_capture("a sparse gradient is applied")
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
    break_capture("a sparse gradient is applied")
    if number(group["weight_decay"]) != 0:
        raise RuntimeError("weight_decay option is not compatible with sparse gradients")
    state = optimizer.state[p]
    state["step"] += 1
    rows = _rows(p, group)
    if rows is None:
        return
    rate = number(group["lr"]) / (1 + (number(state["step"]) - 1) * number(group["lr_decay"]))
    rows.add(state["sum"], rows.values**2)
    deviation = rows.of(state["sum"]).sqrt() + group["eps"]
    rows.add(p, rows.values / deviation * -rate)


@no_grad()
def adam(optimizer: Any, p: Tensor, group: dict[str, Any]) -> None:
    """One step of SparseAdam."""
    break_capture("a sparse gradient is applied")
    state = optimizer.state[p]
    if not state:
        state["step"] = 0
        state["exp_avg"], state["exp_avg_sq"] = p.new_zeros(p.shape), p.new_zeros(p.shape)
    state["step"] += 1
    rows = _rows(p, group)
    if rows is None:
        return
    b1, b2 = (number(b) for b in group["betas"])
    old, old_square = rows.of(state["exp_avg"]), rows.of(state["exp_avg_sq"])
    update = (rows.values - old) * (1 - b1)
    update_square = (rows.values**2 - old_square) * (1 - b2)
    rows.add(state["exp_avg"], update)
    rows.add(state["exp_avg_sq"], update_square)
    deviation = (update_square + old_square).sqrt() + group["eps"]
    step = number(state["step"])
    rate = number(group["lr"]) * (1 - b2**step) ** 0.5 / (1 - b1**step)
    rows.add(p, (update + old) / deviation * -rate)
