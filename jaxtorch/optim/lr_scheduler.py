"""`torch.optim.lr_scheduler`: schedules of learning rates.

A learning rate is a number of the update's program, so no schedule compiles anything.
"""

from __future__ import annotations

from ._schedulers.base import EPOCH_DEPRECATION_WARNING, ChainedScheduler, LRScheduler, SequentialLR, _LRScheduler
from ._schedulers.cyclic import CyclicLR, OneCycleLR
from ._schedulers.formulas import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from ._schedulers.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR",
    "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR",
    "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip
_EXTRA = (EPOCH_DEPRECATION_WARNING, _LRScheduler)  # public too, outside `__all__` as in PyTorch

for _name in __all__:
    globals()[_name].__module__ = __name__
_LRScheduler.__module__ = __name__
