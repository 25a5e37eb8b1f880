"""What importing costs: `import jaxtorch` beyond `import jax`, and PyTorch, each in new processes that take turns.

    python benchmarks/import_time.py --save MACHINE

"without byte code" is a first import where Python may not keep what it compiles (PYTHONDONTWRITEBYTECODE in a checkout);
an installed package has its byte code from pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import cli
import report
from workers import HERE, note, pin

PROGRAM = """
import sys, time
begin = time.perf_counter()
for name in sys.argv[1:]:
    __import__(name)
    print(time.perf_counter() - begin)
"""
CASES = {"jax": ["jax"], "jaxtorch": ["jax", "jaxtorch"], "torch": ["torch"]}


def copied(folder: Path) -> Path:
    """A copy of the package without byte code; the folder that holds it."""
    shutil.copytree(HERE.parent / "jaxtorch", folder / "jaxtorch", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def once(names: list[str], folder: Path, keep: bool) -> list[float]:
    """Seconds until each of the modules is imported, in a new process. keep: may Python write byte code?"""
    env = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "" if keep else "1"}
    command = [sys.executable, "-c", PROGRAM, *names]
    ran = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return [float(line) for line in ran.stdout.split()]


def main() -> int:
    parser = cli.common(__doc__)
    parser.add_argument("--rounds", type=int, help="processes of each kind (9; 3 with --quick)")
    options = parser.parse_args()
    rounds = options.rounds or (3 if options.quick else 9)
    cases = {name: modules for name, modules in CASES.items() if find_spec(modules[-1])}
    pin(options.threads)
    seconds: dict[str, list[float]] = {name: [] for name in cases}
    bare: list[float] = []
    with tempfile.TemporaryDirectory(prefix="jaxtorch-benchmark-") as name:
        kept, unkept = copied(Path(name, "kept")), copied(Path(name, "unkept"))
        for turn in range(rounds + 1):
            note(f"round {turn} of {rounds}")
            for name, modules in cases.items():
                taken = once(modules, kept, True)
                if turn:  # the first one writes the byte code
                    seconds[name].append(taken[-1] - (taken[0] if len(taken) > 1 else 0.0))
        jax_alone = median(seconds["jax"])
        for _ in range(rounds):
            both = once(CASES["jaxtorch"], unkept, False)
            bare.append(both[1] - both[0])
    labels = {"jax": "`import jax`", "jaxtorch": "`import jaxtorch` after it", "torch": "`import torch`"}
    rows = [[labels[name], report.duration(median(s)), report.duration(min(s))] for name, s in seconds.items()]
    late = [report.duration(median(bare)), report.duration(min(bare))]
    rows.append(["`import jaxtorch` after `import jax`, without byte code", *late])
    how = [f"- {rounds} processes of each kind, in turns; `import jax` alone takes {report.duration(jax_alone)}"]
    figures = {**seconds, "without byte code": bare}
    bars = {"import": {name: 1e3 * median(s) for name, s in figures.items()}}
    cli.deliver(
        options,
        "import_time",
        report.machine(options.threads),
        how,
        [(["new process", "median", "least"], rows)],
        figures,
        bars,
        "ms",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
