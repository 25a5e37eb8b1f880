"""Transposes of all dimensions and of the last two: `adjoint`, and the properties `T`, `mT`, `H` and `mH`."""

from __future__ import annotations

from ..._core.define.op import function
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.types import warn_once
from .views import permute, transpose


@function("adjoint", method=True)
def adjoint(input: Tensor) -> Tensor:
    """The conjugate transpose of the last two dimensions."""
    if need_tensor(input, "adjoint").ndim == 0:
        warn_once.once("adjoint() is deprecated on 0-D tensors. Consider using x.conj().")
        return input.conj()
    if input.ndim == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )
    out = transpose(input, -2, -1)
    return out.conj() if input.is_complex() else out


def _reversed(self: Tensor) -> Tensor:
    if self.ndim == 0:
        warn_once.once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif self.ndim != 2:
        warn_once.once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Use `x.mT` for batches of matrices, or `x.permute` with the dimensions reversed."
        )
    return permute(self, tuple(range(self.ndim - 1, -1, -1)))


def _matrix_transposed(self: Tensor) -> Tensor:
    if self.ndim == 0:
        warn_once.once("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.")
        return self
    if self.ndim == 1:
        raise RuntimeError(f"tensor.mT is only supported on matrices or batches of matrices. Got {self.ndim}-D tensor.")
    return transpose(self, -2, -1)


def _hermitian(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.")
    if self.ndim == 2:
        return adjoint(self)
    warn_once.once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    return self.conj()


def _batch_hermitian(self: Tensor) -> Tensor:
    if self.ndim == 0:
        warn_once.once("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().")
        return self.conj()
    return adjoint(self)


PROPERTIES = {
    "T": property(_reversed, doc="All dimensions in reverse order."),
    "mT": property(_matrix_transposed, doc="The last two dimensions exchanged."),
    "H": property(_hermitian, doc="The conjugate transpose of a matrix."),
    "mH": property(_batch_hermitian, doc="The conjugate transpose of the last two dimensions."),
}
