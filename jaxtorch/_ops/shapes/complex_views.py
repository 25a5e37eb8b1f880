"""Views of complex numbers: as pairs of real ones, their parts, and conjugates."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..._core.define.op import Array, function, op
from ..._core.tensor.tensor import Tensor, need_tensor
from ..._core.tensor.views import ViewRule
from ..._core.types import dtypes
from ..types.casting import clone
from .views import _pairs, conjugated, negated

# -- parts


def _complex_layout(size: Any, stride: Any, offset: int, *, k: int) -> Any:
    return size, tuple([2 * s for s in stride]), 2 * offset + k


@op(
    name="_part",
    function=False,
    method=False,
    grad="SelectBackward0",
    view=ViewRule(
        _complex_layout,
        lambda whole, part, k: jax.lax.complex(part, whole.imag) if k == 0 else jax.lax.complex(whole.real, part),
    ),
)
def _part(input: Array, k: int):
    return input.real if k == 0 else input.imag


@function("real")
def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""
    return _part(input, 0) if need_tensor(input, "real").is_complex() else input


@function("imag")
def imag(input: Tensor) -> Tensor:
    """The imaginary part, as a view."""
    if type(input) is not Tensor:
        need_tensor(input, "imag", "input")
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


PROPERTIES = {
    "real": property(real, lambda self, value: _assign(real(self), value), doc="The real part, as a view."),
    "imag": property(imag, lambda self, value: _assign(imag(self), value), doc="The imaginary part, as a view."),
}


def _assign(target: Tensor, value: Any) -> None:
    target.copy_(value) if isinstance(value, Tensor) else target.fill_(value)


# -- pairs


def _as_real_layout(size: Any, stride: Any, offset: int) -> Any:
    return (*size, 2), (*[2 * s for s in stride], 1), 2 * offset


@op(
    function=False,
    method=False,
    view=ViewRule(_as_real_layout, lambda whole, part: jax.lax.complex(part[..., 0], part[..., 1])),
    name="view_as_real",
)
def _view_as_real(input: Array):
    if not jnp.iscomplexobj(input):
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _pairs(input)


@function("view_as_real")
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as pairs of real numbers in a new last dimension."""
    if type(input) is not Tensor:
        need_tensor(input, "view_as_real", "input")
    if conjugated(input):
        raise RuntimeError(
            "view_as_real: the tensor is an unresolved conj(), whose imaginary parts are not in memory; resolve_conj() gives a copy"
        )
    return _view_as_real(input)


def _as_complex_layout(size: Any, stride: Any, offset: int) -> Any:
    if size and stride[-1] != 1:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(s % 2 for s in stride[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if offset % 2:
        raise RuntimeError("Tensor must have a storage_offset divisible by 2")
    return size[:-1], tuple([s // 2 for s in stride[:-1]]), offset // 2


@op(method=False, view=ViewRule(_as_complex_layout, lambda whole, part: _pairs(part)))
def view_as_complex(input: Array):
    """A real tensor whose last dimension has size 2 as complex numbers."""
    if input.dtype not in (jnp.float32, jnp.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + dtypes.scalar_name(dtypes.from_numpy(input.dtype))
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return jax.lax.complex(input[..., 0], input[..., 1])


# -- conjugates


def _same_layout(size: Any, stride: Any, offset: int) -> Any:
    return size, stride, offset


@op(
    function=False,
    method=False,
    view=ViewRule(_same_layout, lambda whole, part: jnp.conj(part)),
    grad="ConjBackward0",
)
def _conj(input: Array):
    """The complex conjugate, sharing memory with the input."""
    return jnp.conj(input)


@function("conj", method=True)
def conj(input: Tensor) -> Tensor:
    """The complex conjugate as a view: writes to one show in the other. A real tensor is returned itself."""
    return _conj(input) if need_tensor(input, "conj")._value.aval.dtype.is_complex else input


@function("is_conj", method=True)
def is_conj(input: Tensor) -> bool:
    """Is the tensor a conjugating view of its memory?"""
    return conjugated(input)


@function("is_neg", method=True)
def is_neg(input: Tensor) -> bool:
    """Is the tensor a negating view of its memory? The imaginary part of a conjugating view is one."""
    return negated(input)


@function("resolve_conj", method=True)
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a conjugating view; any other tensor itself."""
    if type(input) is not Tensor:
        need_tensor(input, "resolve_conj", "input")
    return clone(input) if is_conj(input) else input


@function("resolve_neg", method=True)
def resolve_neg(input: Tensor) -> Tensor:
    """A copy of a negating view; any other tensor itself."""
    if type(input) is not Tensor:
        need_tensor(input, "resolve_neg", "input")
    return clone(input) if negated(input) else input
