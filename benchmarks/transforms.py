"""`torch.func` outside of `torch.compile`: CPU time of ordinary uses with jaxtorch and with PyTorch, call by call in turns.

python benchmarks/transforms.py [--calls 30] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any


def programs(library: str) -> dict[str, Callable[[], float]]:
    """Each program as a function that does one step and reads a number."""
    torch = importlib.import_module(library)
    func = importlib.import_module(f"{library}.func")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    nn, functional = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
    fixed = {k: v.detach().clone() for k, v in params.items()}
    optimizer = torch.optim.Adam(params.values(), lr=1e-3)
    weight = torch.randn(6, 6)

    def loss_of(p: Any, x: Any, y: Any) -> Any:
        return functional.mse_loss(func.functional_call(net, p, (x,)), y)

    def descend(loss: Any) -> float:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def maml() -> float:
        x, other = torch.randn(8, 10, 1), torch.randn(8, 10, 1)

        def task(x: Any, y: Any, other: Any, goal: Any) -> Any:
            g = func.grad(loss_of)(params, x, y)
            return loss_of({k: v - 0.1 * g[k] for k, v in params.items()}, other, goal)

        return descend(func.vmap(task)(x, x.sin(), other, other.sin()).mean())

    def two_steps() -> float:
        x, p = torch.randn(10, 1), params
        for _ in range(2):
            g = func.grad(loss_of)(p, x, x.sin())
            p = {k: v - 0.1 * g[k] for k, v in p.items()}
        return descend(loss_of(p, x, x.sin()))

    def per_sample() -> float:
        x = torch.randn(16, 1, 1)
        g = func.vmap(func.grad(loss_of), (None, 0, 0))(fixed, x, x.sin())
        return torch.stack([v.norm() for v in g.values()]).sum().item()

    def functional_training() -> float:
        x = torch.randn(32, 1)
        g, loss = func.grad_and_value(loss_of)(fixed, x, x.sin())
        for k in fixed:
            fixed[k] = fixed[k] - 0.01 * g[k]
        return loss.item()

    def differential_equation() -> float:
        f = lambda t: func.functional_call(net, params, (t[None],))[0]  # noqa: E731
        t = torch.rand(20)
        return descend(((func.vmap(func.grad(func.grad(f)))(t) + func.vmap(func.grad(f))(t)) ** 2).mean())

    field = lambda x: torch.tanh(weight @ x) * x  # noqa: E731
    energy = lambda x: field(x).sum()  # noqa: E731
    return {
        "maml": maml,
        "two_steps": two_steps,
        "per_sample": per_sample,
        "functional_training": functional_training,
        "differential_equation": differential_equation,
        "jacrev": lambda: func.jacrev(field)(torch.randn(6)).sum().item(),
        "jacfwd": lambda: func.jacfwd(field)(torch.randn(6)).sum().item(),
        "hessian": lambda: func.hessian(energy)(torch.randn(6)).sum().item(),
        "hessian_vector": lambda: func.jvp(func.grad(energy), (torch.randn(6),), (torch.randn(6),))[1].sum().item(),
    }


def main() -> None:
    """Print a table: first quartile and median of a step's CPU time on each side, in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    sides = [programs(library) for library in ("torch", "jaxtorch")]
    print(
        "| program | PyTorch, ms | jaxtorch, ms | first five, PyTorch | jaxtorch |\n| :--- | ---: | ---: | ---: | ---: |"
    )
    for name in given.names or sides[0]:
        times: list[list[float]] = [[], []]
        for _ in range(given.calls + 15):
            for side, taken in zip(sides, times, strict=True):
                begun = time.process_time()
                side[name]()
                taken.append(1e3 * (time.process_time() - begun))
        cells = [f"{statistics.quantiles(t[15:])[0]:.2f}, {statistics.median(t[15:]):.2f}" for t in times]
        print(f"| {name} | {cells[0]} | {cells[1]} | {sum(times[0][:5]):.0f} | {sum(times[1][:5]):.0f} |", flush=True)


if __name__ == "__main__":
    main()
