"""Bursts of several workers in turn, and what their rounds say."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from workers import Failed, Side, note

REST = 0.03  # seconds between bursts, for the threads of the side before to fall asleep
NOISY = 1.5  # a side whose slowest round took this many times its fastest was disturbed, and is marked


def attempt(label: str, side: str, workers: dict[str, Side], results: dict[str, Any], work: Callable[[], Any]) -> Any:
    """What `work` returns; None if the side stopped, which is then no longer among the workers."""
    try:
        return work()
    except Failed as failure:
        note(f"{label} skipped: {failure}")
        workers.pop(side, None)
        results[side] = {"skipped": str(failure)}
        return None


def burst_counts(
    model: str, workers: dict[str, Side], names: dict[str, str], results: dict[str, Any], seconds: float
) -> dict[str, int]:
    """How many steps of each side fill a burst of so many seconds."""
    counts = {}
    for side, worker in list(workers.items()):

        def pilot(worker=worker):
            step = min(worker.ask("burst", 2) for _ in range(2))
            return worker.ask("burst", max(2, min(200, int(0.1 / step))))

        if (step := attempt(f"{model}: {names[side]}", side, workers, results, pilot)) is not None:
            counts[side] = max(2, int(seconds / step))
            results[side]["rounds"] = []
    return counts


def interleave(
    model: str,
    workers: dict[str, Side],
    names: dict[str, str],
    results: dict[str, Any],
    counts: dict[str, int],
    rounds: int,
) -> None:
    """`rounds` rounds in which each side has one burst, the order rotating; seconds a step go to `results`."""
    for turn in range(rounds):
        order = list(workers)
        shift = turn % max(1, len(order))
        for side in order[shift:] + order[:shift]:
            time.sleep(REST)

            def work(side=side):
                return workers[side].ask("burst", counts[side])

            step = attempt(f"{model}: {names[side]}", side, workers, results, work)
            if step is not None:
                results[side]["rounds"].append(step)


def summarise(
    model: str,
    results: dict[str, dict[str, Any]],
    names: dict[str, str],
    yardsticks: Sequence[str] = ("jax", "torch"),
) -> None:
    """Fill in medians and ratios; say which sides were disturbed."""
    running = {side: r for side, r in results.items() if r.get("rounds")}
    for side, r in running.items():
        r["median"] = median(r["rounds"])
        r["noisy"] = max(r["rounds"]) > NOISY * min(r["rounds"])
        if r["noisy"]:
            note(f"{model}: {names[side]}: rounds of {min(r['rounds']):.2e} to {max(r['rounds']):.2e} s; noisy")
        for yardstick in yardsticks:
            if yardstick in running:
                pairs = zip(r["rounds"], running[yardstick]["rounds"], strict=True)
                r[f"over_{yardstick}"] = median(a / b for a, b in pairs)
                r[f"best_over_{yardstick}"] = min(r["rounds"]) / min(running[yardstick]["rounds"])
