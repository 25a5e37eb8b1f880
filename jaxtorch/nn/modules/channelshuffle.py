"""Where PyTorch has `ChannelShuffle`."""

from __future__ import annotations

from .pixelshuffle import ChannelShuffle

__all__ = ["ChannelShuffle"]
