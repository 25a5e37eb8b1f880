"""What everything around the mathematics costs: recording, flushing, reading, views, module calls, optimizer steps.

    python benchmarks/overhead.py --save MACHINE

Tensors have a few numbers, so that the time is Python's and the runtime's. Of every case `call` is the time until the
calls have returned (jaxtorch has recorded, PyTorch has computed) and `read` the time until a result has been
read too: with jaxtorch that is the flush, finding the compiled program, running it and waiting. jaxtorch and PyTorch
are processes of their own that take turns; their results must agree, or the run ends with an error.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import cli
import report
import turns
from sides import Unavailable, serve
from train_step import measure_recording, recording_table
from workers import Failed, Side, environment, finish, note, pin

SIDES = {"jaxtorch": "jaxtorch", "torch": "PyTorch"}
Case = tuple[Callable[[], Any], Callable[[Any], float]]
"""The calls, and what reads their result as one number."""
TOLERANCE = 1e-4
VIEWS, LAYERS = 24, 10


def many_outputs(torch: Any, count: int) -> Case:
    arguments = [torch.full((4,), float(i)) for i in range(count)]
    return lambda: [a + 1 for a in arguments], lambda results: results[-1].tolist()[0]


def one_output(torch: Any, count: int) -> Case:
    arguments = [torch.full((4,), float(i)) for i in range(count)]

    def call() -> Any:
        total = arguments[0] + 1
        for a in arguments[1:]:
            total = total + a
        return total

    return call, lambda result: result.tolist()[0]


def item_ready(torch: Any) -> Case:
    x = torch.full((), 3.0)
    x.item()
    return lambda: x, lambda x: x.item()


def item_pending(torch: Any) -> Case:
    x = torch.full((), 3.0)
    return lambda: x + 1, lambda y: y.item()


def views(torch: Any) -> Case:
    x = torch.arange(64.0)

    def call() -> Any:
        for _ in range(VIEWS // 8):
            square = x.view(8, 8)  # four views and four writes through them
            square.t().mul_(0.5)
            square[1:3].add_(1)
            x[::2].sub_(0.25)
            x.copy_(square.flatten())
        return x

    return call, lambda x: x.tolist()[9]


def linear(torch: Any, module: bool) -> Case:
    torch.manual_seed(0)
    layer = torch.nn.Linear(8, 8)
    torch.nn.init.constant_(layer.weight, 0.1)
    torch.nn.init.constant_(layer.bias, 0.5)
    x = torch.ones(4, 8)
    function, weight, bias = torch.nn.functional.linear, layer.weight, layer.bias
    call = (lambda: layer(x)) if module else (lambda: function(x, weight, bias))
    return call, lambda y: y.tolist()[0][0]


def sequential(torch: Any) -> Case:
    nn = torch.nn
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(8, 8), nn.ReLU()]
    model, x = nn.Sequential(*layers), torch.ones(4, 8)
    for p in model.parameters():
        nn.init.constant_(p, 0.1)
    return lambda: model(x), lambda y: y.tolist()[0][0]


def optimizer(torch: Any, name: str, count: int) -> Case:
    parameters = [torch.nn.Parameter(torch.ones(4)) for _ in range(count)]
    for p in parameters:
        p.grad = torch.full((4,), 0.01)
    arguments = {"lr": 1e-3, "momentum": 0.9} if name == "SGD" else {"lr": 1e-3}
    update = getattr(torch.optim, name)(parameters, **arguments).step
    return update, lambda _: parameters[-1].tolist()[0]


CASES: dict[str, tuple[Callable[[Any], Case], int, str]] = {
    **{f"{n} arguments, {n} outputs": (partial(many_outputs, count=n), n, "flush") for n in (1, 10, 100, 1000)},
    **{f"{n} arguments, 1 output": (partial(one_output, count=n), n, "flush") for n in (10, 100)},
    "item() of a value that is there": (item_ready, 1, "item"),
    "x + 1, item()": (item_pending, 1, "item"),
    f"{VIEWS} views and writes": (views, VIEWS, "views"),
    "functional.linear": (partial(linear, module=False), 1, "modules"),
    "nn.Linear": (partial(linear, module=True), 1, "modules"),
    f"nn.Sequential of {LAYERS} Linear, ReLU": (sequential, 2 * LAYERS, "modules"),
    **{
        f"SGD momentum, {n} parameters": (partial(optimizer, name="SGD", count=n), n, "optimizers")
        for n in (10, 100, 1000)
    },
    **{f"AdamW, {n} parameters": (partial(optimizer, name="AdamW", count=n), n, "optimizers") for n in (10, 100, 1000)},
}
"""Name -> how to make the case, how many operations, modules or parameters it has, its group."""
GROUPS = list(dict.fromkeys(group for _, _, group in CASES.values()))
WARM_UP = 12  # calls before any is timed: whole programs are compiled only after a sequence has repeated


class Worker:
    """Answers with timings of one library's cases."""

    def __init__(self, library: str) -> None:
        try:
            self.torch = importlib.import_module(library)
        except ImportError as error:
            raise Unavailable(f"cannot import {library}: {error}") from None
        if library == "torch":
            self.torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))

    def prepare(self, name: str) -> list[float]:
        """Make the case; what its first calls give."""
        self.call, self.read = CASES[name][0](self.torch)
        return [self.read(self.call()) for _ in range(WARM_UP)]

    def burst(self, seconds: float) -> tuple[float, float]:
        """Median seconds until the calls have returned, and until a result has been read."""
        called, done = [], []
        end = time.perf_counter() + seconds
        call, read, clock = self.call, self.read, time.perf_counter
        while (begun := clock()) < end or len(done) < 3:
            result = call()
            middle = clock()
            read(result)
            done.append(clock() - begun)
            called.append(middle - begun)
        return median(called), median(done)


