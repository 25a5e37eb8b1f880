"""Bad arguments: what PyTorch refuses is refused with the same exception, what it takes is taken and gives the same.

`bad_argument_lines.txt` and `bad_argument_objects.txt` (of layers, optimizers, distributions, datasets and the like) hold calls
found to differ once, and their relatives. `bad_arguments.py` replaces one argument of valid
calls from PyTorch's databases; some of its cases are run here, thousands by the program itself. `keyword_names.py` gives
arguments by name.
"""

from __future__ import annotations

import copy
import io
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import bad_argument_calls
import bad_arguments
from conftest import TABLES
from parity import candidate, parity_test

LINES = (TABLES / "bad_argument_lines.txt").read_text().splitlines()
OBJECTS = (TABLES / "bad_argument_objects.txt").read_text().splitlines()
PART = 30


def _scope(torch: Any) -> dict[str, Any]:
    x = torch.arange(16.0).reshape(4, 4)
    return {
        "torch": torch, "F": torch.nn.functional, "nn": torch.nn, "optim": torch.optim, "D": torch.distributions, "x": x, "np": np,
        "nan": float("nan"), "inf": float("inf"), "io": io, "copy": copy, "p": torch.ones(3, requires_grad=True),
        "p2": torch.ones(3, 3, requires_grad=True), "rg": torch.ones(4, 4, requires_grad=True),
    }  # fmt: skip


def _outcome(torch: Any, line: str, scope: Any = None) -> Any:
    scope = _scope(torch) if scope is None else scope
    if not line.startswith("W:"):
        return bad_arguments.run(torch, lambda: eval(line, scope), (), {})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        eval(line.removeprefix("W:"), scope)
    return [" ".join(str(w.message).split()[:6]) for w in caught]


@pytest.mark.parametrize("first", range(0, len(LINES), PART))
def test_lines(first: int) -> None:
    found = []
    for line in LINES[first : first + PART]:
        theirs, ours = [_outcome(t, line) for t in (torch, candidate())]
        how = bad_arguments.differs(theirs, ours)
        if how:
            found.append((line, how, bad_arguments._text(theirs), bad_arguments._text(ours)))
    assert not found


@pytest.mark.parametrize("first", range(0, len(OBJECTS), PART))
def test_lines_of_objects(first: int) -> None:
    found = []
    for line in OBJECTS[first : first + PART]:
        theirs, ours = [_outcome(t, line, bad_argument_calls.Scope(t)) for t in (torch, candidate())]
        how = bad_arguments.differs(theirs, ours)
        if how:
            found.append((line, how, bad_arguments._text(theirs), bad_arguments._text(ours)))
    assert not found


def test_the_valid_calls_are_valid() -> None:
    assert not list(bad_argument_calls.checked())


def test_the_lines_refuse_and_take() -> None:
    """The lines hold both kinds, so that neither a refusal of all nor of none would pass."""
    refused = sum(isinstance(_outcome(torch, line), Exception) for line in LINES[::10])
    assert 10 < refused < len(LINES[::10]) - 5


@pytest.mark.parametrize("source", bad_arguments.SOURCES)
def test_one_bad_argument(source: str) -> None:
    """At least 97 of 100 of a sample agree; the whole is run by `bad_arguments.py`."""
    step = {"tables": 9, "lines": 40, "modules": 12, "operators": 40}[source]
    found, count = [], 0
    for case in itertools.islice(bad_arguments.cases(1, 1, sources=[source]), 3, None, step):
        both = bad_arguments.outcomes(case)
        if both is None:
            continue
        count += 1
        how = bad_arguments.differs(*both)
        if how:
            found.append((str(case), how, *map(bad_arguments._text, both)))
    assert count > 40
    assert len(found) <= count * 0.03, found


