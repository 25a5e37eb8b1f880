"""torch.func next to PyTorch's: values, structures, interplay with autograd, and errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from parity import Raised, candidate, differences, outcome, reference

Program = Callable[[Any], Any]


def vector(torch: Any, n: int = 3, seed: int = 0, dtype: str = "float32") -> Any:
    torch.manual_seed(seed)
    return torch.randn(n, dtype=getattr(torch, dtype))


def matrix(torch: Any, *shape: int, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.randn(*(shape or (4, 3)))


def plain(x: Any) -> Any:
    """Without history, which has other names here."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, tuple | list):
        return type(x)([plain(v) for v in x])
    return x.detach() if hasattr(x, "detach") else x


def without_grad(t, x):
    with t.no_grad():
        return x * 2


def cubes(torch: Any) -> Any:
    return lambda x: (x**3).sum()


# -- derivatives

DERIVATIVES: dict[str, Program] = {
    "grad": lambda t: t.func.grad(cubes(t))(vector(t)),
    "grad of one argument": lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=1)(vector(t), vector(t) * 2),
    "grad of the last argument": lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=-1)(vector(t), vector(t)),
    "grad of two arguments": lambda t: t.func.grad(lambda x, y: (x * y).sum(), argnums=(1, 0))(
        vector(t), vector(t) * 2
    ),
    "grad of containers": lambda t: t.func.grad(lambda d, k: (d["b"] * d["a"][0] * k).sum())(
        {"b": vector(t), "a": [vector(t)]}, 3
    ),
    "grad with aux": lambda t: t.func.grad(lambda x: ((x**2).sum(), {"z": x * 2, "a": (x.sum(),)}), has_aux=True)(
        vector(t)
    ),
    "grad and value": lambda t: t.func.grad_and_value(cubes(t))(vector(t)),
    "grad and value with aux": lambda t: t.func.grad_and_value(lambda x: (x.sum(), x), has_aux=True)(vector(t)),
    "keyword arguments": lambda t: t.func.grad(lambda x, *, k: (x * k).sum())(vector(t), k=vector(t, seed=1)),
    "nested grad": lambda t: t.func.grad(lambda x: t.func.grad(cubes(t))(x).sum())(vector(t)),
    "third derivative": lambda t: t.func.grad(t.func.grad(t.func.grad(lambda x: x.sin())))(t.tensor(0.3)),
    "perturbations are not confused": lambda t: t.func.grad(lambda x: x * t.func.grad(lambda y: x + y)(t.tensor(1.0)))(
        t.tensor(2.0)
    ),
    "unused argument": lambda t: t.func.grad(lambda x, y: y.sum())(vector(t), vector(t)),
    "detach cuts": lambda t: t.func.grad(lambda x: (x * x.detach()).sum())(vector(t)),
    "data cuts": lambda t: t.func.grad(lambda x: (x * x.data).sum())(vector(t)),
    "no_grad inside cuts": lambda t: t.func.grad(lambda x: (x * t.no_grad()(lambda: x * 2)()).sum())(vector(t)),
    "no_grad outside does not": lambda t: t.no_grad()(lambda: t.func.grad(cubes(t))(vector(t)))(),
    "in place": lambda t: t.func.grad(lambda x: x.clone().mul_(x)[1:].sum())(vector(t)),
    "views": lambda t: t.func.grad(lambda x: _through_views(x).sum())(matrix(t)),
    "indexing": lambda t: t.func.grad(lambda x: (x[t.tensor([2, 0, 2])] ** 2).sum())(vector(t)),
    "float64": lambda t: t.func.hessian(lambda x: (x.exp() * x).sum())(vector(t, dtype="float64")),
    "complex": lambda t: t.func.grad(lambda z: (z**2).real.sum())(vector(t, dtype="complex64")),
    "complex vjp": lambda t: t.func.vjp(lambda z: z**2, vector(t, dtype="complex64"))[1](
        vector(t, seed=1, dtype="complex64")
    ),
    "vjp": lambda t: t.func.vjp(lambda x, y: x * y, vector(t), vector(t, seed=1))[1](vector(t, seed=2)),
    "vjp outputs": lambda t: t.func.vjp(lambda x: (x * 2, {"s": x.sum()}), vector(t))[0],
    "vjp of two outputs": lambda t: t.func.vjp(lambda x: (x * x, {"s": x.sum()}), vector(t))[1](
        (vector(t, seed=1), {"s": t.tensor(2.0)})
    ),
    "vjp with aux": lambda t: t.func.vjp(lambda x: (x * 2, {"q": x}), vector(t), has_aux=True)[2],
    "jvp": lambda t: t.func.jvp(
        lambda x, y: (x * y, {"s": x.sum()}), (vector(t), vector(t, seed=1)), (vector(t, seed=2), vector(t))
    ),
    "jvp with aux": lambda t: t.func.jvp(lambda x: (x * 2, x.sum()), (vector(t),), (vector(t),), has_aux=True),
    "jvp of a constant": lambda t: t.func.jvp(lambda x: t.ones(2), (vector(t),), (vector(t),)),
    "hessian-vector product": lambda t: t.func.jvp(t.func.grad(cubes(t)), (vector(t),), (t.ones(3),))[1],
    "linearize": lambda t: t.func.linearize(lambda x: {"s": x.sin()}, vector(t))[1](vector(t, seed=1)),
    "jacrev": lambda t: t.func.jacrev(lambda x: x.sin() * x.sum())(vector(t)),
    "jacrev of two": lambda t: t.func.jacrev(lambda x, y: (x * y, {"q": y.sum()}), argnums=(0, 1))(
        vector(t), vector(t, seed=1)
    ),
    "jacrev of containers": lambda t: t.func.jacrev(lambda d: d["a"] @ d["b"])({"b": vector(t), "a": matrix(t)}),
    "jacrev in chunks": lambda t: t.func.jacrev(lambda x: x.cumsum(0), chunk_size=2)(vector(t)),
    "jacrev with aux": lambda t: t.func.jacrev(lambda x: (x * 2, x), has_aux=True)(vector(t)),
    "jacfwd": lambda t: t.func.jacfwd(lambda x, y: (x * y, {"q": y.sum()}), argnums=(0, 1))(
        vector(t), vector(t, seed=1)
    ),
    "jacfwd of one in a tuple": lambda t: t.func.jacfwd(lambda x: (x.sin(),), argnums=(0,))(vector(t)),
    "hessian": lambda t: t.func.hessian(lambda x, y: (x * y * y).sum(), argnums=(0, 1))(vector(t), vector(t, seed=1)),
    "hessian with a part under no_grad": lambda t: t.func.hessian(lambda x: (without_grad(t, x) * x).sum())(vector(t)),
}


