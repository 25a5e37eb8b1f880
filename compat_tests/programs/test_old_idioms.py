"""What programs for PyTorch 0.x and 1.x say, and PyTorch still takes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch

from parity import attempt, candidate, parity_test

C = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)


def _of(t: Any) -> tuple[Any, Any, Any]:
    matrix = t.from_numpy(C.copy())
    return matrix, matrix[0], t.stack([matrix, 2 * matrix, -matrix])


NUMBERS_FIRST = {
    "x.add_(a, y)": lambda t, m, v, b: m.add_(-0.1, 2 * m),
    "x.add(a, y)": lambda t, m, v, b: m.add(2, v),
    "add(x, a, y)": lambda t, m, v, b: t.add(m, 3, m),
    "x.sub_(a, y)": lambda t, m, v, b: m.sub_(0.5, v * 1),
    "sub(x, a, y)": lambda t, m, v, b: t.sub(m, 2, v),
    "x.addcmul_(a, y, z)": lambda t, m, v, b: m.addcmul_(0.5, m * 1, m * 2),
    "x.addcdiv_(a, y, z)": lambda t, m, v, b: m.addcdiv_(-0.1, v * 1, m * 2),
    "addcdiv(x, a, y, z)": lambda t, m, v, b: t.addcdiv(m, 2, m, v),
    "addmm(b, x, y, z)": lambda t, m, v, b: t.addmm(2, m, m, m),
    "addmm(b, x, a, y, z)": lambda t, m, v, b: t.addmm(2, m, 3, m, m),
    "x.addmm(b, y, z)": lambda t, m, v, b: m.addmm(2, m, m),
    "x.addmm_(b, a, y, z)": lambda t, m, v, b: m.addmm_(0.5, 0.25, m * 1, m * 2),
    "x.addmv(b, y, z)": lambda t, m, v, b: v.addmv(2, m, v),
    "x.addr(b, y, z)": lambda t, m, v, b: m.addr(2, v, v),
    "x.baddbmm(b, a, y, z)": lambda t, m, v, b: b.baddbmm(2, 3, b, b),
    "addbmm(b, x, y, z)": lambda t, m, v, b: t.addbmm(2, m, b, b),
    "out=": lambda t, m, v, b: t.add(m, 2, m, out=t.empty(3, 3)),
}


@pytest.mark.parametrize("name", list(NUMBERS_FIRST))
@pytest.mark.filterwarnings("ignore:This overload of")
def test_numbers_between_the_tensors(name: str):
    expected, found = (NUMBERS_FIRST[name](t, *_of(t)).numpy() for t in (torch, candidate()))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


WRONG = {
    "three tensors": lambda t, m: t.add(m, m, m),
    "a string": lambda t, m: m.add(m, "a"),
    "three numbers": lambda t, m: t.addmm(m, 1, 2, 3, m, m),
}


@pytest.mark.parametrize("name", list(WRONG))
@pytest.mark.filterwarnings("ignore:This overload of")
def test_other_mixtures_are_refused(name: str):
    for t in (torch, candidate()):
        with pytest.raises(TypeError):
            WRONG[name](t, t.ones(2, 2))


def test_the_old_order_is_warned_of_once():
    from jaxtorch._core.dispatch.codegen import _Warned

    _Warned.numbers_first = False
    x = candidate().ones(2)
    with pytest.warns(UserWarning, match="This overload of add_ is deprecated"):
        x.add_(2, x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.add_(2, x)


VARIABLES = {
    "keyword": lambda V, t, x: V(x, requires_grad=True),
    "positional": lambda V, t, x: V(x, True),
    "plain": lambda V, t, x: V(x),
    "of a result": lambda V, t, x: V(x.requires_grad_() * 2),
    "of a parameter": lambda V, t, x: V(t.nn.Parameter(x)),
    "data=": lambda V, t, x: V(data=x),
    "empty": lambda V, t, x: V(),
    "of a list": lambda V, t, x: V([1, 2]),
    "of integers": lambda V, t, x: V(t.LongTensor([1]), requires_grad=True),
    "unknown keyword": lambda V, t, x: V(x, foo=1),
}


@pytest.mark.parametrize("name", list(VARIABLES))
def test_variable(name: str):
    def outcome(t: Any) -> Any:
        try:
            made = VARIABLES[name](t.autograd.Variable, t, t.ones(2))
        except (TypeError, RuntimeError) as error:
            return type(error).__name__
        return isinstance(made, t.autograd.Variable), made.requires_grad, made.is_leaf, made.tolist()

    assert outcome(candidate()) == outcome(torch)


def test_variable_shares_memory():
    t = candidate()
    x = t.zeros(2)
    v = t.autograd.Variable(x, requires_grad=True)
    x.fill_(3)
    assert v.tolist() == [3, 3]
    assert not x.requires_grad
    with pytest.warns(UserWarning, match="volatile was removed"):
        t.autograd.Variable(x, volatile=True)


@pytest.mark.parametrize("kind", [int, float, complex])
def test_several_elements_are_no_number(kind: type):
    for t in (torch, candidate()):
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            kind(t.ones(2))


def test_the_node_of_a_function_is_shown_as_there():
    def shown(t: Any) -> str:
        class Twice(t.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return 2 * x

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                return 2 * g

        return repr(Twice.apply(t.ones(1, requires_grad=True)).grad_fn).split(" at ")[0]

    assert shown(candidate()) == shown(torch)


@parity_test
def test_the_old_constructor_keeps_the_history(torch: Any) -> Any:
    """A tensor made from a tensor is a view of it, of a subclass too."""

    class Labelled(torch.Tensor):
        pass

    def seen(made: Any, x: Any) -> Any:
        made.pow(2).sum().backward()
        found = (
            made.requires_grad,
            made.grad_fn.name(),
            made._is_view(),
            made.is_leaf,
            x.grad.clone(),
            type(made).__name__,
        )
        x.grad = None
        return found

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    made = [
        torch.Tensor(x),
        torch.Tensor(x * 3),
        torch.FloatTensor(x),
        x.new(x),
        Labelled(x),
        Labelled(Labelled(x * 2)),
    ]
    y = x * 2
    torch.Tensor(y).mul_(3)
    y.sum().backward()
    written, x.grad = x.grad, None
    with torch.no_grad():
        torch.Tensor(x).add_(1)
    leaf = torch.nn.Parameter(torch.Tensor(x * 2))
    return [
        [seen(m, x) for m in made],
        [written, x.detach(), leaf.is_leaf, torch.LongTensor(torch.arange(3))._is_view()],
        attempt(lambda: torch.Tensor(x).add_(1)),
    ]


class _Asked:
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> int:
        return 1


def _buffer(t: Any) -> Any:
    module = t.nn.Module()
    module.register_buffer("a", _Asked())
    module.a = None
    module.a = _Asked()
    return list(module._buffers), type(module.a).__name__


def _sparse_rows(t: Any, count: int, width: int) -> Any:
    layer = t.nn.Embedding(count, width, sparse=True)
    layer(t.zeros(min(count, 2), dtype=t.long)).sum().backward()
    grad = layer.weight.grad
    return tuple(grad.shape), grad._nnz(), tuple(grad._values().shape)


FORMS = {
    "embedding_bag in the old order": lambda t: t.nn.functional.embedding_bag(
        t.arange(6.0).view(3, 2), t.tensor([0, 1, 2]), t.tensor([0, 2])
    ),
    "new(size=)": lambda t: t.ones(2, dtype=t.float64).new(size=(3, 4)).shape,
    "FloatTensor(size=)": lambda t: t.FloatTensor(size=(3, 4)).shape,
    "Tensor(data=)": lambda t: t.Tensor(data=[1, 2]),
    "new(other=)": lambda t: t.ones(2).new(other=t.ones(3)),
    "new(size=3)": lambda t: attempt(lambda: t.ones(2).new(size=3)),
    "new(data=, device=)": lambda t: t.ones(2).new(data=[1, 2], device="cpu"),
    "a buffer that answers for functions": _buffer,
    "no rows": lambda t: _sparse_rows(t, 0, 0),
    "rows without elements": lambda t: _sparse_rows(t, 3, 0),
    "nn.functional.grad": lambda t: t.nn.functional.grad.conv1d_input((1, 1, 4), t.ones(1, 1, 2), t.ones(1, 1, 3)),
    "asarray of a capsule": lambda t: t.asarray(t.utils.dlpack.to_dlpack(t.ones(2)), dtype=t.int32),
    "batch norm of nothing": lambda t: t.nn.BatchNorm2d(3)(t.ones(0, 3, 2, 2, dtype=t.float64)).detach(),
    "a number's bits": lambda t: [t.tensor(3 + 4j).view(d) for d in (t.float64, t.int64)],
    "bits as a number": lambda t: t.tensor(1.5, dtype=t.float64).view(t.complex64),
}


@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.filterwarnings("ignore:Argument order", "ignore:.*__array__:DeprecationWarning")
@parity_test
def test_form(torch: Any, form: str) -> Any:
    return [FORMS[form](torch)]


@pytest.mark.parametrize("template", ["channels last", "transposed", "permuted", "one channel"])
@parity_test
def test_resized_to_a_format(torch: Any, template: str) -> Any:
    made = {
        "channels last": lambda: torch.ones(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
        "transposed": lambda: torch.ones(2, 3).t(),
        "permuted": lambda: torch.ones(2, 3, 4, 5).permute(0, 2, 1, 3),
        "one channel": lambda: torch.ones(1, 1, 4, 5),
    }[template]()
    seen: list[Any] = []
    for name in ("preserve_format", "contiguous_format", "channels_last", "channels_last_3d"):
        for x in (torch.arange(120.0), torch.arange(120.0).view(2, 3, 4, 5)):
            for resize in (
                lambda f, x=x: x.resize_as_(made, memory_format=f),
                lambda f, x=x: x.resize_(made.shape, memory_format=f),
            ):
                found = attempt(lambda f=name, r=resize: r(getattr(torch, f)).stride())
                seen.append((found, x._version) if isinstance(found, tuple) else found)
    return seen