@parity_test
def test_names_of_arguments(torch: Any) -> Any:
    x, v = torch.arange(4.0).reshape(2, 2) + 1, torch.tensor([1.0, 3.0])
    return [
        torch.add(x1=x, x2=x), torch.abs(x=x), torch.sum(a=x, axis=0, keepdims=True), torch.pow(self=2, exponent=x),
        torch.remainder(self=5, other=x), torch.max(x=x, axis=1)[0], x.sum(axis=0), torch.det(x=x),
        torch.bucketize(self=2, boundaries=v), torch.narrow(x=x, axis=0, start=0, length=1), x.narrow(axis=1, start=0, length=1),
        torch.special.softmax(x, axis=0), torch.sparse.mm(sparse=x.to_sparse(), dense=x), torch.fill_(input=x.clone(), value=2),
        torch.sparse.addmm(input=x, mat1=x.to_sparse(), mat2=x), torch.zero_(input=x.clone()), torch.abs_(input=-x),
        torch.nn.functional.one_hot(input=torch.tensor([1])), torch.nn.functional.normalize(x, 2.0, 1, 1e-8, torch.empty(0)),
        torch.threshold_(x=x.clone(), threshold=2.0, value=0.0),
        torch.index_put_(input=x.clone(), indices=(torch.tensor([0]),), values=v),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["nn.functional.g", "linalg.m", "special.z", "fft.f", "index_", "to"])
def test_names_from_schemas(text: str) -> None:
    import keyword_names

    assert not list(keyword_names.refused(text))
    assert keyword_names.counts["alike"] > 5


def test_names_of_objects_arguments() -> None:
    """Constructors, methods and functions of layers, optimizers, distributions and the like, by PyTorch's names."""
    import keyword_names

    keyword_names.counts.clear()
    assert not list(keyword_names.refused_lines(step=7))
    assert keyword_names.counts["alike"] > 70


@parity_test
def test_results_of_out_have_types_of_their_own(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(2, 3)

    def named(function: Any, *kinds: Any) -> list[Any]:
        found = function(tuple([torch.empty(0, dtype=k) for k in kinds]))
        return [
            type(found).__name__,
            type(found) is type(function(None)),
            list(found._fields if hasattr(found, "_fields") else []),
        ]

    f, i = torch.float32, torch.int64
    return [
        named(lambda out: torch.max(x, 0, out=out), f, i), named(lambda out: torch.sort(x, out=out), f, i),
        named(lambda out: torch.topk(x, 1, out=out), f, i), named(lambda out: torch.linalg.qr(x, out=out), f, f),
        named(lambda out: torch.linalg.svd(x, out=out), f, f, f),
        sorted(n for n in dir(torch.return_types) if n.endswith("x_out") and n[0] != "_"),
    ]  # fmt: skip


@parity_test
def test_the_function_of_a_forbidden_view_is_named(torch: Any) -> Any:
    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a.view(-1)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g.view(2, 2)

    y = Flat.apply(torch.ones(2, 2, requires_grad=True).clone())
    try:
        y.add_(1)
    except RuntimeError as error:
        return str(error).split(" is a view")[0]
    return "taken"


@parity_test
def test_what_may_not_be_pickled(torch: Any) -> Any:
    def local() -> None:
        """Pickle does not find it."""

    found = []
    for thing in (local, lambda: 1, {"a": local}):
        try:
            torch.save(thing, io.BytesIO())
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    return found


@parity_test
def test_factories_with_out(torch: Any) -> Any:
    def made(**options: Any) -> list[Any]:
        e = lambda *n: torch.empty(*n)  # noqa: E731
        return [
            torch.zeros(2, out=e(2), **options), torch.ones(2, out=e(2), **options), torch.full((2,), 3.0, out=e(2), **options),
            torch.arange(2.0, out=e(2), **options), torch.eye(2, out=e(2, 2), **options),
            torch.linspace(0, 1, 2, out=e(2), **options),
            torch.rand(2, out=e(2), **options), torch.normal(0.0, 1.0, (2,), out=e(2), **options),
            torch.randperm(2, out=e(2), **options),
        ]  # fmt: skip

    with torch.no_grad():
        forgotten = torch.zeros(2, out=torch.empty(2, requires_grad=True))
    o = torch.empty(0)
    torch.chain_matmul(torch.ones(2, 2), out=o)
    return [
        [t.requires_grad for t in made(requires_grad=True)], [t.requires_grad for t in made()], forgotten.requires_grad, o,
        torch.rand(2, out=torch.empty(2, device="meta")).device.type,
    ]  # fmt: skip
