"""A sample of the random compositions of transformations (fuzz_transforms.py runs more)."""

from __future__ import annotations

import pytest

from fuzz_transforms import FUNCTIONS, TRANSFORMATIONS, Case, cases, compare, parse


@pytest.mark.parametrize("case", cases(7, 120), ids=str)
def test_composition(case: Case) -> None:
    assert compare(case) == ""


@pytest.mark.parametrize(
    "text",
    [
        "checkpoint(jacfwd(jacfwd_different(cube_function)))(float32[3])",
        "grad_aux(jacrev(no_grad(slice)))(float32[0])",
        "jacfwd_different(checkpoint(jvp(layer)))(float32[])",
        "linearize(argument_written)(float32[3])",
        "linearize(number)(int64[3])",
    ],
)
def test_what_differed_once(text: str) -> None:
    assert compare(parse(text)) == ""


def test_cases_are_distinct_and_can_be_read_back() -> None:
    found = cases(0, 2000)
    assert len(set(found)) == 2000
    assert all(parse(str(c)) == c for c in found)
    assert {name for c in found for name in c.chain} == set(TRANSFORMATIONS)
    assert {c.function for c in found} == set(FUNCTIONS)


def test_a_difference_is_seen() -> None:
    from transform_kit import Raised, differs

    one = [("tensor", "float32", (1,), False, [1.0])]
    assert differs(one, one) == ""
    assert differs([("tensor", "float32", (1,), False, [1.1])], one) == "values"
    assert differs([("tensor", "float64", (1,), False, [1.0])], one) == "dtype"
    assert differs(Raised("TypeError", ""), Raised("ValueError", "")) == "raises TypeError for ValueError"
    assert differs(one, Raised("ValueError", "")) == "takes what raises ValueError"
