"""`torch.return_types`: the named tuples that operations with several results return."""

from __future__ import annotations

from ._core.types.structseq import types as _types

globals().update(vars(_types))
