"""`torch.func.rearrange`: dimensions by name, in the notation of einops (Rogozhnikov 2022)."""

from __future__ import annotations

import math
import re
from typing import Any

from .._core.define.op import functions
from .._core.tensor.tensor import Tensor

_ELLIPSIS = "..."
_BARE = [_ELLIPSIS]
"""The group of an ellipsis outside of parentheses, the very object."""


def _side(text: str, whole: str) -> list[list[str]]:
    """The groups of one side; a dimension by itself is a group of one name, `1` and `()` are empty groups."""
    tokens = re.findall(r"\.\.\.|[()]|[^\s()]+", text)
    groups: list[list[str]] = []
    inside = False
    for token in tokens:
        if token in "()":
            if inside == (token == "("):
                raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
            inside = token == "("
            if inside:
                groups.append([])
            continue
        if token.isdigit():
            if token != "1":
                raise ValueError("rearrange only supports unnamed axes of size 1")
            name = []
        elif token != _ELLIPSIS and (not token.isidentifier() or token.startswith("_") or token.endswith("_")):
            raise ValueError(f"Invalid axis identifier: {token} in '{whole}'")
        else:
            name = [token]
        if inside:
            groups[-1] += name
        else:
            groups.append(_BARE if token == _ELLIPSIS else name)
    if inside:
        raise ValueError(f"Imbalanced parentheses in expression: '{text}'")
    names = [n for g in groups for n in g]
    for n in names:
        if names.count(n) > 1:
            raise ValueError(f"Indexing expression contains duplicate dimension '{n}'")
    return groups


def _sizes(groups: list[list[str]], shape: Any, given: dict[str, int]) -> dict[str, int]:
    """The size of every name on the left; one name of a group may be left open."""
    found: dict[str, int] = {}
    for group, n in zip(groups, shape, strict=True):
        if not group and n != 1:
            raise ValueError(
                f"rearrange: an axis of the pattern has size 1, but got {n} in the tensor's shape {list(shape)}"
            )
        if len(group) == 1 and group[0] not in given:
            found[group[0]] = n
            continue
        open_ = [name for name in group if name not in given]
        known = math.prod([given[name] for name in group if name in given])
        if len(open_) > 1:
            raise ValueError(f"rearrange: cannot infer the sizes of two dimensions at once: {', '.join(open_)}")
        if (known and n % known) or (not open_ and known != n):
            raise ValueError(
                f"rearrange: dimension sizes do not match: ({' '.join(group)}) has {known}, the tensor {n}"
            )
        found.update({name: given[name] for name in group if name in given})
        if open_:
            found[open_[0]] = n // known if known else 0
    return found


def rearrange(tensor: Tensor | list[Tensor] | tuple[Tensor, ...], pattern: str, **axes_lengths: int) -> Tensor:
    """The tensor with its dimensions permuted, split and joined as a pattern says: "batch (h w) c -> batch c h w".

    tensor: of any shape; tensors of one shape in a list are stacked along a new first dimension. Parentheses join dimensions, `...`
    stands for any number of them, `1` or `()` for one of size 1. axes_lengths: sizes, where a pattern splits a dimension.

    ValueError for a pattern that is not well-formed or does not fit (in PyTorch a DimensionBindError for some of these).

        >>> torch.func.rearrange(torch.arange(6).view(2, 3), "rows columns -> columns rows").tolist()
        [[0, 3], [1, 4], [2, 5]]
    """
    whole: Tensor = tensor if isinstance(tensor, Tensor) else functions["stack"](tensor)
    halves = pattern.split("->")
    if len(halves) != 2:
        raise ValueError("Pattern must contain a single '->' separator")
    left, right = _side(halves[0], pattern), _side(halves[1], pattern)
    names, wanted = ({n for g in side for n in g} for side in (left, right))
    if names ^ wanted:
        raise ValueError(f"Identifiers only on one side of rearrange expression (should be on both): {names ^ wanted}")
    if set(axes_lengths) - names:
        raise ValueError(f"Identifiers not found in rearrange expression: {set(axes_lengths) - names}")
    if any(_ELLIPSIS in g and g is not _BARE for g in left):
        raise ValueError(f"Ellipsis is parenthesis in the left side is not allowed: {pattern}")
    if _BARE in left:
        at = left.index(_BARE)
        rest = [f"{_ELLIPSIS}{i}" for i in range(whole.dim() - len(left) + 1)]
        left[at : at + 1] = [[name] for name in rest]
        right = _filled(right, rest)
    if len(left) != whole.dim():
        raise ValueError(
            f"Number of dimensions in pattern ({len(left)}) must be equal to the number of dimensions in the tensor "
            f"({whole.dim()})"
        )
    sizes = _sizes(left, whole.shape, axes_lengths)
    order = [n for g in left for n in g]
    flat = whole.reshape([sizes[n] for n in order]).permute([order.index(n) for g in right for n in g])
    return flat.reshape([math.prod([sizes[n] for n in g]) for g in right])


def _filled(groups: list[list[str]], rest: list[str]) -> list[list[str]]:
    """The right side with the names that `...` stands for."""
    found: list[list[str]] = []
    for group in groups:
        if group is _BARE:
            found += [[name] for name in rest]
        else:
            found.append([n for name in group for n in (rest if name == _ELLIPSIS else [name])])
    return found
