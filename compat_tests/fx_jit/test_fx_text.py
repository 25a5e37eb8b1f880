"""What `torch.fx` writes: types in the text of a graph, inputs that were fixed (`concrete_args`), and fused normalisations."""

# ruff: noqa: UP006, UP007, UP045  # the old forms of types are what is tested
from __future__ import annotations

import contextlib
import typing
import warnings
from typing import Any

import pytest

from parity import parity_test


def outcome(call: Any) -> Any:
    try:
        return call()
    except (AssertionError, RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error).split("\n")[0]  # an interpreter's errors go on with what it was doing


def typed(torch: Any) -> dict[str, Any]:
    return {
        "builtin": int, "tensor": torch.Tensor, "dtype": torch.dtype, "module": torch.nn.Module, "none": None,
        "optional": typing.Optional[torch.Tensor], "union": typing.Union[int, str], "bar": torch.Tensor | None,
        "List": typing.List[typing.List[int]], "list": list[int], "Dict": typing.Dict[str, torch.Tensor],
        "dict": dict[str, list[int]], "Tuple": typing.Tuple[int, ...], "bare": typing.List, "Any": typing.Any,
        "Sequence": typing.Sequence[int], "Callable": typing.Callable, "Literal": typing.Literal["a"], "text": "int | None",
        "variable": typing.TypeVar("T"), "size": torch.Size,
    }  # fmt: skip


@pytest.mark.parametrize("name", typed(pytest.importorskip("torch")))
@parity_test
def test_types(torch: Any, name: str) -> Any:
    kind = typed(torch)[name]

    def program(x: Any, y: Any = 1) -> Any:
        return x + y

    program.__annotations__ = {"x": kind, "y": kind, "return": kind}
    module = torch.fx.symbolic_trace(program)
    graph = torch.fx.Graph()
    node = graph.call_function(torch.add, (graph.placeholder("x", kind), 1), type_expr=kind)
    graph.output(node, kind)
    return module.code, str(module.graph), str(module), str(graph), graph.python_code("self").src


@parity_test
def test_layers(torch: Any) -> Any:
    nn = torch.nn
    layers = [
        nn.ReLU(),
        nn.Linear(2, 2),
        nn.Sequential(nn.Linear(2, 2)),
        nn.CrossEntropyLoss(),
        nn.MaxPool2d(2),
        nn.Identity(),
    ]
    heads = [torch.fx.symbolic_trace(layer).code.strip().split("\n")[0] for layer in layers]
    readable = [torch.fx.symbolic_trace(layer).print_readable(print_output=False) for layer in layers[2:3]]
    return heads, readable, str(torch.fx.symbolic_trace(layers[2]))


PH = "PH"
FIXED: dict[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "number": ({"n": 3}, (3,)),
    "another number": ({"n": 3}, (4,)),
    "several": ({"n": 3, "m": False, "s": "b"}, (3, False, "b")),
    "defaults": ({"n": 3, "s": "b"}, (3,)),
    "none": ({"n": 3, "s": None}, (3, True, None)),
    "not none": ({"n": 3, "s": None}, (3, True, 1)),
    "without": ({"n": 3}, ()),
    "kept": ({"n": 3, "m": PH}, (3, True)),
}


@pytest.mark.parametrize("case", FIXED)
@parity_test
def test_fixed_inputs(torch: Any, case: str) -> Any:
    fixed, given = FIXED[case]

    def program(x: Any, n: Any, m: Any = True, s: Any = "a") -> Any:
        return x * n if n > 2 else x + n

    program.__annotations__ = {}
    module = torch.fx.symbolic_trace(program, {k: torch.fx.PH if v is PH else v for k, v in fixed.items()})
    result = outcome(lambda: module(torch.ones(2), *given))
    interpreted = outcome(lambda: torch.fx.Interpreter(module).run(torch.ones(2), *given))
    kept = module.graph.eliminate_dead_code(), module.code
    return module.code, str(module.graph), result, interpreted if len(given) > 2 else None, kept


NESTED: dict[str, tuple[Any, Any, Any]] = {
    "dictionary": (lambda x: x["a"] + x["b"] * 2, {"a": PH, "b": PH}, {"a": 1.0, "b": 2.0}),
    "a fixed item": (lambda x: x["a"] + x["b"] * 2, {"a": PH, "b": 4}, {"a": 1.0, "b": 4}),
    "another item": (lambda x: x["a"] + x["b"] * 2, {"a": PH, "b": 4}, {"a": 1.0, "b": 5}),
    "nested result": (lambda x: [x[0] * 2, {"r": x[1]}], [PH, PH], [1.0, 2.0]),
}


@pytest.mark.parametrize("case", NESTED)
@parity_test
def test_fixed_nested_inputs(torch: Any, case: str) -> Any:
    program, fixed, given = NESTED[case]
    tree = torch.utils._pytree
    module = torch.fx.symbolic_trace(program, {"x": tree.tree_map(lambda v: torch.fx.PH if v is PH else v, fixed)})
    inputs = tree.tree_map(lambda v: torch.tensor(v) if isinstance(v, float) else v, given)
    return (
        module.code,
        str(module.graph),
        outcome(lambda: module(inputs)),
        outcome(lambda: torch.fx.Interpreter(module).run(inputs)),
    )


@parity_test
def test_fixed_tensor(torch: Any) -> Any:
    value = torch.ones(2)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        module = torch.fx.symbolic_trace(lambda x, y: x + y, {"y": value})
    return module.code, [str(w.message) for w in said], module(torch.ones(2), value)


def network(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), nn.Dropout(0.1), nn.Conv2d(4, 2, 1), nn.BatchNorm2d(2, track_running_stats=False),
        nn.Flatten(), nn.Linear(8, 3), nn.BatchNorm1d(3),
    )  # fmt: skip
    model(torch.randn(4, 3, 2, 2))
    return model.eval()


@parity_test
def test_optimization(torch: Any) -> Any:
    import importlib

    passes = importlib.import_module(f"{torch.__name__}.fx.experimental.optimization")
    model, x = network(torch), torch.linspace(-1, 1, 24).sin().reshape(2, 3, 2, 2)
    fused, without = passes.fuse(model), passes.remove_dropout(model)
    traced = torch.fx.symbolic_trace(model)
    nodes = list(traced.graph.nodes)
    part = passes.extract_subgraph(traced, nodes[1:3], nodes[:1], nodes[2:3])
    with contextlib.suppress(AssertionError):
        passes.fuse(model.train())
        raise RuntimeError("a module in training was fused")
    model.eval()
    texts = [fused.code, str(fused), without.code, part.code, passes.fuse(traced, inplace=True, no_trace=True).code]
    return texts, fused(x), without(x), part(x), model(x)