def _through_views(x: Any) -> Any:
    y = x * 1
    row, column = y[0], y.t()[1]
    row.mul_(x[1])
    y.view(-1)[5:7].zero_()
    return column * y.sum()


# -- vmap

VMAP: dict[str, Program] = {
    "rows": lambda t: t.func.vmap(lambda x: x.sum())(matrix(t)),
    "columns": lambda t: t.func.vmap(lambda x: x.sum(), in_dims=1)(matrix(t)),
    "last dimension": lambda t: t.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(matrix(t)),
    "a number for all": lambda t: t.func.vmap(lambda x, k: x * k, in_dims=(0, None))(matrix(t), 3),
    "a tensor for all": lambda t: t.func.vmap(lambda x, y: x @ y, in_dims=(0, None))(matrix(t), matrix(t, 3, 2)),
    "nested in_dims": lambda t: t.func.vmap(lambda d: d["a"] + d["b"], in_dims=({"a": 0, "b": None},))(
        {"b": vector(t), "a": matrix(t)}
    ),
    "keyword arguments are not mapped": lambda t: t.func.vmap(lambda x, *, k: x * k)(matrix(t), k=matrix(t)),
    "containers come back": lambda t: t.func.vmap(lambda x: {"b": x, "a": [x * 2, (x.sum(),)]})(matrix(t)),
    "out_dims": lambda t: t.func.vmap(lambda x: (x, x * 2), out_dims=(0, 1))(matrix(t)),
    "not mapped out": lambda t: t.func.vmap(lambda x: (x, t.ones(2)), out_dims=(0, None))(matrix(t)),
    "constant result": lambda t: t.func.vmap(lambda x: t.ones(2))(matrix(t)),
    "nested": lambda t: t.func.vmap(t.func.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))(
        vector(t), vector(t, seed=1)
    ),
    "chunks": lambda t: t.func.vmap(lambda x: (x * 2, x.sum()), chunk_size=3)(matrix(t)),
    "grad of each": lambda t: t.func.vmap(t.func.grad(cubes(t)))(matrix(t)),
    "each index": lambda t: t.func.vmap(lambda x, i: x[i], in_dims=(None, 0))(vector(t), t.tensor([2, 0])),
    "gather": lambda t: t.func.vmap(lambda x, i: x.gather(0, i))(matrix(t), t.tensor([[0, 2]] * 4)),
    "norm": lambda t: t.func.vmap(t.linalg.norm)(matrix(t)),
    "argmax": lambda t: t.func.vmap(lambda x: x.argmax())(matrix(t)),
    "softmax and loss": lambda t: t.func.vmap(t.nn.functional.cross_entropy)(
        matrix(t, 2, 4, 3), t.tensor([[0, 1, 2, 0]] * 2)
    ),
    "writes are seen outside": lambda t: _written(t),
    "same numbers": lambda t: _drawn(t, lambda x: x + t.rand(3), "same"),
    "different numbers": lambda t: _drawn(t, lambda x: x + t.rand(3), "different"),
    "different normals": lambda t: _drawn(t, lambda x: x.sum() + t.randn(20).sum(), "different"),
    "different dropout": lambda t: _drawn(t, lambda x: t.nn.functional.dropout(x), "different"),
    "same dropout": lambda t: _drawn(t, lambda x: t.nn.functional.dropout(x), "same"),
    "numbers of two levels": lambda t: _drawn(t, t.func.vmap(lambda x: x + t.rand(2), randomness="different"), "same"),
}


