"""What the tests of TorchScript archives share."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def same(found: Any, wanted: Any) -> None:
    """jaxtorch's results are PyTorch's: the same containers, types and, within float32's rounding, numbers."""
    if isinstance(wanted, torch.Tensor):
        assert str(found.dtype) == str(wanted.dtype)
        np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), rtol=2e-4, atol=1e-5)
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            same(a, b)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        same(list(found.values()), list(wanted.values()))
    else:
        assert found == wanted and type(found) is type(wanted)
