"""`torch.autograd.forward_ad`: dual tensors, against PyTorch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
from parity import parity_test

LIBRARIES = (torch, jaxtorch)


def plain(x: Any) -> Any:
    """Results as data that does not tell the libraries apart."""
    if x is None or isinstance(x, (bool, str)):
        return x
    if isinstance(x, (tuple, list)):
        return [plain(v) for v in x]
    if isinstance(x, (int, float)):
        return float(x)
    return x.detach().resolve_conj().resolve_neg().numpy()


def same(body: Any) -> None:
    """`body(t)` gives the same in both libraries, errors too."""
    found = []
    for t in LIBRARIES:
        t.manual_seed(0)
        try:
            found.append(plain(body(t)))
        except (RuntimeError, ValueError, TypeError, AttributeError) as error:
            found.append([type(error).__name__, str(error)])
    compare(*found)


def compare(theirs: Any, ours: Any) -> None:
    """PyTorch gives None for some of the tangents that are zero."""
    if theirs is None and isinstance(ours, np.ndarray):
        assert not ours.any()
    elif isinstance(theirs, list):
        assert isinstance(ours, list) and len(theirs) == len(ours), (theirs, ours)
        for a, b in zip(theirs, ours, strict=True):
            compare(a, b)
    elif isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray), (theirs, ours)
        assert theirs.shape == ours.shape and theirs.dtype == ours.dtype
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    else:
        assert theirs == ours


PROGRAMS: dict[str, Any] = {}


def program(fn: Any) -> Any:
    PROGRAMS[fn.__name__] = fn
    return fn


def dual_of(t: Any, n: int = 6, **options: Any) -> Any:
    x = t.linspace(-1.5, 2, n, **options)
    return t.autograd.forward_ad.make_dual(x, t.linspace(1, 2, n, **options))


def unpack(t: Any, *xs: Any) -> Any:
    return [tuple(t.autograd.forward_ad.unpack_dual(x)) for x in xs]


@program
def arithmetic(t):
    x = dual_of(t)
    return unpack(t, x * x.sin(), x.exp() / (1 + x**2), x.sum(), x @ x, x.max(), (x > 0).float())


@program
def views(t):
    x = dual_of(t).reshape(2, 3)
    a, b = x.t().chunk(2, 0)[0], x[1:, ::2]
    return unpack(t, a, b, x.diagonal(), x.expand(4, 2, 3), x[x > 0], x[[1, 0]], x.unfold(1, 2, 1))


@program
def writes_through_views(t):
    x = dual_of(t).clone().reshape(2, 3)
    row, column = x[0], x[:, 1]
    row.mul_(3)
    column.copy_(row[:2] ** 2)
    x[1] += row
    return unpack(t, x, row, column, x.view(-1))


@program
def duals_written_into_plain_tensors(t):
    x = dual_of(t)
    z = t.zeros(2, 6)
    part = z[0]
    z[0] = x
    z[1, 2:4] = x[:2] * 2
    z.add_(1)
    y = t.zeros(6)
    y.copy_(x)
    w = t.ones(6)
    w.masked_fill_(x > 0, 3.0).mul_(x)
    return unpack(t, z, part, y, w)


@program
def plain_tensors_written_into_duals(t):
    x = dual_of(t).clone()
    x[:2] = 5
    x[3] = t.tensor(7.0)
    y = dual_of(t).clone()
    y.zero_()
    return unpack(t, x, y)


@program
def detached(t):
    x = dual_of(t).clone()
    y = x.detach()
    y.mul_(2)
    z = x.data
    z.add_(1)
    return [*unpack(t, x, y, z, y * x), x.detach().numpy().tolist()]


@program
def under_no_grad(t):
    with t.no_grad():
        return unpack(t, dual_of(t) * 3)


@program
def complex_numbers(t):
    x = t.autograd.forward_ad.make_dual(t.tensor([1 + 2j, -1j, 3]), t.tensor([1j, 1 - 1j, 2]))
    return unpack(t, x.conj(), x.abs(), x * x, x.real, x.imag, x.angle(), t.view_as_real(x), x.conj() @ x)


@program
def half_precision(t):
    x = t.autograd.forward_ad.make_dual(t.ones(3, dtype=t.float16), t.full((3,), 0.5, dtype=t.float16))
    return unpack(t, x * 2, (x * 1.5).float())


@program
def integers_and_branches(t):
    x = dual_of(t)
    y = x * 2 if x.sum() > 0 else x * 3
    return [*unpack(t, y, x.round()), tuple(t.autograd.forward_ad.unpack_dual(x.argmax()))[1]]


@program
def a_network(t):
    model = t.nn.Sequential(
        t.nn.Conv2d(1, 3, 3),
        t.nn.BatchNorm2d(3),
        t.nn.ReLU(inplace=True),
        t.nn.MaxPool2d(2),
        t.nn.Flatten(),
        t.nn.Linear(27, 4),
    )
    x = t.linspace(0, 1, 128).reshape(2, 1, 8, 8)
    dual = t.autograd.forward_ad.make_dual(x, t.ones_like(x) - x * x)
    out = model(dual)
    return unpack(t, out, t.nn.functional.cross_entropy(out, t.tensor([1, 3])))


@program
def directional_derivative_by_parameters(t):
    """As PyTorch's tutorial on forward mode does."""
    model = t.nn.Linear(5, 3)
    tangents = {name: t.ones_like(p) * 0.1 for name, p in model.named_parameters()}
    for name, p in list(model.named_parameters()):
        delattr(model, name)
        setattr(model, name, t.autograd.forward_ad.make_dual(p, tangents[name]))
    return unpack(t, model(t.linspace(-1, 1, 10).reshape(2, 5)))


