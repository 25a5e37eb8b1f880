"""A float layer that rounds what it gives to its `scale` and `zero_point`."""

from __future__ import annotations

from typing import Any

from ....._core.define.op import functions
from ....._quantized import layers


class Scaled:
    """A float layer, and the scale and zero point of its results as buffers."""

    def _named(self: Any, scale: Any, zero_point: Any) -> None:
        self.register_buffer("scale", functions["tensor"](scale))
        self.register_buffer("zero_point", functions["tensor"](zero_point))

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def forward(self: Any, input: Any) -> Any:
        return layers.through(lambda x: super(Scaled, self).forward(x).detach(), input, self.scale, self.zero_point)  # pyright: ignore[reportAttributeAccessIssue]
