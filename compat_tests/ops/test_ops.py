"""Every row of the case tables on PyTorch and on jaxtorch: all forms, dtypes, gradients, errors."""

from __future__ import annotations

import dataclasses

import pytest

from cases import CASES
from parity import Case, Raised, candidate, check, forms, outcome, reference

LAYOUT = ("elementwise", "promotion", "shapes", "indexing")
"""Families whose results have PyTorch's strides also on permuted inputs; the others' are contiguous (docs/differences.md)."""

ROWS = [
    pytest.param(dataclasses.replace(case, follows_layout=name.startswith(LAYOUT)), dtype, id=f"{name}-{dtype}")
    for name, case in CASES
    for dtype in case.dtypes
]


@pytest.mark.parametrize("case, dtype", ROWS)
def test_operation(case: Case, dtype: str) -> None:
    found = check(case, dtype, reference(), candidate())
    assert not found, "\n".join(found)


def test_rows_say_what_they_mean() -> None:
    """PyTorch answers every row that is not `bad`, gradient included: two errors would agree too."""
    wrong = []
    for name, case in CASES:
        if case.raises:
            continue
        dtype = "float64" if "float64" in case.dtypes else case.dtypes[-1]
        for form in ("function", "gradient"):
            run = forms(reference(), case, dtype).get(form)
            result = outcome(reference(), run, case, dtype) if run else None
            if isinstance(result, Raised):
                wrong.append(f"{name} {form}: {result.kind}: {result.message[:120]}")
    assert not wrong, "\n".join(wrong)
