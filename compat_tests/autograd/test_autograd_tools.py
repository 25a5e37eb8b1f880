"""Anomaly detection, saved tensors and their hooks, inference tensors, order of hooks, functional, gradcheck."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import jaxtorch
from parity import attempt, parity_test


def leaf(torch: Any, *values: float) -> Any:
    return torch.tensor(values or (1.0, 2.0, 3.0), dtype=torch.float64, requires_grad=True)


def message(fn: Callable[[], Any]) -> str:
    """The whole text of the error that `fn` raises."""
    try:
        fn()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def _no_grad_add(torch: Any, t: Any) -> None:
    with torch.no_grad():
        t.add_(1)


MODIFIED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "input": lambda torch, x, y: (y.sin(), y.add_(1))[0],
    "input_twice": lambda torch, x, y: (y.sin(), y.add_(1), y.mul_(2))[0],
    "result": lambda torch, x, y: y.exp().mul_(2),
    "through_view": lambda torch, x, y: (y.sin(), y[:1].add_(1))[0],
    "view_saved": lambda torch, x, y: (y[:2].sin(), y.add_(1))[0],
    "leaf": lambda torch, x, y: (x.sin(), _no_grad_add(torch, x))[0],
    "not_first_version": lambda torch, x, y: (y.add_(1), y.sin(), y.mul_(3))[1],
}


@pytest.mark.parametrize("name", MODIFIED)
@parity_test
def test_message_of_modified(torch: Any, name: str) -> Any:
    """The whole message: type, shape, which output of what, versions, hint."""
    x = leaf(torch)
    out = MODIFIED[name](torch, x, x * 1).sum()
    plain = message(lambda: out.backward())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            return plain, message(lambda: out.backward())


@parity_test
def test_anomaly(torch: Any) -> Any:
    x = leaf(torch, 0.0, 1.0)
    seen: list[Any] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            y = x.sqrt()
            seen.append(message(lambda: (y * 0).sum().backward()))
        z = x.sqrt()
        with torch.autograd.set_detect_anomaly(True):
            seen.append(message(lambda: (z * 0).sum().backward()))
        with torch.autograd.detect_anomaly(check_nan=False):
            (x.sqrt() * 0).sum().backward()
    texts = [str(w.message) for w in caught]
    told = [t for t in texts if t.startswith("Error detected in SqrtBackward0. Traceback of forward call")]
    untold = [t for t in texts if t.startswith("Error detected in SqrtBackward0. No forward pass information")]
    return seen, len(told), len(untold), any("y = x.sqrt()" in t for t in told), x.grad.isnan()


@parity_test
def test_saved_attributes(torch: Any) -> Any:
    x = leaf(torch)
    y = x.exp()
    power, both = (x**2).grad_fn, (x * y).grad_fn
    seen = [
        y.grad_fn._saved_result.detach(), power._saved_self is x or power._saved_self.detach(), power._saved_exponent,
        both._saved_other.detach(), (x * 2).grad_fn._saved_self, x.sum().grad_fn._saved_self_sym_sizes,
        x.softmax(0).grad_fn._saved_dim, attempt(lambda: power._saved_nothing),
    ]  # fmt: skip
    y.sum().backward()
    return seen, message(lambda: y.grad_fn._saved_result)


@parity_test
def test_saved_attributes_are_listed(torch: Any) -> Any:
    """`dir(grad_fn)` names them: graphs are drawn from it."""
    x, w = leaf(torch), torch.ones(4, 3, requires_grad=True)
    weight = torch.ones(1, 3, 1, requires_grad=True)
    convolved = torch.nn.functional.conv1d(torch.ones(1, 3, 4, requires_grad=True), weight).grad_fn
    product = torch.addmm(w, w, torch.ones(3, 3, requires_grad=True)).grad_fn
    made = [x**2, x.exp(), x.tanh(), x.relu(), x.log_softmax(0), x / leaf(torch)]
    return (
        [[name for name in dir(y.grad_fn) if name.startswith("_saved_")] for y in made],
        [{"_saved_input", "_saved_weight", "_saved_stride"} <= set(dir(convolved)), convolved._saved_input.detach()],
        [{"_saved_mat1", "_saved_mat2"} <= set(dir(product)), product._saved_mat1.detach()],
    )


@parity_test
def test_saved_tensors_hooks(torch: Any) -> Any:
    log: list[Any] = []
    x = leaf(torch)

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2 * ctx.saved_tensors[0]

    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda t: (log.append(list(t.shape)), t.detach() * 10)[1], lambda t: t
    )
    with hooks:
        y, z = x.sin(), Double.apply(x)
    (y + z).sum().backward()
    first, x.grad = x.grad, None
    with torch.autograd.graph.save_on_cpu():
        (x.exp() * x.view(3, 1).cos()).sum().backward()
    graph = torch.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"):
        seen = [message(lambda: graph.saved_tensors_hooks(lambda t: t, lambda t: t).__enter__())]
        x.exp().sum().backward()
    with graph.saved_tensors_hooks(lambda t: 1, lambda t: 2):
        bad = x.exp().sum()
    return log, first, x.grad, seen, message(lambda: bad.backward())


@parity_test
def test_order_of_leaf_hooks(torch: Any) -> Any:
    """A leaf gets its gradient, and runs its hooks, as soon as nothing more can arrive."""
    log: list[str] = []
    x, w, b = leaf(torch), leaf(torch), leaf(torch)
    for name, t in (("x", x), ("w", w), ("b", b)):
        t.register_hook(lambda g, name=name: log.append(name))
        t.register_post_accumulate_grad_hook(lambda t, name=name: log.append("after " + name))
    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda gin, gout: log.append(f"node x {len(gin)} {gout[0].tolist()}"))
    node.register_prehook(lambda gout: log.append("before node x"))

    def graph() -> Any:
        h = x * w + b
        h.register_hook(lambda g: log.append("h"))
        h.grad_fn.register_prehook(lambda g: log.append("before h"))
        e = h.exp()
        e.register_hook(lambda g: log.append("e"))
        return h, (e * w).sum()

    graph()[1].backward()
    log.append("|")
    h, loss = graph()
    loss.backward(inputs=[w, h])
    log.append("|")
    h, loss = graph()
    grads = torch.autograd.grad(loss, [h, b])
    return log, grads, x.grad, w.grad, b.grad


@parity_test
def test_errors_of_node_hooks(torch: Any) -> Any:
    def run(post: Any = None, pre: Any = None) -> str:
        y = leaf(torch).exp()
        if post is not None:
            y.grad_fn.register_hook(post)
        if pre is not None:
            y.grad_fn.register_prehook(pre)
        return message(lambda: y.sum().backward())

    return [
        run(lambda gin, gout: (gin[0], gin[0])), run(lambda gin, gout: "text"), run(lambda gin, gout: (gin[0][:1],)),
        run(pre=lambda gout: (gout[0], gout[0])), run(lambda gin, gout: None), run(pre=lambda gout: gout[0] * 2),
    ]  # fmt: skip


@parity_test
def test_inference_tensors(torch: Any) -> Any:
    x = leaf(torch)
    normal = torch.zeros(3)
    with torch.inference_mode():
        made = torch.ones(3, dtype=torch.float64)
        inside, of_normal, detached = made[:2], x[:1], x.detach()
        normal.add_(1)
    tensors = [
        made,
        inside,
        of_normal,
        detached,
        normal,
        made[:1],
        made.detach(),
        made.clone(),
        made.view(3, 1),
        made * 2,
    ]
    seen = [t.is_inference() for t in tensors]
    errors = [
        message(lambda: made.add_(1)), message(lambda: made[0].add_(1)), message(lambda: made.__setitem__(0, 1.0)),
        message(lambda: made._version), message(lambda: x * made), message(lambda: of_normal.add_(1)),
        message(lambda: torch.add(x.detach(), 1, out=made)), message(lambda: made.requires_grad_()),
    ]  # fmt: skip
    with torch.inference_mode():
        fresh = torch.zeros(2)
        fresh.add_(1)
        with torch.inference_mode(False):
            errors.append([torch.is_grad_enabled(), (x * 2).requires_grad, torch.ones(1).is_inference()])
    return seen, errors, fresh, normal._version, (x + made).requires_grad


FUNCTIONAL: dict[str, Callable[[Any, Any, Any], Any]] = {
    "jacobian": lambda f, torch, x: f.jacobian(lambda a: a.exp(), x),
    "jacobian_many": lambda f, torch, x: f.jacobian(lambda a, b: (a.outer(b), a.sum()), (x, x * 2)),
    "jacobian_graph": lambda f, torch, x: torch.autograd.grad(
        f.jacobian(lambda a: a**3, x, create_graph=True).sum(), x
    ),
    "hessian": lambda f, torch, x: f.hessian(lambda a: (a**3).sum() * a[0], x),
    "hessian_many": lambda f, torch, x: f.hessian(lambda a, b: (a * b * b).sum(), (x, x.exp())),
    "vjp": lambda f, torch, x: f.vjp(lambda a: a.exp(), x, torch.arange(3.0).double()),
    "vjp_scalar": lambda f, torch, x: f.vjp(lambda a: a.exp().sum(), x),
    "jvp": lambda f, torch, x: f.jvp(lambda a: a.exp() * a.sum(), x, torch.arange(3.0).double()),
    "hvp": lambda f, torch, x: f.hvp(lambda a: (a**3).prod(), x, torch.arange(3.0).double()),
    "vhp": lambda f, torch, x: f.vhp(lambda a: (a**3).prod(), x, torch.arange(3.0).double()),
    "hessian_of_vector": lambda f, torch, x: message(lambda: f.hessian(lambda a: a**3, x)),
    "no_vector": lambda f, torch, x: message(lambda: f.vjp(lambda a: a.exp(), x)),
    "no_vector_in": lambda f, torch, x: message(lambda: f.jvp(lambda a: a.exp(), x)),
    "bad_vector": lambda f, torch, x: message(lambda: f.vjp(lambda a: a.exp(), x, torch.ones(2))),
    "no_tensor": lambda f, torch, x: message(lambda: f.jacobian(lambda a: a, 3)),
    "no_tensor_out": lambda f, torch, x: message(lambda: f.jacobian(lambda a: 1, x)),
    "independent": lambda f, torch, x: f.jacobian(lambda a: torch.ones(2), x),
    "strict": lambda f, torch, x: message(lambda: f.jacobian(lambda a: torch.ones(2), x, strict=True)),
    "strict_graph": lambda f, torch, x: message(lambda: f.jacobian(lambda a: a * 2, x, strict=True, create_graph=True)),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
@parity_test
def test_functional(torch: Any, name: str) -> Any:
    x = leaf(torch)
    found = FUNCTIONAL[name](torch.autograd.functional, torch, x)
    flat: list[Any] = []

    def walk(t: Any) -> None:
        if isinstance(t, (tuple, list)):
            flat.append(len(t))
            [walk(u) for u in t]
        else:
            flat.append(t if isinstance(t, str) else t.detach().clone(memory_format=torch.contiguous_format))

    walk(found)
    return flat


@parity_test
def test_gradcheck(torch: Any) -> Any:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * a

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3 * ctx.saved_tensors[0]

    check, second = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x, y = leaf(torch, 0.3, 0.4), leaf(torch, 2.0, 5.0)
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    return [
        check(lambda a, b: (a * b, a.sin()), (x, y)), second(lambda a, b: a.sin() * b, (x, y)),
        check(lambda c: (c * c.conj() * c, c.abs()), (z,)), check(lambda c: c.real * 2, (z,)),
        check(Wrong.apply, (x,), raise_exception=False), message(lambda: check(Wrong.apply, (x,))),
        message(lambda: check(lambda a: a, (x.detach(),))), message(lambda: check(lambda a: a.sin().detach(), (x,))),
        second(Wrong.apply, (x,)),
    ]  # fmt: skip


@parity_test
def test_gradient_edges(torch: Any) -> Any:
    x = leaf(torch)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge
    loss = (y.exp() * x).sum()
    at_y, at_x = torch.autograd.grad(loss, [edge(y), edge(x)], retain_graph=True)
    (from_edge,) = torch.autograd.grad([edge(y)], [x], [torch.ones(3, dtype=torch.float64)], retain_graph=True)
    torch.autograd.backward(loss, inputs=[y, x])
    return at_y, at_x, from_edge, y.grad, x.grad, edge(y).output_nr, edge(x).node.name()


def test_hooks_on_several_tensors_go_by_what_each_pass_reaches():
    def body(t: Any) -> Any:
        log: list[Any] = []
        a, b = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
        for mode in ("all", "any"):
            handle = t.autograd.graph.register_multi_grad_hook(
                (a, b), lambda g, mode=mode: log.append((mode, g)), mode=mode
            )
            (a * 2).sum().backward()
            (a * b * 3).sum().backward()
            (b * 5).sum().backward()
            handle.remove()
        c, d = a * 2, b * 3
        t.autograd.graph.register_multi_grad_hook((c, d), lambda g: log.append(("inner", g)))
        (c * 4).sum().backward(retain_graph=True)
        (c * d).sum().backward()
        return [
            (m, [None if x is None else x.tolist() for x in g] if isinstance(g, (list, tuple)) else g.tolist())
            for m, g in log
        ]

    import torch

    assert body(jaxtorch) == body(torch)


def test_saved_tensors_may_be_written_where_that_is_allowed():
    import torch

    found = []
    for t in (torch, jaxtorch):
        with t.autograd.graph.allow_mutation_on_saved_tensors():
            x = t.arange(3.0, requires_grad=True)
            y = x.clone()
            z = (y.sin() * y).exp()
            y.add_(1)
            z.sum().backward()
        found.append(x.grad)
    torch.testing.assert_close(torch.tensor(found[1].tolist()), found[0])


@parity_test
def test_writes_to_detached_inference_tensors(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2, 2)
    seen: list[Any] = []
    for detached in (x.data, x.detach(), x.view(-1).data, x[0].detach()):
        detached.mul_(2)
        seen += [detached.clone(), detached._version, detached.is_inference(), detached._is_view()]
        seen += [attempt(lambda d=detached: d.view(-1).mul_(1)), attempt(lambda d=detached: d.view(-1)._version)]
        seen += [
            attempt(lambda d=detached: d.requires_grad_()),
            detached.add_(torch.ones(2, requires_grad=True)[0]).requires_grad,
        ]
    with torch.inference_mode():
        seen += [attempt(lambda: x.data._version), attempt(lambda: x.detach().mul_(1))]
    return seen


@parity_test
def test_inference_tensors_keep_their_shape(torch: Any) -> Any:
    with torch.inference_mode():
        x = torch.ones(2, 2)
        made = torch.nn.Parameter(torch.ones(1))
    calls = [
        lambda: x.unsqueeze_(0), lambda: x.t_(), lambda: x.resize_(4), lambda: x.set_(torch.ones(2)),
        lambda: torch.nn.Parameter(x), lambda: torch.nn.Parameter(x, requires_grad=False).requires_grad,
    ]  # fmt: skip
    return [attempt(call) for call in calls], made.requires_grad


@parity_test
def test_gradients_that_others_hold(torch: Any) -> Any:
    """What is written to `.grad` leaves the history alone of tensors that it was made from, or that hooks have kept."""
    seen = []
    other, kept = torch.full((3,), 2.0, dtype=torch.float64), []
    for give in (lambda g: kept.append(g), lambda g: other, None):
        w, v = leaf(torch), leaf(torch)
        loss = (v * other).sum()
        if give is None:
            w.backward(other)
            w.backward(gradient=w.detach(), inputs=[w])
            (w * w.clone()).sum().backward()
        else:
            w.register_hook(give)
            (w * 2).sum().backward()
        loss2 = (v * (kept[0] if kept else other)).sum()
        w.grad.zero_()
        loss.backward()
        loss2.backward()
        seen += [v.grad, w.grad, other.clone()]
    return seen


@parity_test
def test_hooks_that_change_the_type(torch: Any) -> Any:
    seen = []
    for change in (
        lambda g: g.float(),
        lambda g: g.long(),
        lambda g: g.half(),
        lambda g: g.to_sparse(),
        lambda g: g[:1],
        lambda g: 2,
    ):
        for place in ("leaf", "tensor", "before", "after"):
            x = leaf(torch)
            y = x * 2
            if place in ("leaf", "tensor"):
                (x if place == "leaf" else y).register_hook(change)
            elif place == "before":
                y.grad_fn.register_prehook(lambda grads, change=change: tuple([change(g) for g in grads]))
            else:
                y.grad_fn.register_hook(
                    lambda ins, outs, change=change: tuple([None if g is None else change(g) for g in ins])
                )
            seen += [message(lambda y=y: y.sum().backward()), x.grad]
    return seen


@parity_test
def test_what_hooks_on_nodes_are_given(torch: Any) -> Any:
    """One gradient for each output that can have one, and for each input, given or not, that counts as a tensor."""
    F = torch.nn.functional
    x = torch.arange(24.0).reshape(2, 3, 4).sin().requires_grad_()
    results = [
        x.max(0)[0], x.sort()[0], x.topk(1)[0], x.cummax(0)[0], x.kthvalue(1)[0], F.layer_norm(x, (4,)), torch.where(x > 0, x, 0.0),
        torch.where(x > 0, 0.0, x), F.conv1d(x, torch.ones(2, 3, 2)), F.conv_transpose1d(x, torch.ones(3, 2, 2)),
        F.batch_norm(x, torch.zeros(3), torch.ones(3), training=True), F.batch_norm(x, torch.zeros(3), torch.ones(3)),
    ]  # fmt: skip
    seen: list[Any] = []

    def note(*given: Any) -> None:
        seen.append([[None if g is None else tuple(g.shape) for g in grads] for grads in given])

    for y in results:
        y.grad_fn.register_prehook(note)
        y.grad_fn.register_hook(note)
        y.grad_fn.register_prehook(lambda outs: tuple([None if g is None else g * 2 for g in outs]))
        y.sum().backward()
        seen += [[None if n is None else n.name() for n, _ in y.grad_fn.next_functions], x.grad]
    return seen


def test_gradcheck_takes_two_backward_passes_that_differ_by_rounding() -> None:
    """The first backward passes of a program are NumPy's, later ones a compiled program's; random ones are still found."""

    def normalised(x: Any, weight: Any) -> Any:
        y = jaxtorch.nn.functional.conv2d(x, weight)
        mean, var = y.mean((0, 2, 3), keepdim=True), y.var((0, 2, 3), keepdim=True)
        return (y - mean) / (var.sqrt() + 1e-3)

    jaxtorch.manual_seed(0)
    x, weight = (jaxtorch.rand(*s, dtype=jaxtorch.double, requires_grad=True) for s in ((2, 3, 4, 4), (5, 3, 3, 3)))
    assert jaxtorch.autograd.gradcheck(normalised, (x, weight))

    class Noisy(jaxtorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 + jaxtorch.rand_like(g) * 1e-9

    with pytest.raises(RuntimeError, match="not reentrant"):
        jaxtorch.autograd.gradcheck(Noisy.apply, (x,))


@pytest.mark.parametrize("name", ["set_warn_on_accumulate_grad_stream_mismatch", "set_override_stale_capture_stream"])
@parity_test
def test_switches_of_streams(torch: Any, name: str) -> Any:
    change = getattr(torch.autograd.graph, name)
    error = attempt(lambda: change(3))
    return [change(False)], error.kind, error.message


@parity_test
def test_hooks_get_the_gradient_that_earlier_hooks_hold(torch: Any) -> Any:
    """What one hook keeps is the very tensor that the next one gets: attributes put on it are found."""
    told: list[Any] = []
    seen: list[Any] = []

    def see(name: str, change: Any = None) -> Any:
        def hook(g: Any) -> Any:
            told.append((name, [n for n, h in seen if h is g], getattr(g, "note", None)))
            seen.append((name, g))
            g.note = name
            return change(g) if change else None

        return hook

    other = torch.full((3,), 5.0, dtype=torch.float64)
    x, seed = leaf(torch), torch.ones(3, dtype=torch.float64)
    x.register_hook(see("leaf"))
    x.register_hook(see("leaf again"))
    y = x * 2
    for name, change in [("first", None), ("same", lambda g: g), ("written", lambda g: (g.add_(1), None)[1]),
                         ("twice", lambda g: g * 2), ("after", None), ("other", lambda g: other)]:  # fmt: skip
        y.register_hook(see(name, change))
    y.register_hook(lambda g: told.append(g is other))
    y.grad_fn.register_prehook(lambda gs: told.append(gs[0] is other))
    y.grad_fn.register_hook(lambda ins, outs: see("node")(ins[0]))
    y.grad_fn.register_hook(lambda ins, outs: see("node again")(ins[0]))
    y.register_hook(lambda g: told.append(g is seed))
    torch.autograd.backward(y.exp().sum(), inputs=[x])
    y = x * 3
    y.register_hook(lambda g: told.append(g is seed))
    (g,) = torch.autograd.grad(y, x, seed)
    seen[-1][1].mul_(4)  # the caller's too, but not what has been accumulated
    return told, g, x.grad, [h for _, h in seen]


@parity_test
def test_a_hook_of_several_tensors_takes_no_iterator(torch: Any) -> Any:
    layer = torch.nn.Linear(2, 2)
    try:
        torch.autograd.graph.register_multi_grad_hook(layer.parameters(), print)
    except TypeError as error:
        return str(error)
    return None


MODES: dict[str, Any] = {
    "no_grad": lambda t: t.no_grad,
    "no_grad()": lambda t: t.no_grad(),
    "enable_grad()": lambda t: t.enable_grad(),
    "set_grad_enabled": lambda t: t.set_grad_enabled(False),
    "inference_mode": lambda t: t.inference_mode,
    "inference_mode()": lambda t: t.inference_mode(),
}


@pytest.mark.parametrize("mode", list(MODES))
@parity_test
def test_mode_that_decorates_a_generator(torch: Any, mode: str) -> Any:
    """It is in force while the generator runs, also when it is closed or something is thrown into it."""
    log: list[Any] = []

    @MODES[mode](torch)
    def numbers() -> Any:
        try:
            try:
                log.append((yield torch.is_grad_enabled()))
            except ValueError:
                yield torch.is_grad_enabled()
            yield 5
        except GeneratorExit:
            log.append(("closed", torch.is_grad_enabled()))
            raise
        finally:
            log.append(("over", torch.is_grad_enabled()))

    made = numbers()
    log.append(next(made))
    made.close()
    log.append(torch.is_grad_enabled())
    made = numbers()
    next(made)
    log.append(made.throw(ValueError))
    made.close()
    made = numbers()
    next(made)
    return [*log, made.send(4), list(made), torch.is_grad_enabled()]


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.filterwarnings("ignore:Decorating classes:FutureWarning")
@parity_test
def test_mode_that_decorates_a_class(torch: Any, mode: str) -> Any:
    class Maker:
        def __init__(self, number: int = 1) -> None:
            self.seen = torch.is_grad_enabled(), number

    made = MODES[mode](torch)(Maker)
    return [type(made).__name__, made().seen, made(2).seen, torch.is_grad_enabled()]
