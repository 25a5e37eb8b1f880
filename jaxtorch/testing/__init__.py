"""`torch.testing`: comparing tensors, and making some to test with."""

from __future__ import annotations

from ._comparison import assert_allclose, assert_close
from ._creation import make_tensor
from ._file_check import FileCheck

__all__ = ["FileCheck", "assert_allclose", "assert_close", "make_tensor"]
