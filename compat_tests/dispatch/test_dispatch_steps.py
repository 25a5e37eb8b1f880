"""Modes with a `__torch_dispatch__` see optimizers' steps and what writes to `out=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dispatch_log import log
from parity import candidate, reference

OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.9, dampening=0.5, weight_decay=0.2),
    "nesterov": lambda t, p: t.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, maximize=True),
    "adam": lambda t, p: t.optim.Adam(p, 0.1, weight_decay=0.1, maximize=True),
    "amsgrad": lambda t, p: t.optim.AdamW(p, 0.1, amsgrad=True),
    "rmsprop": lambda t, p: t.optim.RMSprop(p, 0.1, weight_decay=0.1),
    "centered": lambda t, p: t.optim.RMSprop(p, 0.1, centered=True, momentum=0.9),
    "adagrad": lambda t, p: t.optim.Adagrad(p, 0.1, lr_decay=0.1, weight_decay=0.1),
    "adadelta": lambda t, p: t.optim.Adadelta(p, weight_decay=0.1),
    "adamax": lambda t, p: t.optim.Adamax(p, weight_decay=0.1),
    "nadam": lambda t, p: t.optim.NAdam(p, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda t, p: t.optim.RAdam(p, weight_decay=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps(name: str) -> None:
    seen = []
    for t in (reference(), candidate()):
        p, q = (t.nn.Parameter(t.arange(6.0).reshape(2, 3) / 3 + i) for i in (0, 1))
        optimizer = OPTIMIZERS[name](t, [p, q])
        lines: list[str] = []
        for i in range(8):
            p.grad, q.grad = t.arange(6.0).reshape(2, 3) - 1.5 + i, t.ones(2, 3)
            if i in (3, 4):  # in between, a step that nobody sees
                optimizer.step()
                continue
            with log(t) as mode:
                optimizer.step()
            lines += mode.lines
        seen.append((lines, p.tolist(), q.tolist(), [list(s) for s in optimizer.state.values()]))
    (lines, *values, names), (ours, *our_values, our_names) = seen
    assert ours == lines and our_names == names
    for a, b in zip(values, our_values, strict=True):
        for row, our_row in zip(a, b, strict=True):
            assert our_row == pytest.approx(row, rel=1e-4, abs=1e-5)


def test_a_closure_and_what_is_refused() -> None:
    for t in (reference(), candidate()):
        p = t.nn.Parameter(t.ones(2))

        def loss(t: Any = t, p: Any = p) -> Any:
            p.grad = t.ones(2)
            return (p * 2).sum()

        with log(t) as mode:
            assert t.optim.SGD([p], 0.5).step(loss).requires_grad
        assert mode.lines[-1].startswith("aten.add_.Tensor(Parameter[2]") and p.tolist() == [0.5, 0.5]
    t = candidate()
    p = t.nn.Parameter(t.ones(2))
    p.grad = t.ones(2)
    for optimizer in (t.optim.Adam([p], fused=True), t.optim.SGD([p], t.tensor(0.1)), t.optim.Rprop([p])):
        with log(t), pytest.raises(NotImplementedError, match="TorchDispatchMode"):
            optimizer.step()
    assert p.tolist() == [1, 1]


OUT: list[Callable[[Any, Any, Any], Any]] = [
    lambda t, x, o: t.add(x, 2, out=o),
    lambda t, x, o: t.mul(x, x, out=o),
    lambda t, x, o: t.mm(x, x, out=o),
    lambda t, x, o: t.sum(x, 1, out=o),
    lambda t, x, o: t.mean(x, (0, 1), out=o),
    lambda t, x, o: t.exp(x, out=o),
    lambda t, x, o: t.clamp(x, 0, 1, out=o),
    lambda t, x, o: t.clamp_min(x, x, out=o),
    lambda t, x, o: t.pow(x, 2, out=o),
    lambda t, x, o: t.div(x, 2, rounding_mode="floor", out=o),
    lambda t, x, o: t.maximum(x, x, out=o),
    lambda t, x, o: t.eq(x, x, out=o.bool()),
]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("place", range(len(OUT)))
def test_out(place: int) -> None:
    seen = []
    for t in (reference(), candidate()):
        x, o = t.arange(9.0).reshape(3, 3) / 4 - 1, t.zeros(3, 3)
        with log(t) as mode:
            found = OUT[place](t, x, o)
        seen.append((mode.lines, found.tolist()))
    assert seen[1][0] == seen[0][0]
    for a, b in zip(seen[0][1] if isinstance(seen[0][1], list) else [seen[0][1]],
                    seen[1][1] if isinstance(seen[1][1], list) else [seen[1][1]], strict=True):  # fmt: skip
        assert b == pytest.approx(a)


def _cast(t: Any) -> Any:
    net = t.nn.Sequential(t.nn.Conv2d(2, 3, 3), t.nn.ReLU(), t.nn.Flatten(), t.nn.Linear(27, 4))
    w = t.ones(4, 4, requires_grad=True)
    with t.autocast("cpu", t.bfloat16):
        y = net(t.arange(50.0).reshape(1, 2, 5, 5) / 50)
        z = t.cat([y @ w, t.nn.functional.linear(y.float(), w)]).softmax(-1)
        z = t.einsum("ij,kj->ik", z, w) + t.prod(z.detach()) + t.mm(w[:2].float(), w)
        with t.autocast("cpu", enabled=False):
            z = z + z.float() @ w
        return t.nn.functional.cross_entropy(z, t.tensor([1, 2])) + t.nn.functional.mse_loss(y, y.float() + 1)


def test_autocast() -> None:
    seen = []
    for t in (reference(), candidate()):
        t.manual_seed(0)
        with log(t) as mode:
            loss = _cast(t)
            loss.backward()
        with t.autocast("cpu"), log(t) as inner:  # nothing is kept from before, nor cast where a mode computes
            t.mm(t.ones(2, 2), t.ones(2, 2))
        seen.append((mode.lines + inner.lines, loss.item()))
    assert seen[1][0] == seen[0][0]
    assert seen[1][1] == pytest.approx(seen[0][1], rel=1e-2)
