"""`torch._C._nn`: the functions of `torch.nn.functional` under another address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .._core.types.device import device as _device
from .._core.types.dtypes import dtype as _dtype
from .._ops.nn import resampling
from .._ops.other_forms import torch_forms
from ..nn import functional as _functional


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """What the arguments of `Module.to` mean: device, dtype, non_blocking, memory format."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    rest = list(args)
    while rest:
        item = rest.pop(0)
        if isinstance(item, Tensor):
            device, dtype = item.device, item.dtype
        elif isinstance(item, _dtype):
            dtype = item
        elif isinstance(item, bool):
            kwargs["non_blocking"] = item
            break
        elif item is not None:
            device = item
    found = None if device is None else _device(device)
    return found, dtype, bool(kwargs.get("non_blocking", False)), kwargs.get("memory_format")


_MODES = {f"upsample_nearest{n}d": ("nearest", n) for n in (1, 2, 3)}
_MODES |= {f"_upsample_nearest_exact{n}d": ("nearest-exact", n) for n in (1, 2, 3)}
_MODES |= {
    "upsample_linear1d": ("linear", 1),
    "upsample_bilinear2d": ("bilinear", 2),
    "upsample_trilinear3d": ("trilinear", 3),
}
_MODES |= {"upsample_bicubic2d": ("bicubic", 2), "_upsample_bilinear2d_aa": ("bilinear", 2)}
_MODES |= {"_upsample_bicubic2d_aa": ("bicubic", 2), "_upsample_lanczos2d_aa": ("lanczos", 2)}


def _upsampling(name: str) -> Callable[..., Any]:
    """What `interpolate` calls: with a size, whether corners are aligned (where the mode asks), and scales, alone or together."""
    mode, n = _MODES[name]
    aligned = not mode.startswith("nearest")

    def upsample(input: Any, output_size: Any, *rest: Any, scale_factors: Any = None, **named: Any) -> Any:
        align = aligned and bool(named["align_corners"] if "align_corners" in named else rest[0])
        given = rest[1:] if aligned and "align_corners" not in named else rest
        factors = given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else scale_factors
        if factors is None:
            scales = [*given, *[v for k, v in named.items() if k.startswith("scales")]]
            factors = None if not scales or scales[0] is None else scales
        if output_size is None:
            if factors is None:
                raise RuntimeError("Must specify exactly one of output_size and scale_factors")
            output_size = [int(size * f) for size, f in zip(input.shape[-n:], factors, strict=True)]
        factors = None if factors is None else tuple(map(float, factors))
        return resampling._upsample(input, tuple(output_size), mode, align, factors, name.endswith("_aa"))

    upsample.__name__ = upsample.__qualname__ = name
    return upsample


_LOSSES = {
    "binary_cross_entropy": "input target weight reduction",
    "cross_entropy_loss": "input target weight reduction ignore_index label_smoothing",
    "huber_loss": "input target reduction delta",
    "l1_loss": "input target reduction",
    "mse_loss": "input target reduction",
    "multi_margin_loss": "input target p margin weight reduction",
    "multilabel_margin_loss": "input target reduction",
    "nll_loss": "input target weight reduction ignore_index",
    "nll_loss2d": "input target weight reduction ignore_index",
    "nll_loss_nd": "input target weight reduction ignore_index",
    "smooth_l1_loss": "input target reduction beta",
    "soft_margin_loss": "input target reduction",
}
"""Losses that take their reduction as a number here, and their parameters."""


def _loss(name: str) -> Callable[..., Any]:
    """The loss of `nn.functional`, its reduction as a number, none where there is none."""
    plain = {"cross_entropy_loss": "cross_entropy", "nll_loss2d": "nll_loss", "nll_loss_nd": "nll_loss"}.get(name, name)
    function, parameters = getattr(_functional, plain), _LOSSES[name].split()

    def loss(*args: Any, **named: Any) -> Any:
        if len(args) > len(parameters):
            raise TypeError(f"{name}() takes {len(parameters)} positional arguments but {len(args)} were given")
        given = dict(zip(parameters, args, strict=False)) | named
        return function(reduction=torch_forms.word(name, given.pop("reduction", 0)), **given)

    loss.__name__ = loss.__qualname__ = name
    return loss


globals().update({name: _upsampling(name) for name in _MODES} | {name: _loss(name) for name in _LOSSES})


def __getattr__(name: str) -> Any:
    name = "logsigmoid" if name == "log_sigmoid" else name
    if name.startswith("__") or not hasattr(_functional, name):
        raise AttributeError(f"module 'torch._C._nn' has no attribute '{name}'")
    return getattr(_functional, name)
