"""Runs ordinary PyTorch programs (`programs/`) on PyTorch eager and on jaxtorch: who is slower where?

    python benchmarks/programs.py --save MACHINE
    python benchmarks/programs.py --names unet,gcn

The two sides are processes of their own that have bursts of five steps in turn, with an empty compilation cache. `step` is the first
quartile of the steps in the program's second half, `CPU` the ratio of processor time there, which other programs on the machine
disturb less; `5 first` and `total` are wall time, imports not counted, compilation included; `peak` that of the whole process.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

import cli
import report
from workers import HERE, note

FAMILIES = ("vision", "sequences", "generative", "numerics", "decisions")
BURST = 5
SIDES = {"torch": [], "jaxtorch": ["-m", "jaxtorch"]}


def programs() -> dict[str, str]:
    """Name -> the file that has it."""
    found = {}
    for family in FAMILIES:
        for node in ast.parse((HERE / "programs" / f"{family}.py").read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name] = family
    return found


class Process:
    """A program on one side."""

    def __init__(self, side: str, family: str, name: str, threads: int, cache: str) -> None:
        env = os.environ | {"OMP_NUM_THREADS": str(threads), "JAXTORCH_CACHE": cache}
        env["PYTHONPATH"] = f"{HERE.parent}{os.pathsep}{env.get('PYTHONPATH', '')}"
        command = [sys.executable, *SIDES[side], str(HERE / "programs" / "side.py"), family, name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.bursts: list[dict[str, Any]] = []
        self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{' '.join(map(str, self.process.args))} ended early")  # pyright: ignore[reportArgumentType, reportCallIssue]
        return json.loads(line)

    def burst(self) -> bool:
        """Run some steps; is the program at its end?"""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{BURST}\n")
        self.process.stdin.flush()
        self.bursts.append(self._read())
        return self.bursts[-1]["done"]

    def figures(self) -> dict[str, Any]:
        full = [b for b in self.bursts if b["took"]]
        late = full[len(full) // 2 :]
        steps = sorted(t for b in late for t in b["took"])
        every = [t for b in full for t in b["took"]]
        return {
            "step": steps[len(steps) // 4], "best": steps[0], "first": sum(every[:BURST]), "total": sum(every),
            "cpu": median(b["cpu"] / len(b["took"]) for b in late), "cpu_total": sum(b["cpu"] for b in full),
            "peak": self.bursts[-1]["peak"], "values": self.bursts[-1]["values"],
        }  # fmt: skip


def run(family: str, name: str, threads: int) -> dict[str, Any]:
    """Figures of both sides."""
    with tempfile.TemporaryDirectory() as cache:
        sides = {side: Process(side, family, name, threads, cache) for side in SIDES}
        try:
            left = list(sides)
            while left:
                left = [side for side in left if not sides[side].burst()]
            return {side: process.figures() for side, process in sides.items()}
        finally:
            for process in sides.values():
                process.process.kill()
                process.process.wait()


def deviation(a: list[float], b: list[float]) -> float:
    """The largest difference among the first five values, relative to PyTorch's."""
    pairs = list(zip(a, b, strict=True))[:BURST]
    return max(abs(x - y) / max(abs(x), 1e-2) for x, y in pairs)


def row(name: str, found: dict[str, Any]) -> list[str]:
    theirs, ours = found["torch"], found["jaxtorch"]
    ratios = [ours[k] / theirs[k] for k in ("step", "best", "cpu", "total", "cpu_total", "peak")]
    times = [report.duration(s[k]) for k in ("step", "first") for s in (theirs, ours)]
    return [name, *times[:2], *[report.number(r) for r in ratios[:3]], *times[2:], *[report.number(r) for r in ratios[3:]],
            f"{deviation(theirs['values'], ours['values']):.0e}"]  # fmt: skip


HEAD = ["program", "PyTorch", "jaxtorch", "step x", "best x", "CPU x", "5 first, PyTorch", "jaxtorch", "total x", "total CPU x",
        "peak x", "dev."]  # fmt: skip


def main() -> None:
    parser = cli.common(__doc__)
    parser.add_argument("--names", default="all", help="some programs, with commas between")
    options = parser.parse_args()
    known = programs()
    about = report.machine(options.threads)
    lines, figures = [], {}
    for name in cli.chosen(parser, options.names, known):
        figures[name] = run(known[name], name, options.threads)
        lines.append(row(name, figures[name]))
        note("  ".join(lines[-1]))
        off = deviation(figures[name]["torch"]["values"], figures[name]["jaxtorch"]["values"])
        if off > 2e-3:
            note(f"{name}: the sides differ by {off:.0e} in the first {BURST} steps")
    how = ["- the programs of `benchmarks/programs/`, bursts of five steps in turn, compilation cache empty"]
    cli.deliver(options, "programs", about, how, [(HEAD, lines)], figures, {}, "")


if __name__ == "__main__":
    main()