def measure(name: str, options: argparse.Namespace, workers: dict[str, Side], wrong: list[str]) -> dict[str, Any]:
    """Each side's medians of a case, in rounds whose order alternates."""
    results: dict[str, dict[str, Any]] = {}
    for side, worker in list(workers.items()):
        label = f"{name}: {SIDES[side]}"
        found = turns.attempt(label, side, workers, results, lambda worker=worker: worker.ask("prepare", name))
        if found is not None:
            results[side] = {"values": found, "calls": [], "rounds": []}
    for turn in range(0 if options.check else options.rounds):
        for side in list(workers) if turn % 2 == 0 else list(workers)[::-1]:
            time.sleep(turns.REST)
            called, done = workers[side].ask("burst", options.burst)
            results[side]["calls"].append(called)
            results[side]["rounds"].append(done)
    values = [r["values"] for r in results.values() if "values" in r]
    for other in values[1:]:
        if any(abs(a - b) > TOLERANCE * max(1.0, abs(b)) for a, b in zip(other, values[0], strict=True)):
            wrong.append(f"{name}: the sides' results differ: {values}")
    turns.summarise(name, results, SIDES, ["torch"])
    return results


def table(everything: dict[str, dict[str, Any]]) -> report.Table:
    header = ["case", "side", "call", "read", "read, each", "x PyTorch", "best x PyTorch"]
    rows = []
    for name, results in everything.items():
        for side, r in results.items():
            if "median" not in r:
                continue
            mark = "~" if r["noisy"] else ""
            figures = [report.duration(median(r["calls"])), mark + report.duration(r["median"])]
            ratios = [report.number(r.get("over_torch")), report.number(r.get("best_over_torch"))]
            rows.append([name, SIDES[side], *figures, report.duration(r["median"] / CASES[name][1]), *ratios])
    return header, rows


def main() -> int:
    parser = cli.common(__doc__)
    parser.add_argument("--groups", default="all", help=f"comma list of recording,{','.join(GROUPS)}, or all (all)")
    parser.add_argument("--sides", default="all", help=f"comma list of {','.join(SIDES)}, or all (all)")
    parser.add_argument("--rounds", type=int, help="rounds of bursts (9; 3 with --quick)")
    parser.add_argument("--burst", type=float, help="seconds of a burst (0.1; 0.03 with --quick)")
    options = parser.parse_args()
    options.rounds = options.rounds or (3 if options.quick else 9)
    options.burst = options.burst or (0.03 if options.quick else 0.1)
    options.groups = cli.chosen(parser, options.groups, ["recording", *GROUPS])
    options.sides = cli.chosen(parser, options.sides, SIDES)
    pin(options.threads)
    about = report.machine(options.threads)
    everything: dict[str, dict[str, Any]] = {}
    wrong: list[str] = []
    tables = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        folder = Path(name)
        workers: dict[str, Side] = {}
        for side in options.sides:
            env = environment(options.threads, folder / "cache")
            worker = Side(side, "-", "-", env, folder / f"{side}.log", "overhead.py")
            try:
                worker.answer()
            except Failed as failure:
                note(f"{SIDES[side]} skipped: {failure}")
                continue
            workers[side] = worker
        for name, (_, _, group) in CASES.items():
            if group in options.groups:
                everything[name] = measure(name, options, workers, wrong)
        for worker in workers.values():
            worker.close()
        if "recording" in options.groups and not options.check:
            recorded = measure_recording(options, folder)
            tables.append(recording_table(recorded))
    if options.check:
        return finish(wrong)
    how = [f"- {options.rounds} rounds, {options.burst} s a burst"]
    bars = {
        name: {SIDES[side]: 1e6 * r["median"] for side, r in results.items() if "median" in r}
        for name, results in everything.items()
    }
    cli.deliver(options, "overhead", about, how, [table(everything), *tables], everything, bars, "us until read")
    return finish(wrong)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in SIDES:
        serve(sys.argv[4], lambda: Worker(sys.argv[1]))
    else:
        sys.exit(main())
