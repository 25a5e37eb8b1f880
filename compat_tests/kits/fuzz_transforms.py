"""Random compositions of transformations, on PyTorch and on jaxtorch.

A case is a small function, an argument, and up to three transformations around it: of `torch.func`, `autograd.functional`,
`autograd.grad` with a graph, `forward_ad`, `utils.checkpoint`. Both modules run it; values, types, shapes and structure have to
agree, or the type of the exception; then the gradients of what the function closes over.

    python compat_tests/kits/fuzz_transforms.py --count 10000 --seed 0    # a whole run: some twenty minutes
    python compat_tests/kits/fuzz_transforms.py --case "grad(vmap(sort))(float32[3])"

`test_fuzz_transforms.py` runs a sample.
"""

from __future__ import annotations

import collections
import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from transform_kit import (
    checkpoint,
    compared,
    connected,
    dual,
    linearize,
    mapped,
    observed,
    own,
    run_cases,
    scalar,
    vjp,
)

Make = Callable[..., Any]


class Case(NamedTuple):
    """Transformations, outermost first, around a function, and the type and shape of its argument."""

    chain: tuple[str, ...]
    function: str
    argument: str

    def __str__(self) -> str:
        text = self.function
        for name in reversed(self.chain):
            text = f"{name}({text})"
        return f"{text}({self.argument})"


# -- the functions --- each takes the module and a tensor; `w` is closed over and requires a gradient


Pair = collections.namedtuple("Pair", "left right")


class _World:
    """What the functions of one run close over."""

    def __init__(self, t: Any, connected: bool = False, by_hand: bool = False) -> None:
        self.t, self.connected, self.by_hand = t, connected, by_hand
        t.manual_seed(0)
        self.w = t.tensor(1.5, requires_grad=True)
        self.c = t.tensor(0.5)
        self.layer = t.nn.Linear(1, 1)
        with t.no_grad():
            self.layer.weight.fill_(0.7)
            self.layer.bias.fill_(0.1)
        self.functions = _functions(t)


