"""Times twenty batch sizes in turn, each new, on the small MLP, and counts the programs compiled whole for them.

    python benchmarks/shapes.py --save MACHINE

Each side first takes a few steps of the usual size. Then comes one step of each of the twenty sizes, and all of
them a second and a third time. jaxtorch must compile no whole program on the first pass (a size seen once runs
operation by operation); its yardstick there is the same step in JAX without `jax.jit`, which compiles each
operation for each size too. The losses must agree, and what is wrong ends the run with an error.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import report
from sides import EAGER_JAX, SIDES
from workers import TOLERANCE, Failed, Side, deviation, environment, finish, note, pin, save_initial_state

MODEL = "mlp"
COMPARED = {k: v for k, v in {**SIDES, **EAGER_JAX}.items() if k != "torch-compile"}
SIZES = [16 + 3 * i for i in range(20)]
PASSES = 3
WARM_UP = [128] * 4


def measure(side: str, state: Path, env: dict[str, str], log: Path) -> list[dict[str, Any]]:
    """One process on empty caches: the answers for the warm-up and for each pass over the sizes."""
    worker = Side(side, MODEL, str(state), env, log)
    worker.answer()
    found = [worker.ask("shapes", sizes) for sizes in [WARM_UP] + [SIZES] * PASSES]
    worker.close()
    return found


def table(results: dict[str, list[list[dict[str, Any]]]]) -> report.Table:
    passes = range(1, PASSES + 1)
    header = ["side", "", "warm-up", *[f"pass {n}" for n in passes], "pass 1 x JAX by operation"]
    header += [f"whole programs, pass {n}" for n in passes]
    seconds = {s: [median(sum(r[n]["seconds"]) for r in rounds) for n in (0, *passes)] for s, rounds in results.items()}
    yardstick = seconds.get("jax-eager")
    rows = []
    for side, figures in seconds.items():
        whole = [results[side][0][n]["whole"] for n in passes]
        ratio = report.number(figures[1] / yardstick[1] if yardstick else None)
        counts = ["-" if n is None else str(n) for n in whole]
        rows.append([COMPARED[side], "", *[report.duration(s) for s in figures], ratio, *counts])
    return header, rows


def mistakes(results: dict[str, list[list[dict[str, Any]]]]) -> list[str]:
    wrong = []
    expected = [answer["losses"] for answer in next(iter(results.values()))[0]]
    for side, rounds in results.items():
        for found in rounds:
            for n, answer in enumerate(found):
                if not deviation(answer["losses"], expected[n]) <= TOLERANCE:
                    wrong.append(f"pass {n}: the losses of {COMPARED[side]} are {answer['losses']}, not {expected[n]}")
            if side.startswith("jaxtorch") and found[1]["whole"]:
                wrong.append(f"{COMPARED[side]} compiled {found[1]['whole']} whole programs for sizes seen once")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sides", default=",".join(COMPARED), help=f"comma list of {','.join(COMPARED)}")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each side (3)")
    parser.add_argument("--threads", type=int, default=2, help="threads a side, and cores they share (2)")
    parser.add_argument("--save", metavar="MACHINE", help="keep the tables in benchmarks/results/MACHINE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    options = parser.parse_args()
    options.sides = options.sides.split(",")
    for name in options.sides:
        if name not in COMPARED:
            parser.error(f"unknown name {name!r}; known are {', '.join(COMPARED)}")
    pin(options.threads)
    about = report.machine(options.threads)
    results: dict[str, list[list[dict[str, Any]]]] = {}
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        folder = Path(name)
        state = folder / "state.npz"
        save_initial_state(MODEL, state, options.threads)
        for turn in range(options.rounds):
            shift = turn % len(options.sides)
            for side in options.sides[shift:] + options.sides[:shift]:
                env = environment(options.threads, folder / f"{side}-{turn}")
                try:
                    found = measure(side, state, env, folder / f"{side}.log")
                except Failed as failure:
                    note(f"{COMPARED[side]} skipped: {failure}")
                    continue
                note(f"{COMPARED[side]}: {sum(found[1]['seconds']):.2f} s for the sizes seen once")
                results.setdefault(side, []).append(found)
    results = {side: results[side] for side in options.sides if side in results}
    lines = table(results)
    how = f"- batch sizes {SIZES[0]} to {SIZES[-1]}, {len(SIZES)} of them; medians of {options.rounds} processes a side"
    print("\n".join([*report.describe(about), how, "", *report.aligned(lines)]))
    if options.save:
        report.save(options.save, "shapes", about, [how], [lines])
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "sides": results}, indent=1) + "\n")
    return finish(mistakes(results))


if __name__ == "__main__":
    sys.exit(main())
