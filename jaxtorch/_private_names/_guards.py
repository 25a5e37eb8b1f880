"""`torch._guards`: what PyTorch's compiler keeps while it traces. Nothing is traced with fake tensors here."""

from __future__ import annotations

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """None: there is no mode of fake tensors."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None: no input is a fake tensor."""
