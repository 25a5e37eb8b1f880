"""Dropout: the random mask is an operand, drawn by the generator of the tensor's device (`random.keep_mask`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..._core.define.missing_dtypes import is_rare
from ..._core.define.op import Array, function, inner_op
from ..._core.define.signature import checked, need_kind
from ..._core.dispatch import torch_dispatch
from ..._core.random import jax_draws
from ..._core.random.generator import draw
from ..._core.tensor import strides
from ..._core.tensor.layouts import strides_of
from ..._core.tensor.tensor import Tensor, from_host, need_tensor
from ..._core.types.device import cpu
from ..common.rules import kind, refuse, scalar_name, unsupported
from ..random.random import keep_mask

_ALPHA = 1.7580993408473766


@inner_op(inplace="_dropped_", promote=False, elementwise=True, grad="MulBackward0")
def _dropped(input: Array, keep: Array, p: float):
    """Kept elements divided by 1 - p; 0 elsewhere, NaN where an infinity is dropped, as in PyTorch."""
    scale = np.zeros((), input.dtype) if p == 1 else np.ones((), input.dtype) / np.asarray(1 - p).astype(input.dtype)
    return input * (keep.astype(input.dtype) * scale)


@inner_op(elementwise=True, grad="AddBackward0")
def _alpha_dropped(input: Array, keep: Array, p: float):
    """Dropped elements take SELU's negative limit; scale and shift keep mean and variance."""
    a = 1.0 / math.sqrt((_ALPHA**2 * p + 1) * (1 - p))
    noise = keep.astype(input.dtype)
    shift = (noise - 1) * np.asarray(_ALPHA * a).astype(input.dtype) + np.asarray(_ALPHA * a * p).astype(input.dtype)
    return input * (noise * np.asarray(a).astype(input.dtype)) + shift


def check_probability(p: float, error: type[Exception] = ValueError) -> None:
    """Raise ValueError, or the error given, unless 0 <= p <= 1; RuntimeError for NaN."""
    if p.__class__ is not float:
        if isinstance(p, (int, float, str)) and not 0 <= p <= 1:  # pyright: ignore[reportOperatorIssue]
            raise error(f"dropout probability has to be between 0 and 1, but got {p}")
        if error is ValueError and isinstance(p, Tensor) and p.numel() != 1:  # which `nn.functional` compares first
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        need_kind("dropout", "p", "float", p)
    if not 0 <= p <= 1:
        raise (error if p == p else RuntimeError)(f"dropout probability has to be between 0 and 1, but got {p}")


def check_dropped(aval: Any, alpha: bool = False) -> None:
    """Only floating-point numbers can be scaled in their own type."""
    if kind(aval) != "float":
        jax_draws.refuse_mapping()  # that comes first
    refuse("bernoulli_scalar_cpu_", aval, "complex")
    if is_rare(aval.dtype):
        unsupported("bernoulli_scalar_cpu_", aval)
    if kind(aval) != "float":
        name = "Long" if alpha and kind(aval) == "bool" else scalar_name(aval)
        raise RuntimeError(f"result type Float can't be cast to the desired output type {name}")


def _drop(input: Tensor, p: float, training: bool, inplace: bool, feature: bool, alpha: bool) -> Tensor:
    aval = need_tensor(input, "dropout")._value.aval
    if training.__class__ is not bool:
        need_kind("feature_dropout" if feature else "dropout", "train", "bool", training)
    if p == 0 or not training or aval.numel == 0:
        return input
    if feature and aval.ndim < 2 and p != 1:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if p != 1:
        check_dropped(aval, alpha)
    if torch_dispatch.opened and torch_dispatch.active() and not alpha:
        return torch_dispatch.rules["_drop"](input, p, inplace, feature)
    shape = aval.shape
    if feature:
        shape = shape[:2] + (1,) * (aval.ndim - 2)
    if feature or input._layout is None or aval.slot is not cpu.slot:
        keep = keep_mask(aval.slot, p, shape)
    else:
        keep = from_host(_mask_in_memory_order(input, p))
    if alpha and p != 1:
        out = _alpha_dropped(input, keep, p)
        return input._rebind(out) if inplace else out
    return _dropped.inplace(input, keep, p) if inplace else _dropped(input, keep, p)


