"""`torch.autograd.forward_ad`: dual tensors, which carry a tangent through every operation while a dual level is open.

with dual_level():
    y = f(make_dual(x, t))
    value, tangent = unpack_dual(y)  # tangent: the derivative of f at x along t
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core.compile.kernel import Entry, Kernel
from .._core.tensor.sparse_value import refuse_compressed
from .._core.tensor.tensor import Tensor, apply_entry
from .._core.transforms import forward_mode
from .._core.types.dtypes import can_cast
from .._core.types.grad_mode import _Decorating

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor, and its tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Open a dual level, in which tensors may have tangents; its number, 0. RuntimeError where one is open already."""
    global _current_level
    forward_mode.enter()
    _current_level = 0
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the dual level: no tensor has a tangent any more."""
    global _current_level
    level = _current_level if level is None else level
    if level != _current_level:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    forward_mode.leave()
    _current_level = -1


class dual_level(_Decorating):
    """Context (or decorator) in which tensors may have tangents; it gives the level's number, 0."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: Any) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """A dual tensor with the values of `tensor`, and `tangent`, of the same shape, as its derivative.

    A tangent of a smaller type is given back as it is; what is computed with it has the tensor's type. The dual has its own memory,
    where PyTorch's shares that of `tensor`: writing to it in place does not change `tensor`.
    """
    level = _current_level if level is None else level
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, t in (("primal", tensor), ("tangent", tangent)):
        if not (t.is_floating_point() or t.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {t.dtype}")
    refuse_compressed((tensor,))
    own, moves = tensor._read(), tangent._read()
    if forward_mode.is_dual(own):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if forward_mode.is_dual(moves):
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    if own.aval.shape != moves.aval.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(own.aval.shape)} while the given forward gradient is of size "
            f"{list(moves.aval.shape)}."
        )
    if not can_cast(moves.aval.dtype, own.aval.dtype) or moves.aval.dtype.itemsize > own.aval.dtype.itemsize:
        raise NotImplementedError(
            f"jaxtorch: make_dual with a tangent of {tangent.dtype} for a tensor of {tensor.dtype}: convert the tangent first"
        )
    dual = _same(tensor)
    forward_mode.set_tangent(dual._value, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of a tensor, without its tangent, and the tangent; None where it has none, or where no level is open."""
    level = _current_level if level is None else level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = forward_mode.tangent_of(tensor._read())
    return UnpackedDualTensor(_same(tensor), tangent)


def _same(t: Tensor) -> Any:
    """The same values with the same history and no tangent."""
    with forward_mode.pausing():
        out = apply_entry(_entry(t._read().aval), [t])
    out._layout = t._layout
    return out


_entries: dict[Any, Any] = {}


def _entry(aval: Any) -> Any:
    found = _entries.get(aval)
    if found is None:
        found = _entries[aval] = Entry(None, Kernel("dual", lambda x: (x,), (aval,), aval.slot), tuple)
        found.pack = _only
        found.grad_name = "ViewBackward0"
    return found


def _only(outs: list[Any]) -> Any:
    return outs[0]


def _is_fwd_grad_enabled() -> bool:
    """Are tangents followed?"""
    return forward_mode.level is None or not forward_mode.level.paused


class _set_fwd_grad_enabled(_Decorating):
    """Context in which tangents are followed or not."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def clone(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.level = forward_mode.level
        if self.level is not None:
            self.before, self.level.paused = self.level.paused, not self.mode

    def __exit__(self, *exc: Any) -> None:
        if self.level is not None:
            self.level.paused = self.before
