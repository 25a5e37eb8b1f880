"""Runs the checks of the entries of `op_db` named on standard input, and prints one line of JSON for each."""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import traceback
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# One kernel a sample, run once: what it costs to compile is what the sweep costs.
os.environ.setdefault("JAXTORCH_EXECUTION", "immediate")
os.environ.setdefault("JAXTORCH_CACHE", "0")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]


def main() -> None:
    limit, wanted = int(sys.argv[1]), sys.argv[2:]
    import torch

    torch.set_num_threads(1)
    from torch.testing._internal import common_utils

    common_utils.extract_test_fn = lambda: None  # it looks for a running unittest in the whole stack, at 140 ms a time
    import op_db_checks
    import op_db_kit

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for n, key in enumerate(json.load(sys.stdin)):
        entry = op_db_kit.entries()[key]
        print(json.dumps({"start": key}), file=out, flush=True)
        results = {}
        for check, dtype in op_db_checks.plan(entry):
            name = f"{check}/{dtype}"
            if wanted and not any(w in name for w in wanted):
                continue
            began = time.perf_counter()
            try:
                tried, lines = op_db_checks.run_check(entry, check, dtype, limit)
            except Exception:
                tried, lines = 0, ["sweep: " + traceback.format_exc()[-400:]]
            seconds = round(time.perf_counter() - began, 2)
            results[name] = {"tried": tried, "failed": len(lines), "lines": lines[:6], "seconds": seconds}
        print(json.dumps({"entry": key, "results": results}), file=out, flush=True)
        if n % 10 == 9:
            import jax

            from jaxtorch._core import op

            for made in op.registry.values():
                made.forget()
            jax.clear_caches()
            gc.collect()


main()
