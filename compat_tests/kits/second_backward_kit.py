"""Every operation of `op_db` with a second backward pass through its graph: an error exactly where PyTorch raises one.

A node whose derivative keeps no tensor may run again. What it keeps depends on which inputs require a gradient, so each input alone
and all together are looked at.

    python compat_tests/kits/second_backward_kit.py [NAME ...]     # prints the entries in which jaxtorch and PyTorch do not agree
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from op_db_kit import Absent, converted, entries, samples, seed, tensors, twin
from overwritten_kit import DTYPES, choices, distinct, mapped, ramp, report
from parity import candidate

SAMPLES = 3


def outcome(module: Any, op: Callable[..., Any], arguments: Any, wanted: int | None) -> str:
    """What a second backward pass raises; `wanted`: which tensor alone requires a gradient."""
    leaves: list[Any] = []
    known: dict[int, Any] = {}

    def fresh(t: Any) -> Any:
        if id(t) not in known:
            known[id(t)] = leaf = t.detach().clone()
            if t.requires_grad and wanted in (None, len(known) - 1):
                leaves.append(leaf.requires_grad_())
        return known[id(t)]

    given = mapped(arguments, fresh)
    seed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            results = [r for r in tensors(op(given[0], *given[1], **given[2])) if r.requires_grad]
            for _ in range(2):
                module.autograd.backward(results, [ramp(module, r) for r in results]) if results else None
        except Exception as error:
            return "error" if "second time" in str(error) else f"{type(error).__name__}: {str(error)[:80]}"
    return "no error" if results else "no gradient"


def disagreements(key: str) -> Iterator[str]:
    """What is different in an entry, a line for each choice of inputs."""
    entry = entries()[key]
    types = [t for t in DTYPES if getattr(torch, t) in entry.supported_dtypes("cpu")]
    if not types:
        raise Absent("no type with a gradient")
    op = twin(entry.op, key.replace("/", "."))
    for number, sample in enumerate(samples(entry, types[0], True, SAMPLES)):
        theirs = (sample.input, sample.args, sample.kwargs)
        if not all(t.numel() for t in tensors(theirs)):
            continue  # without elements nothing is kept here
        ours = converted(theirs)
        for wanted in choices(distinct(theirs)):
            expected = outcome(torch, entry.op, theirs, wanted)
            actual = outcome(candidate(), op, ours, wanted)
            if expected.split(":")[0] != actual.split(":")[0]:
                which = "all" if wanted is None else wanted
                yield f"sample {number}, gradients of {which}: PyTorch: {expected}; jaxtorch: {actual}"


if __name__ == "__main__":
    report(disagreements)
