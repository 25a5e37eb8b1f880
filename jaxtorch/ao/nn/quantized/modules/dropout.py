"""Quantised dropout."""

from __future__ import annotations

from typing import Any

from ..... import nn


class Dropout(nn.Dropout):
    """The input, in evaluation."""

    def _get_name(self) -> str:
        return "QuantizedDropout"

    def forward(self, input: Any) -> Any:
        return input

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """The layer of a float one."""
        return cls(mod.p, mod.inplace)
