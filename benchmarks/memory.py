"""Peak resident memory of training steps over what the process held before its first, a model and a side at a time.

    python benchmarks/memory.py --save MACHINE

Each side is a process of its own that starts from the same parameters. `first steps` is the high-water mark of the
first ten steps, compilation included; `steady` that of steps long after it; `process` the higher of the two with what
the process held before (the library, the model and its batches). jaxtorch also runs with
JAXTORCH_ALLOCATOR=default, the C library's own settings. Linux only: the marks are read from /proc.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import cli
import report
from models import MODELS
from sides import SIDES
from workers import TOLERANCE, Failed, Side, deviation, environment, finish, note, pin, save_initial_state

NAMES = {
    "jaxtorch": SIDES["jaxtorch"],
    "jaxtorch-default": "jaxtorch, plain loop, JAXTORCH_ALLOCATOR=default",
    **{side: name for side, name in SIDES.items() if side != "jaxtorch"},
}
FIRST_STEPS = 10
MARKS = {"peak": "first steps", "steady": "steady", "process": "process"}
Results = dict[str, dict[str, Any]]


def measure_side(side: str, model: str, options: argparse.Namespace, folder: Path, turn: int) -> dict[str, Any]:
    """One process's marks in MiB, and its first losses."""
    library = "jaxtorch" if side == "jaxtorch-default" else side
    env = environment(options.threads, folder / f"cache-{model}-{side}-{turn}")
    env.pop("JAXTORCH_ALLOCATOR", None)
    if side == "jaxtorch-default":
        env["JAXTORCH_ALLOCATOR"] = "default"
    worker = Side(library, model, str(folder / f"{model}.npz"), env, folder / f"{side}.log")
    worker.answer()
    found = worker.ask("first", FIRST_STEPS)
    if not options.check:
        worker.ask("burst", options.steps)
        found["steady"] = worker.ask("memory", options.steps)
        found["process"] = found["baseline"] + max(found["peak"], found["steady"])
    worker.close()
    return found


def measure(model: str, options: argparse.Namespace, folder: Path) -> Results:
    save_initial_state(model, folder / f"{model}.npz", options.threads)
    results: Results = {}
    for turn in range(options.rounds):
        for side in options.sides:
            r = results.setdefault(side, {mark: [] for mark in MARKS})
            if "skipped" in r:
                continue
            try:
                found = measure_side(side, model, options, folder, turn)
            except Failed as failure:
                note(f"{model}: {NAMES[side]} skipped: {failure}")
                r["skipped"] = str(failure)
                continue
            r["losses"] = found["losses"]
            for mark in MARKS:
                if found.get(mark) is not None:
                    r[mark].append(found[mark])
            if r["peak"]:
                note(f"{model}: {NAMES[side]}: {r['peak'][-1]:.0f} MiB over the start in the first steps")
    return results


def disagreements(model: str, results: Results) -> list[str]:
    ran = {side: r for side, r in results.items() if "losses" in r}
    if not ran:
        return [f"{model}: no side ran"]
    reference = "torch" if "torch" in ran else next(iter(ran))
    wrong = []
    for side, r in ran.items():
        r["deviation"] = deviation(r["losses"], ran[reference]["losses"])
        if not r["deviation"] <= TOLERANCE:
            wrong.append(f"{model}: losses of {NAMES[side]} are {r['deviation']:.1e} off those of {NAMES[reference]}")
    return wrong


def table(everything: dict[str, Results]) -> report.Table:
    header = ["model", "side", *[text for name in MARKS.values() for text in (f"{name}, MiB", "x eager")]]
    rows = []
    for model, results in everything.items():
        for side, r in results.items():
            if not r["peak"]:
                continue
            row = [model, NAMES[side]]
            for mark in MARKS:
                mine, theirs = r[mark], results.get("torch", {}).get(mark)
                row.append(report.number(median(mine) if mine else None, ".0f"))
                row.append(report.number(median(mine) / median(theirs) if mine and theirs else None))
            rows.append(row)
    return header, rows


def main() -> int:
    parser = cli.common(__doc__)
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--sides", default="all", help=f"comma list of {','.join(NAMES)}, or all (all)")
    parser.add_argument("--rounds", type=int, help="processes of each side (3; 1 with --quick)")
    parser.add_argument("--steps", type=int, help="steps between and while marks are taken (40; 10 with --quick)")
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick or options.check else 3)
    options.steps = options.steps or (10 if options.quick else 40)
    options.models = cli.chosen(parser, options.models, MODELS)
    options.sides = cli.chosen(parser, options.sides, NAMES)
    if not os.access("/proc/self/clear_refs", os.W_OK):
        parser.error("needs Linux's /proc/self/clear_refs, which is not there or not writable")
    pin(options.threads)
    about = report.machine(options.threads)
    everything: dict[str, Results] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        for model in options.models:
            everything[model] = measure(model, options, Path(name))
            wrong += disagreements(model, everything[model])
    if options.check:
        return finish(wrong)
    how = [f"- medians of {options.rounds} processes of each side, {options.steps} steps before `steady` and during it"]
    bars = {
        model: {NAMES[side]: median(r["steady"]) for side, r in results.items() if r["steady"]}
        for model, results in everything.items()
    }
    cli.deliver(options, "memory", about, how, [table(everything)], everything, bars, "MiB over the start, steady")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
