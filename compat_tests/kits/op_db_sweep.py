"""The whole sweep over `op_db`: worker processes over slices, and a table of what passes.

    python compat_tests/kits/op_db_sweep.py [--limit N] [--jobs N] [--only TEXT ...] [--checks forward/float32 ...]
                                       [--wider] [--again | --resume] [--out FILE]

Each check's result is written to FILE as it comes. A worker that dies or hangs costs its check, which is noted as such, and is
started again behind it; a sweep that was stopped goes on where it was with `--resume`.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SLICE = 16
LISTING = """
import json, op_db_checks, op_db_kit
plan = {k: [f"{c}/{d}" for c, d in op_db_checks.PLAN(op_db_kit.entries()[k])] for k in op_db_kit.in_scope()}
print(json.dumps(plan))
"""


Work = list[tuple[str, list[str]]]
"""Entries, and the checks to be made of each."""


class Sweep:
    """Slices of the work handed to worker processes, and their results as they come."""

    def __init__(self, work: Work, out: Path, limit: int, patience: float) -> None:
        self.slices: queue.SimpleQueue[Work] = queue.SimpleQueue()
        for start in range(0, len(work), SLICE):
            self.slices.put(work[start : start + SLICE])
        self.out, self.limit, self.patience = out, limit, patience
        self.results: dict[str, Any] = {}
        self.lock = threading.Lock()

    def note(self, entry: str, results: dict[str, Any]) -> None:
        with self.lock:
            self.results.setdefault(entry, {}).update(results)
            with self.out.open("a") as file:
                file.write(json.dumps({"entry": entry, "results": results}) + "\n")

    def serve(self) -> None:
        """Run slices until none is left."""
        while True:
            try:
                work = self.slices.get_nowait()
            except queue.Empty:
                return
            while work:
                work = self.run(work)

    def run(self, work: Work) -> Work:
        """One worker process; what it did not get to."""
        command = [sys.executable, str(HERE / "op_db_worker.py"), str(self.limit)]
        worker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(json.dumps(work))
        worker.stdin.close()
        left = [(entry, check) for entry, checks in work for check in checks]
        watch = threading.Timer(self.patience, worker.kill)
        watch.start()
        for line in worker.stdout:
            watch.cancel()
            entry, check, result = json.loads(line)
            self.note(entry, {check: result})
            left.remove((entry, check))
            watch = threading.Timer(self.patience, worker.kill)
            watch.start()
        worker.wait()
        watch.cancel()
        if left:
            entry, check = left.pop(0)
            died = {"tried": 0, "failed": 1, "lines": [f"crash: exit status {worker.returncode}"], "seconds": 0}
            self.note(entry, {check: died})
        again: dict[str, list[str]] = {}
        for entry, check in left:
            again.setdefault(entry, []).append(check)
        return list(again.items())


def load(path: Path) -> dict[str, Any]:
    """The results in a file; of several for one check, the last."""
    found: dict[str, Any] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        found.setdefault(row["entry"], {}).update(row["results"])
    return found


def table(results: dict[str, Any]) -> list[tuple[str, int, int]]:
    """For each check: entries that pass, and entries that have it."""
    count: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for found in results.values():
        for check, result in found.items():
            count[check][0] += not result["failed"]
            count[check][1] += 1
    return [(check, passed, total) for check, (passed, total) in sorted(count.items())]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--checks", nargs="*", default=[])
    parser.add_argument("--patience", type=float, default=1800, help="seconds for one check")
    parser.add_argument(
        "--again", action="store_true", help="only the entries that failed in FILE, the others as there"
    )
    parser.add_argument("--resume", action="store_true", help="only the checks that FILE has no result of")
    parser.add_argument("--wider", action="store_true", help="the checks of wider_plan, which docs/coverage.md has not")
    parser.add_argument("--out", type=Path, default=Path("op_db.jsonl"))
    arguments = parser.parse_args()
    listing = LISTING.replace("PLAN", "wider_plan" if arguments.wider else "plan")
    run = subprocess.run([sys.executable, "-c", listing], cwd=HERE, capture_output=True, text=True, check=True)
    plan: dict[str, list[str]] = json.loads(run.stdout.splitlines()[-1])
    old = load(arguments.out) if arguments.again or arguments.resume else {}
    work: Work = []
    for key, names in plan.items():
        if arguments.only and not any(text in key for text in arguments.only):
            continue
        known = old.get(key, {})
        if arguments.again and not any(r["failed"] for r in known.values()):
            continue
        if arguments.checks:
            names = [n for n in names if any(text in n for text in arguments.checks)]
        if arguments.resume:
            names = [n for n in names if n not in known]
        if names:
            work.append((key, names))
    sweep = Sweep(work, arguments.out, arguments.limit, arguments.patience)
    sweep.results = old
    if not old:
        arguments.out.unlink(missing_ok=True)
    began = time.perf_counter()
    threads = [threading.Thread(target=sweep.serve) for _ in range(arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for check, passed, total in table(sweep.results):
        print(f"{check:24} {passed:4} of {total:4}  {100 * passed / total:5.1f} %")
    cpu = sum(r.get("cpu", 0) for found in sweep.results.values() for r in found.values())
    print(f"{len(sweep.results)} entries in {time.perf_counter() - began:.0f} s; {cpu:.0f} CPU s in all")


if __name__ == "__main__":
    main()
