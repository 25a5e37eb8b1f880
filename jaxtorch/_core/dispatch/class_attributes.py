"""Operations as attributes of the user's classes: `activation = torch.tanh` is no method.

PyTorch's operations are built-in functions, which Python does not bind to an instance; here they are Python functions, which it does.
"""

from __future__ import annotations

from types import FunctionType

_BINDING = frozenset(
    """align_tensors atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul
    einsum istft lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique unique_consecutive unravel_index""".split()
)
"""Functions of `torch.functional`, which are written in Python there too."""


def unbind(cls: type) -> None:
    """Let operations among a new class's own attributes be what they are, also where an instance is asked for them."""
    for name, value in list(vars(cls).items()):
        if (
            type(value) is FunctionType
            and (value.__module__ or "").startswith("jaxtorch._ops.")
            and value.__name__ not in _BINDING
            and not str(getattr(cls, "__module__", "")).startswith("jaxtorch.")
        ):
            type.__setattr__(cls, name, staticmethod(value))
