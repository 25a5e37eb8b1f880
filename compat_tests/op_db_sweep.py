"""The whole sweep over `op_db`: worker processes over slices, and a table of what passes.

    python compat_tests/op_db_sweep.py [--limit N] [--jobs N] [--only TEXT ...] [--checks forward/float32 ...] [--again] [--out FILE]

A worker that dies or hangs costs its entry, which is noted as such, and is started again behind it.
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


class Sweep:
    """Slices of entries handed to worker processes, and their results as they come."""

    def __init__(self, keys: list[str], out: Path, limit: int, checks: list[str], patience: float) -> None:
        self.slices: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        for start in range(0, len(keys), SLICE):
            self.slices.put(keys[start : start + SLICE])
        self.out, self.limit, self.checks, self.patience = out, limit, checks, patience
        self.results: dict[str, Any] = {}
        self.lock = threading.Lock()

    def note(self, entry: str, results: dict[str, Any]) -> None:
        with self.lock:
            self.results[entry] = results
            with self.out.open("a") as file:
                file.write(json.dumps({"entry": entry, "results": results}) + "\n")

    def serve(self) -> None:
        """Run slices until none is left."""
        while True:
            try:
                keys = self.slices.get_nowait()
            except queue.Empty:
                return
            while keys:
                keys = self.run(keys)

    def run(self, keys: list[str]) -> list[str]:
        """One worker process; the entries that it did not get to."""
        command = [sys.executable, str(HERE / "op_db_worker.py"), str(self.limit), *self.checks]
        worker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert worker.stdin is not None and worker.stdout is not None
        worker.stdin.write(json.dumps(keys))
        worker.stdin.close()
        current = keys[0]
        watch = threading.Timer(self.patience, worker.kill)
        watch.start()
        for line in worker.stdout:
            message = json.loads(line)
            if "start" in message:
                current = message["start"]
                watch.cancel()
                watch = threading.Timer(self.patience, worker.kill)
                watch.start()
            else:
                self.note(message["entry"], message["results"])
        worker.wait()
        watch.cancel()
        if worker.returncode:
            self.note(
                current,
                {"crash": {"tried": 0, "failed": 1, "lines": [f"exit status {worker.returncode}"], "seconds": 0}},
            )
            return keys[keys.index(current) + 1 :]
        return []


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
    parser.add_argument("--patience", type=float, default=900)
    parser.add_argument(
        "--again", action="store_true", help="only the entries that failed in FILE, the others as there"
    )
    parser.add_argument("--out", type=Path, default=Path("op_db.jsonl"))
    arguments = parser.parse_args()
    listing = "import op_db_kit, json; print(json.dumps(op_db_kit.in_scope()))"
    run = subprocess.run([sys.executable, "-c", listing], cwd=HERE, capture_output=True, text=True, check=True)
    keys = [
        k for k in json.loads(run.stdout.splitlines()[-1]) if not arguments.only or any(o in k for o in arguments.only)
    ]
    old: dict[str, Any] = {}
    if arguments.again:
        lines = [json.loads(line) for line in arguments.out.read_text().splitlines()]
        old = {line["entry"]: line["results"] for line in lines}
        keys = [k for k in keys if any(r["failed"] for r in old.get(k, {}).values())]
    arguments.out.unlink(missing_ok=True)
    sweep = Sweep(keys, arguments.out, arguments.limit, arguments.checks, arguments.patience)
    for key, results in old.items():
        if key not in keys:
            sweep.note(key, results)
    began = time.perf_counter()
    threads = [threading.Thread(target=sweep.serve) for _ in range(arguments.jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for check, passed, total in table(sweep.results):
        print(f"{check:24} {passed:4} of {total:4}  {100 * passed / total:5.1f} %")
    print(f"{len(sweep.results)} entries in {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
