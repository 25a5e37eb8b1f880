"""Arguments and results of operations that are defined by a schema: what fits, what it becomes, what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from parity import attempt, parity_test

TYPES = [
    "Tensor", "Tensor?", "int", "SymInt", "float", "bool", "str", "Scalar", "int[]", "SymInt[]", "float[]", "bool[]", "Tensor[]",
    "int?", "float?", "Scalar[]", "int[2]", "int[]?", "str?", "Device",
]  # fmt: skip
VALUES = [
    "None", "1", "1.5", "True", "'a'", "1j", "t.ones(2)", "t.tensor(1.5)", "t.tensor(3)", "np.int64(1)", "np.float32(1.5)", "(1, 2)",
    "[1.5]", "[True]", "[t.ones(1)]", "[None]", "[]", "t.device('cpu')", "'cpu'", "t.Size([1])", "object()",
    "np.bool_(True)", "['a']",
]  # fmt: skip
_numbers = itertools.count()


@pytest.mark.parametrize("kind", TYPES)
@parity_test
def test_arguments(torch: Any, kind: str) -> Any:
    space = f"arguments{next(_numbers)}"
    lib = torch.library.Library(space, "DEF")
    lib.define(f"f({kind} x) -> ()")
    got: list[Any] = []
    lib.impl("f", lambda x: got.append(type(x).__name__), "CompositeExplicitAutograd")
    f = getattr(torch.ops, space).f
    found = []
    for value in VALUES:
        if "[" in kind and value in ("[t.ones(1)]", "[None]", "[True]") and "Tensor" not in kind:
            continue  # what PyTorch makes of each is another question
        for call in (f, f.default):
            told = attempt(lambda value=value, call=call: call(eval(value, {"t": torch, "np": np})))
            found.append((value, getattr(told, "kind", told), got.pop() if got else None))
    return found


CALLS = [
    "f()", "f(x, 1, 2)", "f(x, z=1)", "f(x, x=x)", "f(x, s='a')", "f(x, 1, k=3)", "f(x, s=1)", "f(x=x, k=True)", "f(x, s=t.ones(2))",
]  # fmt: skip


@parity_test
def test_calls(torch: Any) -> Any:
    space = f"calls{next(_numbers)}"
    lib = torch.library.Library(space, "DEF")
    lib.define("f(Tensor x, int k, *, float s=1.0) -> Tensor")
    lib.impl("f", lambda x, k, s=1.0: x * k + s, "CompositeExplicitAutograd")
    scope = {"t": torch, "x": torch.ones(2), "f": getattr(torch.ops, space).f}
    found = [attempt(lambda c=c: eval(c, scope)) for c in CALLS]
    found.append(attempt(lambda: torch.library.Library(space, "DEF")))
    return [getattr(f, "kind", f) for f in found]


def _same(x: Any) -> Any:
    return x


def _view(x: Any) -> Any:
    return x.view(-1)


def _twice(x: Any) -> Any:
    y = x.clone()
    return [y, y[:1]]


def _one_of_two(x: Any) -> Any:
    return [x, x.clone()]


def _number(x: Any) -> Any:
    return 5


def _half(x: Any) -> Any:
    return 1.5


RESULTS = [
    (_same, "Tensor"), (_view, "Tensor"), (_twice, "Tensor[]"), (_one_of_two, "Tensor[]"), (_number, "Tensor"), (_number, "SymInt"),
    (_half, "SymInt"), (_half, "float"), (_number, "float"), (_view, "(Tensor, Tensor)"),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "kind"), RESULTS)
@parity_test
def test_results(torch: Any, fn: Any, kind: str) -> Any:
    """They are what the schema says, and share no memory with the arguments or each other."""
    made = torch.library.custom_op(f"results{next(_numbers)}::f", fn, mutates_args=(), schema=f"(Tensor x) -> {kind}")
    found = [attempt(lambda x=x: made(x)) for x in (torch.ones(2), torch.ones(2, requires_grad=True))]
    return [getattr(f, "kind", type(f).__name__) for f in found]
