"""The tables of cases, one file a family; `CASES` is all of them, each with a unique id."""

from __future__ import annotations

from collections import Counter

from cases import (
    creation,
    elementwise,
    errors,
    functional,
    indexing,
    matmul,
    promotion,
    reductions,
    sampling,
    shapes,
    sorting,
    torch_forms,
)
from parity import Case

FAMILIES = {
    family.__name__.removeprefix("cases."): family.CASES
    for family in (
        elementwise, promotion, reductions, shapes, indexing, sorting, matmul, creation, functional, sampling,
        errors, torch_forms,
    )
}  # fmt: skip


def numbered() -> list[tuple[str, Case]]:
    """Every case with an id: family, name, and a number where a name has several rows."""
    seen: Counter[str] = Counter()
    found = []
    for family, cases in FAMILIES.items():
        for case in cases:
            name = f"{family}-{case.name.removeprefix('nn.functional.')}"
            seen[name] += 1
            found.append((name if seen[name] == 1 else f"{name}-{seen[name]}", case))
    return found


CASES = numbered()
