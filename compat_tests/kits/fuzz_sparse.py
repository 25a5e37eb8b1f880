"""Random programs of sparse leaves, coalesced and not: results and gradients, as dense tensors.

`python compat_tests/kits/fuzz_sparse.py 0 500` runs seeds 0 to 499 on both modules and tells which differ.
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

STEPS = [
    "{s} + {s}", "{s} + {u}", "{s} * 2", "{s} * {u}", "{s} * {s}", "-{s}", "{s}.coalesce()", "{s}.clone()", "{s} - {u}",
    "{s} / 2", "{s}.t()", "{s}.t().t()", "{s}.neg()", "{s}.sin()", "{s}.abs()", "{s}.sqrt()", "{s}.pow(2)",
    "{s}.sparse_mask({u}.detach().coalesce())",
    "torch.sparse_coo_tensor({s}.detach().coalesce().indices(), {s}.coalesce().values() * 3, (3, 3))", "{s}.to(torch.float64)",
    "{s}.transpose(0, 1)", "{s}.to_dense().to_sparse()", "{s} * d", "{s}.relu()", "torch.sparse.softmax({s}, 1)",
    "torch.sparse.mm({s}, {u})", "{s}.double().float()", "{s}.mul(3)", "{s}.coalesce() * {u}.coalesce()",
]  # fmt: skip
ENDS = [
    "{s}.to_dense().pow(2).sum()", "torch.sparse.sum({s})", "torch.sparse.mm({s}, d).sin().sum()", "({s} @ d).pow(2).sum()",
    "(d + {s}).pow(2).sum()", "{s}.coalesce().values().pow(2).sum()", "torch.sparse.sum({s}, 0).to_dense().pow(2).sum()",
    "torch.sparse.addmm(d, {s}, d).pow(2).sum()", "(d * {s}.to_dense()).sum()", "({s}.to_dense() @ d).sum()",
    "torch.mm({s}, d).sum()", "{s}.sum()", "torch.mv({s}, d[0]).sum()",
    "d.sparse_mask({s}.detach().coalesce()).to_dense().sum() + {s}.to_dense().sum()",
]  # fmt: skip


def program(seed: int) -> list[str]:
    """The lines of a program."""
    draw = random.Random(seed)
    lines = ["d = torch.tensor([[1., -2., 3.], [.5, 1., 2.], [1., 3., -1.]], requires_grad=True)"]
    names = []
    for k in range(draw.choice([1, 2])):
        count = draw.choice([0, 1, 2, 4, 6])
        at = [[draw.randrange(3) for _ in range(count)] for _ in range(2)]
        values = [draw.choice([-1.5, 0.5, 1.0, 2.0, 3.0]) for _ in range(count)]
        made = f"torch.sparse_coo_tensor(torch.tensor({at}, dtype=torch.int64).view(2, {count}), torch.tensor({values}), (3, 3))"
        lines.append(f"s{k} = {made}{draw.choice(['', '', '.coalesce()'])}.requires_grad_()")
        names.append(f"s{k}")
    for _ in range(draw.randint(0, 3)):
        s, u = draw.choice(names), draw.choice(names)
        lines.append(f"s{len(names)} = " + draw.choice(STEPS).format(s=s, u=u))
        names.append(f"s{len(names)}")
    end = " + ".join(
        [
            draw.choice(ENDS).format(s=draw.choice([names[-1], draw.choice(names)]))
            for _ in range(draw.choice([1, 1, 2]))
        ]
    )
    lines.append(f"loss = {end}")
    way = draw.random()
    if way < 0.5:
        lines += ["loss.backward()"] if way < 0.3 else ["loss.backward(retain_graph=True)", "loss.backward()"]
    else:
        lines.append("found = torch.autograd.grad(loss, [d, s0], allow_unused=True)")
    return lines


def run(torch: Any, lines: list[str]) -> list[Any]:
    """The exceptions of a program's lines, and what its tensors and their gradients are."""
    log: list[Any] = []

    def values(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [values(y) for y in x]
        if not isinstance(x, torch.Tensor):
            return x
        dense = x.detach().to_dense() if x.layout is not torch.strided else x.detach()
        return [
            str(x.layout).rpartition(".")[2],
            list(x.shape),
            [round(float(v), 3) + 0.0 for v in dense.reshape(-1).tolist()],
        ]

    def gradient(t: Any, g: Any) -> Any:
        """A gradient at the places of a sparse leaf: some of PyTorch's are dense."""
        if g is None or t.layout is torch.strided:
            return g if g is None else values(g)[2]
        there = torch.zeros(t.shape)
        there[tuple(t.detach().coalesce().indices())] = 1.0
        return [round(float(v), 3) + 0.0 for v in (g.detach().to_dense() * there).reshape(-1).tolist()]

    scope: dict[str, Any] = {"torch": torch}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(lines):
            try:
                exec(line, scope)
            except Exception as error:  # which one is what we compare
                log.append((number, type(error).__name__))
                break
        if "found" in scope:
            log.append([gradient(t, g) for t, g in zip((scope["d"], scope["s0"]), scope["found"], strict=True)])
        for name in [n for n in scope if n in ("d", "loss") or (n[0] == "s" and n[1:].isdigit())]:
            t = scope[name]
            leaf = t.is_leaf
            log.append((name, values(t), gradient(t, t.grad) if leaf else None, leaf and t.requires_grad))
    return log


def differ(a: Any, b: Any) -> bool:
    """Are two logs other than rounding would make them?"""
    if isinstance(a, (list, tuple)):
        return type(a) is not type(b) or len(a) != len(b) or any(map(differ, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return not (abs(a - b) <= 2e-3 * max(1.0, abs(a)) or (a != a and b != b) or a == b)
    return a != b


def main() -> None:
    """Run a range of seeds."""
    import torch as reference

    import jaxtorch

    count = refused = 0
    for seed in range(int(sys.argv[1]), int(sys.argv[2])):
        lines = program(seed)
        expected = run(reference, lines)
        found = run(jaxtorch, lines)
        refused += type(expected[0][0]) is int
        if type(expected[0][0]) is not int and differ(expected, found):  # what PyTorch refuses may work here
            count += 1
            print(f"# seed {seed}", *lines, sep="\n")
            for a, b in zip(expected, found, strict=False):
                if differ(a, b):
                    print("   ", a, "\n   |", b)
                    break
    print(f"{count} of {sys.argv[2]} differ; PyTorch refuses {refused}")


if __name__ == "__main__":
    main()
