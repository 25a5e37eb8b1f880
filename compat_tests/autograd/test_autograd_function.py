"""autograd.Function: contexts, marks, errors, double backward, next to PyTorch's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from parity import attempt, grad_fn_name, parity_test


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=True)


@parity_test
def test_function(torch: Any) -> Any:
    log: list[Any] = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, factor: float) -> Any:
            ctx.save_for_backward(x, y)
            ctx.factor = factor
            log.append([x.requires_grad, torch.is_grad_enabled(), list(ctx.needs_input_grad)])
            return x * y * factor

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            x, y = ctx.saved_tensors
            log.append([x.requires_grad, torch.is_grad_enabled(), list(ctx.needs_input_grad)])
            return grad * y * ctx.factor, grad * x * ctx.factor if ctx.needs_input_grad[1] else None, None

    x, y, constant = leaf(torch), leaf(torch, 4.0, 5.0, 6.0), torch.ones(3, dtype=torch.float64)
    out = Scale.apply(x, y, 3.0)
    seen = [
        out,
        out.grad_fn.name(),
        type(out.grad_fn).__name__,
        [n[0].name() for n in out.grad_fn.next_functions if n[0]],
    ]
    out.sum().backward()
    seen += [x.grad, y.grad, attempt(lambda: out.sum().backward(), match="second time")]
    Scale.apply(x, constant, 1.0).sum().backward()
    with torch.no_grad():
        seen += [Scale.apply(x, y, 1.0).requires_grad]
    (first,) = torch.autograd.grad(Scale.apply(x, x * y, 2.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.pow(2).sum(), x)
    return seen, x.grad, first.detach(), second, log


@parity_test
def test_function_setup_context(torch: Any) -> Any:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3, x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2 + other * 2

    x = leaf(torch)
    a, b = Cube.apply(x)
    a.sum().backward(retain_graph=True)
    first = x.grad.clone()
    (a * b).sum().backward()
    return first, x.grad, a.output_nr, b.output_nr, b.grad_fn is a.grad_fn


@parity_test
def test_function_marks(torch: Any) -> Any:
    log: list[Any] = []

    class Dirty(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Sort(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            values, indices = x.sort()
            extra = x * 2
            ctx.mark_non_differentiable(indices, extra)
            ctx.save_for_backward(indices)
            return values, indices, extra

        @staticmethod
        def backward(ctx: Any, grad: Any, *others: Any) -> Any:
            log.append([None if o is None else o.tolist() for o in others])
            return torch.zeros_like(grad).index_copy_(0, ctx.saved_tensors[0], grad)

    class Lazy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x * 1, x * 2

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any) -> Any:
            log.append([a is None, b is None])
            return b * 2

    x = leaf(torch, 3.0, 1.0, 2.0)
    y = x * 1
    z = Dirty.apply(y)
    z.sum().backward()
    seen = [z is y, y.detach(), y._version, grad_fn_name(y), x.grad.clone(), attempt(lambda: Dirty.apply(x))]
    values, indices, extra = Sort.apply(x)
    (values * torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)).sum().backward()
    Lazy.apply(x)[1].sum().backward()
    return seen, x.grad, values.requires_grad, indices.requires_grad, extra.requires_grad, log


@parity_test
def test_function_errors(torch: Any) -> Any:
    def function(backward: Callable[..., Any], forward: Callable[..., Any] = lambda ctx, x: x * 2) -> Any:
        kinds = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
        return type("Made", (torch.autograd.Function,), kinds)

    def run(made: Any) -> Any:
        x = leaf(torch)
        made.apply(x).sum().backward()
        return x.grad

    return [
        attempt(lambda: run(function(lambda ctx, g: (g, g))), match="incorrect number of gradients"),
        attempt(lambda: run(function(lambda ctx, g: g[:2])), match="invalid gradient"),
        attempt(lambda: run(function(lambda ctx, g: "text"))),
        attempt(lambda: run(function(lambda ctx, g: None))),
        attempt(lambda: run(function(lambda ctx, g: 1 / 0))),
        attempt(lambda: run(function(lambda ctx, g: (g, None, None)))),
        attempt(lambda: run(function(lambda ctx, g: g, lambda ctx, x: "text"))),
        attempt(lambda: run(function(lambda ctx, g: g.float()))),
        attempt(lambda: run(function(lambda ctx, g: g, lambda ctx, x: x))),
        attempt(lambda: run(function(lambda ctx, g: g * 3, lambda ctx, x: x.view(3)))),
        attempt(lambda: function(lambda ctx, g: g)()(leaf(torch))),
        attempt(lambda: torch.autograd.Function.apply(leaf(torch))),
    ]


@parity_test
def test_gradients_of_what_is_no_tensor(torch: Any) -> Any:
    """Only None is one, in `torch.func` too."""

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(x: Any, other: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, g

    class Three(Both):
        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2, None, g

    def run(made: Any, other: Any) -> Any:
        x = leaf(torch)
        made.apply(x, other).sum().backward()
        return x.grad

    def transformed(made: Any, other: Any) -> Any:
        return torch.func.grad(lambda x: made.apply(x, other).sum())(torch.ones(2))

    others = [3, "text", None, [leaf(torch)], leaf(torch), torch.arange(3)]
    found = [
        attempt(lambda o=o: run(Both, o), match="returned a gradient different than None at position 2") for o in others
    ]
    wrong = "GeneratedBackward returned a gradient different than None at position 2"
    return found, [
        attempt(lambda: transformed(Both, 3), match=wrong),
        attempt(lambda: transformed(Both, torch.ones(2))),
        attempt(lambda: transformed(Three, torch.ones(2)), match="incorrect number of gradients"),
    ]


@parity_test
def test_once_differentiable(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    x = leaf(torch)
    (first,) = torch.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    return first.detach(), attempt(lambda: torch.autograd.grad(first.sum(), x), match="once_differentiable")


@parity_test
def test_function_saved_then_written(torch: Any) -> Any:
    class Save(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * ctx.saved_tensors[0]

    x = leaf(torch)
    y = x * 1
    out = Save.apply(y).sum()
    y.add_(1)
    return attempt(lambda: out.backward(), match="modified by an inplace operation"), x.grad


TENSORS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda torch: torch.ones(2, 1),
    "leaf": lambda torch: torch.ones(2, 1, requires_grad=True),
    "whole numbers": lambda torch: torch.ones(2, 1, dtype=torch.int64),
    "with a history": lambda torch: torch.ones(2, 1, requires_grad=True) * 1,
    "view": lambda torch: torch.ones(4, 1)[:2],
    "view with a history": lambda torch: (torch.ones(4, 1, requires_grad=True) * 1)[:2],
    "view of a leaf": lambda torch: torch.ones(4, 1, requires_grad=True)[:2],
    "strided view": lambda torch: torch.ones(1, 4).t()[:2],
    "data": lambda torch: torch.ones(2, 1).data,
}


def _handing_out(torch: Any) -> list[Any]:
    """Functions by what they return: an input, a view of it, an input written to, and so on."""

    class Base(torch.autograd.Function):
        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0].view(2, 1) * 3

    class Same(Base):
        forward = staticmethod(lambda ctx, x: x)

    class ViewOf(Base):
        forward = staticmethod(lambda ctx, x: x.view(-1))

    class Dirty(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

    class Marked(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x

    class Fixed(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_non_differentiable(x)
            return x

    class Two(Base):
        forward = staticmethod(lambda ctx, x: (x, x * 2))

    class Kept(Base):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 2

    return [Same, ViewOf, Dirty, Marked, Fixed, Two, Kept]


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("kind", TENSORS)
@parity_test
def test_outputs_that_are_inputs(torch: Any, kind: str, recorded: bool) -> Any:
    """Which tensor comes out: the input, a view or a detached one of it; where it stands in the graph; what may be written."""
    seen = []
    for function in _handing_out(torch):
        x = TENSORS[kind](torch)
        with contextlib.nullcontext() if recorded else torch.no_grad():
            made = attempt(lambda: function.apply(x))  # noqa: B023
        seen.append([function.__name__, made])
        for out in made if isinstance(made, tuple) else [made]:
            if isinstance(out, torch.Tensor):
                base = "itself" if out._base is x else "the same" if out._base is x._base else "another"
                seen.append([out is x, out._is_view(), base, out._version, x._version, x.is_leaf])
                seen.append(attempt(lambda: out.mul_(2) is out, match="cloning|leaf|no_grad|output 0|Output 0"))  # noqa: B023
                if out.requires_grad:
                    seen.append(attempt(lambda: out.sum().backward()))  # noqa: B023
    return seen


@parity_test
def test_a_sparse_tensor_made_in_forward_is_saved(torch: Any) -> Any:
    """As graph attention networks multiply by a sparse matrix whose entries have gradients."""

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, indices: Any, values: Any, b: Any) -> Any:
            a = torch.sparse_coo_tensor(indices, values, (3, 3))
            ctx.save_for_backward(a, b)
            return torch.matmul(a, b)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            a, b = ctx.saved_tensors
            rows, columns = a._indices()
            return None, grad.matmul(b.t())[rows, columns], a.t().matmul(grad)

    with torch.inference_mode():  # from then on, what is saved is asked whether it was made in here
        torch.ones(2) + 1
    values = torch.tensor([2.0, 3.0, 4.0], requires_grad=True)
    b = torch.arange(6.0).reshape(3, 2).requires_grad_()
    y = Product.apply(torch.tensor([[0, 1, 2], [2, 0, 1]]), values, b)
    (y * torch.arange(6.0).reshape(3, 2)).sum().backward()
    return y.tolist(), values.grad, b.grad


@pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")
@parity_test
def test_second_derivatives_through_a_saved_sparse_result(torch: Any) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: Any) -> Any:
            s = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), v * v, (3,))
            ctx.save_for_backward(v, s)
            return s

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            v, s = ctx.saved_tensors
            seen.append(s.requires_grad)
            g = (g.to_dense() if g.is_sparse else g)[:2]
            return 2 * g * v * s.coalesce().values() / (v * v).detach()

    seen: list[Any] = []
    v = torch.tensor([2.0, 3.0], requires_grad=True)
    (first,) = torch.autograd.grad(Square.apply(v).to_dense().pow(2).sum(), v, create_graph=True)
    return first.tolist(), torch.autograd.grad(first.sum(), v), seen


@pytest.mark.parametrize("hooks", [None, "save_on_cpu", "saved_tensors_hooks"])
@parity_test
def test_second_derivatives_with_hooks_on_what_is_saved(torch: Any, hooks: str | None) -> Any:
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            y = x * x * w
            ctx.save_for_backward(x, w, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, w, y = ctx.saved_tensors
            return g * 2 * x * w * y / y.detach(), g * x * x

    x = torch.tensor([2.0, 3.0], requires_grad=True)
    w = torch.tensor([1.0, 5.0], requires_grad=True) * 2
    arguments = {"saved_tensors_hooks": (lambda t: t.clone(), lambda t: t)}.get(hooks or "", ())
    with getattr(torch.autograd.graph, hooks)(*arguments) if hooks else torch.enable_grad():
        y = Square.apply(x, w)
    first = torch.autograd.grad(y.sum(), (x, w), create_graph=True)
    return first, torch.autograd.grad(first[0].sum() + first[1].sum(), (x, w))


@parity_test
def test_a_refused_mark_counts_as_a_write(torch: Any) -> Any:
    class InPlace(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, several: bool) -> Any:
            ctx.mark_dirty(x.mul_(2))
            return (x, x * 2) if several else x

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2, None

    seen = []
    for several in (False, True):
        for base in (leaf(torch), leaf(torch).clone(), leaf(torch).detach()):
            for x in (base, base[:2], base.unbind()[0]):
                try:
                    InPlace.apply(x, several)
                except RuntimeError as error:
                    seen.append(str(error)[:60])
                seen += [x._version, base._version]
    return seen


@parity_test
def test_views_that_a_function_returns_without_history(torch: Any) -> Any:
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad

    class Flat(Same):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.view(-1)

    seen = []
    for function in (Same, Flat):
        out = function.apply(torch.zeros(3, dtype=torch.float64))
        seen += [out._is_view(), out.mul_(2)._version]
        for write in (
            lambda x: x.sub_(leaf(torch)),
            lambda x: x[1:].mul_(leaf(torch)[1:]),
            lambda x: x.copy_(leaf(torch)),
        ):
            try:
                write(out)
            except RuntimeError as error:
                seen.append(str(error)[:140])
        x = leaf(torch)
        out = Same.apply(x)
        with torch.no_grad():  # its place in the graph is not asked for
            x.mul_(2)
            seen.append(function.apply(out))
    return seen


@parity_test
def test_where_no_gradient_comes(torch: Any) -> Any:
    """Functions run all the same, on zeros unless they refuse them, and hooks are shown None."""
    seen: list[Any] = []

    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, materialize: bool) -> Any:
            ctx.set_materialize_grads(materialize)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append(("Twice", grad))
            return None if grad is None else grad * 2, None

    def note(name: str) -> Callable[..., None]:
        return lambda *grads: seen.append((name, grads))

    for materialize in (True, False):
        x, w = leaf(torch), leaf(torch)
        x.register_hook(note("leaf"))
        x.register_post_accumulate_grad_hook(lambda p: seen.append(("after", p.grad)))
        y = Twice.apply(x, materialize)
        y.register_hook(note("result"))
        z = y * w
        z.grad_fn.register_prehook(note("before the node"))
        z.grad_fn.register_hook(note("after the node"))
        (Stop.apply(z).sum() + w.sum()).backward()
        again = leaf(torch)
        (found,) = torch.autograd.grad(Stop.apply(Twice.apply(again, materialize)).sum(), again, allow_unused=True)
        seen.extend([x.grad, w.grad, found])
    x = leaf(torch)
    x.register_hook(lambda g: torch.ones(3))
    seen.append(attempt(lambda: Stop.apply(x).sum().backward(), match="None gradient"))
    u, v = leaf(torch, 1.0, 2.0).split(1)
    torch.autograd.graph.register_multi_grad_hook([u, v], note("several"))
    (v * 2).sum().backward()
    return seen


@parity_test
def test_a_view_that_a_refused_function_wrote_to(torch: Any) -> Any:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = leaf(torch)
    v = x[...]
    refused = attempt(lambda: Double.apply(v), match="a view of a leaf")
    return refused, v._version, torch.autograd.grad((v**3).sum(), v)


@pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")
@parity_test
def test_sparse_arguments_and_results(torch: Any) -> Any:
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, s: Any, d: Any) -> Any:
            ctx.save_for_backward(s, d)
            return torch.sparse.mm(s, d)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            s, d = ctx.saved_tensors
            at = s._indices()
            wanted = torch.sparse_coo_tensor(at, (g[at[0]] * d[at[1]]).sum(1), s.shape)
            return wanted if ctx.needs_input_grad[0] else None, torch.sparse.mm(s.detach().t(), g)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, s: Any) -> Any:
            return s * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            log.append(str(g.layout))
            return g * 2

    log: list[Any] = []
    at = torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]])
    v = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    d = torch.arange(6.0).reshape(3, 2).requires_grad_()
    s = torch.sparse_coo_tensor(at, v, (3, 3))
    constant = Product.apply(s.detach(), d)
    constant.pow(2).sum().backward()
    seen = [constant, d.grad, Product.apply(s.detach(), d.detach()).requires_grad]
    d.grad = None
    doubled = Double.apply(s)
    Product.apply(doubled, d).pow(2).sum().backward()
    return [
        *seen,
        d.grad,
        v.grad,
        log,
        doubled.to_dense(),
        type(doubled.grad_fn).__name__,
        Double.apply(s.detach()).requires_grad,
    ]


@pytest.mark.parametrize("after", range(4))
@parity_test
def test_result_that_is_a_view_of_its_own_clone(torch: Any, after: int) -> Any:
    """What `forward` has written to it lies before its place in the graph."""
    bodies = [
        lambda x: x.clone()[:3].add_(2), lambda x: x.clone()[:3], lambda x: x[:3], lambda x: x.clone().add_(1)[:3],
        lambda x: x.clone().view(2, 2)[0].add_(2),
    ]  # fmt: skip
    use = [lambda r: r * 2, lambda r: r.detach().mul_(2), lambda r: r.clone().mul_(2), lambda r: r[:1]][after]
    seen = []
    for body in bodies:

        class Part(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, body: Any = body) -> Any:
                return body(x)

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return torch.cat([g.flatten(), g.new_zeros(4 - g.numel())])

        x = torch.arange(4.0).requires_grad_()
        r = Part.apply(x)
        seen += [type(r.grad_fn).__name__, r._is_view(), r._version]
        (r.sum() + use(r).sum()).backward()
        seen += [r.detach().tolist(), x.grad]
    return seen