@program
def through_functional_call(t):
    model = t.nn.GRUCell(3, 4)
    params = {k: t.autograd.forward_ad.make_dual(p.detach(), t.ones_like(p)) for k, p in model.named_parameters()}
    out = t.func.functional_call(model, params, (t.linspace(-1, 1, 12).reshape(4, 3),))
    return unpack(t, out)


@program
def forward_over_reverse(t):
    x = t.linspace(0.5, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, t.linspace(1, 2, 6))
    loss = (dual.sin() * dual**2).sum()
    (g,) = t.autograd.grad(loss, dual)
    w = t.ones(6, requires_grad=True)
    (dual * w * w).sum().backward()
    return unpack(t, g, w.grad)


@program
def forward_over_reverse_with_a_graph(t):
    x = t.linspace(0.5, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, t.linspace(1, 2, 6))
    (g,) = t.autograd.grad((dual.sin() * dual**2).sum(), dual, create_graph=True)
    tangent = t.autograd.forward_ad.unpack_dual(g).tangent
    return [g, tangent, t.autograd.grad(tangent.sum(), x)[0]]


@program
def reverse_over_forward(t):
    x = t.linspace(0.5, 2, 6).requires_grad_()
    v = t.linspace(1, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, v)
    tangent = t.autograd.forward_ad.unpack_dual((dual.exp() * dual[0]).cumsum(0)).tangent
    return t.autograd.grad((tangent**2).sum(), (x, v))


@program
def reverse_over_forward_with_writes(t):
    x = t.linspace(0.5, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, t.ones(6)) * 1
    dual[3:].mul_(dual[:3].clone())
    tangent = t.autograd.forward_ad.unpack_dual(dual.sin()).tangent
    return t.autograd.grad(tangent.sum(), x)


@program
def hessian_vector_product(t):
    model = t.nn.Sequential(t.nn.Linear(3, 4), t.nn.Tanh(), t.nn.Linear(4, 1))
    params = tuple(model.parameters())
    vectors = [t.ones_like(p) for p in params]
    duals = {k: t.autograd.forward_ad.make_dual(p, v) for (k, p), v in zip(model.named_parameters(), vectors)}
    loss = t.func.functional_call(model, duals, (t.linspace(-1, 1, 6).reshape(2, 3),)).sum()
    return unpack(t, *t.autograd.grad(loss, tuple(duals.values())))


