"""Times the first five steps of each model in a new process, with empty compilation caches and with filled ones.

    python benchmarks/compile_time.py --save MACHINE

In every round each side starts twice: on an empty cache folder of its own, and again on what the first left
there. Times are medians over rounds; `ready` is the time from the start of the process until library, model and
batches are there, and is no part of the others. The losses must agree, as in `train_step.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cli
import report
from models import MODELS
from sides import SIDES
from workers import TOLERANCE, Failed, Side, deviation, environment, finish, note, pin, save_initial_state

COMPARED = [side for side in SIDES if side != "torch"]
STEPS = 5
FIGURES = ("ready", "first", "five", "warm_first", "warm_five")


def begin(side: str, model: str, state: Path, env: dict[str, str], log: Path) -> dict[str, Any]:
    """A new process's first steps."""
    begun = time.perf_counter()
    worker = Side(side, model, str(state), env, log)
    worker.answer()
    ready = time.perf_counter() - begun
    found = worker.ask("first", STEPS)
    worker.close()
    return {"ready": ready, **found}


def measure_model(model: str, options: argparse.Namespace, folder: Path) -> dict[str, dict[str, Any]]:
    """Every side's figures: lists with one entry for each round."""
    state = folder / f"{model}.npz"
    save_initial_state(model, state, options.threads)
    results: dict[str, dict[str, Any]] = {side: {name: [] for name in FIGURES} for side in options.sides}
    for turn in range(options.rounds):
        shift = turn % len(options.sides)
        for side in options.sides[shift:] + options.sides[:shift]:
            r = results[side]
            if "skipped" in r:
                continue
            env = environment(options.threads, folder / f"{model}-{side}-{turn}")
            log = folder / f"{model}-{side}.log"
            try:
                cold, warm = (begin(side, model, state, env, log) for _ in range(2))
            except Failed as failure:
                note(f"{model}: {SIDES[side]} skipped: {failure}")
                r["skipped"] = str(failure)
                continue
            note(f"{model}: {SIDES[side]}: five steps in {cold['five']:.2f} s, warm {warm['five']:.2f} s")
            for name in ("ready", "first", "five"):
                r[name].append(cold[name])
            r["warm_first"].append(warm["first"])
            r["warm_five"].append(warm["five"])
            r["losses"], r["warm_losses"] = cold["losses"], warm["losses"]
    return results


def disagreements(model: str, results: dict[str, dict[str, Any]]) -> list[str]:
    running = {side: r for side, r in results.items() if "losses" in r}
    wrong = []
    for side, r in running.items():
        expected = running["jax" if "jax" in running else next(iter(running))]["losses"]
        for losses in (r["losses"], r["warm_losses"]):
            if not deviation(losses, expected) <= TOLERANCE:
                wrong.append(f"{model}: the losses of {SIDES[side]} are {losses}, expected {expected}")
    return wrong


def table(everything: dict[str, dict[str, Any]]) -> report.Table:
    header = ["model", "side", "ready", "1st cold", "5 cold", "1st warm", "5 warm"]
    header += ["5 cold x torch.compile", "5 cold x JAX", "5 warm x torch.compile cold"]
    rows = []
    for model, results in everything.items():
        for side, r in results.items():
            if not r["five"]:
                continue

            def ratio(mine: str, yardstick: str, r=r, results=results) -> str:
                theirs = results.get(yardstick, {}).get("five")
                return report.number(median(r[mine]) / median(theirs) if theirs else None)

            figures = [report.duration(median(r[name])) for name in FIGURES]
            ratios = [ratio("five", "torch-compile"), ratio("five", "jax"), ratio("warm_five", "torch-compile")]
            rows.append([model, SIDES[side], *figures, *ratios])
    return header, rows


def bars(everything: dict[str, dict[str, Any]]) -> cli.Bars:
    """Seconds until the fifth step, on empty caches and on filled ones."""
    return {
        f"{model}, {kind}": {SIDES[side]: median(r[name]) for side, r in results.items() if r[name]}
        for model, results in everything.items()
        for kind, name in (("cold", "five"), ("warm", "warm_five"))
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--sides", default=",".join(COMPARED), help=f"comma list of {','.join(SIDES)}")
    parser.add_argument("--rounds", type=int, default=3, help="cold and warm starts of each side (3)")
    parser.add_argument("--threads", type=int, default=2, help="threads a side, and cores they share (2)")
    parser.add_argument("--save", metavar="MACHINE", help="keep the tables in benchmarks/results/MACHINE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument(
        "--earlier", type=Path, metavar="FILE", help="figures of other models, as --json wrote them, for the table"
    )
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=Path(), metavar="FILE", help="draw a picture (output/compile_time.png)"
    )
    options = parser.parse_args()
    options.models = list(MODELS) if options.models == "all" else options.models.split(",")
    options.sides = options.sides.split(",")
    for name in [m for m in options.models if m not in MODELS] + [s for s in options.sides if s not in SIDES]:
        parser.error(f"unknown name {name!r}; known are {', '.join([*MODELS, *SIDES])}")
    pin(options.threads)
    about = report.machine(options.threads)
    everything: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        for model in options.models:
            everything[model] = measure_model(model, options, Path(name))
            wrong += disagreements(model, everything[model])
    if options.earlier and options.earlier.exists():
        everything = {**json.loads(options.earlier.read_text())["models"], **everything}
    found = table(everything)
    print("\n".join([*report.describe(about), "", *report.aligned(found)]))
    if options.save:
        how = [f"- medians of {options.rounds} cold and warm starts of each side"]
        report.save(options.save, "compile_time", about, how, [found])
    if options.json:
        options.json.write_text(json.dumps({"machine": about, "models": everything}, indent=1) + "\n")
    if options.plot is not None:
        cli.plot(options.plot, "compile_time", bars(everything), "seconds until the fifth step")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
