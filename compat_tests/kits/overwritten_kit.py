"""Every operation of `op_db` with one of its inputs, or its result, written in place before backward: what PyTorch's derivative has
kept may not be written, and nothing else minds.

    python compat_tests/kits/overwritten_kit.py [NAME ...]     # prints the entries in which jaxtorch and PyTorch do not agree
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from op_db_kit import Absent, array_of, converted, entries, in_scope, samples, seed, tensors, twin
from parity import candidate

DTYPES = ("float64", "complex128", "float32")
MODIFIED = "modified by an inplace operation"


def differentiable(key: str) -> bool:
    """Has the entry a gradient to speak of?"""
    entry = entries()[key]
    return entry.supports_autograd and not {getattr(torch, t) for t in DTYPES}.isdisjoint(entry.supported_dtypes("cpu"))


def sample_of(key: str) -> Any:
    """The first sample input, in double precision where there is one."""
    entry = entries()[key]
    types = entry.supported_dtypes("cpu")
    for dtype in DTYPES:
        if getattr(torch, dtype) in types:
            return samples(entry, dtype, True, 1)[0]
    raise Absent("no type with a gradient")


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, torch.Tensor | candidate().Tensor):
        return change(value)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)([mapped(v, change) for v in value])
    if isinstance(value, dict):
        return {k: mapped(v, change) for k, v in value.items()}
    return value


def _write(t: Any) -> None:
    """Change a tensor in place, whatever it holds."""
    if t.dtype.is_floating_point or t.dtype.is_complex:
        t.mul_(1.5)
    elif str(t.dtype).endswith("bool"):
        t.logical_not_()
    else:
        t.zero_()


def ramp(module: Any, t: Any) -> Any:
    """A gradient that is not the same everywhere."""
    values = (np.arange(t.numel()) % 7 + 1).reshape(tuple(t.shape)) * 0.25
    return module.tensor(values).to(t.dtype)


def outcome(
    module: Any, op: Callable[..., Any], arguments: Any, target: tuple[str, int], wanted: int | None = None
) -> Any:
    """The gradients of the inputs, or the name of what was raised.

    target: which input, or result, is written. wanted: the input that alone requires a gradient; None: all that can.
    """
    leaves: list[Any] = []
    copies: list[Any] = []
    known: dict[int, Any] = {}

    def fresh(t: Any) -> Any:
        if id(t) not in known:
            leaf = t.detach().clone()
            if t.requires_grad and wanted in (None, len(known)):
                leaves.append(leaf.requires_grad_())
            known[id(t)] = leaf.clone() if leaf.requires_grad else leaf
            copies.append(known[id(t)])
        return known[id(t)]

    given = mapped(arguments, fresh)
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = list(tensors(op(given[0], *given[1], **given[2])))
            graded = [r for r in results if r.requires_grad]
            chosen = copies if target[0] == "input" else results
            if target[1] >= len(chosen) or not graded:
                return None
            with module.no_grad():
                _write(chosen[target[1]])
        except Exception as error:  # it may not be written at all
            return type(error).__name__
        try:
            found = module.autograd.grad(graded, leaves, [ramp(module, r) for r in graded], allow_unused=True)
        except Exception as error:
            return "modified" if MODIFIED in str(error) else f"{type(error).__name__}: {str(error)[:80]}"
    return [None if g is None else g for g in found]


def _agree(expected: Any, actual: Any) -> bool:
    if not isinstance(expected, list) or not isinstance(actual, list):
        return type(expected) is type(actual) and (expected is None or expected.split(":")[0] == actual.split(":")[0])
    for e, a in zip(expected, actual, strict=True):
        if e is None or a is None:
            if e is not a and bool((a if e is None else e).any()):
                return False
            continue
        if not np.allclose(array_of(e), a.detach().resolve_conj().numpy(), 1e-4, 1e-5, equal_nan=True):
            return False
    return True


def _short(found: Any) -> str:
    return "no error" if isinstance(found, list) else str(found)


def distinct(arguments: Any) -> list[Any]:
    """The tensors among arguments, each once."""
    return list({id(t): t for t in tensors(arguments)}.values())


def choices(inputs: list[Any]) -> list[int | None]:
    """Which input's gradient is wanted alone; None: those of all."""
    graded = [k for k, t in enumerate(inputs) if t.requires_grad]
    return [None, *(graded if len(graded) > 1 else ())]


def disagreements(key: str) -> Iterator[str]:
    """What is different in an entry, one line for each input or result that was written."""
    entry = entries()[key]
    sample = sample_of(key)
    theirs = (sample.input, sample.args, sample.kwargs)
    op, ours = twin(entry.op, key.replace("/", ".")), converted(theirs)
    inputs = distinct(theirs)
    targets = [*[("input", k) for k in range(len(inputs))], ("result", 0), ("result", 1), ("result", 2)]
    for wanted in choices(inputs):
        for target in targets:
            expected = outcome(torch, entry.op, theirs, target, wanted)
            if target[0] == "result" and expected is None:
                break
            actual = outcome(candidate(), op, ours, target, wanted)
            if not _agree(expected, actual):
                kind = "the gradient differs" if isinstance(expected, list) and isinstance(actual, list) else ""
                of = "" if wanted is None else f", gradient of {wanted}"
                yield f"{target[0]} {target[1]}{of}: {kind or f'PyTorch: {_short(expected)}; jaxtorch: {_short(actual)}'}"


def report(disagreements: Callable[[str], Iterator[str]]) -> None:
    """Print what is different in the entries that the command line names, or in all."""
    wanted = sys.argv[1:] or [key for key in in_scope() if differentiable(key)]
    for key in wanted:
        try:
            lines = list(disagreements(key))
        except Exception as error:
            lines = [f"{type(error).__name__}: {str(error)[:150]}"]
        for line in lines:
            print(f"{key}: {line}", flush=True)
    print(len(wanted), "entries", flush=True)


if __name__ == "__main__":
    report(disagreements)
