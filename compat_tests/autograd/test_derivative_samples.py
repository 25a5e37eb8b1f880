"""Samples of forward mode, checkpoints, `gradcheck` and saved tensors that once differed from PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from transform_kit import Table, checkpoints

CASES = Table()
case = CASES.case


@case
def gradcheck_shapes(t: Any) -> Any:
    return t.autograd.gradcheck(
        lambda x: t.cat([x, x]) if t.all(x >= 1) else x, (t.ones(1, dtype=t.float64, requires_grad=True),)
    )


@case
def gradcheck_closure(t: Any) -> Any:
    m = t.nn.Linear(2, 2).double()
    x = t.rand(3, 2, dtype=t.float64, requires_grad=True)
    return t.autograd.gradcheck(lambda x, *p: m(x), (x, *m.parameters()))


@case
def gradcheck_hook(t: Any) -> Any:
    def f(x):
        x.register_hook(lambda g: None)
        return x * 2

    return t.autograd.gradcheck(f, (t.rand(2, dtype=t.float64, requires_grad=True),))


@case
def nested_checkpoints(t: Any) -> Any:
    cp = checkpoints(t)

    def c(f):
        return lambda *a: cp.checkpoint(f, *a, use_reentrant=False)

    def grad(f):
        def w(x):
            with t.enable_grad():
                o = f(x)
                return t.autograd.grad(o, x, create_graph=True)[0]

        return w

    def f(x):
        return x.sin().exp().cos()

    x = t.tensor(1.5, requires_grad=True)
    r = []
    for early in (True, False):
        with cp.set_checkpoint_early_stop(early):
            for g in (
                lambda: grad(c(grad(f)))(x),
                lambda: grad(c(grad(c(f))))(x),
                lambda: c(grad(c(grad(f))))(x),
                lambda: grad(c(grad(c(grad(f)))))(x),
                lambda: grad(c(c(f)))(x),
            ):
                r.append(g())
    return r


@case
def materialized(t: Any) -> Any:
    x = t.ones(2, requires_grad=True)
    y = t.ones(2, requires_grad=True)
    (g,) = t.autograd.grad(x.sum(), y, materialize_grads=True, create_graph=True, allow_unused=True)
    return g, t.autograd.grad(g.sum(), y, materialize_grads=True, create_graph=True)


@case
def dual_to_out(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        o = t.empty(2)
        t.sin(x, out=o)
        return o


@case
def dual_out(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = t.ones(2)
        o = fw.make_dual(t.ones(2), t.ones(2))
        t.sin(x, out=o)
        return o


@case
def dual_igamma(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return t.igamma(x, x)


@case
def reentrant_without_graph(t: Any) -> Any:
    cp = checkpoints(t)
    x = t.ones(2, requires_grad=True)
    y = cp.checkpoint(lambda x: x.detach() * 2, x, use_reentrant=True)
    y.sum().backward()
    return x.grad


@case
def unpacked_twice(t: Any) -> Any:
    cp = checkpoints(t)

    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert len(ctx.saved_tensors) == len(ctx.saved_tensors)
            return g * 2

    x = t.ones(2, requires_grad=True)
    y = cp.checkpoint(lambda x: F.apply(x.sin()), x, use_reentrant=False)
    y.sum().backward()
    return x.grad


@case
def backward_twice(t: Any) -> Any:
    cp = checkpoints(t)
    x = t.ones(2, requires_grad=True)
    y = cp.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    return x.grad


@case
def saved_result_twice(t: Any) -> Any:
    cp = checkpoints(t)
    x = t.ones(2, requires_grad=True)
    y = cp.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    a = y.grad_fn._saved_result
    b = y.grad_fn._saved_result
    return a, b


@case
def selective_mutated(t: Any) -> Any:
    cp = checkpoints(t)
    x = t.ones(2, 2, requires_grad=True)

    def f(x):
        y = x @ x
        z = y.sin()
        with t.no_grad():
            y.mul_(2)
        return z.exp()

    y = cp.checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: cp.create_selective_checkpoint_contexts([t.ops.aten.mm.default])
    )
    y.sum().backward()
    return x.grad


@case
def selective_mutated_in_place(t: Any) -> Any:
    cp = checkpoints(t)
    x = t.ones(2, 2, requires_grad=True)

    def f(x):
        y = x @ x
        y = y.sin_()
        return y.exp()

    y = cp.checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: cp.create_selective_checkpoint_contexts([t.ops.aten.mm.default])
    )
    y.sum().backward()
    return x.grad


@case
def mutation_nested(t: Any) -> Any:
    a = t.autograd.graph.allow_mutation_on_saved_tensors
    with a(), a():
        pass


@case
def mutation_backward_outside(t: Any) -> Any:
    a = t.autograd.graph.allow_mutation_on_saved_tensors
    with a():
        x = t.ones(2, requires_grad=True)
        b = x.clone()
        y = b.sin()
        b.mul_(2)
    y.sum().backward()
    return x.grad


@case
def mutation_backward_inside(t: Any) -> Any:
    a = t.autograd.graph.allow_mutation_on_saved_tensors
    with a():
        x = t.ones(2, requires_grad=True)
        b = x.clone()
        y = b.sin()
        b.mul_(2)
        y.sum().backward()
    return x.grad


@case
def mutation_outside_unwritten(t: Any) -> Any:
    a = t.autograd.graph.allow_mutation_on_saved_tensors
    with a():
        x = t.ones(2, requires_grad=True)
        b = x.clone()
        y = b.sin()
    y.sum().backward()
    return x.grad


@case
def prod_zeros(t: Any) -> Any:
    x = t.tensor([0.0, 2.0, 3.0], requires_grad=True)
    s = t.tensor([1.0, 0.5, 2], requires_grad=True)
    i = t.tensor([0, 1, 0])
    y = x.scatter_reduce(0, i, s, "prod", include_self=True)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return t.autograd.grad(g.sum(), s)


@case
def prod_twice(t: Any) -> Any:
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    s = t.tensor([1.0, 0.5, 2], requires_grad=True)
    i = t.tensor([0, 1, 0])
    y = x.scatter_reduce(0, i, s, "prod", include_self=True)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return t.autograd.grad(g.sum(), s)


@case
def prod_zeros_of_source(t: Any) -> Any:
    x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
    s = t.tensor([0.0, 0.5, 2], requires_grad=True)
    i = t.tensor([0, 1, 0])
    y = x.scatter_reduce(0, i, s, "prod", include_self=True)
    (g,) = t.autograd.grad(y.sum(), x, create_graph=True)
    return t.autograd.grad(g.sum(), s)


@case
def acosh_in_place(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    y = x.clone().acosh_()
    y.sum().backward()
    return x.grad


@case
def acosh(t: Any) -> Any:
    x = t.tensor([2.0], requires_grad=True)
    y = x.acosh()
    y.sum().backward()
    return x.grad


@case
def dual_types(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2, dtype=t.float64), t.ones(2))
        u = fw.unpack_dual(x)
        v = fw.unpack_dual(x.sin())
        return u.primal, u.tangent, v.primal, v.tangent


@case
def dual_complex_real(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2) * 1j, t.ones(2))
        u = fw.unpack_dual(x)
        v = fw.unpack_dual(x * x)
        w = fw.unpack_dual(x.abs())
        return u.primal, u.tangent, v, w


@case
def jvp_integer(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.argmax()
            ctx.mark_non_differentiable(y)
            return x * 2, y

        @staticmethod
        def jvp(ctx, g):
            return g * 2, g

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_non_differentiable(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 3
            ctx.mark_non_differentiable(y)
            return x * 2, y

        @staticmethod
        def jvp(ctx, g):
            return g * 2, g * 3

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_no_view(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def jvp(ctx, g):
            return g * 2

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_view(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def jvp(ctx, g):
            return g.view_as(g)

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return fw.unpack_dual(F.apply(x))


@case
def jvp_view_for_none(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            return g.view_as(g)

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return fw.unpack_dual(F.apply(x))


@case
def jvp_not_in_place(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def jvp(ctx, g):
            return g * 2

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_in_place(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def jvp(ctx, g):
            return g.mul_(2)

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return fw.unpack_dual(F.apply(x))


@case
def jvp_too_many(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            return g * 2, g

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_shape(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            return g[:1]

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_number(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            return 3

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return F.apply(x)


@case
def jvp_as_is(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def jvp(ctx, g):
            return g

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return fw.unpack_dual(F.apply(x))


@case
def jvp_dtype(t: Any) -> Any:
    class F(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def jvp(ctx, g):
            return g.double()

    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.ones(2), t.ones(2))
        return fw.unpack_dual(F.apply(x))


@case
def gradcheck_sparse(t: Any) -> Any:
    x = t.eye(2, dtype=t.float64).to_sparse().requires_grad_()
    return t.autograd.gradcheck(lambda a: (a * a).to_dense(), (x,), masked=True)


@case
def gradcheck_same_input(t: Any) -> Any:
    x = t.rand(2, dtype=t.float64, requires_grad=True)
    return t.autograd.gradcheck(lambda a, b: a * b, (x, x))


@case
def gradcheck_dict(t: Any) -> Any:
    return t.autograd.gradcheck(lambda a: {"a": a * 2}, (t.rand(2, dtype=t.float64, requires_grad=True),))


@case
def gradcheck_sparse_output(t: Any) -> Any:
    return t.autograd.gradcheck(lambda a: a.to_sparse(), (t.rand(2, 2, dtype=t.float64, requires_grad=True),))


@case
def gradgradcheck_of_a_layer(t: Any) -> Any:
    m = t.nn.Linear(2, 2).double()
    x = t.rand(2, 2, dtype=t.float64, requires_grad=True)
    return t.autograd.gradgradcheck(lambda a, *p: m(a).sin(), (x, *m.parameters()))


@case
def embedding_max_norm_dual(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        dual = fw.make_dual(t.tensor([[3.0, 4.0], [0.1, 0.2]]), t.ones(2, 2))
        return fw.unpack_dual(t.nn.functional.embedding(t.tensor([0, 1]), dual, max_norm=1.0)).tangent


for _name in ("asinh_", "acosh_", "atanh_", "arcsinh_", "arccosh_", "arctanh_"):

    def _in_place(t: Any, name: str = _name) -> Any:
        y = getattr(t.tensor([1.5], requires_grad=True).clone(), name)()
        y.sum().backward()

    CASES["derivative_" + _name] = _in_place


@case
def transformations_that_close_over_duals(t: Any) -> Any:
    fw = t.autograd.forward_ad
    with fw.dual_level():
        x = fw.make_dual(t.tensor([1.0, 2.0]), t.tensor([3.0, 1.0]))
        found = (
            t.vmap(lambda y: y * x.sum())(t.ones(3)),
            t.func.grad(lambda y: (y * x).sum())(t.ones(2)),
            t.func.jacrev(lambda y: y * x * x)(t.ones(2)),
            t.func.vjp(lambda y: y * x.sin(), t.ones(2))[0],
        )
        return [tuple(fw.unpack_dual(y)) for y in found]


@pytest.mark.parametrize("name", CASES)
def test_sample(name: str) -> None:
    CASES.check(name)
