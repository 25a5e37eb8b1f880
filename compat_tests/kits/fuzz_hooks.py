"""Random programs of views, writes in place and hooks: what each hook was called with, in which order, and the gradients.

`python compat_tests/kits/fuzz_hooks.py 0 500` runs seeds 0 to 499 on both modules and tells which differ.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import warnings
from typing import Any

VIEWS = [
    "{x}[1:]", "{x}[::2]", "{x}.view(-1)", "{x}[:]", "{x}.view({x}.shape)", "{x}.narrow(0, 0, 2)", "{x}.detach()",
    "{x}.split(1)[0]", "{x}.chunk(2)[-1]", "{x}.unbind()[0]", "{x}.data", "{x}.expand(2, -1)[1]",
]  # fmt: skip
RESULTS = [
    "{x} * 2", "{x} * {x}", "{x}.tanh()", "{x}.clone()", "{x} + 1", "{x}.sum().expand(3)", "{x} * {y}.sum()", "-{x}",
    "torch.cat([{x}, {y}])[:3]", "torch.where({x} > 1, {x}, {x} * 2)", "Twice.apply({x})", "torch.max({x}, 0)[0] + {y}",
]  # fmt: skip
WRITES = [
    "{x}.mul_(2)", "{x}.add_(1)", "{x}.copy_({y}.sum().expand({x}.shape))", "{x}.zero_()", "{x}.neg_()",
    "{x}[0] = {y}.sum()", "untracked({x}.mul_, 2)", "untracked({x}.add_, {y}.sum())", "{x}.data.mul_(2)", "{x}.detach_()",
    "{x}.fill_(3.)",
]  # fmt: skip
HOOKS = [
    "{x}.register_hook(noted('{x}'))", "{x}.register_hook(noted('{x}', 2.0))", "{x}.retain_grad()",
    "{x}.grad_fn.register_hook(noted('{x}.node'))", "{x}.grad_fn.register_prehook(noted('{x}.before'))",
    "{x}.register_post_accumulate_grad_hook(noted('{x}.after'))", "node({x}).register_hook(noted('{x}.end'))",
    "node({x}).register_prehook(noted('{x}.start'))", "handles.append({x}.register_hook(noted('{x} gone')))",
    "handles and handles.pop().remove()",
    "torch.autograd.graph.register_multi_grad_hook([{x}, {y}], noted('{x} {y} any'), mode='any')",
]  # fmt: skip
ENDS = [
    "{all}.backward()", "{all}.backward(inputs=[{x}])", "torch.autograd.grad({all}, [{x}, {y}], allow_unused=True)",
    "torch.autograd.grad({all}, [{x}], allow_unused=True)", "{all}.backward(inputs=[{x}, {y}])", "{all}.backward(retain_graph=True)",
]  # fmt: skip


def program(seed: int) -> list[str]:
    """The lines of a program."""
    draw = random.Random(seed)
    names, lines = [], []
    for _ in range(draw.choice([1, 2])):
        names.append(f"t{len(names)}")
        lines.append(f"{names[-1]} = torch.tensor([1., 2., 3.{len(names)}], requires_grad=True)")
    for _ in range(draw.randint(4, 14)):
        kinds, x, y = draw.random(), draw.choice(names), draw.choice(names)
        if kinds < 0.45:
            line = draw.choice(VIEWS if draw.random() < 0.5 else RESULTS)
            lines.append(f"t{len(names)} = " + line.format(x=x, y=y))
            names.append(f"t{len(names)}")
        else:
            lines.append(draw.choice(WRITES if kinds < 0.65 else HOOKS).format(x=x, y=y))
    for _ in range(draw.choice([1, 1, 2])):
        total = " + ".join([f"{n}.sum()" for n in draw.sample(names, min(len(names), draw.randint(1, 3)))])
        lines.append(
            "found = " + draw.choice(ENDS).format(all=f"({total})", x=draw.choice(names), y=draw.choice(names))
        )
    return lines


def run(torch: Any, lines: list[str]) -> list[Any]:
    """What the hooks of a program have noted, the exceptions of its lines, and the gradients at its end."""
    log: list[Any] = []

    def values(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [values(y) for y in x]
        return [round(v, 3) for v in x.detach().reshape(-1).tolist()] if isinstance(x, torch.Tensor) else x

    def noted(name: str, factor: float = 0.0) -> Any:
        def hook(*grads: Any) -> Any:
            log.append((name, values(grads)))
            return grads[0] * factor if factor and grads[0] is not None else None

        return hook

    def untracked(write: Any, *args: Any) -> None:
        with torch.no_grad():
            write(*args)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append(("Twice", values(g)))
            return g * 2

    nodes: list[Any] = []  # PyTorch forgets a leaf's node, and the hooks on it, when nothing holds it

    def node(x: Any) -> Any:
        nodes.append(torch.autograd.graph.get_gradient_edge(x).node)
        return nodes[-1]

    scope: dict[str, Any] = {"torch": torch, "noted": noted, "handles": [], "node": node}
    scope |= {"untracked": untracked, "Twice": Twice}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, line in enumerate(lines):
            scope.pop("found", None)
            try:
                exec(line, scope)
            except Exception as error:  # which one is what we compare
                log.append((number, type(error).__name__))
            if "found" in scope:
                log.append(values(scope["found"]))
        for name in [n for n in scope if n[0] == "t" and n[1:].isdigit()]:
            t = scope[name]
            log.append((name, values(t), values(t.grad), t.requires_grad))
    return log


def _tell(writer: Any, lines: list[str]) -> None:
    import torch

    writer.send(run(torch, lines))


def expected(lines: list[str]) -> list[Any] | None:
    """What PyTorch gives, in a process of its own: some of these programs end it with a segmentation fault (None).

    Forked from a server that has computed nothing: after a fork PyTorch's engine does not work where it had begun threads.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch"])
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_tell, args=(writer, lines))
    child.start()
    writer.close()
    try:
        found = reader.recv()
    except EOFError:
        found = None
    child.join()
    return found


def differs(lines: list[str]) -> bool:
    """Do the modules give other logs?"""
    import jaxtorch

    found = expected(lines)
    return found is not None and found != run(jaxtorch, lines)


def shrunk(lines: list[str]) -> list[str]:
    """A shorter program that still differs: without the lines that are not needed."""
    changed = True
    while changed:
        changed = False
        for i in range(len(lines)):
            shorter = lines[:i] + lines[i + 1 :]
            if differs(shorter):
                lines, changed = shorter, True
                break
    return lines


def main() -> None:
    """Run a range of seeds."""
    import jaxtorch

    begin, end = int(sys.argv[1]), int(sys.argv[2])
    count = 0
    for seed in range(begin, end):
        lines = program(seed)
        if differs(lines):
            count += 1
            lines = shrunk(lines)
            print(f"# seed {seed}", *lines, sep="\n")
            for a, b in zip(expected(lines) or [], run(jaxtorch, lines), strict=False):
                if a != b:
                    print("   ", a, "|", b)
                    break
    print(f"{count} of {end - begin} differ")


if __name__ == "__main__":
    main()
