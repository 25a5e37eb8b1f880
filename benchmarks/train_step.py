"""Times a training step of jaxtorch, PyTorch and hand-written JAX on the same models, interleaved in one run.

    python benchmarks/train_step.py --save MACHINE

Each side is a process of its own, on the same cores, with the same number of threads, starting from the same
parameters. The sides take turns: in every round each runs one burst of steps while the others wait, so that
whatever else the machine does meets all of them alike. Times are medians over rounds; ratios are medians of
the ratios within a round. The losses of the first steps must agree, or the run ends with an error: then the
sides did not do equal work.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import cli
import report
import turns
from models import LARGE, MODELS
from sides import NAMES, SIDES
from workers import (
    TOLERANCE,
    TOLERANCE_LARGE,
    Failed,
    Side,
    deviation,
    environment,
    finish,
    note,
    pin,
    save_initial_state,
)

FIRST_STEPS = 10


def measure_model(model: str, options: argparse.Namespace, folder: Path) -> dict[str, dict[str, Any]]:
    """All sides on one model: first steps, interleaved bursts, memory, first steps with a warm cache."""
    state = folder / f"{model}.npz"
    save_initial_state(model, state, options.threads)
    results: dict[str, dict[str, Any]] = {}
    workers: dict[str, Side] = {}

    def start(side: str) -> Side:
        cache = folder / f"cache-{model}-{side}"
        log = folder / f"{model}-{side}.log"
        return Side(side, model, str(state), environment(options.threads, cache, options.device), log)

    def attempt(side: str, work: Any) -> Any:
        return turns.attempt(f"{model}: {NAMES[side]}", side, workers, results, work)

    for side in options.sides:
        worker = start(side)

        def begin(worker=worker):
            worker.answer()
            return worker.ask("first", FIRST_STEPS)

        if (found := attempt(side, begin)) is not None:
            note(f"{model}: {NAMES[side]}: first step {found['first']:.2f} s, five {found['five']:.2f} s")
            results[side], workers[side] = found, worker
    if options.check:
        for worker in workers.values():
            worker.close()
        return results
    counts = turns.burst_counts(model, workers, NAMES, results, options.burst)
    turns.interleave(model, workers, NAMES, results, counts, options.rounds)
    for side, worker in workers.items():
        results[side]["steady"] = worker.ask("memory", max(2, counts[side] // 4))
        worker.close()
    for side in [] if options.no_warm else list(workers):
        worker = start(side)

        def again(worker=worker):
            worker.answer()
            return worker.ask("first", 5)

        if (warm := attempt(side, again)) is not None:
            results[side] |= {"warm_first": warm["first"], "warm_five": warm["five"]}
            worker.close()
    return results


def compare(model: str, results: dict[str, dict[str, Any]]) -> list[str]:
    """Fill in medians, ratios and deviations of the loss; returns what is wrong."""
    wrong = []
    ran = {side: r for side, r in results.items() if "losses" in r}
    reference = next((s for s in ("torch", "jax", *ran) if s in ran), None)
    for side, r in ran.items():
        expected = ran[reference]["losses"]
        r["deviation"] = deviation(r["losses"], expected)
        note(f"{model}: {NAMES[side]}: losses within {r['deviation']:.0e} of those of {NAMES[reference]}")
        if not r["deviation"] <= (TOLERANCE_LARGE if model in LARGE else TOLERANCE):
            wrong.append(
                f"{model}: the losses of {NAMES[side]} are up to {r['deviation']:.1e} (relative) away from "
                f"those of {NAMES[reference]}: {r['losses']} against {expected}"
            )
    turns.summarise(model, ran, NAMES)
    return wrong


def step_table(everything: dict[str, dict[str, Any]]) -> report.Table:
    header = ["model", "side", "step", "best", "x JAX", "x eager", "best x JAX", "best x eager"]
    header += ["1st cold", "5 cold", "5 warm", "peak MiB", "steady MiB", "loss dev."]
    rows = []
    for model, results in everything.items():
        for side, r in results.items():
            if "median" not in r:
                continue
            rows.append(
                [
                    model,
                    NAMES[side],
                    ("~" if r["noisy"] else "") + report.duration(r["median"]),
                    report.duration(min(r["rounds"])),
                    report.number(r.get("over_jax")),
                    report.number(r.get("over_torch")),
                    report.number(r.get("best_over_jax")),
                    report.number(r.get("best_over_torch")),
                    report.duration(r["first"]),
                    report.duration(r["five"]),
                    report.duration(r.get("warm_five")),
                    report.number(r["peak"], ".0f"),
                    report.number(r["steady"], ".0f"),
                    report.number(r["deviation"], ".0e"),
                ]
            )
    return header, rows


def measure_recording(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Recording cost of jaxtorch beside PyTorch's dispatch."""
    rows = []
    for library in ("jaxtorch", "torch"):
        if library not in options.sides:
            continue
        env = environment(options.threads, folder / "cache-recording")
        env |= {"JAXTORCH_PROGRAM_LIMIT": str(10**9), "JAXTORCH_COMPILE_AFTER": str(10**9)}
        worker = Side("recording", "-", "-", env, folder / f"recording-{library}.log")
        try:
            worker.answer()
            rows += worker.ask("measure", {"library": library, "rounds": 5 if options.quick else 15})
            worker.close()
        except Failed as failure:
            note(f"recording: {library} skipped: {failure}")
    return rows


