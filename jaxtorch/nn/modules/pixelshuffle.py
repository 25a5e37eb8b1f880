"""Layers that move elements between channels and space."""

from __future__ import annotations

from ..._core.tensor.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """(*, C * r * r, H, W) -> (*, C, H * r, W * r) (Shi et al., 2016)."""

    __constants__ = ["upscale_factor"]
    _extra_repr_names = ("upscale_factor",)

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """(*, C, H * r, W * r) -> (*, C * r * r, H, W); Shi et al. (2016)."""

    __constants__ = ["downscale_factor"]
    _extra_repr_names = ("downscale_factor",)

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Module):
    """Channels of (N, C, *) interleaved from `groups` groups (Zhang et al., 2018)."""

    __module__ = "jaxtorch.nn.modules.channelshuffle"

    __constants__ = ["groups"]
    _extra_repr_names = ("groups",)

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
