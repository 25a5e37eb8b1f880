"""`torch.return_types`: the named tuples that operations with several results return."""

from __future__ import annotations

from ._core.structseq import types as _types

globals().update(vars(_types))
