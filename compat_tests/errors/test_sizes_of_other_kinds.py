"""Sizes and dimensions that are given as NumPy's numbers, arrays without dimensions, or tensors: taken and refused as by PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from parity import candidate, reference

CALLS = (
    """
ones(a)|ones((a, 2))|ones(4).view(a, 2)|ones(2).view(a)|ones(4).view((a, 2))|ones(4).reshape(a, 2)|ones(4).reshape((a, 2))
ones(2).reshape(a)|ones(1).expand(a)|ones(1).expand((a,))|ones(2).repeat(a)|ones(2).repeat((a,))|ones(1, 1, 1).permute(a, 0, 1)
ones(1, 1, 1).permute((a, 0, 1))|ones(4).view(2, -1).sum((a - 2,))|ones(4).unflatten(0, (a, 2))|ones(3).tile(a)|ones(3).tile((a,))
ones(3).new_zeros(a)|ones(3).new_ones((a, a))|ones(3).roll((a,), (0,))|ones(3).split(a)|ones(4).split((a, a))|ones(4).chunk(a)
ones(3).narrow(0, a - 2, a)|ones(2, 3).select(1, a)|ones(3).topk(a)[0]|linspace(0, 1, a)|full((a,), 1)|ones(2, 2, 2).flip(a)
broadcast_to(ones(1), (a,))|ones(2, 2, 2).flip((a,))|ones(2, 3, 1).transpose(a, 1)|ones(3, 1).unsqueeze(a)|ones(4).resize_(a)
nn.functional.pad(ones(2), (a, a))|nn.functional.avg_pool2d(ones(1, 1, 4, 4), (a, a))|tile(ones(2), (a,))|reshape(ones(2), (a,))
nn.functional.conv2d(ones(1, 1, 5, 5), ones(1, 1, 2, 2), padding=(a, a))|nn.functional.layer_norm(ones(2), (a,))
ones(2, 2, 2).sum((a, 0))|ones(2, 2, 2).amax((a,))|ones(4).unfold(0, a, a)|tensor_split(ones(4), a)|nn.Linear(a, a).weight.shape
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
KINDS: dict[str, Any] = {
    "array": lambda t: np.array(2),
    "array of int32": lambda t: np.array(2, np.int32),
    "int64": lambda t: np.int64(2),
    "uint8": lambda t: np.uint8(2),
    "tensor": lambda t: t.tensor(2),
    "array of a float": lambda t: np.array(2.0),
    "float64": lambda t: np.float64(2),
    "float": lambda t: 2.0,
    "array of a bool": lambda t: np.array(True),
    "array with a dimension": lambda t: np.array([2]),
}


@pytest.mark.parametrize("kind", KINDS)
def test_sizes(kind: str) -> None:
    different = []
    for call in CALLS:
        found = []
        for t in (reference(), candidate()):
            scope = {"a": KINDS[kind](t), **{n: getattr(t, n) for n in dir(t) if not n.startswith("_") and n in call}}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found.append(str(eval(call, scope)))
                except (TypeError, RuntimeError, ValueError, OverflowError) as error:
                    found.append(type(error).__name__)
        if found[0] != found[1]:
            different.append((call, found))
    assert not different
