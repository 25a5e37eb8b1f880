"""`torch.compile`: calls whose arguments and results share memory, with one another, with NumPy or with what a module holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
from compile_kit import close, flat, reasons, variants
from jaxtorch import nn
from jaxtorch._core.record import program

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")


def x_of(i: int) -> Any:
    return torch.linspace(-1, 1, 8).reshape(2, 4) * (i + 1)


def shown(*tensors: Any) -> list[Any]:
    return [
        (t.tolist(), t.stride(), t.storage_offset(), t._version, t._is_view(), t.requires_grad, t.is_leaf)
        for t in tensors
    ]


def both(scenario: Callable[[Any], list[Any]], captured: bool = True) -> Any:
    """The scenario, a function of what compiles, with and without compilation."""
    made: list[Any] = []

    def compiling(f: Any) -> Any:
        made.append(torch.compile(f))
        return made[-1]

    torch.manual_seed(0)
    expected = scenario(lambda f: f)
    torch.manual_seed(0)
    found = scenario(compiling)
    assert len(expected) == len(found)
    for e, f in zip(expected, found, strict=True):
        close(e, f) if isinstance(e, torch.Tensor) else close(flat(e), flat(f))
    assert (sum(map(variants, made)) > 0) is captured, [reasons(c) for c in made]


def test_results_that_are_views_of_one_another():
    def scenario(compiling: Any) -> list[Any]:
        f = compiling(lambda x: (y := x * 2, y[0], y.t()))
        seen = []
        for i in range(5):
            a, b, c = f(x_of(i))
            seen += [shown(a, b, c), [b._base is a, c._base is a]]
            a.add_(1)
            seen.append(shown(a, b, c))
            b.zero_()
            seen.append(shown(a, b, c))
        return seen

    both(scenario)


def test_parts_of_one_result_with_gradients():
    def scenario(compiling: Any) -> list[Any]:
        layer = nn.Linear(4, 12)
        f = compiling(lambda x: layer(x).split(4, -1))
        seen = []
        for i in range(5):
            q, k, v = f(x_of(i))
            (q * k + v).sum().backward()
            seen += [shown(q, k, v), [layer.weight.grad.tolist(), q._base is k._base, q._base.shape == (2, 12)]]
        with pytest.raises(RuntimeError, match="is being modified inplace"):
            q.add_(1)
        return seen

    both(scenario)


def test_writing_to_a_result_changes_the_graph_of_its_views():
    def scenario(compiling: Any) -> list[Any]:
        w = torch.ones(4, requires_grad=True)
        f = compiling(lambda x: (y := x * w, y.t()))
        seen = []
        for i in range(5):
            w.grad = None
            a, b = f(x_of(i))
            a.mul_(3)
            (b * b).sum().backward()
            seen += [w.grad.tolist(), b.tolist(), b.requires_grad]
        return seen

    both(scenario)


def test_views_of_arguments_and_parameters():
    def scenario(compiling: Any) -> list[Any]:
        layer = nn.Linear(4, 4)
        f = compiling(lambda x: (x.view(-1), x.detach(), layer.weight.t(), x + 1, x))
        seen = []
        for i in range(5):
            x = x_of(i)
            a, b, c, d, e = f(x)
            seen += [shown(a, b, c, d), [a._base is x, c._base is layer.weight, e is x]]
            a.mul_(3)
            with torch.no_grad():
                layer.weight.add_(1)
            seen.append(shown(x, a, b, c, d))
            (c * 2).sum().backward()
            seen.append(layer.weight.grad.tolist())
        return seen

    both(scenario)


def test_a_result_and_its_detached_self_kept_for_the_next_call():
    def scenario(compiling: Any) -> list[Any]:
        class Cell(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.layer, self.hidden = nn.Linear(8, 4), torch.zeros(2, 4)

            def forward(self, x: Any) -> Any:
                y = torch.tanh(self.layer(torch.cat([x, self.hidden], 1)))
                self.hidden = y.detach()
                return y

        cell = Cell()
        f = compiling(cell)
        seen = []
        for i in range(6):
            cell.zero_grad()
            y = f(x_of(i))
            y.square().sum().backward()
            seen += [y.tolist(), cell.layer.weight.grad.tolist(), cell.hidden.tolist()]
            with torch.no_grad():
                y.mul_(0.5)
            seen.append(cell.hidden.tolist())
        return seen

    both(scenario)


@pytest.mark.parametrize("breaks", [True, False])
def test_writing_to_an_argument_that_numpy_shares(breaks: bool):
    def scenario(compiling: Any) -> list[Any]:
        def step(x: Any) -> Any:
            x.add_(1)
            if breaks:
                float(x.sum())
            return x.view(-1)

        f = compiling(step)
        seen = []
        for _ in range(5):
            array = np.zeros((2, 2), np.float32)
            x = torch.from_numpy(array)
            row = x[0]
            out = f(x)
            seen.append([array.tolist(), x.tolist(), out.tolist(), row.tolist()])
            out.mul_(5)
            seen.append([array.tolist(), x.tolist(), out.tolist(), row.tolist()])
            array[0] = 7
            seen.append([array.tolist(), x.tolist(), out.tolist(), row.tolist()])
        return seen

    both(scenario, captured=not breaks)


def test_writing_to_an_argument_with_a_history():
    def scenario(compiling: Any) -> list[Any]:
        def step(x: Any) -> Any:
            x.mul_(2)
            return x.view(-1)

        f = compiling(step)
        seen = []
        for i in range(5):
            w = torch.ones(2, 2, requires_grad=True)
            x = w * (i + 1)
            out = f(x)
            (out * x.view(-1)).sum().backward()
            seen += [shown(x, out), w.grad.tolist()]
        return seen

    both(scenario, captured=False)


def test_a_view_of_an_argument_with_a_history():
    def scenario(compiling: Any) -> list[Any]:
        f = compiling(lambda x: (x.view(-1), x * 2))
        seen = []
        for i in range(5):
            w = torch.ones(2, 2, requires_grad=True)
            x = w * (i + 1)
            out, double = f(x)
            (out.sum() + (double * double).sum()).backward()
            seen += [shown(x, out, double), w.grad.tolist(), x.grad_fn.name() == "MulBackward0"]
        return seen

    both(scenario)


def test_a_gradient_that_is_returned_is_the_present_one():
    def scenario(compiling: Any) -> list[Any]:
        w = torch.ones(4, requires_grad=True)

        def step(x: Any) -> Any:
            return w.grad, x + w.detach()

        f = compiling(step)
        seen = []
        for i in range(6):
            w.grad = torch.full((4,), float(i))
            seen.append([f(x_of(i))[0].tolist(), f(x_of(i))[0] is w.grad])
        return seen

    both(scenario)


def test_an_argument_of_which_a_view_was_taken_is_an_argument_like_any_other():
    steps: list[Any] = []

    def scenario(compiling: Any) -> list[Any]:
        def body(x: Any) -> Any:
            y = x.reshape(-1) * 2  # takes a view
            x.add_(1)
            return y

        step = compiling(body)
        steps.append(step)
        found: list[Any] = []
        for i in range(6):
            x = x_of(i)
            views = [x[0], x.t()] if i % 2 else []
            found += [step(x), x, *views]
            found.append(step(x))
            found += [x, *views]
        return shown(*found)

    both(scenario)
    assert len(steps[1]._compiled.trials) == 1


class Positions(nn.Module):
    """A model that takes a view of a parameter at each call."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.positions = nn.Parameter(torch.linspace(-1, 1, n * n).reshape(n, n))
        self.linear = nn.Linear(n, 1)

    def forward(self, x: Any) -> Any:
        return self.linear(self.positions[: len(x)] + x).sum()


