"""A `GraphModule` in a pickle or a file, and files that PyTorch and jaxtorch read of each other."""

from __future__ import annotations

import io
import math
import pickle
from typing import Any

import pytest
import torch as reference

from parity import attempt, candidate, parity_test


def traced(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
            self.scale = torch.nn.Parameter(torch.full((3,), 0.5))
            self.register_buffer("shift", torch.arange(3.0))

        def forward(self, x, factor=2.0):  # type: ignore[no-untyped-def]  # PyTorch cannot pickle annotations that are texts
            y = torch.nn.functional.gelu(self.layers(x)) * self.scale + self.shift
            return y.clamp(max=math.inf) * factor, y.shape

    torch.manual_seed(0)
    return torch.fx.symbolic_trace(Net())


def seen(torch: Any, module: Any) -> list[Any]:
    found = module(torch.ones(1, 2))
    return [found[0].detach(), str(found[1]), list(module.state_dict()), type(module).__name__, module.training]


def saved(torch: Any, module: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return file


@parity_test
def test_pickled_and_saved(torch: Any) -> Any:
    module = traced(torch).eval()
    again = pickle.loads(pickle.dumps(module))
    read = torch.load(saved(torch, again), weights_only=False)
    nodes = [(n.op, n.name) for n in read.graph.nodes]
    refused = attempt(lambda: torch.load(saved(torch, module)))
    return seen(torch, again), seen(torch, read), again.code == read.code, nodes, refused.kind


@pytest.mark.parametrize("writer, reader", [(reference, "ours"), (candidate(), "theirs")], ids=["read", "written"])
def test_files_go_both_ways(writer: Any, reader: str) -> None:
    other = candidate() if reader == "ours" else reference
    module = traced(writer)
    read = other.load(saved(writer, module), weights_only=False)
    assert [str(x) for x in seen(writer, module)[:3]] == [str(x) for x in seen(other, read)[:3]]


@parity_test
def test_a_function_without_a_name(torch: Any) -> Any:
    """Its text could not say what it calls."""
    graph = torch.fx.Graph()
    graph.output(graph.call_function(lambda x: x, (graph.placeholder("x"),)))
    module = torch.fx.GraphModule({}, graph)
    return attempt(lambda: pickle.dumps(module)).kind is not None
