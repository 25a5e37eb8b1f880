"""What a graph computes from attributes alone, as `torch.fx.experimental.const_fold` takes it out."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest
import torch

from parity import candidate

FORWARDS: dict[str, Any] = {
    "one": lambda m, x: x * (m.a + m.b),
    "several": lambda m, x: m.l(x) * (m.a + m.b) + (m.a + m.b) * 2 - m.a,
    "none": lambda m, x: x * m.a,
    "no attributes": lambda m, x: x * 2,
    "a call of a module": lambda m, x: x + m.l(m.a * 3),
    "attributes alone": lambda m, x: m.a * m.b,
}


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize("name", FORWARDS)
def test_folding(name: str, skip: bool) -> None:
    def found(t: Any) -> Any:
        class M(t.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.a, self.b = t.nn.Parameter(t.ones(2)), t.nn.Parameter(t.ones(2) * 2)
                self.l = t.nn.Linear(2, 2)
                t.nn.init.constant_(self.l.weight, 0.5)
                t.nn.init.constant_(self.l.bias, 0.25)

            def forward(self, x: Any) -> Any:
                return FORWARDS[name](self, x)

        fold = importlib.import_module(f"{t.__name__}.fx.experimental.const_fold").split_const_subgraphs
        made = fold(M(), (lambda n: n.name == "add") if skip else None)
        outputs = [made(t.ones(2)).tolist() for _ in range(2)]
        inner = made.const_subgraph_module
        return (
            outputs,
            sorted((n.op, str(n.target).replace("jaxtorch", "torch")) for n in made.graph.nodes),
            [(n, p.tolist(), p.requires_grad) for n, p in sorted(made.named_parameters()) if "FOLDED" in n],
            made.has_folding_been_run,
            inner and sorted((n.op, n.name[:1]) for n in inner.graph.nodes),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found(candidate()) == found(torch)
