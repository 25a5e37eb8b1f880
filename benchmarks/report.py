"""Tables of the benchmark: aligned on the terminal, Markdown between markers in a file, JSON."""

from __future__ import annotations

import datetime
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

Table = tuple[list[str], list[list[str]]]


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


def write_markdown(path: Path, name: str, lines: list[str]) -> None:
    """Put the lines between the file's markers of that name; a file without them gets them at its end."""
    begin, end = f"<!-- begin:{name} -->", f"<!-- end:{name} -->"
    block = "\n".join([begin, *lines, end])
    text = path.read_text() if path.exists() else ""
    if begin in text and end in text:
        before, rest = text.split(begin, 1)
        text = before + block + rest.split(end, 1)[1]
    else:
        text = f"{text.rstrip()}\n\n{block}\n".lstrip()
    path.write_text(text)
