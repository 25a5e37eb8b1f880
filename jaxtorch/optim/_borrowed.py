"""What other libraries' optimizers import from `torch.optim.optimizer`: small helpers around a step written with tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types import dtypes, grad_mode
from .._ops.shapes.complex_views import view_as_real
from .._ops.types.typeinfo import get_default_dtype
from ..nn.parameter import Parameter

_foreach_supported_types = [Tensor, Parameter]
_params_doc = "params: an iterable of tensors, of (name, tensor) pairs, or of dictionaries that each describe a group."
_foreach_doc = "foreach: accepted without effect."
_fused_doc = "fused: accepted without effect."
_capturable_doc = "capturable: accepted without effect on the CPU."
_differentiable_doc = "differentiable: record the step for autograd."
_maximize_doc = "maximize: step along the gradient instead of against it."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """Have a `step` record gradients only where the optimizer is differentiable."""

    @functools.wraps(func)
    def use_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        with grad_mode.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            return func(self, *args, **kwargs)

    return use_grad


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    """(fused, foreach): neither, since there are no such forms to choose."""
    return False, False


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The devices on which a step can be captured."""
    return ["cuda", "xla"] if supports_xla else ["cuda"]


def _get_value(x: Any) -> Any:
    """The number in a tensor of one element; anything else as it is."""
    return x.item() if isinstance(x, Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The argument: a captured call needs no tensor in the place of a list of numbers."""
    return x


def _to_scalar(x: Any) -> Any:
    """A tensor without its dimensions of size 1; a number as it is."""
    return x.squeeze() if isinstance(x, Tensor) and x.dim() != 0 else x


def _get_scalar_dtype(is_fused: bool | None = None) -> dtypes.dtype:
    """The element type of step counts."""
    if is_fused:
        return dtypes.float32
    return dtypes.float64 if get_default_dtype() == dtypes.float64 else dtypes.float32


def _view_as_real(params: list[Tensor], *state_and_grads: list[Tensor]) -> None:
    """Replace, in parallel lists, the tensors at complex parameters by their views as pairs of real numbers."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = view_as_real(tensors[i])


def _disable_dynamo_if_unsupported(single_tensor_fn: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """A decorator that changes nothing: every form of a step is captured alike."""
    return lambda func: func
