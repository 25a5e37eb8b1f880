"""Parts of a graph that are replaced (`torch.fx.replace_pattern`), and shapes noted at its nodes (`ShapeProp`)."""

from __future__ import annotations

from typing import Any

import pytest

from parity import parity_test

# name: the program, the pattern, the replacement
FUNCTIONS: dict[str, tuple[Any, Any, Any]] = {
    "chain": (lambda x: x.neg().neg().neg().neg().neg(), lambda x: x.neg().neg(), lambda x: x.relu()),
    "inputs that cross": (lambda x: x + (x - 1) * 2, lambda a, b: a + b, lambda a, b: b.add(a)),
    "number": (lambda x: (x + 1) * (x + 2), lambda a: a + 1, lambda a: a - 1),
    "number for an input": (lambda x: (x + 1) * (x + 2), lambda a, b: a + b, lambda a, b: a - b),
    "used outside": (lambda x: (lambda y: y.relu() + y)(x.neg()), lambda a: a.neg().relu(), lambda a: a.tanh()),
    "two results": (lambda x: x.relu() + x.neg(), lambda a: (a.relu(), a.neg()), lambda a: (a.tanh(), a.sin())),
    "used twice": (
        lambda x: (lambda a, b: a * b + a)(x.relu(), x.neg()), lambda a: (a.relu(), a.neg()), lambda a: (a.exp(), a.log()),
    ),
    "an input as a result": (lambda x: x.relu() + x.relu(), lambda a: (a, a.relu()), lambda a: (a, a.exp())),
    "nothing after": (lambda x: x.relu(), lambda a: a.relu(), lambda a: a.tanh().sin()),
    "by its input": (lambda x: x.relu() + 1, lambda a: a.relu(), lambda a: a),
    "same input twice": (lambda x, y: x * y + x * x, lambda a: a * a, lambda a: a.square()),
    "two inputs that are one": (lambda x: x * x, lambda a, b: a * b, lambda a, b: a - b),
    "not used": (lambda x: (x.relu(), x + 1)[1], lambda a: a.relu(), lambda a: a.exp()),
    "absent": (lambda x: x.cos(), lambda a: a.sin(), lambda a: a.tan()),
    "keywords": (lambda x: x.sum(dim=1), lambda a: a.sum(dim=1), lambda a: a.mean(1)),
    "keyword or not": (lambda x: x.sum(dim=1), lambda a: a.sum(1), lambda a: a.mean(1)),
    "inputs of another number": (lambda x: x.relu(), lambda a: a.relu(), lambda a, b: a + b),
}  # fmt: skip


def told(module: Any, matches: Any) -> list[Any]:
    module.graph.lint()
    found = [(m.anchor.name, {str(k): str(v) for k, v in m.nodes_map.items()}) for m in matches]
    return [module.code, found]


@pytest.mark.parametrize("case", FUNCTIONS)
@parity_test
def test_replaced(torch: Any, case: str) -> Any:
    program, pattern, replacement = FUNCTIONS[case]
    module = torch.fx.symbolic_trace(program)
    try:
        return told(module, torch.fx.replace_pattern(module, pattern, replacement))
    except AssertionError as error:
        return str(error)


