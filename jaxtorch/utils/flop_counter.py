"""`torch.utils.flop_counter`: counting operations' arithmetic, which jaxtorch does not do."""

from __future__ import annotations

from typing import Any

__all__ = ["FlopCounterMode"]

_REASON = (
    "jaxtorch does not count arithmetic; compile with jax.jit(...).lower(...).compile() and ask for cost_analysis()"
)


class FlopCounterMode:
    """A counter that can be made and asked, and has counted nothing; entering it raises NotImplementedError."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.depth = depth
        self.display = display

    def __enter__(self) -> Any:
        raise NotImplementedError(f"torch.utils.flop_counter.FlopCounterMode: {_REASON}")

    def __exit__(self, *exc: Any) -> None:
        pass

    def get_total_flops(self) -> int:
        """0: nothing has been counted."""
        return 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Nothing has been counted."""
        return {}
