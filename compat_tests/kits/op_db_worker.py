"""Runs the checks of the entries of `op_db` named on standard input, and prints one line of JSON for each check.

`JAXTORCH_TEST_DEVICE=cuda` puts jaxtorch's tensors there; PyTorch's stay on the CPU.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from pathlib import Path

DEVICE = os.environ.get("JAXTORCH_TEST_DEVICE", "cpu")
if DEVICE == "cpu":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
# What it costs to compile is what the sweep costs: each program is compiled whole, and with the least effort.
os.environ.setdefault("JAXTORCH_COMPILE_AFTER", "0")
os.environ.setdefault("JAXTORCH_PROGRAM_LIMIT", "1000000")
os.environ.setdefault("JAXTORCH_CACHE", "0")
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)
sys.path[:0] = [str(Path(__file__).parents[2])]


SAMPLES = 1000
"""After so many samples what was compiled is let go: executables take memory, and memory mappings, of which a process may have
65,530."""


def forget() -> None:
    """Let go of everything that was compiled."""
    import jax

    from jaxtorch._core.define import op
    from jaxtorch._core.run import runner

    for made in op.registry.values():
        made.forget()
    runner._structures.clear()
    jax.clear_caches()
    gc.collect()


def main() -> None:
    limit = int(sys.argv[1])
    import torch

    torch.set_num_threads(1)
    import jaxtorch
    import op_db_checks
    import op_db_kit
    import quick_reference
    from jaxtorch._core.record import deferred_errors

    jaxtorch.set_default_device(DEVICE)
    quick_reference.seed_no_absent_devices()
    deferred_errors.waiting = False
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    since = 0

    def after_batch(n: int) -> None:
        nonlocal since
        since += n
        if since >= SAMPLES:
            forget()
            since = 0

    for key, names in json.load(sys.stdin):
        entry = op_db_kit.entries()[key]
        for name in names:
            check, dtype = name.split("/")
            began, cpu = time.perf_counter(), time.process_time()
            try:
                tried, lines = op_db_checks.run_check(entry, check, dtype, limit, after_batch)
            except Exception:
                tried, lines = 0, ["sweep: " + traceback.format_exc()[-400:]]
            seconds, cpu = round(time.perf_counter() - began, 2), round(time.process_time() - cpu, 2)
            result = {"tried": tried, "failed": len(lines), "lines": lines[:6], "seconds": seconds, "cpu": cpu}
            print(json.dumps([key, name, result]), file=out, flush=True)


main()
