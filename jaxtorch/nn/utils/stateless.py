"""`functional_call` under its old name; the new one is `torch.func.functional_call`."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from typing import Any

from ..modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call the module with other parameters and buffers."""
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a future version of "
        "PyTorch. Please use `torch.func.functional_call` instead which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """`torch.func.functional_call` under its name of old."""
    from ...func import functional_call as call

    parameters_and_buffers.keys()  # AttributeError where there are none: it is one dictionary
    return call(module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict)


def _reparametrize_module(
    module: Module,
    parameters_and_buffers: dict[str, Any],
    tie_weights: bool = False,
    strict: bool = False,
    stack_weights: bool = False,
) -> AbstractContextManager[None]:
    """Context in which the module has other parameters and buffers, by name; its own come back last replaced first.

    tie_weights, strict, errors: as `torch.func.functional_call`.
    """
    from ...func._modules import holding

    return holding(module, parameters_and_buffers, tie_weights, strict)
