"""`torch.masked`: reductions and normalisations over the elements that a boolean mask selects.

Masked-out elements count as the operation's identity: 0 in a sum, infinity in a minimum. `MaskedTensor` does not exist.
"""

from __future__ import annotations

from typing import Any

from ._ops import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def is_masked_tensor(obj: Any, /) -> bool:
    """False: jaxtorch has no `MaskedTensor`."""
    return False