def _mask_in_memory_order(input: Tensor, p: float) -> np.ndarray:
    """PyTorch draws for the elements as they lie in memory, which in a permuted tensor is not their logical order."""
    aval = input._value.aval
    found = strides.preserved(aval.shape, strides_of(input))
    order = sorted(range(aval.ndim), key=lambda dim: (-found[dim], dim))
    mask = draw(None, "dropout_mask", p, tuple([aval.shape[dim] for dim in order]))
    return np.ascontiguousarray(mask.transpose(np.argsort(order)))


def dropped_inside(input: Tensor, p: float, inside: np.ndarray) -> Tensor:
    """Dropout of (T, B, *) that draws only for the steps `inside` (T, B): as for the packed data."""
    aval = input._value.aval
    if aval.slot is not cpu.slot:  # what is outside does not count
        return _dropped(input, keep_mask(aval.slot, p, aval.shape), p)
    keep = np.ones(aval.shape, bool)
    keep[inside] = draw(None, "dropout_mask", p, (int(inside.sum()), *aval.shape[2:]))
    return _dropped(input, from_host(keep), p)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements with probability `p` and scale the rest by 1 / (1 - p); the input itself when not
    training.
    """
    check_probability(p)
    return _drop(input, p, training, inplace, False, False)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout for SELU networks, which keeps mean and variance."""
    check_probability(p)
    return _drop(input, p, training, inplace, False, True)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Alpha dropout of whole channels."""
    check_probability(p)
    return _drop(input, p, training, inplace, True, True)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of a (N, C, L) or (C, L) input."""
    check_probability(p)
    n = input.dim()
    if n not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {n}D input. Note that dropout1d exists "
            "to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
            "optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _drop_channels(input, p, training, inplace, n == 2)


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of a (N, C, H, W) input."""
    check_probability(p)
    n = input.dim()
    if n not in (3, 4):
        _warn_dimensions("dropout2d", n, 2)
    if n == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
            "behavior is desired - "
            "input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
            "change in a future "
            "release to interpret the input as one without a batch dimension, i.e. shape (C, H, W). To "
            "maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _drop(input, p, training, inplace, True, False)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels of a (N, C, D, H, W) or (C, D, H, W) input."""
    check_probability(p)
    n = input.dim()
    if n not in (4, 5):
        _warn_dimensions("dropout3d", n, 3)
    return _drop_channels(input, p, training, inplace, n != 5)


def _drop_channels(input: Tensor, p: float, training: bool, inplace: bool, unbatched: bool) -> Tensor:
    """Dropout of whole channels, which are dimension 1, or dimension 0 where the input has no batch."""
    if not unbatched:
        return _drop(input, p, training, inplace, True, False)
    whole = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = _drop(whole, p, training, inplace, True, False)
    return out.squeeze_(0) if inplace else out.squeeze(0)


def _warn_dimensions(name: str, n: int, spatial: int) -> None:
    warnings.warn(
        f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a "
        "future release. To "
        "retain the behavior and silence this warning, please use dropout instead. Note that "
        f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a "
        "channel dimension, "
        f"and an optional batch dimension (i.e. {spatial + 1}D or {spatial + 2}D inputs).",
        stacklevel=3,
    )


def _torch_form(name: str, feature: bool, alpha: bool, inplace: bool) -> None:
    """`torch.dropout(input, p, train)`, a variant of it, or an in-place form."""

    def dropped(input: Tensor, p: float, train: bool) -> Tensor:
        check_probability(p, RuntimeError)
        return _drop(input, p, train, inplace, feature, alpha)

    dropped.__name__ = dropped.__qualname__ = name + "_" * inplace
    dropped.__doc__ = f"The functional form of torch.nn.functional.{name}, with all arguments."
    function(dropped.__name__)(checked(dropped))


for _inplace in (False, True):
    _torch_form("dropout", False, False, _inplace)
    _torch_form("feature_dropout", True, False, _inplace)
    _torch_form("alpha_dropout", False, True, _inplace)
    _torch_form("feature_alpha_dropout", True, True, _inplace)
