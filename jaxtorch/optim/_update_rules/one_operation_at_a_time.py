"""Optimizers' steps one operation after another, in PyTorch's order: for modes with a `__torch_dispatch__`, which see each of them.

Each function takes the optimizer, a group and its parameters with gradients, and does what the optimizer's rule (`rules.py`) does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.define.op import functions
from ..._core.dispatch import torch_dispatch
from ..._core.tensor.tensor import Tensor
from ..._core.types import dtypes
from ..._core.types.grad_mode import no_grad
from ..._ops.types.constants import preserve_format
from .._options import run_closure

STEPS: dict[str, Callable[[Any, dict[str, Any], list[Any]], None]] = {}


def _of(*names: str) -> Callable[[Any], Any]:
    def define(fn: Any) -> Any:
        for name in names:
            STEPS[name] = fn
        return fn

    return define


def run(optimizer: Any, closure: Any = None) -> Any:
    """`optimizer.step(closure)`. NotImplementedError for what is not written out here."""
    kind = next(c for c in type(optimizer).__mro__ if is_ours(c.__dict__.get("__init__")))
    rule = STEPS.get(kind.__name__)
    if rule is None:
        raise torch_dispatch.refused(f"'{kind.__name__}'")
    loss = run_closure(closure)
    with no_grad():
        for group in optimizer.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            chosen = [n for n in ("foreach", "fused", "capturable", "differentiable") if group.get(n)]
            chosen += [n for n in ("lr", "weight_decay") if isinstance(group.get(n), Tensor)]
            chosen += ["betas" for b in group.get("betas", ()) if isinstance(b, Tensor)]
            if chosen:
                raise torch_dispatch.refused(f"'{kind.__name__}' with {chosen[0]}={group[chosen[0]]!r}")
            if any(p.grad.is_sparse or p.dtype.is_complex for p in params):
                raise torch_dispatch.refused(f"'{kind.__name__}' of sparse gradients or complex parameters")
            rule(optimizer, group, params)
    return loss


_OPTIMIZERS = (__package__ or "").rpartition(".")[0]  # the package `optim`


def is_ours(step: Any) -> bool:
    """Is it a function of one of the optimizers here, and not a program's?"""
    return getattr(step, "__globals__", {}).get("__package__") == _OPTIMIZERS


def _zeros(p: Any) -> Any:
    return functions["zeros_like"](p, memory_format=preserve_format)


def _begin(optimizer: Any, params: list[Any], *names: str, numbers: Any = ("step",), zeros: bool = False) -> None:
    """The state of parameters that have none: counts, made by `zeros` or from a number, and zeros."""
    for p in params:
        state = optimizer.state[p]
        if not state:
            kind = dtypes.float64 if dtypes.default() is dtypes.float64 else dtypes.float32
            for name in numbers:
                value = 1.0 if name == "mu_product" else 0.0
                state[name] = functions["zeros"]((), dtype=kind) if zeros else functions["tensor"](value, dtype=kind)
            for name in names:
                state[name] = _zeros(p)


def _gradient(p: Any, group: dict[str, Any]) -> Any:
    return -p.grad if group["maximize"] else p.grad


def _decayed(g: Any, p: Any, group: dict[str, Any]) -> Any:
    return g.add(p, alpha=group["weight_decay"]) if group["weight_decay"] != 0 else g


