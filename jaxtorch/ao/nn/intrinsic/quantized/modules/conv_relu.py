"""Quantised convolutions with `relu`."""

from __future__ import annotations

from ....quantized.modules import conv as _conv


class ConvReLU1d(_conv.Conv1d):
    """A quantised Conv1d, then `relu`, in one rounding."""

    _relu = True


class ConvReLU2d(_conv.Conv2d):
    """A quantised Conv2d, then `relu`, in one rounding."""

    _relu = True


class ConvReLU3d(_conv.Conv3d):
    """A quantised Conv3d, then `relu`, in one rounding."""

    _relu = True
