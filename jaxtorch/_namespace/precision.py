"""The precision of float32 products, convolutions and recurrent layers: PyTorch's two ways to ask for less than float32.

The older way has one word for products and a flag for convolutions; the newer one `fp32_precision` for each backend and kind
of operation. What the backend 'cuda' is set to acts on GPUs. On the CPU everything is computed in float32, whatever is set.
"""

from __future__ import annotations

import warnings
from typing import Any

from .._core.compile import context as _context

_SUPPORTED = {
    "generic": ("none", "ieee", "tf32", "bf16"),
    "mkldnn": ("none", "ieee", "tf32", "bf16"),
    "cuda": ("none", "ieee", "tf32"),
}
_set: dict[tuple[str, str], str] = {}
"""What was set, by backend and operation."""
_BEGIN = {("cuda", "conv"): "tf32", ("cuda", "rnn"): "tf32"}
"""What PyTorch begins with, where nothing else is set, also not for the whole backend."""
_NAMES = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}
"""What the words of `set_float32_matmul_precision` set for products of 'cuda' and 'mkldnn'."""


class _Older:
    """What was set in the older way."""

    products = "highest"
    convolutions = True


def fp32_precision(backend: str, operation: str) -> str:
    """The precision that applies: the operation's, else the backend's, else the one for all; 'none' where none is set."""
    own = _set.get((backend, operation), "none")
    if own != "none":
        return own
    whole = _set.get((backend, "all"), "none")
    whole = _set.get(("generic", "all"), "none") if whole == "none" else whole
    if whole == "none":
        return "none" if (backend, operation) in _set else _BEGIN.get((backend, operation), "none")
    return whole if whole in _SUPPORTED[backend] else "none"


def set_fp32_precision(backend: str, operation: str, precision: Any) -> None:
    """Set it: 'ieee', 'tf32', 'bf16' or 'none'. RuntimeError for another, or one that the backend has not."""
    if not isinstance(precision, str):
        raise TypeError(
            "_set_fp32_precision_setter(): incompatible function arguments. The following argument types are supported:\n"
            f"    1. (arg0: str, arg1: str, arg2: str) -> str\n\nInvoked with: {backend!r}, {operation!r}, {precision!r}"
        )
    if precision not in _SUPPORTED["generic"]:
        raise RuntimeError(f"Unknown precision: {precision}")
    if precision not in _SUPPORTED[backend]:
        raise RuntimeError(f"backend '{backend}' does not support precision '{precision}'")
    if precision == "none" and operation == "all":
        _set.pop((backend, operation), None)
    else:
        _set[backend, operation] = precision
    _apply()


def _apply() -> None:
    """Tell the engine; programs are traced again where it changes something."""
    products = fp32_precision("cuda", "matmul")
    word = (
        _Older.products if products == "tf32" and _Older.products != "highest" else _IN_WORDS.get(products, "highest")
    )
    _context.set_matmul_precision(word)
    _context.set_convolutions_in_tf32(fp32_precision("cuda", "conv") == "tf32")


_IN_WORDS = {"tf32": "high"}


def _mixed(what: str) -> RuntimeError:
    return RuntimeError(
        f"PyTorch is checking {what}, and the settings made by the older way (allow_tf32, set_float32_matmul_precision) "
        "and by fp32_precision contradict each other. Use only fp32_precision, or only the older way."
    )


def products_in_tf32() -> bool:
    """`torch.backends.cuda.matmul.allow_tf32`. RuntimeError where `fp32_precision` says otherwise."""
    allowed = _Older.products != "highest"
    if allowed != (fp32_precision("cuda", "matmul") == "tf32"):
        raise _mixed("whether allow_tf32 is enabled for products")
    return allowed


def set_products_in_tf32(value: bool) -> None:
    """The same, set: 'high' or 'highest' for the backend 'cuda'."""
    _Older.products = "high" if value else "highest"
    _set["cuda", "matmul"] = "tf32" if value else "ieee"
    _apply()


def convolutions_in_tf32() -> bool:
    """`torch.backends.cudnn.allow_tf32`. RuntimeError where `fp32_precision` says otherwise."""
    found = {fp32_precision("cuda", kind) == "tf32" for kind in ("conv", "rnn")}
    if found != {_Older.convolutions}:
        raise _mixed("whether allow_tf32 is enabled for convolutions and recurrent layers")
    return _Older.convolutions


def set_convolutions_in_tf32(value: bool) -> None:
    """The same, set."""
    _Older.convolutions = value
    for kind in ("conv", "rnn"):
        _set["cuda", kind] = "tf32" if value else "none"
    _apply()


def set_float32_matmul_precision(precision: str) -> None:
    """'highest' (float32, the default), 'high' (TF32 on GPUs) or 'medium' (JAX's fastest); programs are traced again.

    It acts where the hardware has a choice: not on the CPU. Anything else is ignored with a warning.
    """
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision expects a str, but got {type(precision).__name__}")
    if precision not in _NAMES:
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; the current setFloat32MatmulPrecision call has no "
            "effect.",
            stacklevel=2,
        )
        return
    _Older.products = precision
    _set["cuda", "matmul"], _set["mkldnn", "matmul"] = _NAMES[precision]
    _apply()


def get_float32_matmul_precision() -> str:
    """'highest', 'high' or 'medium'. RuntimeError where `fp32_precision` says otherwise."""
    cuda, mkldnn = fp32_precision("cuda", "matmul"), fp32_precision("mkldnn", "matmul")
    if mkldnn not in ("none", "ieee", _NAMES[_Older.products][1]) or (_Older.products == "highest" and cuda == "tf32"):
        raise _mixed("the precision of products")
    return _Older.products
