"""Type promotion: every pair of dtypes, as tensors, 0-dimensional ones, Python numbers, and in place."""

from __future__ import annotations

from typing import Any

from parity import ALL, Case, X, attempt, code

BINARY = (
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "pow",
    "maximum",
    "eq",
    "lt",
    "bitwise_and",
    "atan2",
)


def results(torch: Any, calls: list[Any]) -> list[Any]:
    """Each call's result, or what it raised."""
    return [attempt(call) for call in calls]


def partners(torch: Any, left: Any) -> list[Any]:
    """A tensor of every dtype, without those whose result would be ComplexHalf, which XLA does not have."""
    rights = [torch.tensor([1, 2, 1]).to(getattr(torch, dtype)) for dtype in ALL]
    return [
        r for r in rights if not ({left.dtype, r.dtype} >= {torch.float16} and (left.is_complex() or r.is_complex()))
    ]


def promote(name: str) -> Case:
    def body(torch: Any, left: Any) -> Any:
        function = getattr(torch, name)
        rights = partners(torch, left)
        return results(
            torch,
            [lambda r=r: function(left, r) for r in rights]
            + [lambda r=r: function(left, r[1]) for r in rights]
            + [lambda r=r: function(left[1], r) for r in rights],
        )

    return code(f"pairs_{name}", body, X(3, low=1, high=4)).on(*ALL).upto(0)


def promote_scalar(name: str) -> Case:
    def body(torch: Any, left: Any) -> Any:
        function = getattr(torch, name)
        return results(torch, [lambda s=s: function(left, s) for s in (True, 2, 2.5)])

    return code(f"scalars_{name}", body, X(3, low=1, high=4)).on(*ALL).upto(0)


def promote_in_place(name: str) -> Case:
    """The result must be castable to the left side's dtype."""

    def body(torch: Any, left: Any) -> Any:
        numbers: list[Any] = [True, 2, 2.5] + ([1j] if left.dtype is not torch.float16 else [])
        return results(torch, [lambda r=r: getattr(left.clone(), name)(r) for r in [*partners(torch, left), *numbers]])

    return code(f"in_place_{name}", body, X(3, low=1, high=4)).on(*ALL).upto(0)


def result_types(torch: Any, left: Any) -> Any:
    rights = [torch.ones(2, dtype=getattr(torch, dtype)) for dtype in ALL]
    return [
        [torch.result_type(left, r) for r in rights],
        [torch.result_type(left, r[0]) for r in rights],
        [torch.result_type(left, s) for s in (True, 1, 1.0, 1j)],
        [torch.promote_types(left.dtype, r.dtype) for r in rights],
        [torch.can_cast(left.dtype, r.dtype) for r in rights],
    ]


def joined(torch: Any, left: Any) -> Any:
    rights = partners(torch, left)
    return results(
        torch,
        [lambda r=r: torch.cat([left, r]) for r in rights]
        + [lambda r=r: torch.stack([left, r]) for r in rights]
        + [lambda r=r: torch.where(left > 1, left, r) for r in rights],
    )


def casts(torch: Any, left: Any) -> Any:
    return [left.to(getattr(torch, dtype)) for dtype in ALL] + [
        getattr(left, name)()
        for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool")
    ]


CASES = [
    *[promote(name) for name in BINARY],
    *[promote_scalar(name) for name in BINARY],
    *[promote_in_place(name) for name in ("add_", "mul_", "div_", "copy_")],
    code("result_type", result_types, X(2)).on(*ALL).upto(0),
    code("joined", joined, X(3)).on(*ALL).upto(0),
    code("casts", casts, X(4, low=0, high=9)).on(*ALL).upto(0),
]
