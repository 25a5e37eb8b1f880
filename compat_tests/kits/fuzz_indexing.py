"""Random indices of every kind, read and written: `x[i]`, `x[i] = v`, `x[i] += v`, and the gradients.

`python compat_tests/kits/fuzz_indexing.py 0 2000` runs seeds 0 to 1999 on both modules and tells which differ.
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

ITEMS = [
    "None", "...", ":", "1:", "::2", "-1", "0", "torch.tensor(1)", "torch.tensor(-1)",
    "torch.tensor(0, dtype=torch.int32)", "torch.tensor(True)", "torch.tensor(False)", "True", "torch.tensor([1, 0])",
    "torch.tensor([[0], [1]])", "[0, 1]", "np.array([1, 0])", "np.int64(1)", "np.array(1)",
    "torch.tensor([True, False])", "np.array([True, False])", "[True, False]", "torch.tensor([], dtype=torch.long)",
    "torch.tensor([[True, False], [False, True]])", "torch.tensor([0, 1], dtype=torch.uint8)",
    "torch.tensor([1], dtype=torch.int16)", "torch.tensor(1.)", "2", "slice(None, None, torch.tensor(1))",
    "torch.tensor([1, 1]) * 1",
]  # fmt: skip
VALUES = [
    "5.", "torch.tensor(5.)", "torch.tensor([5., 6.])", "torch.ones(2, 2) * 7", "torch.tensor(3)", "np.array([5., 6.])",
    "np.float32(2)", "[5., 6.]", "v", "v.sum()",
]  # fmt: skip


def program(seed: int) -> list[str]:
    """The lines of a program."""
    draw = random.Random(seed)
    shape = draw.choice([(2,), (2, 2), (2, 2, 2), ()])
    lines = [f"x = torch.arange({2 ** len(shape)}.).reshape({shape})", "v = torch.tensor([2., 3.], requires_grad=True)"]
    lines.append(
        draw.choice(["y = x", "y = x.clone().requires_grad_() * 1", "y = x.t() if x.dim() == 2 else x", "y = x[...]"])
    )
    for _ in range(draw.choice([1, 2])):
        index = ", ".join([draw.choice(ITEMS) for _ in range(draw.choice([1, 1, 2, 2, 3]))])
        index = index if draw.random() < 0.85 else f"({index},)"
        value = draw.choice(VALUES)
        lines.append(
            draw.choice([f"r = y[{index}]", f"y[{index}] = {value}", f"y[{index}] += {value}", f"r = y[{index}] * 2"])
        )
    return [*lines, "y.sum().backward() if y.requires_grad else None"]


def run(torch: Any, lines: list[str]) -> list[Any]:
    """The exceptions of a program's lines, and the tensors at its end."""
    import numpy

    log: list[Any] = []
    scope: dict[str, Any] = {"torch": torch, "np": numpy}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(lines):
            try:
                exec(line, scope)
            except Exception as error:  # which one is what we compare
                log.append((number, type(error).__name__))
        for name in "xyvr":
            t = scope.get(name)
            if t is not None:
                grad = t.grad.tolist() if t.is_leaf and t.grad is not None else None
                log.append((name, list(t.shape), t.tolist(), grad, t.stride() if t.numel() else None))
    return log


def main() -> None:
    """Run a range of seeds."""
    import torch as reference

    import jaxtorch

    count = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        lines = program(seed)
        expected, found = run(reference, lines), run(jaxtorch, lines)
        if expected != found:
            count += 1
            print(f"# seed {seed}", *lines, sep="\n")
            for a, b in zip(expected, found, strict=False):
                if a != b:
                    print("   ", a, "|", b)
                    break
    print(f"{count} of {sys.argv[2]} differ")


if __name__ == "__main__":
    main()
