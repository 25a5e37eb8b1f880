"""What hooks return in place of gradients, checked as PyTorch does."""

from __future__ import annotations

from typing import Any

from ..tensor.sparse_value import is_sparse
from ..tensor.tensor import Tensor


def _name_of(hook: Any) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


class GradDtype:
    """The first hook of a leaf whose `grad_dtype` is set: gradients take that type (None: keep theirs)."""

    KEY = "grad_dtype"

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype

    def __call__(self, grad: Any) -> Any:
        return None if grad is None or self.dtype is None else grad.to(self.dtype)


def check_replacement(hook: Any, new: Any, old: Any) -> None:
    """Raise PyTorch's errors for what a hook returned in place of the gradient `old`."""
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new.dtype is not old.dtype or is_sparse(new) != is_sparse(old):
        types = f"was {old.type()} got {new.type()}"  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(f"hook '{_name_of(hook)}' has changed the type of value ({types})")
    if new.shape != old.shape:
        raise RuntimeError(f"hook '{_name_of(hook)}' has changed the size of value")


def changed(hook: Any, result: Any, given: tuple[Any, ...], mode: Any) -> list[Any]:
    """What a node's hook returned in place of the gradients it was given, checked as PyTorch does."""
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(given):
        raise RuntimeError(
            f"hook '{_name_of(hook)}' has returned an incorrect number of values (got {len(result)}, but expected {len(given)})"
        )
    for new, old in zip(result, given, strict=True):
        if new is not None:
            check_replacement(hook, new, old)
    return [None if g is None else mode.of_tensor(g) for g in result]
