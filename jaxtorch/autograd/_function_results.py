"""What the node of an `autograd.Function` says of its outputs, what its backward is given, and what that may return."""

from __future__ import annotations

from typing import Any

from .._core.tensor.tensor import Tensor


def check_gradients(name: str, results: tuple[Any, ...], n: int, tensors: Any) -> None:
    """RuntimeError unless a backward has returned a gradient for each of `n` arguments, and only None where that is no tensor."""
    if len(results) < n or any(r is not None for r in results[n:]):
        raise RuntimeError(
            f"function {name} returned an incorrect number of gradients (expected {n}, got {len(results)})"
        )
    for i, g in enumerate(results[:n]):
        if g is not None and i not in tensors:
            raise RuntimeError(
                f"function {name} returned a gradient different than None at position {i + 1}, but the corresponding forward "
                "input was not a Variable"
            )


class Form:
    """Stands for a GradForm at a node of a Function: how many outputs, and which inputs want gradients."""

    __slots__ = ("name", "n_out", "wanted", "in_avals", "out_avals")

    def __init__(self, name: str, n_out: int, n_in: int, wanted: tuple[int, ...], outs: Any) -> None:
        self.name = name
        self.n_out = n_out
        self.wanted = wanted
        self.in_avals: tuple[Any, ...] = ()
        self.out_avals = outs


def fitted(g: Tensor, aval: Any, name: str, index: int) -> Tensor:
    """A gradient in the shape and type of its input: broadcast dimensions are summed."""
    have = g._value.aval
    if have.shape != aval.shape:
        lead = len(have.shape) - len(aval.shape)
        fits = lead >= 0 and all(a in (1, h) for a, h in zip(aval.shape, have.shape[lead:], strict=True))
        if not fits:
            raise RuntimeError(
                f"Function {name} returned an invalid gradient at index {index} - got {list(have.shape)} but expected shape "
                f"compatible with {list(aval.shape)}"
            )
        g = g.sum_to_size(aval.shape)
    if have.dtype is not aval.dtype:
        g = g.to(aval.dtype)
    return g


def given_once(node: Any) -> Any:
    """What a node has saved; where its Function lets go of it on access, RuntimeError from the second time on."""
    saved = node._saved
    if node._cls.clear_saved_tensors_on_access:
        if saved == "given":
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
                "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        node._saved = "given"
    return saved
