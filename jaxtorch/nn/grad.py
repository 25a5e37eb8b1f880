"""Gradients of convolutions with respect to input and weight, as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types.grad_mode import enable_grad, is_grad_enabled
from .._ops.nn.convolution import conv1d, conv2d, conv3d
from ..autograd._gradients import grad

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(out: Tensor, of: Tensor, given: Tensor) -> Tensor:
    return grad(out, [of], [given], create_graph=is_grad_enabled())[0]


def _define(n: int, run: Callable[..., Tensor]) -> tuple[Any, Any]:
    """The gradients of `run`, the convolution over n dimensions."""

    def with_input(
        input_size: Any,
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        before = is_grad_enabled()
        with enable_grad():
            x = functions["zeros"](
                tuple(input_size), dtype=grad_output.dtype, device=grad_output.device, requires_grad=True
            )
            out = run(x, weight if before else weight.detach(), None, stride, padding, dilation, groups)
        return _gradient(out, x, grad_output)

    def with_weight(
        input: Tensor,
        weight_size: Any,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        before = is_grad_enabled()
        with enable_grad():
            w = functions["zeros"](
                tuple(weight_size), dtype=grad_output.dtype, device=grad_output.device, requires_grad=True
            )
            out = run(input if before else input.detach(), w, None, stride, padding, dilation, groups)
        return _gradient(out, w, grad_output)

    for fn, what in ((with_input, "input"), (with_weight, "weight")):
        fn.__name__ = fn.__qualname__ = f"conv{n}d_{what}"
        fn.__doc__ = f"The gradient of `conv{n}d` with respect to its {what}, for the gradient of its result."
    return with_input, with_weight


conv1d_input, conv1d_weight = _define(1, conv1d)
conv2d_input, conv2d_weight = _define(2, conv2d)
conv3d_input, conv3d_weight = _define(3, conv3d)
