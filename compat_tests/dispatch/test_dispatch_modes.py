"""Modes with a `__torch_dispatch__`: the operations they see, forward and backward, are PyTorch's, in its order."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from dispatch_log import text as _text
from parity import candidate, reference


def _dispatch(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.utils._python_dispatch")


def _log(t: Any) -> Any:
    class Log(_dispatch(t).TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.lines: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **kwargs)
            assert not (func is t.ops.aten.mul.Tensor and out.requires_grad)
            given = [*[_text(t, x) for x in args], *[f"{k}={_text(t, v)}" for k, v in kwargs.items()]]
            self.lines.append(f"{func} {func.name()} {func._overloadpacket} ({', '.join(given)}) -> {_text(t, out)}")
            return out

    return Log()


def _ar(t: Any, *shape: int) -> Any:
    return (t.arange(t.Size(shape).numel()).reshape(shape) / 7 - 1).requires_grad_()


def _pictures(t: Any) -> Any:
    nn = t.nn
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(8, 8, 3, groups=8), nn.GroupNorm(2, 8), nn.SiLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(8, 4),
    )  # fmt: skip
    return t.nn.functional.cross_entropy(net(_ar(t, 2, 3, 8, 8)), t.tensor([1, 3])), net


def _attention(t: Any) -> Any:
    net = t.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return net(_ar(t, 2, 3, 8)).square().mean(), net


def _weights(t: Any) -> Any:
    net = t.nn.MultiheadAttention(8, 2)
    out, weights = net(_ar(t, 3, 2, 8), _ar(t, 4, 2, 8), _ar(t, 4, 2, 8))
    return out.sum() + weights.square().sum(), net


def _words(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Embedding(6, 4), t.nn.LayerNorm(4), t.nn.Linear(4, 6, bias=False))
    i = t.tensor([[0, 2, 1], [5, 2, 3]])
    q = net(i)
    scores = (q @ q.transpose(-2, -1)) * 6**-0.5
    scores = scores.masked_fill(t.tril(t.ones(3, 3)) == 0, float("-inf")).softmax(-1)
    return t.nn.functional.cross_entropy((scores @ q).view(-1, 6), i.view(-1)), net


def _arithmetic(t: Any) -> Any:
    x, y, v = _ar(t, 4, 6), _ar(t, 4, 6), _ar(t, 6)
    z = (x * y + 2 * v - x / (y.abs() + 1)) ** 2 + (1 - x).tanh() * t.sigmoid(y) + t.where(x > 0, x, 0.0).clamp(-1, 1)
    z = z + x[:, 1:3].mean(1, keepdim=True) + x[0].exp() + t.cat([x[1:], y[:1]]).t().reshape(4, 6)
    z = z + t.stack([x, y]).sum(0) + x.max(1).values[:, None] + y[t.tensor([0, 1, 0, 2])]
    total = (
        z.sum() + t.nn.functional.normalize(x).sum() + sum(part.sum() for part in x.split(2, 1)) + t.outer(v, v).norm()
    )
    return total, t.nn.Module()


PROGRAMS = [_pictures, _attention, _weights, _words, _arithmetic]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.strip("_"))
def test_operations(program: Any) -> None:
    seen = []
    for t in (reference(), candidate()):
        t.manual_seed(0)
        with _log(t) as mode:
            loss, net = program(t)
            loss.backward()
        grads = [p.grad.detach().numpy() for p in net.parameters()]
        seen.append((mode.lines, loss.item(), grads))
    (lines, loss, grads), (ours, our_loss, our_grads) = seen
    assert ours == lines
    assert our_loss == pytest.approx(loss, rel=1e-5)
    for a, b in zip(grads, our_grads, strict=True):
        assert b == pytest.approx(a, rel=1e-3, abs=1e-5)


def _dropped(t: Any, call: Any, shape: tuple[int, ...]) -> Any:
    t.manual_seed(0)
    with _log(t) as mode:
        try:
            found = call(t)(t.ones(shape)).tolist()
        except (ValueError, RuntimeError) as error:
            found = type(error), str(error)
    return mode.lines, found


@pytest.mark.filterwarnings("ignore:dropout")
@pytest.mark.parametrize("p", [0.3, 0.0, 1.0, 1.5])
@pytest.mark.parametrize("name", ["dropout", "dropout1d", "dropout2d", "dropout3d", "torch", "channels"])
def test_dropout(name: str, p: float) -> None:
    """Of batches and of single examples, of everything and of nothing; with a wrong `p` or wrong dimensions, as without a mode."""

    def call(t: Any) -> Any:
        if name in ("torch", "channels"):
            return lambda x: (t.dropout if name == "torch" else t.feature_dropout)(x, p, True)
        return lambda x: getattr(t.nn.functional, name)(x, p)

    for shape in ((3, 4), (2, 3, 4), (2, 3, 2, 2), (1, 2, 2, 2, 2)):
        assert _dropped(candidate(), call, shape) == _dropped(reference(), call, shape)


def _replaced(t: Any) -> list[Any]:
    class Twos(_dispatch(t).TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **kwargs)
            return t.full_like(out, 2.0) if func is t.ops.aten.tanh.default else out

    class Halved(_dispatch(t).TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(args[0] * 0.5, args[1]) if func == t.ops.aten.mm.default else func(*args, **kwargs)

    found: list[Any] = []
    w: Any = _ar(t, 3, 3)
    with Twos():
        out = t.tanh(w)
    out.sum().backward()  # the derivative is taken at what the mode gave
    found += [out.tolist(), out.grad_fn.name(), w.grad.tolist()]
    w = _ar(t, 3, 3)
    with Halved():
        out = w @ w
        out.sum().backward()
    found += [out.tolist(), w.grad.tolist()]
    with Twos(), _log(t) as inner:
        out = t.tanh(w)
    found += [out.tolist(), inner.lines, _dispatch(t)._get_current_dispatch_mode()]
    with _log(t) as outer, _log(t) as inner:
        t.add(w, 1)
    found += [outer.lines, inner.lines]
    with _log(t) as mode, pytest.raises(RuntimeError):
        t.mm(w, t.ones(2, 2))
    with _log(t) as mode, _dispatch(t)._disable_current_modes():
        t.mul(w, 2)
    found += [mode.lines, (w * 2).sum().item()]
    x = _ar(t, 3)
    for _ in range(2):  # a gradient is added up, one that lies otherwise in memory copied first
        with _log(t) as mode:
            (x * 2).sum().backward()
            t.autograd.grad((x[None] * x[:, None]).sum(), x)
        found.append(mode.lines)
    for _ in range(2):
        with _log(t) as mode:
            x.sum().backward()
        found += [mode.lines, x.grad.tolist()]
    y, z = t.ones(2, 3).t().requires_grad_(), t.ones(3, 2, requires_grad=True)
    with _log(t):
        (y + z).sum().backward()
    y.grad.add_(1)
    return [*found, y.grad.stride(), y.grad.tolist(), z.grad.tolist()]


def _rounded(x: Any) -> Any:
    return [_rounded(y) for y in x] if isinstance(x, list) else float(f"{x:.5g}") if isinstance(x, float) else x


def test_results_may_be_replaced_and_modes_nested() -> None:
    for a, b in zip(_replaced(reference()), _replaced(candidate()), strict=True):
        assert _rounded(b) == _rounded(a)


def test_what_cannot_be_shown_is_refused() -> None:
    t = candidate()
    x = _ar(t, 3, 4, 5)
    lstm = t.nn.LSTM(5, 2)
    refused = (
        lambda: lstm(x), lambda: t.linalg.svd(x), lambda: t.fft.rfft(x),
        lambda: x.logsumexp(1).sum().backward(),
    )  # fmt: skip
    (x * 2).sum().backward()
    for call in refused:
        with _log(t), pytest.raises(NotImplementedError, match="TorchDispatchMode"):
            call()
    y = (x * 2).sum()
    with _log(t), pytest.raises(NotImplementedError, match="the backward pass of 'SumBackward0'"):
        y.backward()
    with _log(t), pytest.raises(NotImplementedError, match="create_graph"):
        t.autograd.grad((x * 2).sum(), x, create_graph=True)


def test_nothing_is_asked_afterwards() -> None:
    t = candidate()
    from jaxtorch._core.dispatch import torch_dispatch
    from jaxtorch._core.record import program
    from jaxtorch._core.types import grad_mode

    with _log(t):
        pass
    assert not torch_dispatch.opened and "dispatch" not in grad_mode.watch and program.emit.__code__.co_name == "emit"
    step = t.compile(lambda x: (x * 2).relu())
    x = _ar(t, 3)
    for _ in range(3):
        with _log(t) as mode:
            step(x)
        assert [line.split()[0] for line in mode.lines] == [
            "aten.mul.Tensor",
            "aten.relu.default",
            "aten.detach.default",
        ]
