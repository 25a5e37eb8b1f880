"""Samples of `torch.func` and `autograd.functional` that once differed from PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from transform_kit import Table

CASES = Table()
case = CASES.case


@case
def gradient_of_an_integer(t: Any) -> Any:
    return t.func.grad(lambda a: a.long().sum())(t.ones(2))


@case
def derivative_of_vjp(t: Any) -> Any:
    _, vf = t.func.vjp(t.sin, t.tensor(2.0))
    return (
        t.func.grad(lambda y: vf(y)[0])(t.tensor(0.3)),
        t.func.jacrev(vf)(t.tensor(0.3)),
        t.func.vmap(vf)(t.tensor([0.3, 0.4])),
    )


@case
def vjp_no_grad(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        o, vf = t.func.vjp(t.sin, x)
        r = vf(t.ones(2))[0]
    return o, r, r.requires_grad


@case
def functional_vjp_no_grad(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        o, g = t.autograd.functional.vjp(lambda x: x.sin().sum(), x, create_graph=True)
    return o, g


@case
def functional_no_grad(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        return [
            getattr(t.autograd.functional, n)(lambda x: x.sin().sum(), x, *a, create_graph=True)
            for n, a in [("jacobian", ()), ("hessian", ()), ("jvp", (x,)), ("vhp", (x,)), ("hvp", (x,))]
        ]


@case
def func_no_grad(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    with t.no_grad():
        return (
            t.func.grad(lambda x: x.sin().sum())(x),
            t.func.jacrev(t.sin)(x),
            t.func.jacfwd(t.sin)(x),
            t.func.jvp(t.sin, (x,), (x,)),
            t.vmap(t.sin)(x),
            t.func.hessian(lambda x: x.sin().sum())(x),
        )


@case
def scalars(t: Any) -> Any:
    return (
        t.func.jacrev(t.sin)(t.tensor(2.0)),
        t.func.jacfwd(t.sin)(t.tensor(2.0)),
        t.func.hessian(t.sin)(t.tensor(2.0)),
    )


@case
def functional_scalars(t: Any) -> Any:
    return (
        t.autograd.functional.jacobian(t.sin, t.tensor(2.0)),
        t.autograd.functional.hessian(t.sin, t.tensor(2.0)),
        t.autograd.functional.jacobian(t.sin, t.tensor(2.0), vectorize=True),
        t.autograd.functional.jacobian(t.sin, t.tensor(2.0), vectorize=True, strategy="forward-mode"),
    )


@case
def second_derivative_of_recurrent_layers(t: Any) -> Any:
    r = []
    for k in ("LSTM", "GRU", "RNN"):
        t.manual_seed(0)
        m = getattr(t.nn, k)(2, 3)
        with t.no_grad():
            for p in m.parameters():
                p.copy_(t.arange(p.numel()).reshape(p.shape) / 10 - 0.3)
        x = (t.arange(16.0).reshape(4, 2, 2) / 16).requires_grad_()
        (g,) = t.autograd.grad(m(x)[0].sum(), x, create_graph=True)
        (g**2).sum().backward()
        r += [x.grad, *[p.grad for p in m.parameters()]]
    return r


@case
def vmap_named(t: Any) -> Any:
    return (
        tuple(t.func.vmap(t.linalg.eigh)(t.eye(2).expand(3, 2, 2))),
        t.func.vmap(lambda x: x.min(0))(t.eye(2)),
        t.func.vmap(lambda x: t.topk(x, 1))(t.eye(2)),
        t.func.vmap(lambda x: t.sort(x))(t.eye(2)),
    )


@case
def jacfwd_dropout(t: Any) -> Any:
    y = t.func.jacfwd(t.nn.functional.dropout, randomness="different")(t.ones(2))
    return (y.shape,)


@case
def jacfwd_bernoulli(t: Any) -> Any:
    y = t.func.jacfwd(lambda x: x * t.bernoulli(x.clamp(0, 1)), randomness="different")(t.ones(2))
    return (y,)


@case
def function_view_of_own(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            v = x.clone()[:3]
            v += 2
            return v

        @staticmethod
        def backward(ctx, g):
            return t.cat([g, t.zeros(1)])

    x = t.ones(4, requires_grad=True)
    y = F.apply(x)
    n = y.grad_fn
    y.sum().backward()
    return type(n).__name__, x.grad


@case
def reentrant_2000(t: Any) -> Any:
    class D(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with t.enable_grad():
                ctx.x = t.autograd.Variable(x.detach(), requires_grad=True)
                ctx.x = ctx.x - 1
            return ctx.x.detach()

        @staticmethod
        def backward(ctx, x):
            if ctx.x < 0:
                return x
            with t.enable_grad():
                D.apply(ctx.x).sum().backward()
            return x

    v = t.tensor(2000.0, requires_grad=True)
    D.apply(v).sum().backward()
    return v.grad


@case
def jacrev_chunk_one(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, i, o):
            pass

        @staticmethod
        def backward(ctx, g):
            g.nonzero()
            return g * 2

    return t.func.jacrev(F.apply, chunk_size=1)(t.ones(3))


@case
def jacobian_conj(t: Any) -> Any:
    x = t.tensor([1 + 2j, 3j])
    return t.autograd.functional.jacobian(lambda a: a.conj(), x, vectorize=True), t.autograd.functional.jacobian(
        lambda a: a.conj(), x
    )


@case
def function_without_setup(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return t.func.grad(lambda x: F.apply(x).sum())(t.ones(3))


@case
def function_without_setup_vmap(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return t.vmap(lambda x: F.apply(t.ones(3)))(t.ones(3))


@case
def retain_grad(t: Any) -> Any:
    def f(x):
        y = x.sin()
        y.retain_grad()
        return y.sum()

    return t.func.grad(f)(t.ones(3))


@case
def retain_grad_argument(t: Any) -> Any:
    def f(x):
        x.retain_grad()
        return x.sum()

    return t.func.grad(f)(t.ones(3))


@case
def retain_grad_vmap(t: Any) -> Any:
    def f(x):
        y = x.sin()
        y.retain_grad()
        return y

    return t.vmap(f)(t.ones(3))


@case
def saved_hooks_in_grad(t: Any) -> Any:
    def f(x):
        with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return x.sin().sum()

    return t.func.grad(f)(t.ones(3))


@case
def saved_hooks_around_grad(t: Any) -> Any:
    with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
        return t.func.grad(lambda x: x.sin().sum())(t.ones(3))


@case
def saved_hooks_in_vmap(t: Any) -> Any:
    def f(x):
        with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return x.sin()

    return t.vmap(f)(t.ones(3))


@case
def saved_hooks_in_jvp(t: Any) -> Any:
    def f(x):
        with t.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            return x.sin()

    return t.func.jvp(f, (t.ones(3),), (t.ones(3),))


@case
def save_on_cpu_in_vjp(t: Any) -> Any:
    def f(x):
        with t.autograd.graph.save_on_cpu():
            return x.sin().sum()

    return t.func.vjp(f, t.ones(3))[0]


@case
def jacrev_complex(t: Any) -> Any:
    return t.func.jacrev(lambda x: x * 1j)(t.ones(2))


@case
def jacfwd_complex(t: Any) -> Any:
    return t.func.jacfwd(lambda x: x * 1j)(t.ones(2))


@case
def jacrev_complex_input(t: Any) -> Any:
    return t.func.jacrev(lambda x: x.real)(t.ones(2) * 1j)


@case
def jacfwd_complex_input(t: Any) -> Any:
    return t.func.jacfwd(lambda x: x.real)(t.ones(2) * 1j)


@case
def hessian_complex(t: Any) -> Any:
    return t.func.hessian(lambda x: (x * 1j).sum())(t.ones(2))


@case
def jvp_out(t: Any) -> Any:
    def f(x):
        o = t.empty(2)
        t.sin(x, out=o)
        return o

    return t.func.jvp(f, (t.ones(2),), (t.ones(2),))


@case
def grad_out(t: Any) -> Any:
    def f(x):
        o = t.empty(2)
        t.sin(x, out=o)
        return o.sum()

    return t.func.grad(f)(t.ones(2))


@case
def vmap_out(t: Any) -> Any:
    def f(x):
        o = t.empty(2)
        t.sin(x, out=o)
        return o.sum()

    return t.vmap(f)(t.ones(3, 2))


@case
def jvp_igamma(t: Any) -> Any:
    return t.func.jvp(t.igamma, (t.ones(2), t.ones(2)), (t.ones(2), t.ones(2)))


@case
def vmap_data(t: Any) -> Any:
    return t.vmap(lambda x: x.data)(t.ones(3))


@case
def grad_data(t: Any) -> Any:
    return t.func.grad(lambda x: x.data.sum() * x.sum())(t.ones(3))


@case
def vmap_conj(t: Any) -> Any:
    x = t.tensor([[1 + 1j, 2 + 2j]])
    return (
        t.vmap(t.conj)(x),
        t.vmap(lambda a: a.mH)(x[None]),
        t.vmap(lambda a: a.conj().imag * 1)(x),
        t.vmap(t.conj)(x).is_conj(),
    )


@case
def vmap_conj_of_a_view(t: Any) -> Any:
    x = t.tensor([[1 + 1j, 2 + 2j], [3j, 4.0]])
    found = t.vmap(lambda a: a[:1].conj())(x)
    x[0, 0] = 5j
    return found, t.vmap(lambda a: a.conj().conj())(x), t.vmap(lambda a: a.conj())(x.conj())


@case
def hooks_of_an_argument(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.register_hook(lambda g: g * 2)
        return x.sum()

    return t.func.grad(f)(t.ones(2)), t.func.jacrev(f)(t.ones(2))


@case
def data_is_not_replaced(t: Any) -> Any:
    def f(x: Any) -> Any:
        x.data = x * 2
        return x.sum()

    return t.func.grad(f)(t.ones(2))


@case
def linearized_number(t: Any) -> Any:
    out, along = t.func.linearize(lambda x: (x * 2, 3), t.ones(2))
    return out, along(t.ones(2))


@case
def spread_by_position(t: Any) -> Any:
    return t.vmap(lambda d: d["x"] * d["y"], in_dims=({"y": 0, "x": None},))({"x": t.ones(2), "y": t.ones(3)})


@case
def forward_derivatives_nested(t: Any) -> Any:
    f = t.func
    x = t.tensor([0.3, 0.7])

    def smooth(y: Any) -> Any:
        return y.sin() * y.prod()

    def along(g: Any) -> Any:
        return lambda y: f.jvp(g, (y,), (y.cos(),))[1]

    return [
        f.jacfwd(f.jacfwd(f.jacfwd(smooth)))(x),
        f.hessian(f.hessian(lambda y: smooth(y).sum()))(x),
        f.vmap(f.jacfwd(f.jacfwd(smooth)))(t.stack([x, 2 * x])),
        f.jvp(lambda y: f.vmap(lambda z: f.jvp(lambda u: u * u * z, (z * 2,), (z.sin(),))[1])(y), (x,), (t.ones(2),)),
        f.grad(lambda y: along(along(smooth))(y).sum())(x),
        f.jvp(lambda y: f.jvp(lambda z: z * z * y, (y * 2,), (y,)), (x,), (t.ones(2),)),
    ]


@case
def forward_derivatives_nested_around_functional(t: Any) -> Any:
    f, g = t.func, t.autograd.functional
    x = t.tensor([0.3, 0.7])
    return [
        f.hessian(f.hessian(lambda y: g.vjp(lambda z: (z**3).sum(), y, create_graph=True)[1].sum()))(x),
        f.hessian(
            lambda y: g.hessian(lambda z: f.jvp(lambda u: u**3, (z,), (z,))[1].sum(), y, create_graph=True).sum()
        )(x),
    ]


@case
def forward_derivatives_nested_without_dependence(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    return t.func.jacfwd(t.func.jacfwd(lambda y: y * 2))(x)


@case
def forward_derivatives_nested_around_a_function(t: Any) -> Any:
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

    x = t.tensor([0.3, 0.7])
    return t.func.hessian(lambda y: t.func.jvp(Cube.apply, (y,), (t.ones(2),))[1].sum())(x)


@case
def linear_function_that_draws(t: Any) -> Any:
    found = []
    for f in (lambda x: x * t.rand(2), lambda x: t.nn.functional.dropout(x, 0.5), lambda x: t.randn_like(x) * x):
        out, along = t.func.linearize(f, t.ones(2))
        found += [out, along(t.ones(2)), along(t.ones(2)), t.rand(1)]
    return found


@case
def random_in_an_empty_forward_jacobian(t: Any) -> Any:
    return t.autograd.functional.jacobian(lambda x: x * t.rand(1), t.ones(0), vectorize=True, strategy="forward-mode")


for _transform in ("grad", "vjp", "jvp", "jacrev", "jacfwd", "linearize"):
    for _what, _value in (("empty", ()), ("dict", {}), ("none", None), ("number", 1.0), ("nested", ((), []))):

        def _returning(t: Any, transform: str = _transform, value: Any = _value) -> Any:
            x, f = t.ones(3), lambda x: value
            if transform == "jvp":
                return t.func.jvp(f, (x,), (x,))
            if transform == "vjp":
                return t.func.vjp(f, x)[0]
            if transform == "linearize":
                return t.func.linearize(f, x)[1](x)
            return getattr(t.func, transform)(f)(x)

        CASES[f"{_transform}_{_what}"] = _returning


for _transform in ("grad", "grad_and_value", "jacrev", "hessian"):
    for _what in ("long", "bool", "cfloat"):

        def _typed(t: Any, transform: str = _transform, what: str = _what) -> Any:
            return getattr(t.func, transform)(lambda x: getattr(x, what)().sum() if what != "bool" else x.bool().any())(
                t.ones(2)
            )

        CASES[f"{_transform}_{_what}"] = _typed


@pytest.mark.parametrize("name", CASES)
def test_sample(name: str) -> None:
    CASES.check(name)
