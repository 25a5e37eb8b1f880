"""Named constants of the torch namespace: layouts, memory formats, schemes of quantisation."""

from __future__ import annotations

from typing import Any


class _Named:
    """A constant that prints as it is written."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class layout(_Named):
    """The kind of storage of a tensor."""

    __module__ = "jaxtorch"

    def __reduce__(self) -> tuple[Any, ...]:
        return _layout, (self.name,)


class memory_format(_Named):
    """An order of dimensions in memory."""

    __module__ = "jaxtorch"

    def __reduce__(self) -> tuple[Any, ...]:
        return _format, (self.name,)


class qscheme(_Named):
    """How integers stand for the values of a quantised tensor."""

    __module__ = "jaxtorch"

    def __reduce__(self) -> tuple[Any, ...]:
        return _qscheme, (self.name,)


def need_format(function: str, given: Any) -> None:
    """TypeError where an argument is no memory format."""
    if not isinstance(given, memory_format):
        kind = type(given).__name__
        raise TypeError(f"{function}(): argument 'memory_format' must be torch.memory_format, not {kind}")


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
_mkldnn = layout("_mkldnn")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")

_LAYOUTS = {o.name: o for o in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc, jagged, _mkldnn)}
_SCHEMES = {
    o.name: o
    for o in (
        per_tensor_affine, per_channel_affine, per_tensor_symmetric, per_channel_symmetric, per_channel_affine_float_qparams,
    )
}  # fmt: skip
_FORMATS = {o.name: o for o in (contiguous_format, preserve_format, channels_last, channels_last_3d)}


def _layout(name: str) -> layout:
    return _LAYOUTS[name]


def _format(name: str) -> memory_format:
    return _FORMATS[name]


def _qscheme(name: str) -> qscheme:
    """The one of its name, for pickles and copies."""
    return _SCHEMES[name]
