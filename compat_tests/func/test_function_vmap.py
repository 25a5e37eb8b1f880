"""`autograd.Function` under torch.func: rules of the user's own for `vmap`, next to PyTorch's.

The forward passes go through NumPy, so they work only where they get tensors with values: outside of every transformation.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parity import candidate, differences, outcome, reference


def definitions(t: Any) -> Any:
    """A sort with its inverse, a product with any rule, and Functions that torch.func refuses."""

    class Sort(t.autograd.Function):
        @staticmethod
        def forward(x: Any, dim: int = -1) -> Any:
            order = np.argsort(x.detach().numpy(), axis=dim)
            return t.tensor(np.take_along_axis(x.detach().numpy(), order, dim)), t.tensor(order)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.dim = inputs[1]
            ctx.mark_non_differentiable(output[1])
            ctx.save_for_backward(output[1])
            ctx.save_for_forward(output[1])

        @staticmethod
        def backward(ctx: Any, grad: Any, _: Any) -> Any:
            return Take.apply(grad, ctx.saved_tensors[0].argsort(ctx.dim), ctx.dim), None

        @staticmethod
        def jvp(ctx: Any, along: Any, _: Any) -> Any:
            return Take.apply(along, ctx.saved_tensors[0], ctx.dim), None

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, dim: int) -> Any:
            assert info.batch_size == x.shape[in_dims[0]] and info.randomness == "error" and in_dims[1] is None
            return Sort.apply(x.movedim(in_dims[0], 0), dim + 1 if dim >= 0 else dim), (0, 0)

    class Take(t.autograd.Function):
        @staticmethod
        def forward(x: Any, index: Any, dim: int) -> Any:
            return t.tensor(np.take_along_axis(x.detach().numpy(), index.detach().numpy(), dim))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.dim = inputs[2]
            ctx.save_for_backward(inputs[1])
            ctx.save_for_forward(inputs[1])

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return Take.apply(grad, ctx.saved_tensors[0].argsort(ctx.dim), ctx.dim), None, None

        @staticmethod
        def jvp(ctx: Any, along: Any, *_: Any) -> Any:
            return Take.apply(along, ctx.saved_tensors[0], ctx.dim)

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, index: Any, dim: int) -> Any:
            def whole(y: Any, d: Any) -> Any:
                return y.expand(info.batch_size, *y.shape) if d is None else y.movedim(d, 0)

            return Take.apply(whole(x, in_dims[0]), whole(index, in_dims[1]), dim + 1 if dim >= 0 else dim), 0

    class Product(t.autograd.Function):
        rule: Any = None

        @staticmethod
        def forward(x: Any, y: Any) -> Any:
            return x * y

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            return grad * y * 2, grad * x * 3

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any) -> Any:
            return Product.rule(info, in_dims, x, y)

    class Ruleless(Product):
        vmap = t.autograd.Function.vmap

    class Generated(Ruleless):
        generate_vmap_rule = True

    class Twice(Product):
        generate_vmap_rule = True

    class Old(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    def by(rule: Any, *args: Any, **options: Any) -> Any:
        Product.rule = staticmethod(rule)
        return t.func.vmap(Product.apply, **options)(*args)

    return SimpleNamespace(
        Sort=Sort, Product=Product, Ruleless=Ruleless, Generated=Generated, Twice=Twice, Old=Old, by=by
    )


def sort(d: Any) -> Any:
    return lambda x: d.Sort.apply(x)[0]


def loss(t: Any, d: Any) -> Any:
    return lambda x: (d.Sort.apply(x)[0] ** 2 * t.arange(1, x.shape[-1] + 1)).sum()


def backward(t: Any, f: Any, x: Any) -> Any:
    leaf = x.clone().requires_grad_()
    (f(leaf) * t.arange(1, x.shape[-1] + 1)).sum().backward()
    return leaf.grad


CASES = {
    "vmap": lambda t, d, x: t.func.vmap(d.Sort.apply)(x),
    "vmap of another dimension": lambda t, d, x: t.func.vmap(sort(d), in_dims=1, out_dims=1)(x),
    "vmap of vmap": lambda t, d, x: t.func.vmap(t.func.vmap(sort(d)))(x),
    "grad": lambda t, d, x: t.func.grad(loss(t, d))(x),
    "grad of grad": lambda t, d, x: t.func.grad(lambda y: t.func.grad(loss(t, d))(y).pow(2).sum())(x),
    "vmap of grad": lambda t, d, x: t.func.vmap(t.func.grad(loss(t, d)))(x),
    "grad of vmap": lambda t, d, x: t.func.grad(lambda y: t.func.vmap(loss(t, d))(y).sum())(x),
    "vmap of grad of vmap": lambda t, d, x: t.func.vmap(t.func.grad(lambda y: t.func.vmap(loss(t, d))(y).sum()))(x),
    "jvp": lambda t, d, x: t.func.jvp(sort(d), (x,), (x * 2,)),
    "vmap of jvp": lambda t, d, x: t.func.vmap(lambda y: t.func.jvp(sort(d), (y,), (y * 2,)))(x),
    "jvp of vmap": lambda t, d, x: t.func.jvp(t.func.vmap(sort(d)), (x,), (x * 2,)),
    "jvp of grad": lambda t, d, x: t.func.jvp(t.func.grad(loss(t, d)), (x,), (x,)),
    "grad of jvp": lambda t, d, x: t.func.grad(lambda y: t.func.jvp(loss(t, d), (y,), (y,))[1])(x),
    "vmap of jacrev": lambda t, d, x: t.func.vmap(t.func.jacrev(sort(d)))(x[0]),
    "vmap of jacfwd": lambda t, d, x: t.func.vmap(t.func.jacfwd(sort(d)))(x[0]),
    "hessian": lambda t, d, x: t.func.hessian(loss(t, d))(x[0, 0]),
    "backward through vmap": lambda t, d, x: backward(t, t.func.vmap(sort(d)), x),
    "backward through vmap of grad": lambda t, d, x: backward(t, t.func.vmap(t.func.grad(loss(t, d))), x),
    "generated": lambda t, d, x: t.func.vmap(d.Generated.apply, in_dims=(0, None))(x, x[0]),
    "grad of generated": lambda t, d, x: t.func.grad(lambda y: t.func.vmap(d.Generated.apply)(y, x).sum())(x),
    "vmap of grad of generated": lambda t, d, x: t.func.vmap(t.func.grad(lambda y: d.Generated.apply(y, y).sum()))(x),
    "a rule and a generated one": lambda t, d, x: t.func.vmap(d.Twice.apply)(x, x),
    "no rule": lambda t, d, x: t.func.vmap(d.Ruleless.apply)(x, x),
    "no rule, nothing mapped": lambda t, d, x: t.func.vmap(lambda y: y + d.Ruleless.apply(t.ones(2), t.ones(2)))(x),
    "no rule, grad": lambda t, d, x: t.func.grad(lambda y: d.Ruleless.apply(y, x).sum())(x),
    "old, vmap": lambda t, d, x: t.func.vmap(d.Old.apply)(x),
    "old, grad": lambda t, d, x: t.func.grad(lambda y: d.Old.apply(y).sum())(x),
    "old, jvp": lambda t, d, x: t.func.jvp(d.Old.apply, (x,), (x,)),
    "old, on a constant": lambda t, d, x: t.func.grad(lambda y: (y * d.Old.apply(t.ones(2))).sum())(x),
    "old, in a rule": lambda t, d, x: d.by(lambda i, dims, a, b: (d.Old.apply(a) * b, 0), x, x),
    "out_dims": lambda t, d, x: d.by(lambda i, dims, a, b: (a.movedim(0, -1), -1), x, x),
    "nothing mapped in a rule's output": lambda t, d, x: d.by(lambda i, dims, a, b: (t.full((), i.batch_size), None), x, x),
    "nested outputs": lambda t, d, x: d.by(lambda i, dims, a, b: ([a, b.movedim(0, 2)], [0, 2]), x, x),
    "an argument handed back": lambda t, d, x: d.by(lambda i, dims, a, b: (a, dims[0]), x, x, in_dims=(1, 0), chunk_size=2),
    "unmapped argument": lambda t, d, x: d.by(lambda i, dims, a, b: (a * b, dims.index(0)), x, x[0], in_dims=(0, None)),
    "randomness": lambda t, d, x: d.by(lambda i, dims, a, b: (a * len(i.randomness), 0), x, x, randomness="same"),
    "no out_dims": lambda t, d, x: d.by(lambda i, dims, a, b: a * b, x, x),
    "three results of a rule": lambda t, d, x: d.by(lambda i, dims, a, b: (a, 0, 1), x, x),
    "out_dims of another structure": lambda t, d, x: d.by(lambda i, dims, a, b: (a, (0, 0)), x, x),
    "defaults": lambda t, d, x: d.Sort.apply(x=x, dim=0)[0],
    "too few arguments": lambda t, d, x: d.Product.apply(x),
    "too many arguments": lambda t, d, x: d.Product.apply(x, x, x),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_functions_under_transformations(case: str) -> None:
    found = []
    for t in (reference(), candidate()):
        x = t.tensor(np.random.RandomState(0).randn(3, 3, 2))
        found.append(outcome(t, lambda t, x=x: CASES[case](t, definitions(t), x)))
    assert not differences(*found, strides=False), differences(*found, strides=False)


def test_out_dims_that_cannot_be() -> None:
    """PyTorch does not look, and goes on with a tensor of another shape."""
    t = candidate()
    with pytest.raises(IndexError, match="Dimension out of range"):
        definitions(t).by(lambda i, dims, a, b: (a, 5), t.ones(3, 2), t.ones(3, 2))
    with pytest.raises(RuntimeError, match="has 2 examples in dimension -1, expected 3"):
        definitions(t).by(lambda i, dims, a, b: (a, -1), t.ones(3, 2), t.ones(3, 2))


@pytest.mark.parametrize("case", ["plain", "vmap", "backward through vmap", "backward"])
def test_registered_rule(case: str) -> None:
    """`torch.library.register_vmap`, for an operation that goes through NumPy."""
    found = []
    for t in (reference(), candidate()):

        def double(x):
            return x.new_tensor(x.detach().numpy() * 2)

        double.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
        op = t.library.custom_op("function_vmap::double", double, mutates_args=())
        op.register_autograd(lambda ctx, g: g * 5)
        t.library.register_vmap(op, lambda info, dims, x, op=op: (op(x.movedim(dims[0], 0)), 0))
        x = t.tensor(np.random.RandomState(0).randn(3, 2))
        f = {"plain": op, "vmap": t.func.vmap(op, 1)}.get(case)
        found.append(f(x).tolist() if f else backward(t, op if case == "backward" else t.func.vmap(op), x).tolist())
    assert found[0] == found[1]
