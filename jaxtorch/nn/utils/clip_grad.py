"""Limits on gradients: their total norm, or each of their elements."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ..._core.types.grad_mode import no_grad
from ...linalg import vector_norm

TensorOrTensors = Tensor | Iterable[Tensor]


def _without_grad(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        with no_grad():
            return fn(*args, **kwargs)

    return call


def _gradients(parameters: TensorOrTensors) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    elif isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=4)
    return [p.grad for p in parameters if p.grad is not None]


@_without_grad
def get_total_norm(
    tensors: TensorOrTensors,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors taken as one vector.

    error_if_nonfinite: RuntimeError if it is infinite or NaN, which waits for the device. foreach: accepted
    without effect: all that is recorded runs as one program anyway.
    """
    return _total_norm(tensors, norm_type, error_if_nonfinite)


def _total_norm(tensors: TensorOrTensors, norm_type: float, error_if_nonfinite: bool) -> Tensor:
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return functions["tensor"](0.0)
    first = tensors[0].device
    norms = [vector_norm(t, norm_type) for t in tensors]
    total = vector_norm(functions["stack"]([n if n.device == first else n.to(first) for n in norms]), norm_type)
    if error_if_nonfinite and (total.isnan() | total.isinf()):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. "
            "To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@_without_grad
def clip_grads_with_norm_(
    parameters: TensorOrTensors, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale gradients in place by max_norm / total_norm where that is below one."""
    _scale(
        [p.grad for p in ([parameters] if isinstance(parameters, Tensor) else parameters)],
        max_norm,
        total_norm,
        foreach,
    )


def _scale(grads: list[Tensor | None], max_norm: float, total_norm: Tensor, foreach: bool | None = False) -> None:
    # Multiplying by one where nothing is to be clipped spares a decision, and so a wait for the device.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    if foreach is not False and factor.ndim and any(g is not None for g in grads):
        raise RuntimeError(
            f"scalar tensor expected to be 0 dim but it has {factor.ndim} dimensions and {factor.numel()} elements."
        )
    for grad in grads:
        if grad is not None:
            grad.mul_(factor if factor.device == grad.device else factor.to(grad.device))


@_without_grad
def clip_grad_norm_(
    parameters: TensorOrTensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale all gradients in place so that their total norm is at most max_norm; returns the norm before.

    Does not wait for the device unless error_if_nonfinite.
    """
    grads = _gradients(parameters)
    total = _total_norm(grads, norm_type, error_if_nonfinite)
    _scale(list(grads), max_norm, total)
    return total


def clip_grad_norm(
    parameters: TensorOrTensors,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Deprecated name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@_without_grad
def clip_grad_value_(parameters: TensorOrTensors, clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of every gradient to [-clip_value, clip_value], in place."""
    clip_value = float(clip_value)
    grads = [p.grad for p in ([parameters] if isinstance(parameters, Tensor) else parameters) if p.grad is not None]
    if not grads:
        raise RuntimeError("Tensor list must have at least one tensor: no parameter has a gradient")
    for grad in grads:
        grad.clamp_(-clip_value, clip_value)