def over_eager(everything: dict[str, dict[str, Any]]) -> cli.Bars:
    """For each model the time of each side's step, as a multiple of PyTorch eager's or else of the first side's."""
    bars: cli.Bars = {}
    for model, results in everything.items():
        medians = {NAMES[side]: r["median"] for side, r in results.items() if "median" in r}
        unit = medians.get(NAMES["torch"], next(iter(medians.values()), 1.0))
        bars[model] = {name: value / unit for name, value in medians.items()}
    return bars


def recording_table(rows: list[dict[str, Any]]) -> report.Table:
    lengths = sorted({r["length"] for r in rows})
    header = ["us an operation", "gradient", *[f"{n} operations" for n in lengths]]
    lines = []
    labels = {"jaxtorch": "jaxtorch, recording only", "torch": "PyTorch eager, dispatch and run"}
    for library, label in labels.items():
        for grad in (False, True):
            found = {r["length"]: r["us"] for r in rows if r["library"] == library and r["grad"] == grad}
            if found:
                figures = [report.number(found.get(n)) for n in lengths]
                lines.append([label, "yes" if grad else "no", *figures])
    return header, lines


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--sides", default=",".join(SIDES), help=f"comma list of {','.join(SIDES)}")
    parser.add_argument("--rounds", type=int, help="rounds of bursts (9; 3 with --quick)")
    parser.add_argument("--burst", type=float, help="seconds a side has in a round (0.4; 0.1 with --quick)")
    parser.add_argument(
        "--device", default="cpu", help="where all sides compute: cpu, or cuda, also for the models of LARGE"
    )
    parser.add_argument("--threads", type=int, default=2, help="threads a side, and cores they share (2)")
    parser.add_argument("--quick", action="store_true", help="few short rounds, no warm-cache runs: a rough look")
    parser.add_argument("--check", action="store_true", help="only compare the losses of the first steps")
    parser.add_argument("--no-recording", action="store_true", help="leave the recording cost out")
    parser.add_argument("--no-warm", action="store_true", help="leave the warm-cache runs out")
    parser.add_argument("--save", metavar="MACHINE", help="keep the tables in benchmarks/results/MACHINE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=Path(), metavar="FILE", help="draw a picture (output/train_step.png)"
    )
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.burst = options.burst or (0.1 if options.quick else 0.4)
    options.no_warm |= options.quick
    options.no_recording |= options.check
    known_models = MODELS if options.device == "cpu" else LARGE | MODELS
    options.models = list(known_models) if options.models == "all" else options.models.split(",")
    options.sides = options.sides.split(",")
    for given, known in ((options.models, known_models), (options.sides, SIDES)):
        for name in given:
            if name not in known:
                parser.error(f"unknown name {name!r}; known are {', '.join(known)}")
    return options


def main() -> int:
    options = parse()
    pin(options.threads)
    about = report.machine(options.threads, options.device)
    everything: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        folder = Path(name)
        for model in options.models:
            everything[model] = measure_model(model, options, folder)
            wrong += compare(model, everything[model])
        recording = [] if options.no_recording or options.device != "cpu" else measure_recording(options, folder)
    if options.check:
        return finish(wrong)
    tables = [step_table(everything)] + ([recording_table(recording)] if recording else [])
    print("\n".join(report.describe(about)))
    for table in tables:
        print("\n" + "\n".join(report.aligned(table)))
    if options.save:
        how = [f"- {m}: {(MODELS | LARGE)[m][2]}" for m in options.models]
        how.append(f"- {options.rounds} rounds, {options.burst} s a burst")
        report.save(options.save, "train_step", about, how, tables)
    if options.json:
        figures = {"machine": about, "models": everything, "recording": recording}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    if options.plot is not None:
        cli.plot(options.plot, "train_step", over_eager(everything), "time of a step, PyTorch eager's being 1")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
