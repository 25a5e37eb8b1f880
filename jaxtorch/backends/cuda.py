"""`torch.backends.cuda`: the precision of float32 products, and the choice of attention kernels, which XLA makes."""

from __future__ import annotations

import contextlib as _contextlib
import enum as _enum
from collections.abc import Iterator as _Iterator
from typing import Any

from .._core.types.warn_once import deprecated as _deprecated
from .._namespace import precision as _precision
from .._namespace.switches import expect_bool as _expect_bool
from ..cuda import is_available as _is_available
from . import _flags

__all__ = [
    "SDPAParams", "allow_fp16_bf16_reduction_math_sdp", "can_use_cudnn_attention", "can_use_efficient_attention",
    "can_use_flash_attention", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed", "is_built",
    "is_ck_sdpa_available", "is_flash_attention_available", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled",
    "sdp_kernel",
]  # fmt: skip


@_deprecated(
    "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
    "`torch.nn.attention.sdpa_kernel()`."
)
@_contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> _Iterator[dict[str, bool]]:
    """Deprecated: `torch.nn.attention.sdpa_kernel`. Keeps the settings inside the context; XLA makes the kernels."""
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)


class _Matmul(_flags.Operation):
    """Precision of matrix products on GPUs. `allow_tf32` is `torch.set_float32_matmul_precision("high")`.

    The switches for sums of 16-bit products are kept; XLA sums them in float32. Other attributes are refused.
    """

    def __init__(self) -> None:
        super().__init__("cuda", "matmul")
        self.__dict__.update(_kept=dict.fromkeys(_REDUCTIONS, True) | {"allow_fp16_accumulation": False})

    def __getattr__(self, name: str) -> Any:
        if name == "allow_tf32":
            return _precision.products_in_tf32()
        return self._kept[name] if name in self._kept else super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _REDUCTIONS:
            self._kept[name] = _reduction(name, value)
        elif name in ("allow_tf32", "allow_fp16_accumulation"):
            _expect_bool(f"set_{name}_cublas", value)
            if name == "allow_tf32":
                _precision.set_products_in_tf32(value)
            else:
                self._kept[name] = value
        else:
            super().__setattr__(name, value)


_REDUCTIONS = ("allow_fp16_reduced_precision_reduction", "allow_bf16_reduced_precision_reduction")


def _reduction(name: str, value: Any) -> bool:
    """Whether sums may be less precise: a bool, or that and whether products may be split."""
    parts: tuple[Any, ...] = (
        (value, True) if isinstance(value, bool) else tuple(value) if isinstance(value, (tuple, list)) else ()
    )
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, bool) for part in parts):
        raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)}")
    if parts[0] and parts[-1] is False:
        raise RuntimeError("allow_splitk=False is not supported when reduced precision reductions are enabled")
    return parts[0]


matmul = _Matmul()
_sdp = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduction": False}


def is_built() -> bool:
    """Does JAX run on GPUs here?"""
    return _is_available()


class _SDPAParams:
    """What decides which kernel PyTorch's attention takes on GPUs."""

    def __init__(
        self, query: Any, key: Any, value: Any, attn_mask: Any, dropout: float, is_causal: bool, enable_gqa: bool
    ) -> None:
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


SDPAParams = _SDPAParams


def can_use_flash_attention(params: _SDPAParams, debug: bool = False) -> bool:
    """Always False: there are no kernels of PyTorch's own, XLA makes them."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["reduction"] = _expect_bool("set_sdp_use_math", enabled)


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What `allow_fp16_bf16_reduction_math_sdp` has set; it changes nothing."""
    return _sdp["reduction"]


def is_ck_sdpa_available() -> bool:
    """Always False: there are no kernels of PyTorch's own, XLA makes them."""
    return False


def is_flash_attention_available() -> bool:
    """Always False: there are no kernels of PyTorch's own, XLA makes them."""
    return False


def flash_sdp_enabled() -> bool:
    """What `enable_flash_sdp` has set; it changes nothing."""
    return _sdp["flash"]


def enable_flash_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["flash"] = _expect_bool("set_sdp_use_math", enabled)


def mem_efficient_sdp_enabled() -> bool:
    """What `enable_mem_efficient_sdp` has set; it changes nothing."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["mem_efficient"] = _expect_bool("set_sdp_use_math", enabled)


def math_sdp_enabled() -> bool:
    """What `enable_math_sdp` has set; it changes nothing."""
    return _sdp["math"]


def enable_math_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["math"] = _expect_bool("set_sdp_use_math", enabled)


def cudnn_sdp_enabled() -> bool:
    """What `enable_cudnn_sdp` has set; it changes nothing."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keeps the setting, which changes nothing: XLA makes the kernels."""
    _sdp["cudnn"] = _expect_bool("set_sdp_use_cudnn", enabled)


def _preferred(name: str, kinds: str, here: str) -> Any:
    """A function that says which library would compute, and refuses names that PyTorch does not know."""
    choices: Any = _enum.Enum(name, [k.capitalize() for k in kinds.split(", ")], module="jaxtorch._C")
    found = choices[here]

    def preferred(backend: Any = None) -> Any:
        if not isinstance(backend, str | type(found) | None):
            raise RuntimeError("Unknown input value type.")
        if isinstance(backend, str) and backend not in kinds.split(", "):
            raise RuntimeError(f"Unknown input value. Choose from: {kinds}.")
        if backend not in (None, "default", found, found.name.lower()):
            raise NotImplementedError("XLA chooses the library of an operation; no other can be set")
        return found

    return preferred


preferred_linalg_library = _preferred("_LinalgBackend", "default, cusolver, magma", "Default")
preferred_blas_library = _preferred("_BlasBackend", "default, cublas, hipblas, cublaslt, hipblaslt, ck", "Cublas")
preferred_rocm_fa_library = _preferred("_ROCmFABackend", "default, aotriton, ck", "Default")
