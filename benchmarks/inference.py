"""Times forward passes of jaxtorch, PyTorch and hand-written JAX on the same models, interleaved in one run.

    python benchmarks/inference.py --save MACHINE

As `train_step.py` measures: a process a side, the same parameters and inputs, bursts in turn, medians over rounds
and medians of the ratios within a round. Models are in evaluation mode with gradients off, and every output is
read as a NumPy array before the next pass begins. The outputs must agree, or the run ends with an error.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import cli
import numpy as np
import report
import turns
from models import BATCHES, MODELS
from sides import SIDES
from workers import TOLERANCE, Side, environment, finish, note, pin, save_initial_state

Results = dict[str, dict[str, Any]]
SIZES = {"train": 0, "1": 1}


def measure(model: str, size: str, options: argparse.Namespace, folder: Path) -> Results:
    """All sides on one model with one batch size."""
    label = f"{model}, batch {size}"
    state = folder / f"{model}.npz"
    if not state.exists():
        save_initial_state(model, state, options.threads)
    results: Results = {}
    workers: dict[str, Side] = {}
    for side in options.sides:
        env = environment(options.threads, folder / f"cache-{side}")
        work = f"{model}:{SIZES[size]}:{options.mode}"
        worker = Side(side, work, str(state), env, folder / f"{side}.log", "inference_sides.py")

        def begin(worker=worker):
            worker.answer()
            return worker.ask("outputs", BATCHES)

        if (found := turns.attempt(f"{label}: {SIDES[side]}", side, workers, results, begin)) is not None:
            note(f"{label}: {SIDES[side]}: first pass {found['first']:.2f} s")
            results[side], workers[side] = found, worker
    if not options.check:
        counts = turns.burst_counts(label, workers, SIDES, results, options.burst)
        turns.interleave(label, workers, SIDES, results, counts, options.rounds)
        turns.summarise(label, results, SIDES, ["jax", "torch", "torch-compile"])
    for worker in workers.values():
        worker.close()
    return results


def compare(label: str, results: Results) -> list[str]:
    """Fill in the deviation of each side's outputs, over the largest output; returns what is wrong."""
    wrong = []
    ran = {side: r for side, r in results.items() if "outputs" in r}
    reference = next((s for s in ("torch", "jax", *ran) if s in ran), None)
    if reference is None:
        return [f"{label}: no side ran"]
    expected = [np.asarray(y, np.float64) for y in ran[reference]["outputs"]]
    for side, r in ran.items():
        shapes = [y.shape for y in r["outputs"]]
        if shapes != [y.shape for y in expected]:
            wrong.append(f"{label}: {SIDES[side]} has outputs of shapes {shapes}, not {[y.shape for y in expected]}")
            continue
        pairs = zip(r["outputs"], expected, strict=True)
        r["deviation"] = float(max(np.abs(y - e).max() / np.abs(e).max() for y, e in pairs))
        if not r["deviation"] <= TOLERANCE:
            wrong.append(f"{label}: outputs of {SIDES[side]} are {r['deviation']:.1e} off those of {SIDES[reference]}")
    for r in ran.values():
        del r["outputs"]
    return wrong


def table(everything: dict[tuple[str, str], Results]) -> report.Table:
    header = ["model", "side", "batch", "pass", "best", "x JAX", "x eager", "best x eager", "x torch.compile"]
    header += ["first pass", "output dev."]
    rows = []
    for (model, size), results in everything.items():
        for side, r in results.items():
            if "median" not in r:
                continue
            rows.append(
                [
                    model,
                    SIDES[side],
                    size,
                    ("~" if r["noisy"] else "") + report.duration(r["median"]),
                    report.duration(min(r["rounds"])),
                    report.number(r.get("over_jax")),
                    report.number(r.get("over_torch")),
                    report.number(r.get("best_over_torch")),
                    report.number(r.get("over_torch-compile")),
                    report.duration(r["first"]),
                    report.number(r.get("deviation"), ".0e"),
                ]
            )
    return header, rows


def parse() -> argparse.Namespace:
    parser = cli.common(__doc__)
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--sides", default="all", help=f"comma list of {','.join(SIDES)}, or all (all)")
    parser.add_argument("--batches", default="all", help="train (as in training), 1, or all (all)")
    parser.add_argument("--mode", default="no_grad", choices=["no_grad", "inference_mode"], help="(no_grad)")
    parser.add_argument("--rounds", type=int, help="rounds of bursts (9; 3 with --quick)")
    parser.add_argument("--burst", type=float, help="seconds a side has in a round (0.3; 0.1 with --quick)")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.burst = options.burst or (0.1 if options.quick else 0.3)
    options.models = cli.chosen(parser, options.models, MODELS)
    options.sides = cli.chosen(parser, options.sides, SIDES)
    options.batches = cli.chosen(parser, options.batches, SIZES)
    return options


def main() -> int:
    options = parse()
    pin(options.threads)
    about = report.machine(options.threads)
    everything: dict[tuple[str, str], Results] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        for model in options.models:
            for size in options.batches:
                results = everything[model, size] = measure(model, size, options, Path(name))
                wrong += compare(f"{model}, batch {size}", results)
    if options.check:
        return finish(wrong)
    how = [f"- torch.{options.mode}(), eval(); {options.rounds} rounds, {options.burst} s a burst"]
    figures = {f"{model}, batch {size}": results for (model, size), results in everything.items()}
    bars = {
        group: {SIDES[side]: 1e3 * r["median"] for side, r in results.items() if "median" in r}
        for group, results in figures.items()
    }
    cli.deliver(options, "inference", about, how, [table(everything)], figures, bars, "ms a forward pass")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
