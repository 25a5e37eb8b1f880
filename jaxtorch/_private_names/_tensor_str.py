"""`torch._tensor_str`: the text of tensors, under the names that libraries borrow."""

from __future__ import annotations

from typing import Any

from .._core.tensor import printing as _printing
from .._core.tensor.printing import printoptions as printoptions
from .._core.tensor.printing import set_printoptions as set_printoptions
from .._core.tensor.tensor import Tensor


def __getattr__(name: str) -> Any:
    if name == "PRINT_OPTS":  # the options in force: setting them makes new ones
        return _printing._options
    raise AttributeError(f"module 'torch._tensor_str' has no attribute '{name}'")


def _tensor_str(self: Tensor, indent: int) -> str:
    """The values of a tensor, as they stand between `tensor(` and `)`."""
    data: Any = self.detach().resolve_conj().cpu().numpy()
    return _printing._body(data, tuple(self.shape), indent)


def _add_suffixes(tensor_str: str, suffixes: list[str], indent: int, force_newline: bool) -> str:
    """The text with its suffixes (`dtype=...`), on a new line where they do not fit, and a closing bracket."""
    text = tensor_str
    last = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if force_newline or last + len(suffix) + 2 > _printing._options.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
            force_newline = False
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"
