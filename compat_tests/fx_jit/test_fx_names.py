"""Functions, methods and operators in graphs of `torch.fx`, under the names that PyTorch gives them."""

from __future__ import annotations

import functools
import math
from typing import Any

from parity import parity_test


def _shown(torch: Any, program: Any) -> Any:
    module = torch.fx.symbolic_trace(program)
    nodes = [(n.op, n.name, n._pretty_print_target(n.target)) for n in module.graph.nodes]
    return module.code, str(module.graph), nodes


ONE = """absolute abs negative neg arccos acos det inverse fix trunc linalg.det linalg.inv linalg.norm special.erf erf special.expit
    sigmoid fft.fft"""
TWO = """clip clamp multiply mul subtract sub divide div true_divide greater gt less_equal le not_equal ne ger outer
    linalg.matmul matmul special.softmax softmax special.logsumexp logsumexp"""
LISTS = "concat concatenate cat row_stack vstack"


@parity_test
def test_aliases(torch: Any) -> Any:
    def find(names: str) -> list[Any]:
        return [functools.reduce(getattr, name.split("."), torch) for name in names.split()]

    one, two, lists = find(ONE), find(TWO), find(LISTS)
    functions = [*one, *two, *lists]
    assert len({id(f) for f in functions}) == len(functions)
    return _shown(torch, lambda x, y: [*[f(x) for f in one], *[f(x, y) for f in two], *[f([x, y]) for f in lists]])


@parity_test
def test_layers(torch: Any) -> Any:
    F = torch.nn.functional

    def program(x: Any) -> Any:
        y = (
            torch.relu(x)
            + F.relu(x)
            + x.relu()
            + F.gelu(x)
            + F.tanh(x)
            + torch.tanh(x)
            + F.sigmoid(x)
            + F.logsigmoid(x)
        )
        y = F.threshold(y, 0, 1) + F.unfold(y, 2) + F.l1_loss(x, y) + abs(y) + torch.ones(2) + torch.ones(2) * y.T
        return torch.ones(2).add(y).sum() + math.sqrt(y.size(0)) - torch.ones(3) @ y, F.tanh is torch.tanh

    return _shown(torch, program)


@parity_test
def test_parameters_of_all_kinds(torch: Any) -> Any:
    def program(x: Any, /, y: int = 3, *args: Any, flag: Any = True, **kwargs: Any) -> Any:
        return torch.relu(x) + y * flag + args[0] + kwargs["q"]

    class Module(torch.nn.Module):
        def forward(self, x: Any, *rest: Any, scale: Any = 2) -> Any:
            return x * scale + rest[1]

    return _shown(torch, program), _shown(torch, Module())


@parity_test
def test_what_overrides_are_told(torch: Any) -> Any:
    seen: list[Any] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(torch.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, 2)
    with Mode():
        torch.concat([x, x])
        torch.clip(x, 0)
        x.multiply(x)
        torch.nn.functional.tanh(x)
        torch.linalg.det(x)
        torch.det(x)
        torch.special.erf(x)
    return seen
