"""`torch.fx.experimental.symbolic_shapes`: names that libraries import; using one raises NotImplementedError."""

from typing import Any


class GuardOnDataDependentSymNode(RuntimeError):
    """A symbol's value was asked for. Never raised: sizes are numbers."""


def has_free_symbols(val: Any) -> bool:
    """Does a value depend on a size that is left open? Never: every size is a number here."""
    return False