def _written(torch: Any) -> Any:
    y = torch.zeros(2, 3)
    torch.func.vmap(lambda row: row.add_(1))(y)
    torch.func.vmap(lambda column: column[0].mul_(5), in_dims=1)(y)
    return y


def _drawn(torch: Any, function: Any, randomness: str) -> Any:
    x = torch.ones(4, 3)
    torch.manual_seed(7)
    return torch.func.vmap(function, randomness=randomness)(x), torch.rand(2)


# -- modules and autograd


def _network(torch: Any, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))


def _ensemble(torch: Any) -> Any:
    models = [_network(torch, seed) for seed in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    base = models[0]
    made = torch.func.vmap(lambda p, b, x: torch.func.functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(
        params, buffers, matrix(torch)
    )
    made.pow(2).sum().backward()
    return [made.detach(), {k: (v.is_leaf, v.requires_grad, v.grad) for k, v in params.items()}, buffers]


def _gradients_per_sample(torch: Any) -> Any:
    model = _network(torch)
    params = {k: v.detach() for k, v in model.named_parameters()}
    loss = torch.func.grad(lambda p, x: torch.func.functional_call(model, p, (x,)).pow(2).sum())
    return torch.func.vmap(loss, in_dims=(None, 0))(params, matrix(torch))


def _grad_is_differentiable(torch: Any) -> Any:
    x = vector(torch).requires_grad_()
    first = torch.func.grad(cubes(torch))(x)
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), x)[0]
    return [first.requires_grad, plain(first), plain(second), third]


def _closed_over_parameters(torch: Any) -> Any:
    """A physics-informed loss: derivatives by the input, then gradients of the weights."""
    model = _network(torch)
    slopes = torch.func.vmap(torch.func.grad(lambda x: model(x).sin().sum()))(matrix(torch))
    slopes.pow(2).sum().backward()
    return [plain(slopes), {k: v.grad for k, v in model.named_parameters()}]


def _jacobian_is_differentiable(torch: Any) -> Any:
    x = vector(torch).requires_grad_()
    torch.func.jacrev(lambda v: v.sin() * v.sum())(x).pow(2).sum().backward()
    first = x.grad.clone()
    x.grad = None
    torch.func.jacfwd(lambda v: v.sin() * v.sum())(x).pow(2).sum().backward()
    return [first, x.grad]


