"""`torch.fft`: discrete Fourier transforms."""

# ruff: noqa: F401 - what is imported here is the namespace
from __future__ import annotations

from .._core.define.op import names_of_its_own as _names_of_its_own
from .._core.tensor.tensor import Tensor
from .._ops.fft.fft import fft2, fftfreq, fftshift, hfft2, ifft2, ifftshift, ihfft2, irfft2, rfft2, rfftfreq
from .._ops.fft.fft import fft_fft as fft
from .._ops.fft.fft import fft_fftn as fftn
from .._ops.fft.fft import fft_hfft as hfft
from .._ops.fft.fft import fft_hfftn as hfftn
from .._ops.fft.fft import fft_ifft as ifft
from .._ops.fft.fft import fft_ifftn as ifftn
from .._ops.fft.fft import fft_ihfft as ihfft
from .._ops.fft.fft import fft_ihfftn as ihfftn
from .._ops.fft.fft import fft_irfft as irfft
from .._ops.fft.fft import fft_irfftn as irfftn
from .._ops.fft.fft import fft_rfft as rfft
from .._ops.fft.fft import fft_rfftn as rfftn

__all__ = [n for n in sorted(globals()) if n[0] != "_" and n != "annotations"]  # pyright: ignore[reportUnsupportedDunderAll]

_names_of_its_own(globals(), __all__)