@program
def a_function_with_jvp(t):
    class Cube(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            ctx.factor = factor
            return x**3 * factor

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * ctx.factor * g, None

        @staticmethod
        def jvp(ctx, moved, _):
            (x,) = ctx.saved_tensors
            return 3 * x**2 * ctx.factor * moved

    x = t.linspace(0.5, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, t.ones(6))
    out = Cube.apply(dual, 2.0)
    (g,) = t.autograd.grad(out.sum(), x)
    return [*unpack(t, out, Cube.apply(t.ones(2), 1.0)), g]


@program
def a_function_of_two_with_setup(t):
    class Both(t.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * y, x + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(*inputs)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y + b, a * x + b

        @staticmethod
        def jvp(ctx, a, b):
            x, y = ctx.saved_tensors
            return a * y + b * x, a + b

    x = dual_of(t)
    return unpack(t, *Both.apply(x, t.ones(6) * 3))


@program
def a_function_without_jvp(t):
    class Double(t.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    return Double.apply(dual_of(t))


@program
def checkpointed(t):
    x = t.linspace(0.5, 2, 6).requires_grad_()
    dual = t.autograd.forward_ad.make_dual(x, t.ones(6))
    return unpack(t, t.utils.checkpoint.checkpoint(lambda y: y.sin() * y, dual, use_reentrant=False))


@program
def an_optimizer_step(t):
    p = t.nn.Parameter(t.ones(3))
    rate = t.autograd.forward_ad.make_dual(t.full((3,), 0.1), t.ones(3))
    loss = ((p * rate) ** 2).sum()
    loss.backward()
    with t.no_grad():
        q = p - rate * p.grad
    return unpack(t, q)


@program
def wrong_shapes(t):
    return t.autograd.forward_ad.make_dual(t.ones(2), t.ones(3))


@program
def wrong_types(t):
    return t.autograd.forward_ad.make_dual(t.tensor([1, 2]), t.ones(2))


@program
def a_dual_of_a_dual(t):
    return t.autograd.forward_ad.make_dual(dual_of(t), t.ones(6))


@program
def a_level_in_a_level(t):
    return t.autograd.forward_ad.enter_dual_level()


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str):
    def body(t: Any) -> Any:
        with t.autograd.forward_ad.dual_level():
            return PROGRAMS[name](t)

    same(body)


def test_levels():
    for t in LIBRARIES:
        fw = t.autograd.forward_ad
        with pytest.raises(RuntimeError, match="no level exists"):
            fw.make_dual(t.ones(1), t.ones(1))
        assert fw.enter_dual_level() == 0
        dual = fw.make_dual(t.ones(2), t.zeros(2))
        assert repr(dual) == "tensor([1., 1.], tangent=tensor([0., 0.]))"
        assert repr(dual.sum()) == "tensor(2., tangent=0.0)"
        assert repr(dual * 2) == "tensor([2., 2.], tangent=tensor([0., 0.]))"
        with pytest.raises(RuntimeError, match="not the last one"):
            fw.exit_dual_level(level=1)
        fw.exit_dual_level()
        assert fw.unpack_dual(dual).tangent is None
        assert repr(dual) == "tensor([1., 1.])"
        with pytest.raises(RuntimeError, match="must be a positive number"):
            fw.exit_dual_level()
        with fw.dual_level(), fw._set_fwd_grad_enabled(False):
            assert fw.unpack_dual(fw.make_dual(t.ones(2), t.ones(2)) * 2).tangent is None
        assert fw.UnpackedDualTensor._fields == ("primal", "tangent")


def test_recording_is_as_before_once_the_level_is_closed():
    from jaxtorch._core.record import program
    from jaxtorch._core.tensor import tensor

    code = program.emit.__code__, tensor.finish.__code__
    with jaxtorch.autograd.forward_ad.dual_level():
        assert program.emit.__code__ is not code[0]
    assert (program.emit.__code__, tensor.finish.__code__) == code
    with pytest.raises(ZeroDivisionError), jaxtorch.autograd.forward_ad.dual_level():
        raise ZeroDivisionError
    assert program.emit.__code__ == code[0]


def test_what_would_lose_a_tangent_is_refused():
    with jaxtorch.autograd.forward_ad.dual_level():
        x = dual_of(jaxtorch)
        with pytest.raises(NotImplementedError, match="memory cannot be resized"):
            x.resize_(20)
        with pytest.raises(NotImplementedError, match=r"tangent of torch\.float64"):
            jaxtorch.autograd.forward_ad.make_dual(jaxtorch.ones(2), jaxtorch.ones(2, dtype=jaxtorch.float64))
        found = jaxtorch.func.vmap(lambda a: a.sin())(x)
        tangent = jaxtorch.autograd.forward_ad.unpack_dual(found).tangent
        assert tangent.tolist() == pytest.approx((x.detach().cos() * jaxtorch.linspace(1, 2, 6)).tolist(), rel=1e-5)


@pytest.mark.parametrize("several", [False, True])
def test_jacobians_and_hessians_by_forward_mode(several: bool):
    def body(t: Any) -> Any:
        fn = t.autograd.functional
        x, y = t.linspace(0.5, 2, 3), t.linspace(1, 2, 4).reshape(2, 2)

        def f(a: Any, b: Any) -> Any:
            return a[:2] * b.sin(), (a**2).sum() * b[0, 0]

        def scalar(a: Any, b: Any) -> Any:
            return (a.outer(b.reshape(-1)).sin() * a[0]).sum()

        options = {"vectorize": True}
        if several:
            jacobian = fn.jacobian(f, (x, y), strategy="forward-mode", **options)
            return jacobian, fn.hessian(scalar, (x, y), outer_jacobian_strategy="forward-mode", **options)
        one = fn.hessian(lambda a: scalar(a, y), x, outer_jacobian_strategy="forward-mode", **options)
        return fn.jacobian(lambda a: f(a, y)[0], x, strategy="forward-mode", **options), one

    same(body)


def test_gradcheck_in_forward_mode():
    x = jaxtorch.randn(3, dtype=jaxtorch.float64, requires_grad=True)
    z = jaxtorch.randn(2, dtype=jaxtorch.complex128, requires_grad=True)
    options = {"check_forward_ad": True}
    assert jaxtorch.autograd.gradcheck(lambda a, b: (a.sin().sum() * b, b.abs()), (x, z), **options)
    assert jaxtorch.autograd.gradgradcheck(lambda a: a.sin() * a, (x,), check_fwd_over_rev=True)

    class Wrong(jaxtorch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            return a * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, a: Any) -> Any:
            return a * 3

    assert jaxtorch.autograd.gradcheck(Wrong.apply, (x,))
    with pytest.raises(jaxtorch.autograd.gradcheck.__globals__["GradcheckError"], match="forward mode mismatch"):
        jaxtorch.autograd.gradcheck(Wrong.apply, (x,), **options)
    assert not jaxtorch.autograd.gradcheck(Wrong.apply, (x,), raise_exception=False, **options)


def test_a_compiled_function_takes_duals():
    compiled = jaxtorch.compile(lambda x: x.sin() * 2)
    for _ in range(4):
        compiled(jaxtorch.ones(6))
    with jaxtorch.autograd.forward_ad.dual_level():
        found = jaxtorch.autograd.forward_ad.unpack_dual(compiled(dual_of(jaxtorch)))
    assert found.tangent is not None
    expected = 2 * np.cos(np.linspace(-1.5, 2, 6)) * np.linspace(1, 2, 6)
    np.testing.assert_allclose(found.tangent.numpy(), expected, rtol=1e-5)


@parity_test
def test_the_tangent_of_a_view_is_a_view_of_the_inputs_tangent(torch: Any) -> Any:
    forward_ad = torch.autograd.forward_ad

    def run(forward: Any, jvp: Any, count: int = 1) -> Any:
        made = type("Made", (torch.autograd.Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(torch.ones(2, 2), torch.full((2, 2), 3.0)) for _ in range(count)]
            try:
                return forward_ad.unpack_dual(made.apply(*duals)).tangent
            except RuntimeError as error:
                return str(error)

    rules = [
        lambda c, g: g.view(4), lambda c, g: g.clone().view(4), lambda c, g: g.t().t().view(4), lambda c, g: (g * 2).view(4),
        lambda c, g: g.view(4)[:], lambda c, g: g.view(4) * 1, lambda c, g: g.clone().view(4)[:],
    ]  # fmt: skip
    found = [run(lambda c, x: x.view(4), rule) for rule in rules]
    second = [lambda c, g, h: g.view(4), lambda c, g, h: h.view(4), lambda c, g, h: (g + h).view(4)]
    found += [run(lambda c, x, y: x.view(4), rule, 2) for rule in second]
    return found + [run(lambda c, x: x[0], rule) for rule in (lambda c, g: g[0], lambda c, g: g.clone()[0])]


SAMPLE = """mul pow atan2 logsumexp cumprod index_add scatter_reduce/amax gather where nn.functional.conv2d nn.functional.batch_norm
nn.functional.max_pool2d nn.functional.cross_entropy nn.functional.max_unpool2d nn.functional.interpolate/bilinear masked_select
linalg.solve linalg.eigh fft.rfft sort unfold as_strided clamp prod std roll""".split()


@pytest.mark.parametrize("key", SAMPLE)
def test_entry_of_op_db(key: str):
    """A sample of what `forward_ad_sweep.py` sweeps."""
    assert "torch" in sys.modules
    import forward_ad_sweep

    found = forward_ad_sweep.run(key, 2)
    assert found and not [lines for _, lines in found.values() if lines]
