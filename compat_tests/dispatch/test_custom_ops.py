"""Operations of programs (`torch.library.custom_op`, `autograd.Function`) in forms that PyTorch's own databases try."""

from __future__ import annotations

import copy
import importlib
import itertools
import typing
import warnings
from typing import Any

import numpy as np
import pytest

from parity import attempt, parity_test

_NUMBER = itertools.count()


def split_op(torch: Any, with_number: bool) -> Any:
    """A registered operation that returns a list of tensors, and perhaps a number."""
    returns = list[torch.Tensor]
    returns = tuple[returns, int] if with_number else returns

    def split(x, sizes, dim):
        parts = [p.clone() * 2 for p in torch.split(x, list(sizes), dim)]
        return (parts, len(parts)) if with_number else parts

    split.__annotations__ = {"x": torch.Tensor, "sizes": list[int], "dim": int, "return": returns}
    op = torch.library.custom_op(f"parity::split{next(_NUMBER)}", split, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.dim, ctx.kind = inputs[2], type(output).__name__

    def backward(ctx: Any, grads: Any, *rest: Any) -> Any:
        assert isinstance(grads, list) and ctx.kind == ("tuple" if with_number else "list")
        return torch.cat([g * 2 for g in grads], ctx.dim), None, None

    op.register_autograd(backward, setup_context=setup_context)
    return op


@parity_test
def test_lists_of_results(torch: Any) -> Any:
    x = torch.arange(6.0).requires_grad_()
    alone = split_op(torch, False)(x, [1, 2, 3], 0)
    parts, number = split_op(torch, True)(x, [4, 2], 0)
    (sum(p.sum() * k for k, p in enumerate(alone, 1)) + parts[1].sum()).backward()
    return type(alone).__name__, [p.detach() for p in alone], [p.requires_grad for p in parts], number, x.grad


@parity_test
def test_the_node_has_the_name_of_the_operation(torch: Any) -> Any:
    def twice(x):
        return x * 2

    twice.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op("parity::twice", twice, mutates_args=())
    op.register_autograd(lambda ctx, g: g * 2)
    node = op(torch.ones(2, requires_grad=True)).grad_fn
    packet = torch.ops.parity.twice
    return (
        type(node).__name__,
        node.name(),
        copy.deepcopy(packet) is packet,
        copy.deepcopy(packet.default) is packet.default,
    )


@parity_test
def test_what_an_operation_writes_to_is_counted(torch: Any) -> Any:
    def negative(x, out, others):
        np.negative(x.numpy(), out=out.numpy())
        for other in others:
            other.add_(x)

    negative.__annotations__ = {"x": torch.Tensor, "out": torch.Tensor, "others": list[torch.Tensor], "return": None}
    op = torch.library.custom_op(f"parity::negative{next(_NUMBER)}", negative, mutates_args=("out", "others"))
    x, base, others = torch.ones(2), torch.zeros(4), [torch.zeros(2), torch.ones(2)]
    out, w = base[1:3], torch.ones(2, requires_grad=True)
    product = w * out
    op(x, out, others)
    found = []
    for act in (product.sum().backward, lambda: op.register_autograd(lambda ctx, g: g)):
        try:
            act()
        except RuntimeError as error:
            found.append(str(error)[:60])
    return base, others, [t._version for t in (x, base, out, *others)], found


@parity_test
def test_a_function_returns_a_view_of_a_dual(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad

    class Row(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x[k]

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return None, None

        @staticmethod
        def jvp(ctx, t, _):
            return t[ctx.k]

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.arange(6.0).view(2, 3), torch.ones(2, 3))
        return [t * 1 for t in forward_ad.unpack_dual(Row.apply(x, 1) * 3)]


@parity_test
def test_backward_must_use_its_argument(torch: Any) -> Any:
    class Constant(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            return 3 * ctx.saved_tensors[0] ** 2

    x = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    error = attempt(lambda: torch.autograd.gradcheck(Constant.apply, (x,)))
    empty = attempt(lambda: torch.autograd.grad([x * 2], []))
    return error.kind, error.message, empty.kind, empty.message


@parity_test
def test_arguments_are_cast_under_autocast(torch: Any) -> Any:
    name = "jaxtorch_tests::autocast_product"

    @torch.library.custom_op(name, mutates_args=(), schema="(Tensor a, Tensor b, int k) -> Tensor")
    def product(a, b, k):
        seen.append((str(a.dtype), str(b.dtype), torch.is_autocast_enabled("cpu")))
        return (a @ b) * k

    seen: list[Any] = []
    product.register_autograd(
        lambda ctx, g: (g @ ctx.b.T * ctx.k, ctx.a.T @ g * ctx.k, None),
        setup_context=lambda ctx, inputs, output: ctx.__dict__.update(zip("abk", inputs, strict=True)),
    )
    torch.library.register_autocast(name, "cpu", torch.bfloat16)
    x = torch.ones(2, 2, requires_grad=True)
    outside = product(x, x, 2)
    with torch.autocast("cpu", dtype=torch.float16):
        inside = product(x, torch.ones(2, 2), 3)
        double = product(torch.ones(2, 2).double(), torch.ones(2, 2).double(), 1)
    inside.sum().backward()
    refused = [
        attempt(lambda: torch.library.register_autocast(3, "cpu", torch.float16)),
        attempt(lambda: torch.library.register_autocast(name, "meta", torch.float16)),
    ]
    return outside.dtype, inside.dtype, double.dtype, x.grad, seen, [(r.kind, r.message) for r in refused]


@parity_test
def test_implementations_before_the_operation(torch: Any) -> Any:
    """What registers them may come first: a compiled part may define the operation."""
    space = f"early{next(_NUMBER)}"
    torch.library.impl(f"{space}::plus", ["CPU"])(lambda x: x + 1)
    named = attempt(lambda: getattr(getattr(torch.ops, space), "plus"))  # noqa: B009
    torch.library.define(f"{space}::plus", "(Tensor x) -> Tensor")
    library = torch.library.Library(space, "FRAGMENT")
    library.impl("times", lambda x: x * 3, "CPU")
    library.impl("times.scalar", lambda x, y: x * y, "CPU")
    library.define("times(Tensor x) -> Tensor")
    library.define("times.scalar(Tensor x, float y) -> Tensor")
    torch.library.register_kernel(f"{space}::minus", "cpu", lambda x: x - 1)
    torch.library.define(f"{space}::minus", "(Tensor x) -> Tensor")
    ops, x = getattr(torch.ops, space), torch.ones(2)
    return named, ops.plus(x), ops.times(x), ops.times.scalar(x, 2.0), ops.minus(x)


@parity_test
def test_of_an_operation_that_is_not_there(torch: Any) -> Any:
    def same(*args: Any) -> Any:
        return args

    library, found = torch.library, []
    for name in ("no_such_space::x", "aten::no_such_name", "nothing"):
        found += [
            attempt(lambda: library.register_autograd(name, same)),  # noqa: B023
            attempt(lambda: library.register_vmap(name, same)),  # noqa: B023
            attempt(lambda: library.register_autocast(name, "cpu", torch.float32)),  # noqa: B023
        ]
    found += [attempt(lambda: library.register_fake("nothing", same)), attempt(lambda: torch.ops.no_such_space.x)]
    return [(f.kind, f.message) for f in found]


@parity_test
def test_operations_that_may_call_triton(torch: Any) -> Any:
    """`triton_op` defines an operation as `custom_op` does; one that calls no kernel of Triton's runs."""

    def double(x):
        return x * 2

    double.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    doubled = torch.library.triton_op(f"early{next(_NUMBER)}::doubled", double, mutates_args=())
    x = torch.ones(2, requires_grad=True)
    unregistered = attempt(lambda: doubled(x).sum().backward())
    doubled.register_autograd(
        lambda ctx, g: g * ctx.by, setup_context=lambda ctx, inputs, output: setattr(ctx, "by", 2)
    )
    y = doubled(x)
    y.sum().backward()
    return (
        y.detach(),
        x.grad,
        unregistered.kind,
        attempt(lambda: torch.library.triton_op("none::f", lambda x: x, mutates_args=())).kind,
    )


@parity_test
def test_overloads_of_pytorchs_operations_are_listed(torch: Any) -> Any:
    return sorted(torch.ops.aten.clone.overloads()), sorted(torch.ops.aten.add.overloads())


@parity_test
def test_schemas_with_optional_numbers(torch: Any) -> Any:
    infer = importlib.import_module(f"{torch.__name__}._library.infer_schema").infer_schema

    def quantised(x, low=None, high=None, which=None):
        return x

    optional = int | float | bool | None
    quantised.__annotations__ = {
        "x": torch.Tensor,
        "low": optional,
        "high": typing.Union[int, float, bool, None],  # noqa: UP007
        "which": int | None,
    }
    quantised.__annotations__["return"] = torch.Tensor
    return infer(quantised, mutates_args=())


@parity_test
def test_decompositions_are_kept(torch: Any) -> Any:
    decomposition = importlib.import_module(f"{torch.__name__}._inductor.decomposition")

    def plus(x):
        return x + 1

    plus.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    op = torch.library.custom_op(f"early{next(_NUMBER)}::plus", plus, mutates_args=())
    return decomposition.register_decomposition([op._opoverload])(plus) is plus


@pytest.mark.parametrize("key", ["CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd"])
@parity_test
def test_kernels_without_a_formula(torch: Any, key: str) -> Any:
    """What `Library.impl` registers is differentiated by what it calls; only `custom_op` wants a formula."""
    name = f"parity_kernels{next(_NUMBER)}"
    library = torch.library.Library(name, "DEF")
    library.define("f(Tensor x, int n=2) -> Tensor")
    library.define("add_(Tensor(a!) x) -> ()")
    library.define("detached(Tensor x, Tensor y) -> (Tensor, Tensor)")
    library.impl("f", lambda x, n=2: x * n, key)
    library.impl("add_", lambda x: (x.add_(1), None)[1], key)
    library.impl("detached", lambda x, y: (x.detach() * 2, y * 3), key)
    ops = getattr(torch.ops, name)
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    ops.add_(y)
    found: list[Any] = [
        ops.f(x),
        *torch.autograd.grad(ops.f(y, 5).sum(), x, retain_graph=True),
        attempt(lambda: ops.add_(x)),
        y,
    ]
    lost, kept = ops.detached(x, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if lost.requires_grad:
            lost.sum().backward(retain_graph=True)
        found += [lost.detach(), lost.requires_grad, x.grad, "not registered" in str([w.message for w in caught])]
        (lost + kept).sum().backward()
    with torch.no_grad():
        return [*found, kept, x.grad, ops.f(x)]
