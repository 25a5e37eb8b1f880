"""Programs made at random whose operations may not like their values, within loops, `try` and `with`: what they log must be what they
log with PyTorch.

    python compat_tests/kits/fuzz_value_errors.py FIRST COUNT    # programs with the seeds FIRST, FIRST + 1, ...
"""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

CHECKED = [
    "F.binary_cross_entropy({x}.sigmoid() + {bad}, {x}.detach() * 0, reduction='none')",
    "F.gaussian_nll_loss({x}, {x}, {x}.detach() * 0 + 1 - 2 * {bad}, reduction='none')",
    "{x} + torch.arange(9.)[torch.arange(3) + 9 * {bad}]",
    "{x}[(torch.arange(3) + 7 * {bad}) % (torch.ones(3, dtype=torch.long) * 8)]",
    "{x} * ((torch.arange(3) + 6) // (torch.ones(3, dtype=torch.long) * (1 - {bad})))",
    "{x}.gather(0, torch.tensor([0, 1, 2]) * 1 - {bad} * 5)",
    "F.embedding(torch.tensor([0, 2, 1]) * (1 + 8 * {bad}), {x}[:, None])[:, 0]",
    "torch.quantile({x}, torch.tensor([0.5, 0.25, 0.0]) + 2 * {bad})",
    "{x}.index_add(0, torch.tensor([1]) + 4 * {bad}, {y}[:1])",
    "F.cross_entropy({x}[None], torch.tensor([1]) + 3 * {bad}) + {y}",
    "torch.distributions.Normal({x}, {y} * 0 + 1 - 2 * {bad}, validate_args=True).mean + 1",
    "{x}.masked_scatter({x}.detach() * 0 > -1, {y}[: 3 - {bad}])",
]
PLAIN = [
    "{x} + {y}",
    "{x} * 0.5",
    "({x} * {y}).tanh()",
    "{x}.flip(0)",
    "{x}[:1] + {y}",
    "torch.cat([{x}[:2], {y}[2:]])",
    "{x}.clone()",
]
WRITES = ["{w}.add_({x})", "{w}[1:] = {x}[1:]", "{w}.copy_({x} * 0.5)", "{w}[0] = {x}[2]"]
CAUGHT = ["RuntimeError", "(RuntimeError, IndexError, ValueError)", "Exception", "KeyError", "IndexError", "ValueError"]
STARTS = 4


class Maker:
    """The text of one program, `program(torch, F, log, contexts)`."""

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.depth, self.names = random.Random(seed), [], 1, 0
        self.bound = [f"v{k}" for k in range(STARTS)]
        self.loops: list[str] = []

    def text(self) -> str:
        self.say("torch.manual_seed(0)")
        for name in self.bound:
            self.say(f"{name} = torch.rand(3) + 0.1")
        self.say("p = torch.rand(3, requires_grad=True)")
        self.say("optimizer = torch.optim.Adam([p], lr=0.1)")
        self.block(self.random.randint(4, 9))
        self.say(
            f"log([p.detach(), *[s['exp_avg'] for s in optimizer.state.values()], {', '.join(self.bound[:STARTS])}])"
        )
        return "def program(torch, F, log, contexts):\n" + "\n".join(self.lines)

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, count: int) -> None:
        known = len(self.bound)
        for _ in range(count):
            self.statement()
        del self.bound[known:]  # what a block binds may not be bound after it

    def nested(self, head: str, count: int) -> None:
        self.say(head)
        self.depth += 1
        self.block(count)
        self.depth -= 1

    def bad(self) -> str:
        if self.loops and self.random.random() < 0.6:
            return f"int({self.loops[-1]} == {self.random.randint(0, 3)})"
        return str(int(self.random.random() < 0.2))

    def value(self, checked: float = 0.5) -> str:
        form = self.random.choice(CHECKED if self.random.random() < checked else PLAIN)
        x, y = self.random.choice([*self.bound, "p"]), self.random.choice(self.bound)
        return form.format(x=x, y=y, bad=self.bad())

    def statement(self) -> None:
        kind = self.random.random()
        deep = self.depth > 4
        if kind < 0.4:
            value = self.value()
            name = f"n{self.names}"
            self.names += 1
            self.say(f"{name} = {value}")
            self.bound.append(name)
        elif kind < 0.5:
            self.say(
                "with torch.no_grad(): "
                + self.random.choice(WRITES).format(
                    w=self.random.choice(self.bound[:STARTS]), x=self.random.choice(self.bound)
                )
            )
        elif kind < 0.6:
            self.say(f"log({self.random.choice(self.bound)})")
        elif kind < 0.72:
            self.step()
        elif deep:
            self.say("pass")
        elif kind < 0.84:
            self.nested("try:", self.random.randint(1, 4))
            for _ in range(self.random.randint(1, 2)):
                self.say(f"except {self.random.choice(CAUGHT)} as error:")
                self.say(f"    log('caught', type(error).__name__, {self.random.choice(self.bound)})")
            if self.random.random() < 0.3:
                self.say("finally:")
                self.say("    log('finally')")
        elif kind < 0.94:
            loop = f"i{self.depth}"
            self.loops.append(loop)
            self.nested(f"for {loop} in range({self.random.randint(1, 4)}):", self.random.randint(1, 4))
            self.loops.pop()
        else:
            self.nested(
                f"with contexts.{self.random.choice(['swallow', 'plain', 'noting'])}(log):", self.random.randint(1, 3)
            )

    def step(self) -> None:
        """A step of the optimizer, whose loss may not like its values."""
        self.say("optimizer.zero_grad()")
        self.say(
            f"({self.random.choice(CHECKED).format(x='p', y=self.random.choice(self.bound), bad=self.bad())}).sum().backward()"
        )
        self.say("optimizer.step()")


class Contexts:
    """What the programs' `with` statements enter."""

    @staticmethod
    @contextlib.contextmanager
    def swallow(log: Any) -> Iterator[None]:
        try:
            yield
        except (RuntimeError, IndexError):
            log("swallowed")

    @staticmethod
    @contextlib.contextmanager
    def plain(log: Any) -> Iterator[None]:
        try:
            yield
        finally:
            log("left")

    @staticmethod
    @contextlib.contextmanager
    def noting(log: Any) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            log("noted", type(error).__name__)
            raise


def run(library: Any, text: str) -> list[Any]:
    """What a program logs, and how it ends."""
    scope: dict[str, Any] = {}
    exec(compile(text, "<program>", "exec"), scope)
    found: list[Any] = []

    def plain(x: Any) -> Any:
        if isinstance(x, library.Tensor):
            return [round(float(v), 3) + 0.0 for v in x.detach().tolist()]
        return [plain(v) for v in x] if isinstance(x, list) else x

    def log(*what: Any) -> None:
        found.append([plain(w) for w in what])

    try:
        scope["program"](library, library.nn.functional, log, Contexts)
    except Exception as error:
        found.append(("ended", type(error).__name__))
    return found


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) <= 2e-3 * max(1.0, abs(a)) or (a != a and b != b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def differs(seed: int) -> str:
    """How the program of this seed differs from PyTorch's; empty where it does not."""
    import torch as reference

    import jaxtorch as torch

    text = Maker(seed).text()
    theirs, ours = run(reference, text), run(torch, text)
    return "" if same(theirs, ours) else f"seed {seed}\n{text}\nPyTorch: {theirs}\njaxtorch: {ours}\n"


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:3])
    failed = 0
    for seed in range(first, first + count):
        if found := differs(seed):
            failed += 1
            print(found, flush=True)
    print(f"{count - failed} of {count} agree")
