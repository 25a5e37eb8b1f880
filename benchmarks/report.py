"""Tables of the benchmark: aligned on the terminal, in Markdown, and kept as data files in `benchmarks/results`."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

Table = tuple[list[str], list[list[str]]]
RESULTS = Path(__file__).parent / "results"


def _gpu() -> str:
    """What the driver says of the GPU."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown GPU"


def machine(threads: int, device: str = "cpu") -> dict[str, Any]:
    """What was measured on, with which versions."""
    model = platform.processor() or platform.machine()
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        cpuinfo = ""
    if found := re.search(r"model name\s*:\s*(.+)", cpuinfo):
        model = found.group(1)
    features = sorted({f for f in ("avx2", "avx512f", "amx_tile") if re.search(rf"\b{f}\b", cpuinfo)})
    versions = {}
    for name in ("jaxtorch-xla", "torch", "jax", "jaxlib", "optax", "numpy"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "date": datetime.date.today().isoformat(),
        "cpu": " ".join([model, *features]),
        "gpu": _gpu() if device != "cpu" else "",
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": versions,
        "load": round(os.getloadavg()[0], 2),
    }


def describe(about: dict[str, Any]) -> list[str]:
    """The machine in two lines."""
    gpu = f"{about['gpu']}, " if about.get("gpu") else ""
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    return [
        f"{about['date']}, {gpu}{about['cpu']}, {about['cores']} cores, {about['threads']} threads a side, "
        f"{about['system']}, load average {about['load']} at the start",
        f"Python {about['python']}, {versions}",
    ]


def duration(seconds: float | None) -> str:
    """Three digits with a unit."""
    if seconds is None:
        return "-"
    for scale, unit in ((1e6, "us"), (1e3, "ms")):
        if seconds * scale < 999.5:  # what is rounded to 1000 is one of the next unit
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds:.3g} s"


def number(value: float | None, form: str = ".2f") -> str:
    return "-" if value is None else format(value, form)


def aligned(table: Table) -> list[str]:
    """The table in columns, the first two to the left and the rest to the right."""
    header, rows = table
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * w for w in widths], *rows]:
        cells = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def markdown(table: Table) -> list[str]:
    header, rows = table
    rule = [":---" if i < 2 else "---:" for i in range(len(header))]
    return ["| " + " | ".join(row) + " |" for row in [header, rule, *rows]]


def save(machine: str, name: str, about: dict[str, Any], how: list[str], tables: list[Table]) -> None:
    """Keep the tables as `benchmarks/results/MACHINE/NAME.json`, with the date, the machine and the versions."""
    first, versions = describe(about)
    date, on = first.split(", ", 1)
    path = RESULTS / machine / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_json(date, on, versions, [line.removeprefix("- ") for line in how], tables), encoding="utf-8")


def as_json(date: str, machine: str, versions: str, how: list[str], tables: list[Table]) -> str:
    """The text of such a file, a row of a table on each line, so that a new run shows what changed."""

    def inner(values: list[Any], depth: int) -> str:
        space = "  " * depth
        return "[\n" + ",\n".join(space + "  " + json.dumps(v, ensure_ascii=False) for v in values) + f"\n{space}]"

    parts = [
        f'    {{\n      "columns": {json.dumps(columns, ensure_ascii=False)},\n      "rows": {inner(rows, 3)}\n    }}'
        for columns, rows in tables
    ]
    head = {"date": date, "machine": machine, "versions": versions, "how": how}
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head.items()]
    return "\n".join(["{", *lines, '  "tables": [', ",\n".join(parts), "  ]", "}"]) + "\n"


def load(machine: str, name: str) -> dict[str, Any] | None:
    """What such a file holds; None where that was not measured on that machine."""
    path = RESULTS / machine / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
