"""Draws the pictures of the README and of `docs/explanation`: how things go, and the bars of the README's table of speeds.

    python scripts/draw_pictures.py

`scripts/fill_readme.py` calls this when it has written the table; a test compares the pictures with what is drawn.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
FONT = 'font-family="Helvetica, Arial, sans-serif"'
MONO = 'font-family="Menlo, Consolas, monospace"'
INK, PALE, LINE = "#1f2933", "#f4f6f8", "#9aa5b1"
COLOURS = {
    "jaxtorch, plain loop": "#e4572e", "jaxtorch compiled": "#f3a712", "PyTorch eager": "#7b8794",
    "hand-written jax.jit": "#4f86c6",
}  # fmt: skip
GREY = "#52606d"
TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    f'<path d="M0,0 L8,4 L0,8 z" fill="{INK}"/></marker></defs>'
)
"""The tip of an arrow, which a picture with arrows defines once."""
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def picture(width: int, height: int, title: str, parts: list[str]) -> str:
    """An SVG on a white sheet, so that it can be read on a dark page too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    sheet = f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", sheet, *parts, "</svg>"]) + "\n"


def text(
    x: float, y: float, what: str, size: int = 13, anchor: str = "start", colour: str = INK, font: str = FONT, halo: bool = False
) -> str:  # fmt: skip
    around = ' paint-order="stroke" stroke="#ffffff" stroke-width="4"' if halo else ""
    return (
        f'<text x="{x:g}" y="{y:g}" {font} font-size="{size}" text-anchor="{anchor}" fill="{colour}"{around} '
        f'xml:space="preserve">{escape(what)}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str = PALE, stroke: str = LINE) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{stroke}"/>'


def arrow(*points: tuple[float, float]) -> str:
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.5" marker-end="url(#tip)"/>'


# -- the bars of the table


def seconds(cell: str) -> float | None:
    """A cell of the table, such as '4.32 ms'; None for '-'."""
    found = re.fullmatch(r"~?([\d.e+]+) (us|ms|s)", cell)
    return float(found[1]) * UNITS[found[2]] if found else None


def speeds(readme: str) -> dict[str, dict[str, float]]:
    """Seconds a step by model and side, from the README's table."""
    rows = re.search(r"train_step: begin -->\n(.*?)\n\n", readme, re.DOTALL)
    if rows is None:
        raise SystemExit("README.md has no table of the training steps")
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in rows[1].splitlines()]
    _, *sides = cells[0]
    found = {}
    for model, *times in cells[2:]:
        known = {side: seconds(t) for side, t in zip(sides, times, strict=True)}
        found[model] = {side: t for side, t in known.items() if t is not None}
    return found


def bars(readme: str) -> str:
    """Time of a step of each model, as a part of PyTorch eager's."""
    shown = {model: {side: t / times["PyTorch eager"] for side, t in times.items() if side in COLOURS}
             for model, times in speeds(readme).items() if "PyTorch eager" in times}  # fmt: skip
    left, top, bar, gap, width = 90, 64, 13, 16, 560
    most = max(ratio for sides in shown.values() for ratio in sides.values())
    scale = width / most
    parts, labels, x = [], [], left
    for side, colour in COLOURS.items():
        parts += [f'<rect x="{x}" y="16" width="12" height="12" fill="{colour}"/>', text(x + 18, 27, side)]
        x += 32 + 7 * len(side)
    y = top
    for model, sides in shown.items():
        parts.append(text(left - 12, y + bar * len(sides) / 2 + 4, model, 14, "end"))
        for side, colour in COLOURS.items():
            if side not in sides:
                continue
            parts.append(
                f'<rect x="{left}" y="{y}" width="{sides[side] * scale:.1f}" height="{bar - 2}" fill="{colour}"/>'
            )
            labels.append(text(left + sides[side] * scale + 5, y + bar - 4, f"{sides[side]:.2f}", 10, halo=True))
            y += bar
        y += gap
    one = left + scale
    parts.append(
        f'<line x1="{one:.1f}" y1="{top - 8}" x2="{one:.1f}" y2="{y - gap + 4}" stroke="{LINE}" stroke-dasharray="3 3"/>'
    )
    parts.append(
        text(left, top - 14, "time of a training step, PyTorch eager = 1 (less is faster)", 12, colour="#52606d")
    )
    return picture(left + width + 60, y, "Time of a training step beside PyTorch eager's", [*parts, *labels])


# -- how a loop runs

LOOP = """for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()""".splitlines()
RECORDED = "addmm relu addmm cross_entropy | backward of each | update of all parameters".split(" | ")


def loop() -> str:
    """From the program's text to XLA's program."""
    grey = GREY
    parts = [TIP]
    parts += [box(16, 44, 272, 128), text(16, 32, "1  Python runs your loop, every time", 14)]
    parts += [text(28, 72 + 20 * i, line, 12, font=MONO) for i, line in enumerate(LOOP)]
    parts += [box(338, 44, 240, 128), text(338, 32, "2  operations are recorded", 14)]
    parts += [text(350, 76 + 26 * i, line, 12, font=MONO) for i, line in enumerate(RECORDED)]
    parts += [text(350, 158, "a value is a slot until somebody asks", 11, colour=grey)]
    parts += [box(620, 44, 244, 128), text(620, 32, "3  its structure is looked up", 14)]
    parts += [
        text(632, 76, "new: runs operation by operation", 12),
        text(632, 102, "again: compiled whole by jax.jit", 12),
    ]
    parts += [text(632, 128, "known: the XLA program, at once", 12)]
    parts += [text(632, 158, "memory of old parameters is reused", 11, colour=grey)]
    parts += [arrow((288, 108), (336, 108)), arrow((578, 108), (618, 108))]
    parts += [arrow((742, 172), (742, 212), (152, 212), (152, 174))]
    parts += [
        text(
            447,
            206,
            "print(loss), .item(), an if or optimizer.step() makes it run",
            12,
            "middle",
            grey,
        )
    ]
    return picture(880, 228, "Python records a step; XLA runs it as one program", parts)


# -- the pictures of docs/explanation: boxes in rows, with arrows between them

Row = list[tuple[str, list[str]]]
"""Boxes from left to right: a title, and the lines in the box."""


def flow(title: str, *rows: Row, joined: bool = True, down: bool = False) -> str:
    """Rows of boxes. joined: arrows lead from box to box of a row; down: and from each row's last box to the next row's first."""
    gap, left, line = 44, 24, 19
    widths = [[max(110, *(7.1 * len(w) + 26 for w in [head, *lines])) for head, lines in row] for row in rows]
    whole = max(sum(w) + gap * (len(w) - 1) for w in widths) + 2 * left
    parts, y = [TIP], 30.0
    for row, wide in zip(rows, widths, strict=True):
        height = line * max(len(lines) for _, lines in row) + 18
        stretched = (whole - 2 * left - gap * (len(wide) - 1)) / sum(wide)
        x = float(left)
        for i, ((head, lines), width) in enumerate(zip(row, wide, strict=True)):
            width *= stretched
            parts += [text(x + 2, y - 8, head, 13), box(x, y, width, height)]
            parts += [text(x + 12, y + 22 + line * j, words, 12, colour=GREY) for j, words in enumerate(lines)]
            if joined and i + 1 < len(row):
                parts.append(arrow((x + width + 2, y + height / 2), (x + width + gap - 4, y + height / 2)))
            x += width + gap
        if down and row is not rows[-1]:
            middle = y + height + 10
            parts.append(
                arrow(
                    (whole - left - 60, y + height),
                    (whole - left - 60, middle),
                    (9, middle),
                    (9, middle + 60),
                    (left - 2, middle + 60),
                )
            )
        y += height + 42
    return picture(round(whole), round(y - 26), title, parts)


def explained() -> dict[str, str]:
    """The pictures of `docs/explanation` by name."""
    return {
        "kernels.svg": flow(
            "From a call to an instruction of a program",
            [
                ("the call", ["z = x * y"]),
                ("the entry, looked up", ["by operation, types", "and fixed arguments"]),
                ("its kernel", ["traced once, as a jaxpr"]),
                ("the program", ["kernel, slots of x and y", "z: a value without content"]),
            ],
        ),
        "running.svg": flow(
            "How a structure is run",
            [
                ("new", ["kernel by kernel,", "each on NumPy while", "that is quick"]),
                ("small, and comes again", ["stays on the host:", "NumPy, or steps in C"]),
                ("large, and comes again", ["compiled whole by XLA:", "quickly or in full"]),
                ("known", ["the executable,", "at once"]),
            ],
            joined=False,
        ),
        "passes.svg": flow(
            "From a program to an executable",
            [
                ("the program", ["kernels and slots"]),
                ("packs", ["many small states", "in one array"]),
                ("tables", ["read often: multiplied", "before they are read"]),
                ("convolutions", ["channels last,", "each in its best form"]),
            ],
            [
                ("options for XLA", ["which emitters, rounding", "of half precision"]),
                ("lowering", ["native kernels on the CPU,", "cuDNN on a GPU"]),
                ("XLA", ["fuses and compiles"]),
                ("the executable", ["kept in the cache"]),
            ],
            down=True,
        ),
        "autograd.svg": flow(
            "The graph, and a pass back through it",
            [
                ("w", ["a leaf: .grad"]),
                ("MulBackward0", ["saved: x"]),
                ("ReluBackward0", ["saved: its result"]),
                ("SumBackward0", ["saved: nothing"]),
                ("loss", ["backward() begins here,", "and goes to the left"]),
            ],
        ),
        "tensors.svg": flow(
            "Tensors that share a storage",
            [
                ("tensors", ["x", "y = x.T", "z = y[1]"]),
                ("chains of views", ["none", "transpose", "transpose, select 1"]),
                ("one storage", ["its version counts", "the writes"]),
                ("its value", ["never changes: a write", "puts another one here"]),
            ],
        ),
        "errors.svg": flow(
            "When an error that depends on values is raised",
            [
                ("the operands are there?", ["looked at during the call"]),
                ("something would catch it here?", ["the program runs now"]),
            ],
            [
                ("a training step inside a try?", ["in optimizer.step(), before", "the weights change"]),
                ("nothing around it?", ["when values are next needed"]),
            ],
            down=True,
        ),
        "random.svg": flow(
            "Random numbers on the CPU",
            [
                ("manual_seed(0)", ["sets the generator's state"]),
                ("the generator", ["PyTorch's own algorithm,", "on the host"]),
                ("the numbers", ["an input of the program,", "so it stays the same program"]),
            ],
        ),
        "transforms.svg": flow(
            "vmap sees one example and records all of them",
            [
                ("the function", ["x: one example"]),
                ("recording", ["the kernel is replaced", "by jax.vmap of it"]),
                ("the program", ["all examples at once"]),
            ],
        ),
        "compile.svg": flow(
            "The calls of a compiled function",
            [
                ("first call: observed", ["what does it read,", "does it print?"]),
                ("second call: captured", ["one program, the source", "of each input, guards"]),
                ("later calls: replayed", ["guards hold: read the", "inputs, run, put results back"]),
            ],
        ),
    }


def pictures() -> dict[str, str]:
    """The pictures by name."""
    of_readme = {"loop.svg": loop(), "speed.svg": bars((ROOT / "README.md").read_text(encoding="utf-8"))}
    return of_readme | explained()


def draw() -> None:
    """Write the pictures."""
    IMAGES.mkdir(exist_ok=True)
    for name, content in pictures().items():
        (IMAGES / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    draw()
