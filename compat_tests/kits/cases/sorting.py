"""Sorting, ranking, searching, uniqueness."""

from __future__ import annotations

from parity import BASIC, REAL, V, X, row

A = X(3, 6)
REPEATS = V([[3, 1, 3, 2], [0, 0, 5, 1]], grad=False)

CASES = [
    row("sort", X(8)).on(*BASIC),
    row("sort", A, dim=0, descending=True),
    row("sort", REPEATS, dim=1, stable=True).on(*REAL),
    row("sort", REPEATS, dim=1, stable=True, descending=True),
    row("sort", V([1.0, float("nan"), -1.0, float("inf")])),
    row("argsort", A, dim=1).on(*BASIC[1:]),
    row("argsort", REPEATS, dim=1, stable=True),
    row("msort", A),
    row("topk", A, 2).on(*BASIC[1:]),
    row("topk", A, 2, dim=0, largest=False),
    row("kthvalue", A, 2, dim=1),
    row("unique", REPEATS).on(*BASIC),
    row("unique", REPEATS, return_inverse=True, return_counts=True).on(*BASIC),
    row("unique", REPEATS, dim=0),
    row("unique_consecutive", V([1, 1, 2, 2, 1]), return_counts=True).on(*BASIC).upto(0),
    row("searchsorted", V([1.0, 3.0, 5.0]), X(2, 3, high=6)).upto(0),
    row("searchsorted", V([1.0, 3.0, 5.0]), V([3.0, 5.0]), right=True).upto(0),
    row("bucketize", X(4), V([-1.0, 0.0, 1.0])).upto(0),
    row("isin", REPEATS, V([1, 3], grad=False)).upto(0),
]
