"""One side of `programs.py`, in a process of its own: `python [-m jaxtorch] side.py FAMILY NAME`.

For each number of steps that it reads it runs so many, and answers with what they took; at the end with the yielded numbers.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))


def peak() -> float:
    """The process's high-water mark of resident memory, MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def answer(**found: Any) -> None:
    print(json.dumps(found), flush=True)


def main() -> None:
    if hasattr(torch, "_C") and "cpu" in torch.__version__:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(0)
    steps = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])()
    values: list[float] = []
    answer(peak=peak())
    for line in sys.stdin:
        cpu, took, done = time.process_time(), [], False
        for _ in range(int(line)):
            begun = time.perf_counter()
            try:
                values.append(float(next(steps)))
            except StopIteration:
                done = True
                break
            took.append(time.perf_counter() - begun)
        answer(took=took, cpu=time.process_time() - cpu, peak=peak(), done=done, values=values if done else [])
        if done:
            break


if __name__ == "__main__":
    main()