def _vjp_is_differentiable(torch: Any) -> Any:
    x, w = vector(torch).requires_grad_(), vector(torch, seed=1).requires_grad_()
    out, pull = torch.func.vjp(lambda v: (v * w).sin(), x)
    (out.sum() + pull(x * 2)[0].pow(2).sum()).backward()
    return [x.grad, w.grad]


def _same_dropout_in_backward(torch: Any) -> Any:
    x = vector(torch, 8).requires_grad_()
    torch.manual_seed(3)
    found = torch.func.grad(lambda v: (torch.nn.functional.dropout(v) ** 3).sum())(x)
    found.sum().backward()
    return [plain(found), x.grad, torch.rand(2)]


def _buffers_are_updated(torch: Any) -> Any:
    norm = torch.nn.BatchNorm1d(3)
    params, buffers = dict(norm.named_parameters()), {k: v.clone() for k, v in norm.named_buffers()}

    def loss(p: Any, b: Any, x: Any) -> Any:
        return (torch.func.functional_call(norm, (p, b), (x,)) ** 3).sum()

    found = torch.func.grad(loss)(params, buffers, matrix(torch))
    return [{k: v.shape for k, v in found.items()}, buffers, norm.running_mean]


def _custom_function(torch: Any) -> Any:
    class Triple(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any, k: int) -> Any:
            return x.exp() * k, x.round()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0], output[0])
            ctx.k = inputs[1]
            ctx.mark_non_differentiable(output[1])

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            x, out = ctx.saved_tensors
            return grad * out * x * 3 * ctx.k, None

    def loss(x: Any) -> Any:
        smooth, steps = Triple.apply(x, 2)
        return (smooth * steps).sum()

    x = vector(torch) * 2
    grad = torch.func.grad(loss)
    return [grad(x), torch.func.vmap(grad)(matrix(torch)), torch.func.grad(lambda v: grad(v).sum())(x)]


