"""`torch.utils._mode_utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.dispatch import torch_dispatch as _dispatching


class no_dispatch:
    """Context without modes that have a `__torch_dispatch__`."""

    __module__, __qualname__ = "jaxtorch._C", "_DisableTorchDispatch"

    def __enter__(self) -> None:
        self._off = _dispatching.without(-1)
        self._off.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._off.__exit__(*exc)


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Are all modes the same?"""
    return all(mode is modes[0] for mode in modes)
