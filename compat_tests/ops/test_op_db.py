"""PyTorch's operator database: every check of an entry passes, but for those excluded with a reason.

Of each entry only some samples are run here, unless `--whole` is given; `scripts/op_db_score` runs them all.
"""

from __future__ import annotations

import pytest

from conftest import TABLES
from op_db_exclusions import EXCLUDED

SAMPLES = 4
KEYS = (TABLES / "op_db_entries.txt").read_text().splitlines()
"""The entries in scope; kept in a file because importing the database takes seconds."""


@pytest.mark.parametrize("key", KEYS)
def test_entry(key: str, request: pytest.FixtureRequest) -> None:
    import op_db_checks
    import op_db_kit

    whole = request.config.getoption("--whole")
    entry = op_db_kit.entries()[key]
    failed: dict[str, list[str]] = {}
    for check, dtype in op_db_checks.plan(entry):
        name = f"{check}/{dtype}"
        _, lines = op_db_checks.run_check(entry, check, dtype, 0 if whole else SAMPLES)
        if lines:
            failed[name] = lines
    excluded = EXCLUDED.get(key, {})
    unexpected = {name: lines[:3] for name, lines in failed.items() if name not in excluded}
    assert not unexpected
    if whole:
        assert set(excluded) == set(failed), "an exclusion that is not needed any more"


@pytest.mark.parametrize("key", KEYS[7::100])
def test_wider(key: str) -> None:
    """Other element types, those that an entry refuses, extreme values, unusual memory; `op_db_sweep.py --wider` runs all entries."""
    import op_db_checks
    import op_db_kit

    entry, failed = op_db_kit.entries()[key], {}
    for check, dtype in op_db_checks.wider_plan(entry):
        _, lines = op_db_checks.run_check(entry, check, dtype, 2)
        if lines:
            failed[f"{check}/{dtype}"] = lines[:2]
    assert not failed


def test_entries_are_listed() -> None:
    """The list is the database's, and exclusions name entries of it and checks that these have."""
    import op_db_checks
    import op_db_kit

    assert op_db_kit.in_scope() == KEYS
    for key, checks in EXCLUDED.items():
        known = {f"{check}/{dtype}" for check, dtype in op_db_checks.plan(op_db_kit.entries()[key])}
        assert set(checks) <= known, key
        assert all(checks.values()), f"{key}: an exclusion without a reason"
