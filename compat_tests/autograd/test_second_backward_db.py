"""PyTorch's operator database with a second backward pass: an error exactly where PyTorch's nodes have freed what they kept."""

from __future__ import annotations

import pytest

from conftest import TABLES

KEYS = (TABLES / "op_db_entries.txt").read_text().splitlines()

EXCLUDED = {
    "chalf": "no complex32",
    "linalg.eig": "PyTorch asks first whether the loss depends on the phases of eigenvectors",
    "masked.mean": "the mean of a single number keeps nothing here",
    "nn.functional.linear_cross_entropy/chunked": "PyTorch's option `allow_retain_graph` has no effect here",
}
"""Entries that do not agree in all, each with the reason."""


@pytest.mark.parametrize("key", [k for k in KEYS if k not in EXCLUDED])
def test_entry(key: str) -> None:
    import second_backward_kit
    from overwritten_kit import differentiable

    if differentiable(key):
        assert not list(second_backward_kit.disagreements(key))


def test_exclusions_are_entries() -> None:
    assert set(EXCLUDED) <= set(KEYS)
