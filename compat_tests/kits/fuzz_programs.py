"""Random programs of views, in-place writes, NumPy writes to shared memory, and autograd, on both modules.

A program is a list of Python lines over the names `torch`, `np`, `t0, t1, ...` (tensors) and `a0, a1, ...`
(arrays), so a failing one prints as the text that reproduces it. Each line may raise; the program goes on,
and afterwards everything there is to see must be equal: values, gradients, shapes, strides, offsets,
versions, leaves, grad_fn names, sharing, and which lines raised what. A failing program is shrunk by
leaving lines out.

    python compat_tests/kits/fuzz_programs.py --count 10000 --seed 0
    python compat_tests/kits/fuzz_programs.py --only 1234 --seed 0      # one program again, with its differences

What is checked is the engine, so NumPy runs the kernels that it makes (on_numpy.py): XLA needs 30 ms to compile one, and a
program has about ten that no program before it had. Every twentieth program runs on XLA as well (`--xla-every`).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import time
from collections import Counter
from typing import Any

from fuzz_compare import Program, compare, differences, run, shrink
from fuzz_lines import Generator
from fuzz_wider import Wider
from on_numpy import on_numpy
from parity import candidate, reference


def generate(torch: Any, seed: int, number: int, length: int = 18, wider: bool = False) -> Program:
    """Program `number` of the sweep with this seed; the same one every time."""
    return (Wider if wider else Generator)(torch, f"{seed}:{number}", length).write()


def kind(difference: str) -> str:
    """What sort of difference a line of `differences` tells of; for errors, which were expected and came."""
    return "error" + difference.rsplit("`", 1)[-1] if "`" in difference else difference.split(":")[0]


def report(program: Program, expected_from: Any, actual_from: Any, number: int) -> str:
    """A failing program made minimal, with what differs."""
    wanted = kind(compare(program, expected_from, actual_from)[0])

    def fails(shorter: Program) -> bool:
        expected = run(expected_from, shorter)
        if "NameError" in expected["errors"].values():
            return False  # a line without the lines it needs explains nothing
        return wanted in map(kind, differences(shorter, expected, run(actual_from, shorter)))

    smallest = shrink(program, fails)
    for line in smallest:
        ast.parse(line)
    found = compare(smallest, expected_from, actual_from)
    return "\n".join(
        [
            f"program {number}:",
            *(f"    {line}" for line in smallest),
            "differs:",
            *(f"  {f}" for f in found[:8]),
        ]
    )


def sweep(
    count: int, seed: int, length: int = 18, start: int = 0, most: int = 10, xla_every: int = 20, wider: bool = False
) -> tuple[dict[int, str], Counter[str]]:
    """Compare programs start .. start + count; the failing ones, with reports of at most `most`, and counts by kind."""
    failed: dict[int, str] = {}
    kinds = Counter[str]()
    for number in range(start, start + count):
        program = generate(reference(), seed, number, length, wider)
        expected = run(reference(), program)
        for runner in [on_numpy] + [contextlib.nullcontext] * (number % xla_every == 0):
            with runner():
                found = differences(program, expected, run(candidate(), program))
                if found:
                    reported = len(failed) < most
                    failed[number] = report(program, reference(), candidate(), number) if reported else ""
            if found:
                break
        kinds.update(set(map(kind, found)) or {"agree"})
    return failed, kinds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, default=18, help="lines in a program")
    parser.add_argument("--only", type=int, help="run this program alone and print it whole first")
    parser.add_argument("--xla-every", type=int, default=20, help="run every n-th program on XLA too (1: all)")
    parser.add_argument("--wider", action="store_true", help="with the lines of fuzz_wider.py")
    parser.add_argument("--start", type=int, default=0, help="the first program's number")
    parser.add_argument("--show", type=int, default=10, help="failures to shrink and print")
    options = parser.parse_args()
    if options.only is not None:
        print("\n".join(generate(reference(), options.seed, options.only, options.length, options.wider)), end="\n\n")
    began = time.perf_counter()
    start, count = (options.only, 1) if options.only is not None else (options.start, options.count)
    failed, kinds = sweep(count, options.seed, options.length, start, options.show, options.xla_every, options.wider)
    print("\n\n".join(filter(None, failed.values())))
    seconds, cpu = time.perf_counter() - began, time.process_time()
    print(f"{count} programs in {seconds:.0f} s ({cpu:.0f} s of CPU), seed {options.seed}: {dict(kinds.most_common())}")
    print("failed:", *failed)
    return 1 if set(kinds) != {"agree"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
