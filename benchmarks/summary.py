"""The table of aims: what the data files say of each model beside PyTorch, on each machine.

    python benchmarks/summary.py

Nothing is measured. Steps and passes: the plain loop's time over that of PyTorch eager or `torch.compile`, the greater of the two
ratios, each a median over rounds.
Memory: the process at its peak over PyTorch eager's. Data: images a second over PyTorch's.
`scripts/performance_page.py` puts the table into the documents.
"""

from __future__ import annotations

import report

MACHINES = {"AVX2": "avx2", "AVX-512": "avx512", "AMX": "amx"}
MODELS = ["mlp", "lenet", "resnet18", "gpt", "vit", "lstm"]
AIMS = {"mlp": 0.6, "lenet": 1.0, "resnet18": 1.0, "gpt": 0.9, "vit": 0.9, "lstm": 0.9}
MEMORY_AIM, DATA_AIM = 1.1, 1.0
OURS, THEIRS = "jaxtorch, plain loop", ("PyTorch eager", "PyTorch torch.compile")

Row = dict[str, str]


def rows(machine: str, name: str) -> tuple[str, list[Row]]:
    """The date of the first table of that name, and its rows by the names of its columns (of equal names the last)."""
    found = report.load(machine, name)
    if found is None:
        return "", []
    table = found["tables"][0]
    return found["date"], [dict(zip(table["columns"], row)) for row in table["rows"]]


def ratio(table: list[Row], **chosen: str) -> tuple[float, bool] | None:
    """Ours over the better of theirs, by the ratios within each round, and whether one of these was disturbed; None where one
    is not in the table."""
    found = {r["side"]: r for r in table if all(r.get(k) == v for k, v in chosen.items())}
    ours, theirs = found.get(OURS), [found[side] for side in THEIRS if side in found]
    if ours is None or ours["x eager"] == "-" or not theirs:
        return None
    value, noisy = float(ours["x eager"]), [ours, theirs[0]]
    if len(theirs) > 1 and theirs[1]["x eager"] != "-":
        direct = ours.get("x torch.compile", "-")
        other = value / float(theirs[1]["x eager"]) if direct == "-" else float(direct)
        if other > value:
            value, noisy = other, [ours, theirs[1]]
    return value, any("~" in r[name] for r in noisy for name in ("step", "pass") if name in r)


def cell(found: tuple[float, bool] | None, aim: float, least: bool = False) -> str:
    """The figure, bold where the aim is not reached."""
    if found is None:
        return "-"
    text = ("~" if found[1] else "") + f"{found[0]:.2f}"
    value = round(found[0], 2)
    return text if (value >= aim if least else value <= aim) else f"**{text}**"


def column(machine: str) -> tuple[set[str], dict[str, str]]:
    """Dates of a machine's tables, and what they say of each piece of work."""
    dates: set[str] = set()
    cells: dict[str, str] = {}

    def read(name: str) -> list[Row]:
        date, table = rows(machine, name)
        dates.update({date} - {""})
        return table

    steps, passes, memory, data = (read(name) for name in ("train_step", "inference", "memory", "dataloader"))
    for model in MODELS:
        aim = AIMS[model]
        cells[f"{model}, training step"] = cell(ratio(steps, model=model), aim)
        for batch, words in (("train", "pass over a batch"), ("1", "pass over one input")):
            cells[f"{model}, {words}"] = cell(ratio(passes, model=model, batch=batch), aim)
        of_process = [float(r["x eager"]) for r in memory if (r["model"], r["side"]) == (model, OURS)]
        cells[f"{model}, memory"] = cell((of_process[0], False) if of_process else None, MEMORY_AIM)
    for row in data:
        if row["side"] == "jaxtorch":
            found = (float(row["x PyTorch"]), "~" in row["images/s"])
            cells[f"{row['images']}, {row['workers']} workers"] = cell(found, DATA_AIM, least=True)
    return dates, cells


def summary() -> list[str]:
    """The table's lines."""
    columns = {name: column(machine) for name, machine in MACHINES.items()}
    header = ["work", "aim"]
    for name, (dates, _) in columns.items():
        header.append(f"{name}, {' to '.join(sorted({min(dates), max(dates)}))}")
    table = []
    for work in dict.fromkeys(work for _, cells in columns.values() for work in cells):
        model, kind = work.split(", ", 1)
        aim = f"{MEMORY_AIM}" if kind == "memory" else f"{AIMS[model]}" if model in AIMS else f"{DATA_AIM} or more"
        table.append([work, aim, *(cells.get(work, "-") for _, cells in columns.values())])
    return report.markdown((header, table))


if __name__ == "__main__":
    print("\n".join(summary()))