@_of("SGD")
def _sgd(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    momentum = group["momentum"]
    for p in params:
        g = _decayed(_gradient(p, group), p, group)
        if momentum:
            buffer = optimizer.state[p].get("momentum_buffer")
            if buffer is None:
                buffer = optimizer.state[p]["momentum_buffer"] = g.detach().clone()
            else:
                buffer.mul_(momentum).add_(g, alpha=1 - group["dampening"])
            g = g.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        p.add_(g, alpha=-group["lr"])


@_of("Adam", "AdamW")
def _adam(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    (b1, b2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
    _begin(optimizer, params, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * bool(group["amsgrad"]))
    for p in params:
        g, state = _gradient(p, group), optimizer.state[p]
        state["step"].add_(1)
        if decay != 0:
            if optimizer._decoupled or group.get("decoupled_weight_decay"):
                p.mul_(1 - lr * decay)
            else:
                g = g.add(p, alpha=decay)
        state["exp_avg"].lerp_(g, 1 - b1)
        second = state["exp_avg_sq"]
        second.mul_(b2).addcmul_(g, g, value=1 - b2)
        count = state["step"].item()
        if group["amsgrad"]:
            second = _larger(state["max_exp_avg_sq"], second)
        denominator = (second.sqrt() / (1 - b2**count) ** 0.5).add_(group["eps"])
        p.addcdiv_(state["exp_avg"], denominator, value=-(lr / (1 - b1**count)))


def _larger(own: Any, other: Any) -> Any:
    """`own` overwritten with the larger numbers."""
    return functions["maximum"](own, other, out=own)


@_of("RMSprop")
def _rmsprop(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    names = ["square_avg", *["momentum_buffer"] * (group["momentum"] > 0), *["grad_avg"] * bool(group["centered"])]
    _begin(optimizer, params, *names, zeros=True)
    for p in params:
        state, alpha = optimizer.state[p], group["alpha"]
        g = _gradient(p, group)
        state["step"].add_(1)
        g = _decayed(g, p, group)
        second = state["square_avg"]
        second.mul_(alpha).addcmul_(g, g, value=1 - alpha)
        if group["centered"]:
            state["grad_avg"].lerp_(g, 1 - alpha)
            root = second.addcmul(state["grad_avg"], state["grad_avg"], value=-1).sqrt_()
        else:
            root = second.sqrt()
        root = root.add_(group["eps"])
        if group["momentum"] > 0:
            state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(g, root)
            p.add_(state["momentum_buffer"], alpha=-group["lr"])
        else:
            p.addcdiv_(g, root, value=-group["lr"])


@_of("Adagrad")
def _adagrad(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    for p in params:
        state = optimizer.state[p]
        state["step"].add_(1)
        count = state["step"].item()
        g = _decayed(_gradient(p, group), p, group)
        rate = group["lr"] / (1 + (count - 1) * group["lr_decay"])
        state["sum"].addcmul_(g, g, value=1)
        p.addcdiv_(g, state["sum"].sqrt().add_(group["eps"]), value=-rate)


@_of("Adadelta")
def _adadelta(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    _begin(optimizer, params, "square_avg", "acc_delta", zeros=True)
    for p in params:
        state, rho, eps = optimizer.state[p], group["rho"], group["eps"]
        state["step"].add_(1)
        g = _decayed(_gradient(p, group), p, group)
        state["square_avg"].mul_(rho).addcmul_(g, g, value=1 - rho)
        root = state["square_avg"].add(eps).sqrt_()
        delta = state["acc_delta"].add(eps).sqrt_().div_(root).mul_(g)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-group["lr"])


@_of("Adamax")
def _adamax(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    _begin(optimizer, params, "exp_avg", "exp_inf")
    for p in params:
        state, (b1, b2) = optimizer.state[p], group["betas"]
        g = _gradient(p, group)
        state["step"].add_(1)
        g = _decayed(g, p, group)
        state["exp_avg"].lerp_(g, 1 - b1)
        scaled = state["exp_inf"].mul_(b2)
        functions["maximum"](scaled, g.abs().add_(group["eps"]), out=state["exp_inf"])
        p.addcdiv_(state["exp_avg"], state["exp_inf"], value=-(group["lr"] / (1 - b1 ** state["step"].item())))


@_of("NAdam")
def _nadam(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    _begin(optimizer, params, "exp_avg", "exp_avg_sq", numbers=("step", "mu_product"))
    for p in params:
        state, (b1, b2), decay = optimizer.state[p], group["betas"], group["momentum_decay"]
        g = _gradient(p, group)
        state["step"].add_(1)
        count = state["step"].item()
        if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
            p.mul_(1 - group["lr"] * group["weight_decay"])
        else:
            g = _decayed(g, p, group)
        now, after = (b1 * (1.0 - 0.5 * 0.96 ** ((count + i) * decay)) for i in (0, 1))
        product = state["mu_product"]
        product.mul_(now)
        state["exp_avg"].lerp_(g, 1 - b1)
        state["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        root = state["exp_avg_sq"].div(1 - b2**count).sqrt()
        reached = product.item()
        root.add_(group["eps"])
        ahead = product.item() * after
        p.addcdiv_(g, root, value=-group["lr"] * (1.0 - now) / (1.0 - reached))
        p.addcdiv_(state["exp_avg"], root, value=-group["lr"] * after / (1.0 - ahead))


@_of("RAdam")
def _radam(optimizer: Any, group: dict[str, Any], params: list[Any]) -> None:
    _begin(optimizer, params, "exp_avg", "exp_avg_sq")
    for p in params:
        state, (b1, b2) = optimizer.state[p], group["betas"]
        g = _gradient(p, group)
        state["step"].add_(1)
        count = state["step"].item()
        if group["weight_decay"] != 0 and group["decoupled_weight_decay"]:
            p.mul_(1 - group["lr"] * group["weight_decay"])
        else:
            g = _decayed(g, p, group)
        state["exp_avg"].lerp_(g, 1 - b1)
        state["exp_avg_sq"].mul_(b2).addcmul_(g, g, value=1 - b2)
        left1, left2 = 1 - b1**count, 1 - b2**count
        longest = 2 / (1 - b2) - 1
        length = longest - 2 * count * (b2**count) / left2
        delta = state["exp_avg"] / left1 * group["lr"]
        if length > 5.0:
            factor = ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            delta = delta * (left2**0.5 / state["exp_avg_sq"].sqrt().add_(group["eps"])) * factor
        p.add_(delta, alpha=-1.0)
