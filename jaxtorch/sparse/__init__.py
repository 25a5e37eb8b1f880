"""`torch.sparse`: tensors of few values, kept as their places and values.

COO and CSR tensors compute; CSC, BSR and BSC are made, converted and multiplied. Gradients flow through the values. What has no
form for sparse tensors raises NotImplementedError naming the operation. Finding equal places (`coalesce`, a product of two
sparse matrices) reads the indices on the host; a product with a dense matrix does not.
"""

from __future__ import annotations

import sys
from typing import Any

from .._core.define.op import functions as _functions
from .._core.define.signature import once_given
from .._core.tensor.tensor import Tensor, need_tensor, write_out
from .._private_names.absent import absent as _absent
from . import _embedding as _embedding
from . import _methods as _methods
from ._convert import coo_to_csr, csr_to_coo
from ._create import (
    check_sparse_tensor_invariants,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from ._legacy import (
    BFloat16Tensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from ._products import addmm as _addmm
from ._products import hspmm, sampled_addmm, smm, spdiags, spmm_reduce, sspaddmm, sum
from ._products import mm as _mm
from ._products import softmax as _softmax
from ._tensor import SparseTensor as _SparseTensor

torch = sys.modules["jaxtorch"]  # old programs say `torch.sparse.torch.eye`

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT",
    "SparseSemiStructuredTensorCUTLASS", "addmm", "as_sparse_gradcheck", "check_sparse_tensor_invariants", "log_softmax",
    "mm", "sampled_addmm", "softmax", "spdiags", "spsolve", "sum", "to_sparse_semi_structured",
]  # fmt: skip

globals().update(
    _absent(
        __name__,
        "SparseSemiStructuredTensor SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS "
        "to_sparse_semi_structured spsolve as_sparse_gradcheck",
    )
)


def mm(
    mat1: Any = None, mat2: Any = None, reduce: str | None = None, *, sparse: Any = None, dense: Any = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of matrices of which one is sparse at least; dense unless both are.

    reduce: 'sum', 'mean', 'amax' ('max') or 'amin' ('min') in place of the sum over the inner dimension, for a CSR `mat1`.
    """
    mat1, mat2 = [
        once_given("mm", name, given, None, other) if other is not None else need_tensor(given, "mm", name)
        for name, given, other in (("mat1", mat1, sparse), ("mat2", mat2, dense))
    ]
    if reduce is not None:
        return spmm_reduce(mat1, mat2, reduce)
    any_sparse = isinstance(mat1, _SparseTensor) or isinstance(mat2, _SparseTensor)
    found = _mm(mat1, mat2, "SparseAddmmBackward0") if any_sparse else mat1.mm(mat2)
    return found if out is None else write_out(out, found, "mm")


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0) -> Tensor:
    """beta mat + alpha mat1 @ mat2, with a sparse `mat1`."""
    if not isinstance(mat1, _SparseTensor) and not isinstance(mat2, _SparseTensor):
        return input.addmm(mat1, mat2, beta=beta, alpha=alpha)
    return _addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """Softmax along a dimension of a COO tensor; places without a value count as minus infinity."""
    return _softmax(input, dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`."""
    return _softmax(input, dim, dtype=dtype, log=True)


FUNCTIONS: dict[str, Any] = {
    "dsmm": _functions["mm"], "hsmm": hspmm, "hspmm": hspmm, "saddmm": sspaddmm, "smm": smm, "spmm": _functions["mm"],
    "sspaddmm": sspaddmm, "sparse_bsc_tensor": sparse_bsc_tensor, "sparse_bsr_tensor": sparse_bsr_tensor,
    "sparse_compressed_tensor": sparse_compressed_tensor, "sparse_coo_tensor": sparse_coo_tensor,
    "sparse_csc_tensor": sparse_csc_tensor, "sparse_csr_tensor": sparse_csr_tensor,
    "_sparse_coo_tensor_unsafe": sparse_coo_tensor, "_convert_indices_from_coo_to_csr": coo_to_csr,
    "_convert_indices_from_csr_to_coo": csr_to_coo,
}  # fmt: skip
"""What `torch` has of it under these names."""
