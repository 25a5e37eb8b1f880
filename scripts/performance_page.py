"""Writes `docs/reference/performance.md` from the data files in `benchmarks/results`.

    python benchmarks/train_step.py --save avx2     # measures, and keeps the tables as benchmarks/results/avx2/train_step.json
    python scripts/performance_page.py              # the page from all data files

The page's numbers are only ever written this way. `scripts/fill_readme.py` does the same for the table of README.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "performance.md"
sys.path.insert(0, str(ROOT / "benchmarks"))
import report  # noqa: E402
import summary  # noqa: E402

sys.path.pop(0)

MACHINES = {
    "avx2": "an AMD EPYC (Zen 3), two cores, AVX2: the machine of the tables below",
    "avx512": "an AMD EPYC (Zen 4 or later), two cores, AVX-512",
    "amx": "an Intel Xeon (Sapphire Rapids), two cores, AVX-512 and matrix units",
    "h100": "an NVIDIA H100 80GB, sixteen cores",
}

HEAD = """# Performance

Written by `scripts/performance_page.py` from the data files in `benchmarks/results`; do not edit.

This page says how long ordinary PyTorch programs take on jaxtorch, beside PyTorch and beside hand-written JAX. All
sides of a table ran in turns, in one run, on one machine. The scripts are in `benchmarks/`. Tables carry the date and
the machine they were measured on, and some are older than the code.

## At a glance

The plain loop's time over that of PyTorch eager or `torch.compile`, whichever ratio is greater; below 1 jaxtorch is
faster. Memory is the whole process's over PyTorch eager's. For data it is images a second over PyTorch's, where more
is faster. **Bold**: the aim is not reached. `~`: something else was running on the machine.
"""

METHOD = """## What is compared

| side | the loop |
| :--- | :--- |
| jaxtorch, plain loop | the PyTorch program, unchanged: `zero_grad`, forward, loss, `backward`, `step` |
| jaxtorch compiled | the same program, the whole step (`zero_grad` to `step`) under jaxtorch's `torch.compile` |
| PyTorch eager | the same program on PyTorch |
| PyTorch torch.compile | the same, with `model = torch.compile(model)` |
| hand-written jax.jit | the same mathematics in plain JAX and optax, one `jax.jit` step with all its state donated |

The models are in `benchmarks/models/`, written once for PyTorch and jaxtorch, and in `benchmarks/jax_models/`. The
JAX version is a yardstick, so it is written to be fast: channels last, one product for all gates of an LSTM step,
pooling by `maximum`, attention written out.

## How it is measured

- Each side is a process of its own with the same number of threads, on the same cores. All start from the same
  parameters and see the same batches in the same order. The losses of the first ten steps must agree, or the run ends
  with an error (`loss dev.` is the largest relative difference from PyTorch eager).
- In every round each side runs one burst of steps while the others wait; the order rotates. A burst reads nothing
  until its end.
- `step`, `best`: median and fastest round. `x JAX`, `x eager`: the median over rounds of the ratio to that side in
  the same round; `best x JAX`, `best x eager`: the ratio of the fastest rounds. `~` marks a side whose slowest round
  took more than 1.5 times its fastest.
- `1st cold`, `5 cold`: seconds until the loss of the first and of the fifth step has been read, in a new process with
  empty compilation caches, imports not counted. `5 warm`: the same with the caches filled.
- `peak MiB`: the most resident memory over what the process held before its first step. `steady MiB`: the same long
  after compilation.

Close other programs first: a busy machine does not slow all sides alike. The scripts need the `test` extra, since
PyTorch is the yardstick, and PyTorch's `torch.compile` needs a C++ compiler.
"""

SECTIONS = [
    (
        "Training steps",
        "train_step",
        "One training step of each model. The second table is the time to record an operation.",
    ),
    (
        "Forward passes",
        "inference",
        "Models in evaluation mode without gradients, with the batch size of training and with one input. "
        "Every output is read as a NumPy array before the next pass.",
    ),
    (
        "Peak memory",
        "memory",
        "Resident memory over what the process held before its first step. `process` counts that too. XLA's "
        "compiler is part of it.",
    ),
    (
        "Data",
        "dataloader",
        "Images of 3x224x224 from memory through `DataLoader`, in batches of 32.",
    ),
    (
        "The first steps",
        "compile_time",
        "Five steps in a new process, with an empty compilation cache and with a filled one. `ready` "
        "(imports, model and batches) is no part of the other columns.",
    ),
    (
        "New shapes",
        "shapes",
        "The small network's training step with twenty batch sizes in turn, three times over. The first pass "
        "meets every size for the first time, the second compiles a program for each, the third only runs.",
    ),
    (
        "Other people's programs",
        "programs",
        "Ordinary programs in the manner of tutorials and papers; most of those shown were chosen because "
        "they were slow. Their shapes change at every step, or they run for seconds only. `CPU x` is CPU time "
        "over PyTorch's; `dev.` is the largest relative difference of what they print. What has been mended "
        "since stands in the [journal](../journal/performance.md#other-peoples-programs).",
    ),
    (
        "Beside Flax NNX and Equinox",
        "versus_jax",
        "A training step of the same models in Flax NNX and in Equinox.",
    ),
    (
        "Importing",
        "import_time",
        "What is used rarely (`torch.compile`, `func`, `testing`, ...) is imported when it is asked for.",
    ),
    (
        "Overheads",
        "overhead",
        "What surrounds the mathematics, on tensors of a few numbers. `call` is the time until the calls have "
        "returned (jaxtorch has recorded them), `read` the time until a result has been read too.",
    ),
]
"""Heading, name of the data file, and what was measured."""

GPU = """One training step, in bfloat16, of GPT-2 124M and of ResNet-50; PyTorch there is 2.11. On an accelerator a program is
compiled whole at its first run, and the first step, which makes the optimizer's state, is another program than the
later ones: so the first steps take long. The [journal](../journal/performance.md#on-a-gpu) says where the time goes.
"""


def section(title: str, name: str, text: str, machine: str = "avx2") -> list[str]:
    """A heading, what is measured, the command, and the tables as they were kept."""
    found = report.load(machine, name)
    if found is None:
        return []
    options = " --device cuda --models gpt2,resnet50" if machine == "h100" else ""
    lines = [f"## {title}", "", text.strip(), "", f"    python benchmarks/{name}.py{options} --save {machine}", ""]
    lines += [f"{found['date']}, {found['machine']}. {found['versions']}".rstrip(), ""]
    lines += [f"- {line}" for line in found["how"]]
    for table in found["tables"]:
        lines += ["", *report.markdown((table["columns"], table["rows"]))]
    return [*lines, ""]


def others() -> list[str]:
    """Which data files there are of each machine."""
    lines = ["## All data files", "", "`benchmarks/results` has these tables, those of other machines too.", ""]
    for machine, what in MACHINES.items():
        files = sorted((report.RESULTS / machine).glob("*.json"))
        dated = ", ".join(f"{p.stem} ({report.load(machine, p.stem)['date']})" for p in files)  # pyright: ignore[reportOptionalSubscript]
        lines.append(f"- `{machine}`, {what}: {dated}.")
    return [*lines, ""]


def page() -> str:
    """The page's text."""
    parts = [HEAD, *summary.summary(), "", METHOD]
    for title, name, text in SECTIONS:
        parts += section(title, name, text)
    parts += section("On a GPU", "train_step", GPU, "h100")
    return "\n".join([*parts, *others()])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