@parity_test
def test_modules_and_parameters(torch: Any) -> Any:
    nn = torch.nn

    class Old(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l, self.r = nn.Linear(2, 2), nn.ReLU()

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.r(self.l(x))

    class Whole(Old):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):  # type: ignore[no-untyped-def]
            return super().forward(x) + self.w

    class New(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.l, self.t, self.q = nn.Linear(2, 2), nn.Tanh(), nn.Parameter(torch.full((2,), 3.0))

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.t(self.l(x)) * self.q

    torch.manual_seed(0)
    module = torch.fx.symbolic_trace(Whole())
    found = told(module, torch.fx.replace_pattern(module, torch.fx.symbolic_trace(Old()), New()))
    names = [n for n, _ in module.named_parameters()], [n for n, _ in module.named_modules()]
    return found, names, module(torch.ones(1, 2)).detach()


@parity_test
def test_filters(torch: Any) -> Any:
    trace = torch.fx.symbolic_trace
    replace = torch.fx.subgraph_rewriter.replace_pattern_with_filters
    first, second, third = (trace(lambda x: (x + 1) * (x + 2)) for _ in range(3))
    found = replace(first, lambda a: a + 3, lambda a: a.sin(), ignore_literals=True)
    seen = []

    def only_two(match: Any, graph: Any, pattern: Any) -> bool:
        seen.append([*map(str, match.anchors), *map(str, match.placeholder_nodes), *map(str, match.returning_nodes)])
        return match.placeholder_nodes[1] == 2

    replace(second, lambda a, b: a + b, lambda a, b: a.sin(), match_filters=[only_two])
    replace(third, lambda a, b: a * b, replacement_callback=lambda m, g, p: trace(lambda a, b: a.exp()).graph)
    return first.code, [str(m.replacements) for m in found], seen, second.code, third.code


@parity_test
def test_shapes(torch: Any) -> Any:
    from importlib import import_module

    name = torch.__name__ + ".fx.passes.shape_prop"
    shape_prop = import_module(name)
    module = torch.fx.symbolic_trace(lambda x: x.split(2)[0].t() + x.shape[1])
    result = shape_prop.ShapeProp(module).propagate(torch.ones(4, 2))
    with pytest.raises(RuntimeError, match="ShapeProp error for: node="):
        shape_prop.ShapeProp(module).propagate(3)
    notes = [(str(n.meta.get("tensor_meta")), n.meta["type"].__name__) for n in module.graph.nodes]
    return result, [note.replace(torch.__name__ + ".", "torch.") for note, _ in notes], [kind for _, kind in notes]


@parity_test
def test_names_of_functions_in_several_namespaces(torch: Any) -> Any:
    functional = torch.nn.functional

    def program(x):  # type: ignore[no-untyped-def]
        y = torch.tanh(x) @ torch.matmul(x, x), torch.sigmoid(x), functional.layer_norm(x, (2,)), torch.erf(x)
        return (
            y,
            functional.conv1d(x, x),
            torch.relu(x),
            functional.relu(x),
        )

    return torch.fx.symbolic_trace(program).code, torch.overrides.resolve_name(torch.det)


@parity_test
def test_a_place_of_insertion_lasts(torch: Any) -> Any:
    """`inserting_after` without `with` holds from the call on; as a context it gives the earlier place back."""
    module = torch.fx.symbolic_trace(lambda x: x.relu() + 1)
    graph = module.graph
    x, relu = list(graph.nodes)[:2]
    graph.inserting_after(relu)
    first = graph.call_function(torch.neg, (relu,))
    with graph.inserting_before(first):
        second = graph.call_function(torch.exp, (relu,))
    third = graph.call_function(torch.sin, (relu,))
    graph.inserting_before(relu)
    graph.call_function(torch.cos, (x,))
    return [str(graph), second.name, third.name, graph.lint()]


@parity_test
def test_a_trace_of_a_librarys_own(torch: Any) -> Any:
    """Libraries build `Tracer.trace` anew from the parts in `torch.fx._symbolic_trace`."""
    from importlib import import_module

    st = import_module(torch.__name__ + ".fx._symbolic_trace")

    class Own(torch.fx.Tracer):
        @st.compatibility(is_backward_compatible=True)
        def trace(self, root: Any, concrete_args: Any = None) -> Any:
            self.root = root
            self.submodule_paths = {module: name for name, module in root.named_modules()}
            self.graph = torch.fx.Graph(tracer_cls=type(self))
            self.tensor_attrs = {}
            fn = type(root).forward
            assert isinstance(fn, st.FunctionType) and not isinstance(root, st.ScriptObject)
            names = fn.__globals__
            fn, args = self.create_args_for_root(fn, True, concrete_args)
            known: dict[str, Any] = {}

            @st.functools.wraps(st._orig_module_getattr)
            def read(module: Any, name: str) -> Any:
                return self.getattr(name, st._orig_module_getattr(module, name), known)

            @st.functools.wraps(st._orig_module_call)
            def call(module: Any, *args: Any, **kwargs: Any) -> Any:
                st._autowrap_check(patcher, getattr(module.forward, "__globals__", {}), self._autowrap_function_ids)
                forward = lambda *a, **k: st._orig_module_call(module, *a, **k)  # noqa: E731
                return self.call_module(module, forward, args, kwargs)

            with st._Patcher() as patcher:
                patcher.patch_method(torch.nn.Module, "__getattr__", read, deduplicate=False)
                patcher.patch_method(torch.nn.Module, "__call__", call, deduplicate=False)
                st._patch_wrapped_functions(patcher)
                st._autowrap_check(patcher, names, self._autowrap_function_ids)
                self.create_node("output", "output", (self.create_arg(fn(*args)),), {}, type_expr=None)
            return self.graph

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    traced = torch.fx.GraphModule(model, Own().trace(model))
    return [str(traced.graph), traced(torch.ones(1, 2)), model(torch.ones(1, 2))]