def training(n: int) -> tuple[Any, Any, Any]:
    torch.manual_seed(0)
    model = Positions(n)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    x = torch.ones(n // 2, n)

    def step() -> Any:
        optimizer.zero_grad()
        loss = model(x)
        loss.backward()
        optimizer.step()
        return loss

    return model, step, torch.compile(step)


@pytest.mark.parametrize("n", [8, 300])
def test_a_parameter_of_which_views_are_taken_is_updated_where_it_lies(n: int, monkeypatch: pytest.MonkeyPatch):
    from jaxtorch._compile import packed_state, replaying

    model, step, _ = training(n)
    expected = [step().item() for _ in range(9)]
    copied, copy, here = [], replaying._copy, packed_state.State.here
    monkeypatch.setattr(replaying, "_copy", lambda array: (copied.append(True), copy(array))[1])
    monkeypatch.setattr(
        packed_state.State, "here", lambda self: (copied.append(not here(self)), copied[-1])[1] is False
    )
    compiled, _, step = training(n)
    for i, loss in enumerate(expected):
        close(loss, step().item())
        if i == 4:
            assert compiled.positions[1:2].sum().item() != 0  # a view from outside, now gone
        if i == 6:
            assert any(copied)
            copied.clear()
    close(model.positions, compiled.positions)
    assert compiled.positions._version == model.positions._version
    assert copied == ([False, False] if n == 8 else [])


def test_memory_that_is_no_longer_shared_keeps_its_place_and_its_count_of_writes():
    model, _, step = training(300)
    for _ in range(3):
        step()
    place = model.positions.data_ptr()
    part = model.positions[:2]
    step()
    assert part.sum().item() == model.positions[:2].sum().item()
    del part
    loss = (model.positions**2).sum()
    step()
    step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    assert model.positions.data_ptr() == place
