"""`torch.jit._state`: is scripting on? The variable PYTORCH_JIT says so at the start, `enable` and `disable` afterwards."""

from __future__ import annotations

import os
from typing import Any


class EnabledProxy:
    """True where `torch.jit.script` does anything."""

    def __init__(self) -> None:
        self.enabled = self.parse_env("PYTORCH_JIT", True, "> Using PyTorch JIT", "> PyTorch JIT DISABLED")

    def parse_env(self, name: str, default: bool, true_message: str, false_message: str) -> bool:
        """A variable of the environment as a bool: 0 and 1 without a word, others with a message; ValueError for what is neither."""
        value = os.environ.get(name)
        if value is None:
            return default
        if value.lower() in ("1", "true", "yes", "0", "false", "no"):
            return value.lower() in ("1", "true", "yes")
        if value in ("1v", "0v"):
            print(true_message if value == "1v" else false_message)
            return value == "1v"
        raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")

    def __bool__(self) -> bool:
        return self.enabled


_enabled = EnabledProxy()
_script_classes: dict[Any, Any] = {}  # nothing is compiled, so no class is


def disable() -> None:
    """From now on `torch.jit.script` gives back what it is given."""
    _enabled.enabled = False


def enable() -> None:
    """Take `disable` back."""
    _enabled.enabled = True
