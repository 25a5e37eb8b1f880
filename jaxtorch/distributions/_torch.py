"""What the distributions use of the torch namespace, under its own name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .. import linalg, special
from .._core.define.op import functions
from .._core.tensor.tensor import Tensor
from .._core.types import dtypes
from .._core.types.grad_mode import no_grad
from .._core.types.size import Size
from .._namespace.small_functions import broadcast_shapes
from .._ops.types.typeinfo import finfo
from ..nn import functional as F

torch: Any = SimpleNamespace(**functions)
torch.Size, torch.Tensor, torch.no_grad, torch.get_default_dtype = Size, Tensor, no_grad, dtypes.default
torch.float, torch.double, torch.long, torch.bool = dtypes.float32, dtypes.float64, dtypes.int64, dtypes.bool_
torch.finfo = finfo
torch.broadcast_shapes = broadcast_shapes
torch.special_xlogy = functions["xlogy"]
torch.linalg_cholesky = linalg.cholesky
torch.linalg_cholesky_ex = linalg.cholesky_ex
torch.linalg_slogdet = linalg.slogdet
torch.special_i0e, torch.special_i1e = special.i0e, special.i1e
torch.linalg_eigvalsh = linalg.eigvalsh
torch.linalg_vector_norm = linalg.vector_norm
torch.linalg_solve_triangular = linalg.solve_triangular

__all__ = ["F", "Size", "Tensor", "torch"]
