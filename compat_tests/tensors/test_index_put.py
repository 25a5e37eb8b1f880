"""`index_put`, its in-place and its ATen forms, given tensors without dimensions, masks and None: what PyTorch does."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import fuzz_indexing
import jaxtorch
from parity import parity_test, reference

INDICES: dict[str, Callable[[Any], Any]] = {
    "1": lambda t: t.tensor(1),
    "-1": lambda t: t.tensor(-1),
    "2": lambda t: t.tensor(2),
    "int32": lambda t: t.tensor(1, dtype=t.int32),
    "row": lambda t: t.tensor([0, 1]),
    "column": lambda t: t.tensor([[0], [1]]),
    "none": lambda t: t.tensor([], dtype=t.long),
    "mask": lambda t: t.tensor([True, False]),
    "both": lambda t: t.tensor([True, True]),
    "True": lambda t: t.tensor(True),
    "False": lambda t: t.tensor(False),
    "float": lambda t: t.tensor(1.0),
    "None": lambda t: None,
}
FORMS: dict[str, Callable[..., Any]] = {
    "index_put": lambda t, x, i, v, a: x.index_put(i, v, a),
    "index_put_": lambda t, x, i, v, a: x.clone().index_put_(i, v, a),
    "aten": lambda t, x, i, v, a: t.ops.aten.index_put(x, i, v, a),
    "aten_": lambda t, x, i, v, a: t.ops.aten.index_put_(x.clone(), i, v, a),
    "function": lambda t, x, i, v, a: t.index_put(x, list(i), v, a),
    "index": lambda t, x, i, v, a: t.ops.aten.index(x, i),
}
_LONE = {"True", "False"}  # a lone mask without dimensions is an internal error in PyTorch, for values of most shapes


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("first", list(INDICES))
@parity_test
def test_tensors_of_any_shape(torch: Any, form: str, first: str) -> Any:
    seen: list[Any] = []
    values = [torch.tensor(5.0), torch.tensor([5.0, 6.0]), torch.ones(1, 2, 2)]
    for names in [
        (first,),
        *itertools.product([first], INDICES),
        (first, "1", "1"),
        (first, "None", "row"),
        ("None", first, "1"),
    ]:
        if all(n in _LONE or n == "None" for n in names):
            continue
        indices = tuple([INDICES[n](torch) for n in names])
        for value, add, shape in itertools.product(values, (False, True), ((2, 2), (2, 2, 2))):
            x, v = torch.zeros(shape) + torch.arange(2.0), value.clone().requires_grad_()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    found = FORMS[form](torch, x, indices, v, add)
                    if found.requires_grad:
                        (found * torch.arange(1.0, 1 + found.numel()).view(found.shape)).sum().backward()
                    seen.append([found.tolist(), None if v.grad is None else v.grad.tolist()])
                except Exception as error:  # which one is what we compare
                    seen.append(type(error).__name__)
            if form == "index":
                break
    return seen


@pytest.mark.parametrize("seed", range(60))
def test_program_of_indices(seed: int) -> None:
    """Reads and writes at random indices (fuzz_indexing.py)."""
    lines = fuzz_indexing.program(seed)
    assert fuzz_indexing.run(jaxtorch, lines) == fuzz_indexing.run(reference(), lines), "\n".join(lines)
