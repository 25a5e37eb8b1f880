"""`docs/coverage.md`, from the results of a sweep (`op_db_sweep.py`): what passes, what is excluded and why, what is missing."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT)]

from op_db_sweep import load  # noqa: E402

HEAD = """# Coverage of PyTorch's operator database

Written by `scripts/op_db_score`; do not edit. PyTorch's `op_db` describes its operations by sample inputs for every element
type. Every entry in scope is run on PyTorch and on jaxtorch, and the outcomes are compared:

| check | what must agree |
|---|---|
| forward | values, shapes and element types of the results |
| gradient | the gradients of all inputs for random cotangents |
| second | gradients of gradients, in float64 |
| method, operators | the same through `Tensor`'s method and the Python operator |
| inplace, inplace_operator | values, identity of the result, and what is written through a view |
| out | `out=` of the right shape, empty, of another element type, and of another layout |
| errors | the exception types of the database's bad calls |

Tolerances are those of `torch.testing.assert_close`, widened where an entry's own decorators say so. A floating-point result
outside of them passes if its error against PyTorch's in double precision is at most twice PyTorch's own. Results that are
determined only up to signs or the order of equal elements are compared by what they determine
(`INVARIANTS` in `compat_tests/kits/op_db_compare.py`). Where PyTorch's `out=` does not hold its own result, nothing is compared.
"""


def passing(results: dict[str, Any], excluded: dict[str, dict[str, str]]) -> list[str]:
    """The table of checks. An entry that has several checks of one kind (`method` of its first type) counts once for each."""
    import op_db_checks
    import op_db_kit

    count: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for key in op_db_kit.in_scope():
        for check, dtype in op_db_checks.plan(op_db_kit.entries()[key]):
            name = f"{check}/{dtype}"
            found = results.get(key, {}).get(name)
            row = count[name if check in ("forward", "gradient") else check]
            row[0] += found is not None and not found["failed"]
            row[1] += found is not None
            row[2] += 1
            row[3] += name in excluded.get(key, {})
    lines = ["| check | pass | run | in scope | % of those run | excluded |", "|---|---:|---:|---:|---:|---:|"]
    order = ["forward", "gradient", "second", "method", "operators", "inplace", "inplace_operator", "out", "errors"]
    for row in sorted(count, key=lambda r: (order.index(r.split("/")[0]), r)):
        good, run, total, out = count[row]
        lines.append(
            f"| {row.replace('/', ', ')} | {good} | {run} | {total} | {100 * good / max(run, 1):.1f} | {out} |"
        )
    return lines


def namespaces(results: dict[str, Any]) -> list[str]:
    """The table of namespaces: entries all of whose forward and gradient checks pass."""
    count: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for key, found in results.items():
        name = key.split("/")[0].rpartition(".")[0] or "torch, Tensor"
        for i, check in ((0, "forward"), (2, "gradient")):
            those = [r for n, r in found.items() if n.startswith(check)]
            if those:
                count[name][i] += not any(r["failed"] for r in those)
                count[name][i + 1] += 1
    lines = [
        "| namespace | forward, all types | in scope | gradient, all types | in scope |",
        "|---|---:|---:|---:|---:|",
    ]
    lines += [f"| {name} | {c[0]} | {c[1]} | {c[2]} | {c[3]} |" for name, c in sorted(count.items())]
    return lines


def reasons(excluded: dict[str, dict[str, str]]) -> list[str]:
    """What is excluded, by reason."""
    by_reason: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, checks in excluded.items():
        for check, reason in checks.items():
            by_reason[reason][key].append(check.removesuffix("/any"))
    lines = []
    for reason, where in sorted(by_reason.items(), key=lambda item: -sum(map(len, item[1].values()))):
        total = sum(map(len, where.values()))
        listed = "; ".join(f"`{key}` ({', '.join(checks)})" for key, checks in sorted(where.items()))
        lines += [f"- **{reason}** ({total}): {listed}"]
    return lines


def unknown_names() -> list[str]:
    """Public names of PyTorch that jaxtorch does not have, by namespace."""
    import torch

    from op_db_kit import _lookup
    from parity import candidate

    lines = []
    places = (
        "",
        "Tensor",
        "nn.functional",
        "linalg",
        "fft",
        "special",
        "signal.windows",
        "masked",
        "nn",
        "nn.init",
        "optim",
    )
    for place in places:
        theirs = _lookup(torch, place) if place else torch
        ours = _lookup(candidate(), place) if place else candidate()
        names = [n for n in dir(theirs) if not n.startswith("_") and not hasattr(ours, n) and _is_api(theirs, n, place)]
        if names:
            lines.append(f"- `torch{'.' + place if place else ''}` ({len(names)}): {', '.join(names)}")
    return lines


def _is_api(module: Any, name: str, place: str) -> bool:
    """Leaves out modules, typing helpers, and the C++ classes of TorchScript that leak into `torch`."""
    item = getattr(module, name, None)
    home = getattr(item, "__module__", "") or ""
    if isinstance(item, type(sys)) or home in ("typing", "typing_extensions", "dataclasses", "builtins", "enum"):
        return False
    if place == "":  # where classes of TorchScript and typed storages lie about
        return callable(item) and (name == name.lower() or name in ("GradScaler", "SymInt", "SymFloat", "SymBool"))
    return callable(item) or place == "Tensor"


def write(results: dict[str, Any], path: Path, note: str) -> None:
    """Write the page."""
    import op_db_kit
    from op_db_exclusions import EXCLUDED

    scope = defaultdict(list)
    for key, entry in op_db_kit.entries().items():
        if reason := op_db_kit.out_of_scope(entry):
            scope[reason].append(key)
    parts = [HEAD, note, ""]
    parts += ["## What passes", "", *passing(results, EXCLUDED), "", "## By namespace", "", *namespaces(results), ""]
    parts += ["## Excluded, by reason", "", *reasons(EXCLUDED), "", "## Out of scope", ""]
    parts += [
        f"- {reason} ({len(keys)}): {', '.join(f'`{k}`' for k in keys)}" for reason, keys in sorted(scope.items())
    ]
    parts += ["", "## Names that PyTorch has and jaxtorch has not", "", *unknown_names(), ""]
    path.write_text("\n".join(parts))


if __name__ == "__main__":
    write(load(Path(sys.argv[1])), ROOT / "docs" / "coverage.md", " ".join(sys.argv[2:]))
