"""Quantised batch normalisation with `relu`."""

from __future__ import annotations

from ....quantized.modules import batchnorm as _batchnorm


class BNReLU2d(_batchnorm.BatchNorm2d):
    """A quantised BatchNorm2d, then `relu`, in one rounding."""

    _relu = True


class BNReLU3d(_batchnorm.BatchNorm3d):
    """A quantised BatchNorm3d, then `relu`, in one rounding."""

    _relu = True
