"""Loops over single elements, rows, small matrices and changing sizes: CPU time with jaxtorch and PyTorch, in turns.

python benchmarks/loops.py [--calls 60] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import random
import statistics
import time
from collections.abc import Callable
from typing import Any


def programs(library: str) -> dict[str, Callable[[], float]]:
    """Each program as a function that does one step and reads a number."""
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    functional = torch.nn.functional
    numbers = random.Random(0)

    def rows() -> float:
        t, v = torch.zeros(8, 5), torch.rand(8, 5)
        for i in range(8):
            t[i] += v[i]
        return t.sum().item()

    def rows_by_index() -> float:
        t = torch.zeros(4, 10)
        for k in range(4):
            t[k].index_add_(0, torch.randint(0, 10, (6,)), torch.rand(6))
        return t.sum().item()

    def confusion() -> float:
        counts = torch.zeros(5, 5, dtype=torch.long)
        for true, found in zip(torch.randint(0, 5, (64,)), torch.randint(0, 5, (64,)), strict=True):
            counts[true.long(), found.long()] += 1
        return counts.diag().sum().item()

    def warping() -> float:
        a, b, cost = torch.randn(8), torch.randn(8), torch.full((9, 9), float("inf"))
        cost[0, 0] = 0
        for i in range(1, 9):
            for j in range(1, 9):
                before = torch.stack([cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1]])
                cost[i, j] = (a[i - 1] - b[j - 1]).abs() + before.min()
        return cost[8, 8].item()

    def kalman() -> float:
        move, seen = torch.eye(4) + 0.1 * torch.diag(torch.ones(3), 1), torch.eye(2, 4)
        x, p = torch.zeros(4), torch.eye(4)
        for _ in range(10):
            x, p = move @ x, move @ p @ move.T + 0.01 * torch.eye(4)
            gain = p @ seen.T @ torch.inverse(seen @ p @ seen.T + 0.1 * torch.eye(2))
            x, p = x + gain @ (torch.randn(2) - seen @ x), (torch.eye(4) - gain @ seen) @ p
        return x.sum().item()

    def determinants() -> float:
        return sum([torch.det(torch.randn(16, 3, 3)).abs().mean().item() for _ in range(5)])

    def graphs() -> float:
        n, e, w = numbers.randint(5, 20), numbers.randint(10, 40), torch.randn(4, 4, requires_grad=True)
        edges = torch.randint(0, n, (2, e))
        summed = torch.zeros(n, 4).index_add(0, edges[1], (torch.randn(n, 4) @ w)[edges[0]])
        loss = (summed / torch.bincount(edges[1], minlength=n).clamp(min=1)[:, None]).pow(2).mean()
        loss.backward()
        return loss.item()

    def neighbours() -> float:
        points, w, out = torch.rand(64, 3), torch.randn(3, 4, requires_grad=True), torch.zeros(())
        for distances in torch.cdist(points[:8], points):
            out = out + (points[(distances < 0.4).nonzero()[:, 0]] @ w).relu().max(0)[0].sum()
        out.backward()
        return out.item()

    def masked_loss() -> float:
        x, y = torch.randn(2, 5, 8, 8, requires_grad=True), torch.randint(0, 5, (2, 8, 8))
        mask = torch.rand(2, 8, 8) > 0.3
        loss = functional.cross_entropy(x.permute(0, 2, 3, 1)[mask], y[mask])
        loss.backward()
        return loss.item()

    made: list[Any] = [rows, rows_by_index, confusion, warping, kalman, determinants, graphs, neighbours, masked_loss]
    return {f.__name__: f for f in made}


def main() -> None:
    """Print a table: first quartile and median of a step's CPU time on each side, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    sides = [programs(library) for library in ("torch", "jaxtorch")]
    print("| program | PyTorch, ms | jaxtorch, ms | x |\n| :--- | ---: | ---: | ---: |")
    for name in given.names or sides[0]:
        times: list[list[float]] = [[], []]
        for _ in range(given.calls + 40):
            for side, taken in zip(sides, times, strict=True):
                begun = time.process_time()
                side[name]()
                taken.append(1e3 * (time.process_time() - begun))
        low = [statistics.quantiles(t[40:])[0] for t in times]
        cells = [f"{q:.2f}, {statistics.median(t[40:]):.2f}" for q, t in zip(low, times, strict=True)]
        print(f"| {name} | {cells[0]} | {cells[1]} | {low[1] / low[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
