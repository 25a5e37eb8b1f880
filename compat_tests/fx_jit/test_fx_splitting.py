"""Graphs that are split into modules (`torch.fx.passes.split_module`): code, names and values of every part, next to PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from parity import parity_test


def net(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l = torch.nn.Linear(2, 2)
            self.s = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
            self.p = torch.nn.Parameter(torch.ones(2))
            self.register_buffer("b", torch.ones(2))

        def forward(self, x, y=2, *, z=None):
            a = self.l(x + self.p)
            d = self.s(a * y + self.b)
            e, f = d.chunk(2, -1)
            return {"r": e + a, "q": [f, x]}, self.p

    torch.manual_seed(0)
    return Net()


def shown(torch: Any, program: Any, part: Any, **options: Any) -> Any:
    graph, names = torch.fx.symbolic_trace(program), {}
    for node in graph.graph.nodes:
        node.meta["was"] = node.name
    split = importlib.import_module(f"{torch.__name__}.fx.passes.split_module").split_module
    made = split(graph, program, part, names, **options)
    found: list[Any] = [made.code, names, made.meta, list(made.state_dict())]
    for name, child in [("", made), *made.named_children()]:
        found += [name, getattr(child, "code", None), list(child.state_dict())]
        if hasattr(child, "graph"):
            found.append([(n.op, str(n.target), n.name, n.meta.get("was")) for n in child.graph.nodes])
    return made, found


ORDER = "x y z p add l mul b add_1 s_0 s_1 chunk getitem getitem_1 add_2 output".split()
PARTS = {
    "three": (lambda n: ORDER.index(n.name) // 5, {}),
    "one": (lambda n: 0, {}),
    "kept order": (lambda n: ORDER.index(n.name) // 3, {"keep_original_order": True}),
    "named": (lambda n: str(ORDER.index(n.name) // 4), {"partition_affix": "zz"}),
    "new names of inputs": (lambda n: ORDER.index(n.name) // 5, {"keep_original_input_name": False}),
    "old names of nodes": (lambda n: ORDER.index(n.name) // 5, {"keep_original_node_name": True}),
    "tuples": (lambda n: ORDER.index(n.name) // 5, {"tuple_return": True}),
    "a path": (lambda n: "a.b", {}),
    "None": (lambda n: None, {}),
}


@pytest.mark.parametrize("name", PARTS)
@parity_test
def test_module(torch: Any, name: str) -> Any:
    part, options = PARTS[name]
    program, x = net(torch), torch.tensor([[1.0, -2.0]])
    made, found = shown(torch, program, part, **options)
    assert [p.data_ptr() for p in made.parameters()].sort() == [p.data_ptr() for p in program.parameters()].sort()
    return found, made(x, 3), made(x)


FUNCTIONS = {
    "apart": (lambda x, y: ((x + 1) - 1, y * 2)[0], {"add": 0, "mul": 1, "sub": 0}, {}),
    "apart, the other way round": (lambda x, y: ((x + 1) - 1, y * 2)[0], {"add": 1, "mul": 0, "sub": 1}, {}),
    "in order": (lambda x, y: ((x + 1) - 1, y * 2)[0], {"add": 1, "mul": 0, "sub": 1}, {"keep_original_order": True}),
    "cycle": (lambda x, y: (x + 1) * 2 - 1, {"add": 0, "mul": 1, "sub": 0}, {}),
    "numbers": (lambda x, y: (x + 1, (x + 1).size(0) * y, x), {"add": 0, "add_1": 0, "size": 0, "mul": 1}, {}),
    "nothing": (lambda x, y: y, {}, {}),
    "unused": (lambda x, y: y, {"add": 0}, {"tuple_return": True}),
    "one of a tuple": (lambda x, y: x + y, {"add": "a"}, {"tuple_return": True}),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@parity_test
def test_function(torch: Any, name: str) -> Any:
    program, parts, options = FUNCTIONS[name]

    try:
        made, found = shown(torch, program, lambda n: parts[n.name], **options)
    except RuntimeError as error:
        return str(error)
    return found, made(torch.ones(2), torch.full((2,), 3.0))


@parity_test
def test_inputs_of_any_number_and_attributes_in_a_dict(torch: Any) -> Any:
    class Net(torch.nn.Module):
        def forward(self, *args, **kwargs):
            return args[0] + 1

    made, found = shown(torch, Net(), lambda n: 0)
    graph = torch.fx.Graph()
    graph.placeholder("x", default_value=1)
    graph.output([graph.get_attr(name) for name in ("c", "a.b", "d", "b")])
    root = {name: torch.nn.Parameter(torch.ones(1)) for name in ("a.b", "b", "c", "d")}
    return found, made(torch.ones(2)), list(torch.fx.GraphModule(root, graph).state_dict())
