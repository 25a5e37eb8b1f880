"""Runs a random program (fuzz_programs.py) on either module, says what differs, and shrinks one that fails."""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from parity import grad_fn_name, reference, to_array

Program = list[str]


# -- running ---


@functools.lru_cache(maxsize=256)
def _compiled(line: str) -> CodeType:
    return compile(line, "<program>", "exec")


def step(line: str, scope: dict[str, Any]) -> str:
    """Run one line; the name of the exception type it raised, or nothing."""
    try:
        exec(_compiled(line), scope)  # the lines are generated here
    except Exception as error:  # which exception is what we compare
        return type(error).__name__
    return ""


def new_scope(torch: Any) -> dict[str, Any]:
    return {"torch": torch, "np": np, "copy": copy, "pickle": pickle}


def names(scope: dict[str, Any]) -> list[str]:
    return [name for name in scope if name[0] in "ta" and name[1:].isdigit()]


def _memory(t: Any) -> int:
    return t.untyped_storage().data_ptr()


def gradients(torch: Any, scope: dict[str, Any]) -> list[Any]:
    """What the tensors in a scope have as `.grad`. (To ask whether they are leaves would give views new places in the graph.)"""
    tensors = [scope[name] for name in names(scope) if isinstance(scope[name], torch.Tensor)]
    return [t.grad for t in tensors if t.grad is not None]


def describe(torch: Any, scope: dict[str, Any], former: list[Any]) -> dict[str, Any]:
    """What can be seen of every tensor and array in a scope; `former`: gradients that leaves had."""
    tensors = {name: scope[name] for name in names(scope) if isinstance(scope[name], torch.Tensor)}
    grads = [t.grad for t in tensors.values() if t.is_leaf and t.grad is not None] + former
    written = {id(g) for g in grads}
    if torch is reference():
        written |= {id(t) for t in tensors.values() for g in grads if _memory(t) == _memory(g)}
    seen: dict[str, Any] = {}
    if "seen" in scope:  # what hooks have noted
        seen["seen"] = {"noted": np.array(scope["seen"], np.float64)}
    for name in names(scope):
        value = scope[name]
        if name not in tensors:
            seen[name] = {
                "array": np.array(value),
                "strides": value.strides if isinstance(value, np.ndarray) else None,
            }
            continue
        seen[name] = {
            "values": to_array(torch, value),
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": tuple(value.shape),
            "stride": tuple(value.stride()) if value.numel() else None,
            "offset": value.storage_offset(),
            "contiguous": value.is_contiguous(),
            # A gradient's depends on whether PyTorch took over a temporary or copied it; one made in inference mode has none.
            "version": None if id(value) in written or value.is_inference() else value._version,
            "is_leaf": value.is_leaf,
            "requires_grad": value.requires_grad,
            "grad_fn": grad_fn_name(value),
            "is_view": value._is_view(),
            "base": next((n for n, other in tensors.items() if other is value._base), None),
            "same": next(n for n, other in tensors.items() if other is value),
            "grad": None,
        }
        if value.is_leaf or value.retains_grad:
            gradient = value.grad
            seen[name]["grad"] = None if gradient is None else to_array(torch, gradient)
    return seen


def run(torch: Any, program: Program) -> dict[str, Any]:
    """Run a program; what each line raised, and what is left at the end."""
    scope = new_scope(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors, former = {}, []
        for i, line in enumerate(program):
            errors[i] = step(line, scope)
            if "backward" in line and torch is reference():
                former += gradients(torch, scope)
        try:
            return {"errors": errors, "seen": describe(torch, scope, former)}
        except Exception as error:  # an error that comes late is a difference, not a crash
            return {"errors": errors, "seen": {"late": {"error": type(error).__name__}}}


def _close(expected: np.ndarray, actual: np.ndarray) -> bool:
    """Equal up to rounding, relative to the largest value: lines may cancel what lines before them grew."""
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return False
    if expected.dtype.kind not in "fc":
        return np.array_equal(expected, actual)
    with np.errstate(all="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        size = max(1.0, float(finite.max()) if finite.size else 1.0)
        relative = 1e-4 if expected.dtype.itemsize == 4 else 1e-6  # a double may have been a float
        return bool(np.isclose(actual, expected, relative, relative * size, equal_nan=True).all())


def _equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, np.ndarray) and isinstance(actual, np.ndarray):
        return _close(expected, actual)
    return type(expected) is type(actual) and expected == actual


def differences(program: Program, expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """What differs between two runs, one line each."""
    found = []
    uncounted = any(".data = " in line or ".set_(" in line for line in program)  # new memory: a version of its own
    for i, line in enumerate(program):
        want, got = expected["errors"][i], actual["errors"][i]
        if want != got:
            found.append(f"error: `{line}` raises {want or 'nothing'} on PyTorch, {got or 'nothing'} here")
    for name in {**expected["seen"], **actual["seen"]}:
        want, got = expected["seen"].get(name), actual["seen"].get(name)
        if want is None or got is None:
            found.append(f"presence: {name} is {got}, should be {want}")
            continue
        for key in {**want, **got}:
            unknown = key == "version" and (uncounted or want.get(key) is None)
            if not _equal(want.get(key), got.get(key)) and not unknown:
                found.append(f"{key}: of {name}: expected {want.get(key)}, got {got.get(key)}")
    return found


def compare(program: Program, expected_from: Any, actual_from: Any) -> list[str]:
    """Run on both modules; what differs."""
    return differences(program, run(expected_from, program), run(actual_from, program))


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Leave out lines, large pieces first, as long as the program still fails."""
    size = max(1, len(program) // 2)
    while size:
        start, smaller = 0, False
        while start < len(program):
            shorter = program[:start] + program[start + size :]
            if shorter and fails(shorter):
                program, smaller = shorter, True
            else:
                start += size
        if not smaller:
            size //= 2
    return program
