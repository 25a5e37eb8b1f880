"""Autocast for 'cuda'."""

from __future__ import annotations

import functools
import warnings
from typing import Any

from ... import amp
from ..._core.types import dtypes


class autocast(amp.autocast):
    """Deprecated: `torch.amp.autocast('cuda', ...)`."""

    def __init__(self, enabled: bool = True, dtype: Any = dtypes.float16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cuda", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """Deprecated: `torch.amp.custom_fwd(device_type='cuda')`."""
    _warn("custom_fwd")
    return functools.partial(amp.custom_fwd, device_type="cuda")(fwd, cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """Deprecated: `torch.amp.custom_bwd(device_type='cuda')`."""
    _warn("custom_bwd")
    return functools.partial(amp.custom_bwd, device_type="cuda")(bwd)


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}(args..., device_type='cuda')` "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )
