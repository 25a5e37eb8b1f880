"""Images a second through `DataLoader`, jaxtorch's and PyTorch's, epochs interleaved in one run.

    python benchmarks/dataloader.py --save MACHINE

The images (3x224x224) are in memory: `float`, float32 tensors that are only indexed and collated, and `uint8`, scaled
and normalised one by one as a transform does. A number of every batch is read, so nothing is left undone. Workers start
anew in each epoch, as is the default, or once with --persistent. The sides' batches must agree, or the run ends with
an error.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cli
import numpy as np
import report
import turns
from sides import Unavailable, serve
from workers import Failed, Side, environment, finish, note, pin

SIDES = {"jaxtorch": "jaxtorch", "torch": "PyTorch"}
KINDS = {"float": "float32 from memory", "uint8": "uint8, scaled and normalised"}
SHAPE = (3, 224, 224)
TOLERANCE = 1e-5


def dataset(torch: Any, kind: str, count: int) -> Any:
    """Images with labels, the same for both libraries."""
    rng = np.random.default_rng(0)
    labels = torch.tensor(rng.integers(0, 1000, count))
    images = torch.tensor(rng.integers(0, 256, (count, *SHAPE), dtype=np.uint8))
    if kind == "float":
        return torch.utils.data.TensorDataset(images.float() / 255, labels)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    class Transformed(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> tuple[Any, int]:
            image = images[index].float().div(255)
            return (image - mean) / std, int(labels[index])

    return Transformed()


class Worker:
    """Answers with whole epochs of one library's loaders."""

    def __init__(self, library: str) -> None:
        try:
            self.torch = importlib.import_module(library)
        except ImportError as error:
            raise Unavailable(f"cannot import {library}: {error}") from None
        if library == "torch":
            self.torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.loaders: dict[str, Any] = {}

    def prepare(self, case: dict[str, Any]) -> dict[str, float]:
        """Make a loader; an epoch's checksums."""
        loader = self.torch.utils.data.DataLoader(
            dataset(self.torch, case["kind"], case["images"]),
            batch_size=case["batch"],
            num_workers=case["workers"],
            persistent_workers=case["persistent"] and case["workers"] > 0,
        )
        self.loaders = {case["name"]: loader}  # the dataset of the case before is let go
        sums = {"images": 0.0, "labels": 0.0, "count": 0.0}
        for number, (images, labels) in enumerate(loader):
            sums["images"] += (number + 1) * float(np.abs(images.numpy()).mean(dtype=np.float64))
            sums["labels"] += (number + 1) * float(labels.sum().item())
            sums["count"] += len(images)
        return sums

    def epoch(self, name: str) -> float:
        """Seconds of an epoch."""
        begun = time.perf_counter()
        for images, labels in self.loaders[name]:
            images[-1, -1, -1, -1].item()
            labels[-1].item()
        return time.perf_counter() - begun


def measure(case: dict[str, Any], workers: dict[str, Side], rounds: int, wrong: list[str]) -> dict[str, dict[str, Any]]:
    """Each side's seconds of an epoch, in rounds whose order alternates."""
    results: dict[str, dict[str, Any]] = {}
    for side, worker in list(workers.items()):
        label = f"{case['name']}: {SIDES[side]}"
        sums = turns.attempt(label, side, workers, results, lambda worker=worker: worker.ask("prepare", case))
        if sums is not None:
            results[side] = {"sums": sums, "rounds": []}
    for turn in range(rounds):
        for side in list(workers) if turn % 2 == 0 else list(workers)[::-1]:
            time.sleep(turns.REST)
            results[side]["rounds"].append(workers[side].ask("epoch", case["name"]))
    found = [r["sums"] for r in results.values() if "sums" in r]
    for sums in found[1:]:
        if any(abs(sums[k] - found[0][k]) > TOLERANCE * abs(found[0][k]) for k in sums):
            wrong.append(f"{case['name']}: the sides' batches differ: {found}")
    turns.summarise(case["name"], results, SIDES, ["torch"])
    for r in results.values():
        if r.get("rounds"):
            r["rate"] = case["images"] / r["median"]
            note(f"{case['name']}: {r['rate']:.0f} images a second")
    return results


def table(everything: dict[str, dict[str, dict[str, Any]]], cases: dict[str, dict[str, Any]]) -> report.Table:
    header = ["images", "side", "workers", "images/s", "best", "x PyTorch", "best x PyTorch"]
    rows = []
    for name, results in everything.items():
        case = cases[name]
        for side, r in results.items():
            if "rate" not in r:
                continue
            ratios = [r.get("over_torch"), r.get("best_over_torch")]
            rate = ("~" if r["noisy"] else "") + report.number(r["rate"], ".0f")
            best = report.number(case["images"] / min(r["rounds"]), ".0f")
            ratios = [report.number(1 / x if x else None) for x in ratios]
            rows.append([KINDS[case["kind"]], SIDES[side], str(case["workers"]), rate, best, *ratios])
    return header, rows


def parse() -> argparse.Namespace:
    parser = cli.common(__doc__)
    parser.add_argument("--kinds", default="all", help=f"comma list of {','.join(KINDS)}, or all (all)")
    parser.add_argument("--sides", default="all", help=f"comma list of {','.join(SIDES)}, or all (all)")
    parser.add_argument("--workers", default="0,2", help="comma list of worker counts (0,2)")
    parser.add_argument("--images", type=int, help="images of an epoch (1024; 256 with --quick)")
    parser.add_argument("--batch", type=int, default=32, help="images of a batch (32)")
    parser.add_argument("--rounds", type=int, help="epochs of each side (9; 3 with --quick)")
    parser.add_argument("--persistent", action="store_true", help="keep workers from epoch to epoch")
    options = parser.parse_args()
    options.images = options.images or (256 if options.quick else 1024)
    options.rounds = 0 if options.check else options.rounds or (3 if options.quick else 9)
    options.kinds = cli.chosen(parser, options.kinds, KINDS)
    options.sides = cli.chosen(parser, options.sides, SIDES)
    options.workers = [int(count) for count in options.workers.split(",")]
    return options


def main() -> int:
    options = parse()
    pin(options.threads)
    about = report.machine(options.threads)
    cases = {}
    for kind, count in itertools.product(options.kinds, options.workers):
        name = f"{kind}, {count} workers"
        cases[name] = {"name": name, "kind": kind, "workers": count, "images": options.images}
        cases[name] |= {"batch": options.batch, "persistent": options.persistent}
    everything: dict[str, dict[str, dict[str, Any]]] = {}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as folder:
        env = environment(options.threads, Path(folder) / "cache")
        workers: dict[str, Side] = {}
        for side in options.sides:
            worker = Side(side, "-", "-", env, Path(folder) / f"{side}.log", "dataloader.py")
            try:
                worker.answer()
            except Failed as failure:
                note(f"{SIDES[side]} skipped: {failure}")
                continue
            workers[side] = worker
        for name, case in cases.items():
            everything[name] = measure(case, workers, options.rounds, wrong)
        for worker in workers.values():
            worker.close()
    if options.check:
        return finish(wrong)
    kept = "kept" if options.persistent else "started anew"
    how = [
        f"- {options.rounds} epochs of {options.images} images in batches of {options.batch}, workers {kept} each epoch"
    ]
    bars = {
        name: {SIDES[side]: r["rate"] for side, r in results.items() if "rate" in r}
        for name, results in everything.items()
    }
    cli.deliver(options, "dataloader", about, how, [table(everything, cases)], everything, bars, "images a second")
    return finish(wrong)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in SIDES:
        serve(sys.argv[4], lambda: Worker(sys.argv[1]))
    else:
        sys.exit(main())
