"""`torch._inductor`: PyTorch's compiler. XLA is the one here."""

from __future__ import annotations

from typing import Any

from . import config as config


def cudagraph_mark_step_begin() -> None:
    """Nothing to do: no graphs of kernels are kept."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """What a mode of `torch.compile` sets: nothing."""
    return {} if mode is not None else {"default": {}, "reduce-overhead": {}, "max-autotune": {}}


def list_options() -> list[str]:
    """The options of the compiler: none."""
    return []
