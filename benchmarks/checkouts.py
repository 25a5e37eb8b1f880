"""Times this checkout beside another one in turns: has a change made something slower?

    python benchmarks/checkouts.py ../jaxtorch-before --kinds train,compiled --models mlp,gpt

The other checkout must have its extensions built (`python setup.py build_ext --inplace`). Each is a process of its own that runs the
same cases: training steps as a plain loop and compiled, passes over a batch and over one example, and what `overhead.py` measures.
Both must compute the same. Ratios are this checkout's time over the other's: the median of the rounds' ratios, and that of the
quickest rounds, which disturbances reach less.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import cli
import numpy as np
import overhead
import report
import turns
from models import MODELS
from workers import HERE, TOLERANCE, Failed, Side, environment, finish, note, pin, save_initial_state

KINDS = ("train", "compiled", "batch", "one", "overhead")
FIRST = 20  # steps or passes before any is timed: programs are compiled by then


class Case:
    """A case in the process of one checkout."""

    def __init__(self, kind: str, name: str, tree: Path, folder: Path, threads: int) -> None:
        self.kind, state = kind, folder / f"{name}.npz"
        env = environment(threads, folder / f"cache-{tree.name}")
        env["PYTHONPATH"] = os.pathsep.join([str(tree), env["PYTHONPATH"]])
        log = folder / "log"
        if kind == "overhead":
            self.worker = Side("jaxtorch", "-", "-", env, log, "overhead.py")
        elif kind in ("train", "compiled"):
            side = "jaxtorch" if kind == "train" else "jaxtorch-compile"
            self.worker = Side(side, name, str(state), env, log)
        else:
            asked = f"{name}:{int(kind == 'one')}:no_grad"
            self.worker = Side("jaxtorch", asked, str(state), env, log, "inference_sides.py")
        self.worker.answer()
        self.name = name

    def first(self) -> np.ndarray[Any, Any]:
        """What the first calls give."""
        if self.kind == "overhead":
            return np.array(self.worker.ask("prepare", self.name))
        if self.kind in ("train", "compiled"):
            return np.array(self.worker.ask("first", FIRST)["losses"])
        return np.array(self.worker.ask("outputs", FIRST)["outputs"])

    def count(self, seconds: float) -> float:
        """What `burst` is to be given so that it takes about so long."""
        return seconds if self.kind == "overhead" else max(2, int(seconds / self.burst(2)))

    def burst(self, count: float) -> float:
        """Seconds a step, a pass or a case."""
        found = self.worker.ask("burst", count)
        return found[1] if self.kind == "overhead" else found


def measure(kind: str, name: str, trees: list[Path], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Seconds of both checkouts in rounds whose order alternates."""
    cases = [Case(kind, name, tree, folder, options.threads) for tree in trees]
    try:
        here, there = [case.first() for case in cases]
        wrong = not np.allclose(here, there, rtol=TOLERANCE, atol=TOLERANCE)
        found: dict[str, Any] = {"kind": kind, "name": name, "wrong": wrong, "here": [], "there": []}
        if options.check:
            return found
        count = cases[1].count(options.burst)
        for turn in range(options.rounds):
            for side in ("here", "there") if turn % 2 else ("there", "here"):
                time.sleep(turns.REST)
                found[side].append(cases[side == "there"].burst(count))
        return found
    finally:
        for case in cases:
            case.worker.close()


def table(results: list[dict[str, Any]]) -> report.Table:
    header = ["case", "", "other checkout", "ratio", "ratio at best"]
    rows = []
    for r in results:
        ratio = median([a / b for a, b in zip(r["here"], r["there"], strict=True)])
        best = min(r["here"]) / min(r["there"])
        figures = [report.duration(median(r["there"])), report.number(ratio), report.number(best)]
        rows.append([r["kind"], r["name"], *figures])
    return header, rows


def main() -> int:
    parser = cli.common(__doc__)
    parser.add_argument("other", type=Path, help="the other checkout's folder")
    parser.add_argument("--kinds", default="all", help=f"comma list of {','.join(KINDS)}, or all (all)")
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--rounds", type=int, help="rounds of bursts (21; 5 with --quick)")
    parser.add_argument("--burst", type=float, default=0.15, help="seconds a checkout has in a round (0.15)")
    options = parser.parse_args()
    options.rounds = options.rounds or (5 if options.quick else 21)
    kinds, models = cli.chosen(parser, options.kinds, KINDS), cli.chosen(parser, options.models, MODELS)
    if not (options.other / "jaxtorch" / "__init__.py").exists():
        parser.error(f"no checkout of jaxtorch: {options.other}")
    pin(options.threads)
    about = report.machine(options.threads)
    trees = [HERE.parent, options.other.resolve()]
    names = [(kind, n) for kind in kinds for n in (overhead.CASES if kind == "overhead" else models)]
    results, wrong = [], []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as made:
        folder = Path(made)
        for model in {n for kind, n in names if kind != "overhead"}:
            save_initial_state(model, folder / f"{model}.npz", options.threads)
        for kind, name in names:
            try:
                found = measure(kind, name, trees, options, folder)
            except Failed as failure:
                note(f"{kind} {name} skipped: {failure}")
                continue
            results.append(found)
            if found["wrong"]:
                wrong.append(f"{kind} {name}: the checkouts' results differ")
    if not options.check:
        bars = {f"{r['kind']} {r['name']}": {k: 1e6 * median(r[k]) for k in ("here", "there")} for r in results}
        how = [f"- {options.rounds} rounds, {options.burst} s a burst"]
        cli.deliver(options, "checkouts", about, how, [table(results)], results, bars, "us")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
