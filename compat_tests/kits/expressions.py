"""Tables of one-line expressions: evaluate each on PyTorch and on jaxtorch, and compare everything one can see."""

from __future__ import annotations

import array
import re
import warnings
from typing import Any

import numpy as np


class WithIndex:
    def __index__(self) -> int:
        return 3


class WithFloat:
    def __float__(self) -> float:
        return 3.0


class Sequence:
    """Two items, by `__len__` and `__getitem__` alone."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> int:
        if index > 1:
            raise IndexError
        return index


def names(torch: Any) -> dict[str, Any]:
    """What the expressions may mention: small tensors `f` (float32), `i`, `l`, `b`, `h`, `c`, `u`, `u16` and `rg`."""
    found = {"torch": torch, "np": np, "array": array, "nan": float("nan"), "inf": float("inf"), "a": np.arange(4.0)}
    found |= {"I": WithIndex, "F": WithFloat, "L": Sequence}
    for name, dtype in {
        "f": "float32", "i": "int32", "l": "int64", "b": "bool", "h": "float16", "c": "complex64", "u": "uint8",
        "u16": "uint16",
    }.items():  # fmt: skip
        found[name] = torch.zeros(3, dtype=getattr(torch, dtype))
    found["rg"] = torch.zeros(3, requires_grad=True)
    return found


def _plain(value: Any) -> Any:
    """A result as plain data; tensors with their values, strides and history."""
    if not isinstance(value, type) and hasattr(value, "detach") and hasattr(value, "stride"):
        node = value.grad_fn
        seen = {
            "dtype": str(value.dtype), "shape": tuple(value.shape), "stride": value.stride(), "leaf": value.requires_grad,
            "node": None if node is None else type(node).__name__,
        }  # fmt: skip
        if str(value.device) != "meta":
            wide = value.detach().double() if str(value.dtype) == "torch.bfloat16" else value.detach()
            seen["values"] = np.array(wide.tolist())
        return seen
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *map(_plain, value)]
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))


def outcome(torch: Any, expression: str) -> Any:
    """What an expression gives: plain data, or (exception type, first line of its message)."""
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _plain(eval(expression, names(torch)))
        except Exception as error:
            return type(error).__name__, (str(error).splitlines() or [""])[0]


def same(wanted: Any, got: Any, messages: bool = True) -> None:
    """Assert equal outcomes; floats to a few units in the last place, messages word by word unless told otherwise."""
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple), f"expected {wanted}, got {got}"
        assert got[0] == wanted[0], f"expected {wanted}, got {got}"
        if messages and "invalid combination" not in wanted[1]:
            assert got[1] == wanted[1]
    elif isinstance(wanted, dict):
        assert isinstance(got, dict), f"expected {wanted}, got {got}"
        assert {**got, "values": 0} == {**wanted, "values": 0}
        if "values" in wanted:
            kind = wanted["values"].dtype.kind
            if kind in "fc":
                np.testing.assert_allclose(got["values"], wanted["values"], rtol=2e-6, atol=1e-7, equal_nan=True)
            else:
                np.testing.assert_array_equal(got["values"], wanted["values"])
    elif isinstance(wanted, list):
        assert isinstance(got, list) and len(got) == len(wanted)
        for w, g in zip(wanted, got, strict=True):
            same(w, g, messages)
    else:
        assert got == wanted


def rows(table: str) -> list[str]:
    """The expressions of a table, one a line."""
    return [line.strip() for line in table.strip().splitlines() if line.strip()]
