"""`torch.fx.experimental.symbolic_shapes`: names that libraries import; using one raises NotImplementedError."""

from typing import Any

from ..._absent import absent as _absent

globals().update(
    _absent(
        __name__,
        "guard_or_false guard_or_true guard_size_oblivious free_unbacked_symbols free_symbols "
        "statically_known_true ShapeEnv",
        "jaxtorch traces with numbers, not symbols",
    )
)


class GuardOnDataDependentSymNode(RuntimeError):
    """A symbol's value was asked for. Never raised: sizes are numbers."""


def has_free_symbols(val: Any) -> bool:
    """Does a value depend on a size that is left open? Never: every size is a number here."""
    return False
