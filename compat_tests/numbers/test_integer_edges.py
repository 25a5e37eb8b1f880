"""Integers at the ends of their types: operations that wrap, divide by 0 or -1, and shift by too much, against PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch as pytorch

import jaxtorch

TYPES = ["uint8", "int8", "int16", "int32", "int64", "bool"]
ALONE = """abs neg sign bitwise_not square positive logical_not sum prod max min argmax median mode ceil sgn signbit diff unique
sort msort count_nonzero aminmax any all relu relu6 float double half bfloat16 nan_to_num mean""".split()
CALLS = """x.cumsum(0); x.cumprod(0); x.cummax(0); x.clone().abs_(); x.clone().neg_(); x.clone().square_(); x.dot(x); x ** 0; x ** 2
x ** 3; x ** -1; 2 ** x; (-2) ** x; x.clamp(1, 5); x.clamp_min(-3); x.abs().clamp(0, 9).bincount(); x.histc(4); x.sum(dtype=x.dtype)
x.prod(dtype=x.dtype); x.cumsum(0, dtype=x.dtype); x * 127; x - 1; 1 - x; x % 0; x // 0; x.fmod(0); x % -3; x.fmod(-3); x // -3
x // -1; x % -1; x % 2.5; x // 2.5; x // 0.0; x << 100; x << 8; x << 31; x << 63; x << -1; x >> 100; x >> 8; x >> 63; x >> -1
x & 5; x | -2; x ^ 255; t.arange(100, 110).to(x.dtype); t.linspace(-300, 300, 5).to(x.dtype); t.linspace(0, 127, 4, dtype=x.dtype)
t.arange(0, 120, 40, dtype=x.dtype); t.full_like(x, 1) * x; t.outer(x, x); x[:, None] @ x[None]; t.addcmul(x, x, x); t.isin(x, x[:2])
a + b; a - b; a * b; a // b; a % b; a & b; a ^ b; a << b; a >> b; a ** b.abs(); x.abs() < 0; a < b.abs(); t.gcd(a, b); t.maximum(a, b)
a < b; t.true_divide(a, b); t.div(a, b, rounding_mode='floor'); t.where(a > b, a, b); 7 // b; -7 % b; 3 << b
-3 >> b; t.gcd(a, t.tensor(6)); a.hypot(b)
a // b.where(b != 0, 1); a % b.where(b != 0, 1); t.searchsorted(b.sort().values, a); t.lcm(a, b)"""
UNSAFE = {"t.lcm(a, b)": ("int32", "int64")}
"""PyTorch divides the smallest number by -1 there, which ends the process."""


def _edges(t: Any, kind: str) -> dict[str, Any]:
    if kind == "bool":
        found = t.tensor([True, False, True, True, False]), t.tensor([False, True, True])
    else:
        info = pytorch.iinfo(getattr(pytorch, kind))
        least, most, sign = info.min, info.max, -1 if info.min else 1
        numbers = [least, most, 0, 1, least + 1, most - 1, 7, sign], [0, sign, 1, least, most, 3, 2, 5 * sign]
        found = tuple(t.tensor(n, dtype=getattr(t, kind)) for n in numbers)
    x, y = found
    return {"t": t, "x": x, "a": x.repeat_interleave(len(y)), "b": y.repeat(len(x))}


def _plain(found: Any) -> Any:
    if isinstance(found, tuple):
        return [_plain(f) for f in found]
    if found.dtype.is_floating_point:
        return str(found.dtype).rpartition(".")[2], [f"{v:.5g}" for v in found.double().reshape(-1).tolist()]
    return str(found.dtype).rpartition(".")[2], found.tolist()


def _outcome(t: Any, kind: str, code: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _plain(eval(code, _edges(t, kind)))
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("kind", TYPES)
def test_integers_at_the_ends_of_their_types(kind: str) -> None:
    codes = [f"x.{name}()" for name in ALONE] + [c.strip() for line in CALLS.split("\n") for c in line.split(";")]
    wrong = []
    for code in codes:
        if kind in UNSAFE.get(code, ()):
            continue
        wanted, found = _outcome(pytorch, kind, code), [_outcome(jaxtorch, kind, code) for _ in range(3)]
        if found != [wanted] * 3:
            wrong.append((code, wanted, found))
    assert wrong == []


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_the_smallest_number_by_minus_one(kind: str) -> None:
    """Where PyTorch ends the process."""
    least = pytorch.iinfo(getattr(pytorch, kind)).min
    x, y = (jaxtorch.tensor([n], dtype=getattr(jaxtorch, kind)) for n in (least, -1))
    assert jaxtorch.div(x, y, rounding_mode="trunc").item() == jaxtorch.lcm(x, y).item() == least
    assert x.fmod(y).item() == 0
