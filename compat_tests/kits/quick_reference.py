"""PyTorch, the reference, without work for its own tests and for absent devices, which takes longer the deeper the stack is."""

from __future__ import annotations

import functools
import warnings
from types import ModuleType


def seed_no_absent_devices() -> None:
    """`torch.manual_seed` formats the whole stack, and keeps it, for each kind of device that may be set up later."""
    import torch

    for device in (torch.cuda, torch.xpu, torch.mtia):
        if not device.is_available():
            device.manual_seed_all = functools.wraps(device.manual_seed_all)(lambda seed: None)


@functools.cache
def databases() -> ModuleType:
    """PyTorch's databases of operations, whose samples do not look for a running unittest in the whole stack."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_methods_invocations, common_utils
        from torch.testing._internal.opinfo import core

    for module in (common_utils, core):
        module.extract_test_fn = lambda: None
    return common_methods_invocations