def _functions(t: Any) -> dict[str, Any]:
    class Cube(t.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

        @staticmethod
        def jvp(ctx: Any, g: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * g

    class Old(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    class Ruled(t.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.sin()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return ctx.saved_tensors[0].cos() * g

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return Ruled.apply(x), in_dims[0]

    return {"Cube": Cube, "Old": Old, "Ruled": Ruled}


def _written(x: Any) -> Any:
    y = x.clone()
    y.mul_(2)
    return y * y


def _view_written(x: Any) -> Any:
    y = x * 1
    y.reshape(-1)[:1].mul_(3)
    return y.sin()


def _put(x: Any) -> Any:
    y = x * 2
    y[..., :1] = x[..., :1] * x[..., :1]
    return y


def _argument_written(x: Any) -> Any:
    x.mul_(2)
    return x * x


FUNCTIONS: dict[str, Callable[[_World, Any], Any]] = {
    "sin": lambda o, x: x.sin(),
    "square": lambda o, x: x * x,
    "power": lambda o, x: x**3,
    "total": lambda o, x: x.sum(),
    "cubes": lambda o, x: (x * x * x).sum(),
    "mean": lambda o, x: (x.exp()).mean(),
    "conj": lambda o, x: x.conj(),
    "conj_physical": lambda o, x: o.t.conj_physical(x) * 2,
    "real": lambda o, x: o.t.real(x) * 3,
    "abs": lambda o, x: x.abs(),
    "complex": lambda o, x: x * (1 + 2j),
    "adjoint": lambda o, x: x.reshape(-1, 1).mH,
    "pair": lambda o, x: (x * 2, x.sum()),
    "nested": lambda o, x: {"a": [x.cos(), (x,)], "b": x * x},
    "named": lambda o, x: Pair(x.sin(), x.reshape(-1)),
    "sort": lambda o, x: x.sort(),
    "max": lambda o, x: x.reshape(-1).max(0),
    "topk": lambda o, x: o.t.topk(x.reshape(-1), 1),
    "qr": lambda o, x: o.t.linalg.qr(x.reshape(-1, 1)),
    "inverse": lambda o, x: o.t.linalg.inv_ex(
        x.reshape(-1, 1) @ x.reshape(1, -1) + 2 * o.t.eye(x.numel(), dtype=x.dtype)
    ),
    "integer": lambda o, x: x.long(),
    "argmax": lambda o, x: (x.argmax(), x * 2),
    "positive": lambda o, x: x > 0,
    "where": lambda o, x: o.t.where(x > 0.6, x * x, x),
    "first": lambda o, x: x.reshape(-1)[0],
    "slice": lambda o, x: x[..., :1],
    "flat": lambda o, x: x.reshape(-1),
    "same": lambda o, x: x,
    "empty": lambda o, x: x.reshape(-1)[:0] * 2,
    "written": lambda o, x: _written(x),
    "view_written": lambda o, x: _view_written(x),
    "put": lambda o, x: _put(x),
    "argument_written": lambda o, x: _argument_written(x),
    "closed": lambda o, x: o.w * x.sin(),
    "closed_computed": lambda o, x: (o.w * 2).exp() * x,
    "constant": lambda o, x: o.c * x,
    "unused": lambda o, x: o.t.ones(2) * o.c,
    "only_closed": lambda o, x: o.w * 2,
    "detached": lambda o, x: x.detach() * x,
    "no_grad": lambda o, x: o.t.no_grad()(lambda y: y * 2)(x) * x,
    "dropout": lambda o, x: o.t.nn.functional.dropout(x, 0.5),
    "noise": lambda o, x: x * o.t.rand(2).sum(),
    "like": lambda o, x: x + o.t.randn_like(x),
    "bernoulli": lambda o, x: x * o.t.bernoulli(o.t.full((2,), 0.5)).sum(),
    "cube_function": lambda o, x: o.functions["Cube"].apply(x),
    "old_function": lambda o, x: o.functions["Old"].apply(x),
    "ruled_function": lambda o, x: o.functions["Ruled"].apply(x),
    "layer": lambda o, x: o.layer(x.reshape(-1, 1).float()),
    "functional_call": lambda o, x: o.t.func.functional_call(
        o.layer, {"weight": x.reshape(-1)[:1].reshape(1, 1)}, (o.t.ones(1, 1),)
    ),
    "cumsum": lambda o, x: x.cumsum(-1),
    "softmax": lambda o, x: o.t.softmax(x, -1),
    "norm": lambda o, x: o.t.linalg.vector_norm(x),
    "prod": lambda o, x: x.prod(),
    "stack": lambda o, x: o.t.stack([x, x * 2], -1),
    "outer": lambda o, x: o.t.outer(x.reshape(-1), x.reshape(-1)),
    "double": lambda o, x: x.double() * 2,
    "half": lambda o, x: (x * 1).to(o.t.float16),
    "gather": lambda o, x: x.reshape(-1)[o.t.tensor([0, 0])],
    "branch": lambda o, x: x * 2 if x.shape[-1:] == (3,) else x.sin(),
    "none": lambda o, x: None,
    "number": lambda o, x: 2.0,
    "nothing": lambda o, x: (),
    "tuple_with_number": lambda o, x: (x, 3),
}

BY_HAND: dict[str, Callable[[_World, Any], Any]] = {
    "cube_function": lambda o, x: x * x * x,
    "ruled_function": lambda o, x: x.sin(),
    "complex": lambda o, x: x * o.t.tensor(1 + 2j),
}
"""The same written otherwise, for what PyTorch gets wrong."""

ARGUMENTS = (
    "float32[3]",
    "float32[]",
    "float32[2,2]",
    "float64[3]",
    "complex64[2]",
    "float32[0]",
    "int64[3]",
    "float32[3]!",
)


def _argument(t: Any, text: str) -> Any:
    """`float32[3]!`: one that requires a gradient."""
    kind, sizes = re.fullmatch(r"(\w+)\[([\d,]*)\]!?", text).groups()  # pyright: ignore[reportOptionalMemberAccess]
    shape = [int(n) for n in sizes.split(",") if n]
    dtype = getattr(t, kind)
    n = 1
    for s in shape:
        n *= s
    x = t.arange(1, n + 1, dtype=t.float64) * 0.4
    x = x.to(dtype) if kind != "complex64" else (x + 1j * (x - 0.3)).to(dtype)
    x = x.reshape(shape)
    return x.requires_grad_() if text.endswith("!") else x


# -- the transformations --- each takes the world and a function of a tensor, and gives another


def _cotangent_derivative(o: _World, f: Make, x: Any) -> Any:
    """The derivative of `vjp`'s function by its argument."""
    out, back = o.t.func.vjp(f, x)
    given = mapped(o.t, lambda y: o.t.ones_like(y) * 0.5, out)
    return o.t.func.jacrev(lambda s: back(mapped(o.t, lambda y: y * s, given)))(o.t.tensor(2.0))


def _recorded_grad(o: _World, f: Make, x: Any) -> Any:
    with o.t.enable_grad():
        y = x if x.requires_grad else x.detach().clone().requires_grad_()
        return o.t.autograd.grad(connected(o, scalar(o, f)(y), [y]), y, create_graph=True, allow_unused=True)


def _forward_jacobian(o: _World, f: Make, x: Any) -> Any:
    if o.by_hand:
        found = o.t.func.jacfwd(lambda y: f(own(o, y)))(x)
        return tuple(found) if isinstance(found, tuple) else found
    return o.t.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode")


def _both(o: _World, x: Any) -> Any:
    return o.t.stack([x, x * 2])


TRANSFORMATIONS: dict[str, Callable[[_World, Make, Any], Any]] = {
    "grad": lambda o, f, x: o.t.func.grad(scalar(o, f))(x),
    "grad_raw": lambda o, f, x: o.t.func.grad(f)(x),
    "grad_aux": lambda o, f, x: o.t.func.grad(lambda y: (scalar(o, f)(y), f(y)), has_aux=True)(x),
    "grad_and_value": lambda o, f, x: o.t.func.grad_and_value(scalar(o, f))(x),
    "vjp": lambda o, f, x: vjp(o, f, (x,)),
    "vjp_of_cotangent": _cotangent_derivative,
    "jvp": lambda o, f, x: o.t.func.jvp(f, (x,), (o.t.ones_like(x) * 0.5,)),
    "jvp_aux": lambda o, f, x: o.t.func.jvp(lambda y: (f(y), f(y)), (x,), (o.t.ones_like(x),), has_aux=True),
    "jacrev": lambda o, f, x: o.t.func.jacrev(f)(x),
    "jacrev_chunk": lambda o, f, x: o.t.func.jacrev(f, chunk_size=1)(x),
    "jacrev_aux": lambda o, f, x: o.t.func.jacrev(lambda y: (f(y), f(y)), has_aux=True)(x),
    "jacfwd": lambda o, f, x: o.t.func.jacfwd(f)(x),
    "jacfwd_different": lambda o, f, x: o.t.func.jacfwd(f, randomness="different")(x),
    "hessian": lambda o, f, x: o.t.func.hessian(scalar(o, f))(x),
    "hessian_raw": lambda o, f, x: o.t.func.hessian(f)(x),
    "vmap": lambda o, f, x: o.t.func.vmap(f)(_both(o, x)),
    "vmap_last": lambda o, f, x: o.t.func.vmap(f, in_dims=-1, out_dims=-1)(_both(o, x).movedim(0, -1)),
    "vmap_rows": lambda o, f, x: o.t.func.vmap(f)(x),
    "vmap_chunks": lambda o, f, x: o.t.func.vmap(f, chunk_size=1)(_both(o, x)),
    "vmap_different": lambda o, f, x: o.t.func.vmap(f, randomness="different")(_both(o, x)),
    "vmap_same": lambda o, f, x: o.t.func.vmap(f, randomness="same")(_both(o, x)),
    "linearize": lambda o, f, x: linearize(o, f, (x,)),
    "f_vjp": lambda o, f, x: o.t.autograd.functional.vjp(scalar(o, f), x, create_graph=True),
    "f_jvp": lambda o, f, x: o.t.autograd.functional.jvp(f, x, o.t.ones_like(x), create_graph=True),
    "f_vhp": lambda o, f, x: o.t.autograd.functional.vhp(scalar(o, f), x, o.t.ones_like(x)),
    "f_hvp": lambda o, f, x: o.t.autograd.functional.hvp(scalar(o, f), x, o.t.ones_like(x), create_graph=True),
    "f_jacobian": lambda o, f, x: o.t.autograd.functional.jacobian(f, x, create_graph=True),
    "f_jacobian_vectorized": lambda o, f, x: o.t.autograd.functional.jacobian(f, x, vectorize=True),
    "f_jacobian_forward": lambda o, f, x: _forward_jacobian(o, f, x),
    "f_hessian": lambda o, f, x: o.t.autograd.functional.hessian(scalar(o, f), x, create_graph=True),
    "autograd_grad": _recorded_grad,
    "dual": lambda o, f, x: dual(o, f, (x,)),
    "checkpoint": lambda o, f, x: checkpoint(o, f, (x,), use_reentrant=False),
    "checkpoint_reentrant": lambda o, f, x: checkpoint(o, f, (x,), use_reentrant=True),
    "no_grad": lambda o, f, x: o.t.no_grad()(f)(x),
}


# -- running a case


def _around(o: _World, name: str, f: Make) -> Make:
    def run(x: Any) -> Any:
        return TRANSFORMATIONS[name](o, f, x)

    return run


def outcome(t: Any, case: Case, raising: bool = False, connected: bool = False, by_hand: bool = False) -> Any:
    """What a case gives on a module: plain data."""
    o = _World(t, connected, by_hand)
    function = (BY_HAND.get(case.function) if by_hand else None) or FUNCTIONS[case.function]

    def f(x: Any) -> Any:
        return function(o, x)

    run: Make = f
    for name in reversed(case.chain):
        run = _around(o, name, run)
    return observed(t, run, lambda: (_argument(t, case.argument),), (o.w, o.layer.weight), raising)


def compare(case: Case) -> str:
    """How jaxtorch differs in a case."""
    chain, function = case.chain, case.function
    forward = [name for name in chain if name in _FORWARD]
    otherwise: list[str] = []
    # PyTorch's `linearize` and forward Jacobian lose derivatives further out, and what is written, or refuse it; jaxtorch's
    # `make_dual` copies
    if {"linearize", "f_jacobian_forward"} & {*chain} or (function == "argument_written" and "dual" in chain):
        otherwise += ["values", "takes what raises RuntimeError"]
    # PyTorch's tangent of a tangent of a Function is 0, and `no_grad` leaves it the derivatives further out
    if (function == "cube_function" and len(forward) > 1) or (function in _FUNCTIONS and "no_grad" in chain[1:]):
        otherwise.append("values")
    if "checkpoint_reentrant" in chain and {"dual", "f_jacobian_forward"} & {*chain}:
        otherwise.append("values")  # PyTorch follows no tangents inside of a reentrant checkpoint
    if forward:
        # PyTorch's tangent of a 0-d tensor times a number has 64 bits; its checkpoints in forward mode raise also where nothing has
        # to be computed again
        otherwise += ["dtype"] * (function == "complex") + ["takes what raises CheckpointError"]
    found = compared(case, outcome, otherwise=tuple(otherwise))
    # jaxtorch's linear function runs the function again, which draws other numbers
    return "" if found == "values" and "linearize" in chain and function in _DRAWING else found


# -- choosing and reporting


_FORWARD = {
    "jvp",
    "jvp_aux",
    "jacfwd",
    "jacfwd_different",
    "hessian",
    "hessian_raw",
    "linearize",
    "f_jacobian_forward",
    "dual",
}
_DRAWING = {"dropout", "noise", "like", "bernoulli"}
_FUNCTIONS = {"cube_function", "ruled_function"}


def _left_out(chain: tuple[str, ...], function: str) -> bool:
    """Does PyTorch read sizes of unmapped results from foreign memory?"""
    return "vmap_last" in chain and function in ("unused", "only_closed")


def cases(seed: int, count: int) -> list[Case]:
    """So many distinct cases."""
    chosen = random.Random(seed)
    found: dict[Case, None] = {}
    names, functions = list(TRANSFORMATIONS), list(FUNCTIONS)
    while len(found) < count:
        depth = chosen.choice((1, 2, 2, 3, 3, 3))
        chain = tuple(chosen.choices(names, k=depth))
        argument = chosen.choice(ARGUMENTS[:3]) if chosen.random() < 0.5 else chosen.choice(ARGUMENTS)
        function = chosen.choice(functions)
        if not _left_out(chain, function):
            found[Case(chain, function, argument)] = None
    return list(found)


def parse(text: str) -> Case:
    """The case that prints so."""
    match = re.fullmatch(r"(.*)\(([\w\[\],!]*)\)", text)
    inner, argument = match.groups()  # pyright: ignore[reportOptionalMemberAccess]
    names = inner.rstrip(")").split("(")
    return Case(tuple(names[:-1]), names[-1], argument)


if __name__ == "__main__":
    run_cases(__doc__, cases, parse, outcome, compare)
