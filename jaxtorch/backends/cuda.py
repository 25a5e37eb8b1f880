"""`torch.backends.cuda`: the precision of float32 products, and the choice of attention kernels, which XLA makes."""

from __future__ import annotations

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator

from .. import _precision
from .._core.warned import warn as _warn
from ..cuda import is_available as _is_available

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
    "flash_sdp_enabled", "is_built", "is_flash_attention_available", "math_sdp_enabled", "matmul",
    "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


@_contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> _Iterator[dict[str, bool]]:
    """Deprecated: `torch.nn.attention.sdpa_kernel`. Keeps the settings inside the context; XLA makes the kernels."""
    _warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()`.",
        FutureWarning,
    )
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)


class _Matmul:
    """Precision of matrix products on GPUs. `allow_tf32` is `torch.set_float32_matmul_precision("high")`.

    The switches for reduced-precision sums of 16-bit products are kept; XLA sums them in float32.
    """

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True
    allow_fp16_accumulation = False

    @property
    def allow_tf32(self) -> bool:
        """May float32 products be computed in TF32?"""
        return _precision.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        _precision.set_float32_matmul_precision("high" if value else "highest")


matmul = _Matmul()
_sdp = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True}


def is_built() -> bool:
    """Does JAX run on GPUs here?"""
    return _is_available()


def is_flash_attention_available() -> bool:
    """Always False: there are no kernels of PyTorch's own, XLA makes them."""
    return False


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` has set; it changes nothing."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["flash"] = bool(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` has set; it changes nothing."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["mem_efficient"] = bool(enabled)


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` has set; it changes nothing."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["math"] = bool(enabled)


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` has set; it changes nothing."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["cudnn"] = bool(enabled)
