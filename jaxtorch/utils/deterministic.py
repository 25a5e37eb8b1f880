"""`torch.utils.deterministic`: a setting that PyTorch has."""

from __future__ import annotations

import sys
import types


class _Deterministic(types.ModuleType):
    """The module, with a checked attribute."""

    _fill = True

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Kept and without effect: what `torch.empty` makes is 0 here, whether algorithms must be deterministic or not."""
        return self._fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        self._fill = mode


sys.modules[__name__].__class__ = _Deterministic
