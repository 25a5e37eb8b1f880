"""Times a training step of jaxtorch against Flax NNX, Equinox and hand-written JAX.

    python benchmarks/versus_jax.py --save MACHINE

The models are those of `train_step.py`, written as the documentation of Flax and of Equinox does (`flax_models.py`,
`equinox_models.py`), with optax. Equinox is skipped where it is not installed. Measured as in `train_step.py`: interleaved
bursts, losses that must agree.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import cli
import report
import train_step
import turns
from models import MODELS
from sides import FRAMEWORKS, NAMES
from workers import finish, pin

COMPARED = ["jaxtorch", "jaxtorch-compile", *FRAMEWORKS, "jax"]


def table(everything: dict[str, dict[str, Any]]) -> report.Table:
    header = ["model", "side", "step", "best", "x Flax", "best x Flax", "x Equinox", "x JAX", "1st cold", "5 cold"]
    header += ["steady MiB", "loss dev."]
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
                    report.number(r.get("over_flax")),
                    report.number(r.get("best_over_flax")),
                    report.number(r.get("over_equinox")),
                    report.number(r.get("over_jax")),
                    report.duration(r["first"]),
                    report.duration(r["five"]),
                    report.number(r["steady"], ".0f"),
                    report.number(r["deviation"], ".0e"),
                ]
            )
    return header, rows


def main() -> int:
    parser = cli.common(__doc__)
    parser.add_argument("--models", default="all", help=f"comma list of {','.join(MODELS)}, or all (all)")
    parser.add_argument("--sides", default="all", help=f"comma list of {','.join(COMPARED)}, or all (all)")
    parser.add_argument("--rounds", type=int, help="rounds of bursts (9; 3 with --quick)")
    parser.add_argument("--burst", type=float, help="seconds a side has in a round (0.4; 0.1 with --quick)")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.burst = options.burst or (0.1 if options.quick else 0.4)
    options.models = cli.chosen(parser, options.models, MODELS)
    options.sides = cli.chosen(parser, options.sides, COMPARED)
    options.no_warm, options.device = True, "cpu"
    pin(options.threads)
    about = report.machine(options.threads)
    everything: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        for model in options.models:
            everything[model] = train_step.measure_model(model, options, Path(name))
            wrong += train_step.compare(model, everything[model])
            turns.summarise(model, everything[model], NAMES, [s for s in FRAMEWORKS if s in options.sides])
    if options.check:
        return finish(wrong)
    how = [f"- {options.rounds} rounds, {options.burst} s a burst"]
    skipped = {NAMES[s]: r["skipped"] for results in everything.values() for s, r in results.items() if "skipped" in r}
    how += [f"- skipped: {side} ({why})" for side, why in skipped.items()]
    bars = {
        model: {NAMES[side]: 1e3 * r["median"] for side, r in results.items() if "median" in r}
        for model, results in everything.items()
    }
    cli.deliver(options, "versus_jax", about, how, [table(everything)], everything, bars, "ms a training step")
    return finish(wrong)


if __name__ == "__main__":
    sys.exit(main())
