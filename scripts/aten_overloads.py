"""Writes the table of ATen's operations and the names of their overloads, from the installed PyTorch.

    python scripts/aten_overloads.py > jaxtorch/_library/_overloads.txt

A line holds overloads in PyTorch's order, a colon, and the operations that have these.
"""

from __future__ import annotations

import torch

import jaxtorch


def names() -> set[str]:
    """ATen's operations, those that only TorchScript has too where jaxtorch knows such a function."""
    found = {
        name.removeprefix("aten::").partition(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if name.startswith("aten::")
    }
    others = {*dir(jaxtorch), *dir(jaxtorch.Tensor), *jaxtorch._core.define.op.functions}
    return found | {
        name
        for name in others
        if not name.startswith("__") and isinstance(getattr(torch.ops.aten, name, None), torch._ops.OpOverloadPacket)
    }


def main() -> None:
    lines: dict[str, list[str]] = {}
    for name in sorted(names()):
        lines.setdefault(" ".join(getattr(torch.ops.aten, name).overloads()), []).append(name)
    for overloads, operations in sorted(lines.items()):
        print(f"{overloads}: {' '.join(operations)}")


main()