def _tied_weights(torch: Any) -> Any:
    class Tied(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    torch.manual_seed(0)
    model, x, given = Tied(), torch.ones(2), {"a.weight": torch.full((2, 2), 2.0)}
    call = torch.func.functional_call
    return plain([call(model, given, x), call(model, given, x, tie_weights=False), model(x)])


MODULES: dict[str, Program] = {
    "functional_call": lambda t: plain(
        t.func.functional_call(_network(t), {"0.weight": t.ones(4, 3), "nobody": t.ones(1)}, matrix(t))
    ),
    "functional_call with two dictionaries": lambda t: t.func.functional_call(
        t.nn.Linear(3, 2), [{"weight": t.ones(2, 3)}, {"bias": t.ones(2)}], (vector(t),), {}
    ),
    "the module is as before": lambda t: _restored(t),
    "tied weights": _tied_weights,
    "ensemble": _ensemble,
    "gradients per sample": _gradients_per_sample,
    "grad is differentiable": _grad_is_differentiable,
    "closed-over parameters": _closed_over_parameters,
    "a Jacobian is differentiable": _jacobian_is_differentiable,
    "vjp is differentiable": _vjp_is_differentiable,
    "same dropout in backward": _same_dropout_in_backward,
    "buffers are updated": _buffers_are_updated,
    "a custom function": _custom_function,
}


def _restored(torch: Any) -> Any:
    model = _network(torch)
    before = model[0].weight
    with pytest.raises(RuntimeError):
        torch.func.functional_call(model, {"0.weight": torch.ones(9, 9)}, matrix(torch))
    return [model[0].weight is before]


PROGRAMS = {**DERIVATIVES, **VMAP, **MODULES}
assert len(PROGRAMS) == len(DERIVATIVES) + len(VMAP) + len(MODULES)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_pytorch(name: str) -> None:
    program = PROGRAMS[name]
    expected = outcome(reference(), program)
    assert not isinstance(expected, Raised), f"the row itself fails on PyTorch: {expected}"
    found = differences(expected, outcome(candidate(), program), 4.0, strides=False)
    assert not found, "\n".join(found)


# -- errors

ERRORS: dict[str, Program] = {
    "grad of a vector": lambda t: t.func.grad(lambda x: x)(vector(t)),
    "grad of a number": lambda t: t.func.grad(lambda x: 3.0)(vector(t)),
    "grad by an integer tensor": lambda t: t.func.grad(lambda x: x.sum())(t.arange(3)),
    "grad by a number": lambda t: t.func.grad(lambda x: x * 2)(3.0),
    "argnums too large": lambda t: t.func.grad(lambda x: x.sum(), argnums=1)(vector(t)),
    "argnums of another type": lambda t: t.func.grad(lambda x: x.sum(), argnums=1.0)(vector(t)),
    "argnums twice": lambda t: t.func.grad(lambda x, y: x.sum(), argnums=(0, 0))(vector(t), vector(t)),
    "argnums empty": lambda t: t.func.grad(lambda x: x.sum(), argnums=())(vector(t)),
    "no aux": lambda t: t.func.grad(lambda x: x.sum(), has_aux=True)(vector(t)),
    "aux that is no tensor": lambda t: t.func.grad(lambda x: (x.sum(), 3), has_aux=True)(vector(t)),
    "vjp structure": lambda t: t.func.vjp(lambda x: (x, x), vector(t))[1](vector(t)),
    "vjp shape": lambda t: t.func.vjp(lambda x: x * 2, vector(t))[1](t.ones(2)),
    "vjp of a number": lambda t: t.func.vjp(lambda x: (x, 3), vector(t)),
    "jvp without tuple": lambda t: t.func.jvp(lambda x: x, vector(t), vector(t)),
    "jvp without primals": lambda t: t.func.jvp(lambda: 1, (), ()),
    "jvp structure": lambda t: t.func.jvp(lambda x, y: x, (vector(t), vector(t)), (vector(t),)),
    "jvp shape": lambda t: t.func.jvp(lambda x: x * 2, (vector(t),), (t.ones(2),)),
    "jvp strict": lambda t: t.func.jvp(lambda x: t.ones(2), (vector(t),), (vector(t),), strict=True),
    "linearize structure": lambda t: t.func.linearize(lambda x, y: x, vector(t), vector(t))[1](vector(t)),
    "linearize shape": lambda t: t.func.linearize(lambda x: x * 2, vector(t))[1](t.ones(2)),
    "jacrev chunk": lambda t: t.func.jacrev(lambda x: x, chunk_size=0),
    "jacrev of complex numbers": lambda t: t.func.jacrev(lambda x: x)(vector(t, dtype="complex64")),
    "vmap in_dim": lambda t: t.func.vmap(lambda x: x, in_dims=5)(matrix(t)),
    "vmap of a scalar": lambda t: t.func.vmap(lambda x: x)(t.tensor(1.0)),
    "vmap without dims": lambda t: t.func.vmap(lambda x: x, in_dims=None)(matrix(t)),
    "vmap of a number": lambda t: t.func.vmap(lambda x, k: x * k)(matrix(t), 3),
    "vmap structure": lambda t: t.func.vmap(lambda x, y: x, in_dims=(0,))(matrix(t), matrix(t)),
    "vmap sizes": lambda t: t.func.vmap(lambda x, y: x, in_dims=(0, 1))(matrix(t), matrix(t)),
    "vmap without inputs": lambda t: t.func.vmap(lambda: t.ones(2))(),
    "vmap result": lambda t: t.func.vmap(lambda x: 3)(matrix(t)),
    "vmap out_dims": lambda t: t.func.vmap(lambda x: (x, x), out_dims=(0, 1, 0))(matrix(t)),
    "vmap out_dim": lambda t: t.func.vmap(lambda x: x, out_dims=9)(matrix(t)),
    "vmap out_dim None": lambda t: t.func.vmap(lambda x: x, out_dims=None)(matrix(t)),
    "vmap randomness": lambda t: t.func.vmap(lambda x: x + t.rand(3))(matrix(t)),
    "vmap randomness of dropout": lambda t: t.func.vmap(t.nn.functional.dropout)(matrix(t)),
    "vmap randomness name": lambda t: t.func.vmap(lambda x: x, randomness="some")(matrix(t)),
    "vmap chunk": lambda t: t.func.vmap(lambda x: x, chunk_size=0)(matrix(t)),
    "vmap item": lambda t: t.func.vmap(lambda x: x.sum().item())(matrix(t)),
    "vmap if": lambda t: t.func.vmap(lambda x: x if x.sum() > 0 else -x)(matrix(t)),
    "vmap writes to what is not mapped": lambda t: t.func.vmap(lambda x, y: y.add_(x), in_dims=(0, None))(
        matrix(t), t.ones(3)
    ),
    "functional_call twice": lambda t: t.func.functional_call(
        t.nn.Linear(3, 2), ({"bias": t.ones(2)}, {"bias": t.ones(2)}), vector(t)
    ),
    "functional_call dictionary": lambda t: t.func.functional_call(t.nn.Linear(3, 2), 3, vector(t)),
    "functional_call strict": lambda t: t.func.functional_call(
        t.nn.Linear(3, 2), {"weight": t.ones(2, 3)}, vector(t), strict=True
    ),
    "no models": lambda t: t.func.stack_module_state([]),
    "models of two classes": lambda t: t.func.stack_module_state([t.nn.Linear(3, 2), t.nn.ReLU()]),
    "models in two modes": lambda t: t.func.stack_module_state([t.nn.Linear(3, 2), t.nn.Linear(3, 2).eval()]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_same_error_as_pytorch(name: str) -> None:
    expected, actual = outcome(reference(), ERRORS[name]), outcome(candidate(), ERRORS[name])
    assert isinstance(expected, Raised), f"the row does not raise on PyTorch: {expected}"
    assert isinstance(actual, Raised), f"expected {expected.kind}, got {actual}"
    assert actual.kind == expected.kind, actual.where


def test_functionalize_and_batch_norm() -> None:
    def body(t: Any) -> Any:
        def f(x: Any) -> Any:
            y = x.clone()
            y.add_(1)
            x.mul_(2)
            return y

        x = t.ones(2)
        net = t.nn.Sequential(t.nn.BatchNorm1d(2), t.nn.InstanceNorm1d(2, track_running_stats=True))
        same = t.func.replace_all_batch_norm_modules_(net) is net
        found = [t.func.functionalize(f)(x), x, t.func.grad(lambda x: t.func.functionalize(f)(x * 1).sum())(t.ones(2))]
        return found, same, repr(net), sorted(dict(net.named_buffers())), t.func.debug_unwrap(x) is x

    expected, actual = body(reference()), body(candidate())
    assert [x.tolist() for x in actual[0]] == [x.tolist() for x in expected[0]]
    assert actual[1:] == expected[1:]
    for t in (reference(), candidate()):
        with pytest.raises(RuntimeError, match="received invalid argument for remove=views"):
            t.func.functionalize(t.sin, remove="views")(t.ones(2))


FUNCTION_RULES = {
    "jvp under no_grad": lambda t, Rule: t.func.jvp(_constant_inside(t), (t.ones(2),), (t.ones(2),)),
    "jacfwd under no_grad": lambda t, Rule: t.func.jacfwd(_constant_inside(t))(t.ones(2)),
    "grad under no_grad": lambda t, Rule: t.func.grad(_constant_inside(t))(t.ones(2)),
    "jvp of a Function": lambda t, Rule: t.func.jvp(Rule.apply, (t.ones(2),), (t.full((2,), 3.0),)),
    "jacfwd of a Function": lambda t, Rule: t.func.jacfwd(Rule.apply)(t.arange(3.0)),
    "grad of a Function": lambda t, Rule: t.func.grad(lambda x: Rule.apply(x).sum())(t.arange(3.0)),
    "vmap of bernoulli": lambda t, Rule: t.func.vmap(lambda x: x.bernoulli(), randomness="different")(t.full((3, 2), 0.5)),
}  # fmt: skip


def _constant_inside(t: Any) -> Any:
    def f(x: Any) -> Any:
        with t.no_grad():
            y = x**2
        return (x * y).sum()

    return f


@pytest.mark.parametrize("case", FUNCTION_RULES)
def test_rules_of_the_user(case: str) -> None:
    found = []
    for t in (reference(), candidate()):

        class Rule(t.autograd.Function):
            generate_vmap_rule = True

            @staticmethod
            def forward(x: Any) -> Any:
                return x**2

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_forward(*inputs)
                ctx.save_for_backward(*inputs)

            @staticmethod
            def jvp(ctx: Any, along: Any) -> Any:
                return along * ctx.saved_tensors[0] * 7

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * ctx.saved_tensors[0] * 5

        t.manual_seed(0)
        result = FUNCTION_RULES[case](t, Rule)
        found.append([x.tolist() for x in result] if isinstance(result, tuple) else result.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "call",
    [
        "x.nonzero()", "torch.nonzero(x, as_tuple=True)", "torch.masked_select(x, x > 0)", "x[x > 0]", "torch.unique(x)",
        "torch.where(x > 0)", "torch.unique_consecutive(x)", "torch.repeat_interleave(x, (x > 0).long())",
        "torch.equal(x, x)", "torch.allclose(x, x)", "x.sum().item()", "torch.multinomial(x.abs(), 1)",
    ],
)  # fmt: skip
def test_what_depends_on_values_is_refused_under_vmap(call):
    for module in (reference(), candidate()):
        rows = module.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, -4.0]])
        with pytest.raises(RuntimeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module.vmap(lambda x, m=module: eval(call, {"torch": m, "x": x}))(rows)


def _shown(t: Any, x: Any) -> str:
    return f"{x}\n{x * 2}\n{x.sum()!r} {x.sum() if not x.dim() else ''}"


LOOKING = {
    "print in grad": lambda t, see: t.func.grad(lambda x: (see(_shown(t, x)), x.sum())[1])(t.arange(3.0)),
    "print in vmap": lambda t, see: t.func.vmap(lambda x: (see(_shown(t, x)), x.sum())[1])(t.ones(2, 3)),
    "print in vmap of grad": lambda t, see: t.func.vmap(t.func.grad(lambda x: (see(x), x.sum())[1]))(t.ones(2, 3)),
    "print in grad of vmap": lambda t, see: t.func.grad(
        lambda x: t.func.vmap(lambda y: (see(_shown(t, y)), y.sum())[1])(x).sum()
    )(t.ones(2, 3)),
    "print in hessian": lambda t, see: t.func.hessian(lambda x: (see(_shown(t, x)), (x**2).sum())[1])(t.ones(3)),
    "item": lambda t, see: t.func.grad(lambda x: x.sum() * x.sum().item())(t.ones(3)),
    "format": lambda t, see: t.func.grad(lambda x: (see(f"{x.sum():.3f} {x.sum()}"), x.sum())[1])(t.ones(3)),
    "tolist": lambda t, see: t.func.grad(lambda x: x.sum() * x.tolist()[1])(t.arange(3.0)),
    "nonzero": lambda t, see: t.func.grad(lambda x: x.sum() * x.nonzero().shape[0])(t.arange(3.0)),
    "masks": lambda t, see: t.func.grad(lambda x: (x[x > 0] ** 2).sum())(t.arange(3.0)),
    "jvp": lambda t, see: t.func.jvp(lambda x: x * x.max().item(), (t.ones(3),), (t.ones(3),)),
    "numpy": lambda t, see: t.func.grad(lambda x: x.sum() * float(x.detach().numpy().sum()))(t.ones(3)),
    "numpy in vmap": lambda t, see: t.func.vmap(lambda x: x.numpy())(t.ones(3)),
    "item in vmap": lambda t, see: t.func.vmap(lambda x: x * x.sum().item())(t.ones(3)),
    "nonzero in vmap": lambda t, see: t.func.vmap(lambda x: x.nonzero())(t.ones(2, 3)),
}


@pytest.mark.parametrize("case", LOOKING)
def test_looking_at_values(case: str) -> None:
    """Inside a derivative tensors have values; inside vmap they have as many as there are examples, and can only be printed."""
    found = []
    for t in (reference(), candidate()):
        texts: list[str] = []

        def body(t: Any, texts: list[str] = texts) -> Any:
            result = LOOKING[case](t, lambda x: texts.append(str(x)))
            return [result, list(texts)]

        found.append(outcome(t, body))
    if isinstance(found[0], Raised):
        assert isinstance(found[1], Raised) and found[1].kind == found[0].kind
    else:
        assert not differences(*found, strides=False), differences(*found, strides=False)
