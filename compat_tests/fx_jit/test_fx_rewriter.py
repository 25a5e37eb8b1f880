"""Graphs with the assertions of the program, as `torch.fx.experimental.rewriter` makes them."""

import importlib
from typing import Any

import pytest
import torch

from parity import candidate


def _modules(t: Any) -> dict[str, Any]:
    class Base(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = t.nn.Linear(2, 2)

        def forward(self, x: Any, k: int = 3) -> Any:
            assert x.sum() > 0, "positive" + str(k)
            return self.l(x).relu()

    class Outer(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Base()
            self.seq = t.nn.Sequential(t.nn.ReLU(), Base())

        def forward(self, x: Any) -> Any:
            assert x.sum() > 0
            return self.seq(self.inner(x))

    return {"one": Base(), "nested": Outer()}


@pytest.mark.parametrize("name", ["one", "nested"])
def test_assertions(name: str) -> None:
    def found(t: Any) -> Any:
        module = _modules(t)[name]
        try:
            graph = importlib.import_module(f"{t.__name__}.fx.experimental.rewriter").RewritingTracer().trace(module)
        except Exception as error:  # an assertion in a module inside
            return type(error).__name__, str(error)
        made = t.fx.GraphModule(module, graph)
        outcomes = []
        for sign in (1, -1):
            try:
                outcomes.append(made(t.ones(1, 2) * sign).shape)
            except AssertionError as error:
                outcomes.append(str(error))
        return [(n.op, getattr(n.target, "__name__", str(n.target)), len(n.args)) for n in graph.nodes], outcomes

    assert found(candidate()) == found(torch)


def test_super_and_annotations() -> None:
    t = candidate()

    class Base(t.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2

    class Derived(Base):
        def forward(self, x: Any) -> Any:
            y: int = super().forward(x)
            assert y, "nothing"
            return y

    module = Derived()
    graph = importlib.import_module(f"{t.__name__}.fx.experimental.rewriter").RewritingTracer().trace(module)
    assert [(n.name, n.type) for n in graph.nodes if n.op == "call_function"] == [("mul", int), ("_assert", None)]
    assert t.fx.GraphModule(module, graph)(t.ones(1)).tolist() == [2.0]
