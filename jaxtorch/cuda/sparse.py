"""`torch.cuda.sparse`: the old classes of sparse tensors on GPUs."""

from __future__ import annotations

from .._private_names.absent import absent_class

_WHY = "jaxtorch has no classes of sparse tensors for each type and device; torch.sparse_coo_tensor makes them"
BFloat16Tensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor, ShortTensor = (
    absent_class(f"torch.cuda.sparse.{name}Tensor", _WHY)
    for name in "BFloat16 Byte Char Double Float Half Int Long Short".split()
)
