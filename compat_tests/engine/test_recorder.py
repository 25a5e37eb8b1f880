"""Recording in C: the same programs, tensors and nodes as Python records, and nothing kept or lost."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch._core.dispatch import recorder
from jaxtorch._core.record import deferred_errors, program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.run import runner
from jaxtorch._core.tensor import tensor
from jaxtorch._core.types import grad_mode
from jaxtorch._core.types.device import cpu

IN_C = program.record_in_c, tensor.finish_in_c
pytestmark = [
    pytest.mark.skipif(IN_C[0] is None, reason="the recorder was not built"),
    pytest.mark.skipif(IMMEDIATE, reason="nothing is recorded in immediate mode"),
]


def use(in_c: bool) -> None:
    program.record_in_c, tensor.finish_in_c = IN_C if in_c else (None, None)


@pytest.fixture(autouse=True)
def in_c_before_and_afterwards() -> Iterator[None]:
    """As in a new process of one thread: those that run tests may have more, and may have been in inference mode, after which nodes
    are looked at."""
    program.flush_all()
    threads, program._threads = program._threads, {0: None}
    watched = grad_mode.watch[:]
    grad_mode.watch.clear()
    recorder.begin()
    yield
    program._threads = threads
    grad_mode.watch[:] = watched
    recorder.begin()


def asking(answers: list[Any]) -> list[Callable[..., Any]]:
    """The calls of C, whose answers are kept."""

    def through(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            answers.append(call(*args))
            return answers[-1]

        return run

    return [through(call) for call in IN_C]


@pytest.fixture
def asked() -> list[Any]:
    """What C said to each call since."""
    answers: list[Any] = []
    program.record_in_c, tensor.finish_in_c = asking(answers)
    return answers


def plain(x: Any, w: Any) -> Any:
    return ((x + 1) * x - w).relu() @ w


def doubled(x: Any, w: Any) -> Any:
    y = x + x
    return y * y + w * w * w


def several(x: Any, w: Any) -> Any:
    a, b = (x @ w).split(2)
    values, indices = (a * b).max(1)
    return values.sum() + b[indices % 2].sin().mean()


def layer(x: Any, w: Any) -> Any:
    y = torch.nn.functional.linear(x, w, w[0]).softmax(-1)
    return torch.nn.functional.cross_entropy(y, torch.tensor([0, 1, 2, 3]))


def written(x: Any, w: Any) -> Any:
    y = x * w
    y.add_(1).mul_(x)
    y[1:] += w[1:] * 2
    return y.t().sum(0)


def shown(value: Any) -> Any:
    """What a saved value or an end of a node is, without its identity."""
    return value.aval if hasattr(value, "aval") else (type(value).__name__, getattr(value, "_index", None))


def graph(node: Any) -> Any:
    if not hasattr(node, "form"):
        return type(node).__name__
    attributes = [node.indices, node.own, node.pre_hooks, node.post_hooks, node.node_pre_hooks, node.retains]
    saved = type(node.saved), [shown(v) for v in node.saved or ()]
    return type(node), node.form, saved, attributes, [graph(end) for end in node.ends]


def traces(f: Callable[..., Any], grad: bool, in_c: bool, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a function records, makes and computes."""
    use(in_c)
    monkeypatch.setattr(
        deferred_errors, "waiting", False
    )  # else what is done on the host by now is done before an index is used
    torch.manual_seed(0)
    x, w = torch.randn(4, 4), torch.randn(4, 4, requires_grad=grad)
    y = f(x, w)
    recorded = cpu.slot.program
    places = [(v.slot, v.program is recorded, v.owned, v.guard is None, v.pack) for v in recorded.values]
    attributes = [
        getattr(y, name) for name in ("_alias", "_index", "_rg", "_grad", "_layout", "_ver", "_hooks", "_post_hooks")
    ]
    entered = [v.slot for v in recorded.inputs], recorded.packed
    found = list(recorded.code), places, entered, attributes, graph(y._node)
    if grad:
        y.sum().backward()
        return *found, y.detach().numpy(), w.grad.numpy()
    return *found, y.numpy()


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("f", [plain, doubled, several, layer, written])
def test_what_is_recorded_is_what_python_records(
    f: Callable[..., Any], grad: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):  # the first time, entries and forms are made
        ours, expected = traces(f, grad, True, monkeypatch), traces(f, grad, False, monkeypatch)
        assert ours[:5] == expected[:5]
        for a, b in zip(ours[5:], expected[5:], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)  # a run on NumPy, and one of XLA's


def test_the_common_case_is_recorded_in_c(asked: list[Any]) -> None:
    x, w = torch.ones(3), torch.ones(3, requires_grad=True)
    for _ in range(2):
        del asked[:]
        y = x * 2
        z = ((y + w) * w).exp()
    assert y is asked[0 if asked[0] is not None else 2] and z is asked[-1]
    assert sum(a is None for a in asked) <= 2  # the first operation of a program, which makes it
    assert z.tolist() == pytest.approx([np.exp(3)] * 3)


def test_results_of_the_program_before_enter_as_they_are(asked: list[Any]) -> None:
    model = torch.nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).square().sum()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    use(False)
    assert any(a is not None for a in asked)
    assert losses[-1].item() < losses[0].item()


def test_a_second_thread_is_left_to_python(asked: list[Any]) -> None:
    threads: Any = vars(threading)["_active"]
    program._threads = threads
    recorder.begin()
    program.record_in_c, tensor.finish_in_c = asking(asked)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    y = torch.ones(3) * 2 + 1
    stop.set()
    thread.join()
    assert asked and all(a is None for a in asked)
    assert y.tolist() == [3, 3, 3]


def test_what_is_unusual_is_left_to_python(asked: list[Any]) -> None:
    """Forward-mode derivatives, hooks on saved tensors, tracers, tensors made in inference mode: with Python's results."""
    x = torch.arange(3.0) + 0
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(3))
        assert torch.autograd.forward_ad.unpack_dual(dual * dual).tangent.tolist() == [0, 2, 4]
    seen = []
    w = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        (w * x).sum().backward()
    assert seen and w.grad is not None
    traced = jax.jit(lambda a: (torch.asarray(a) * 2 + x)._array())(np.ones(3, np.float32))
    np.testing.assert_array_equal(traced, [2, 3, 4])
    with torch.inference_mode():
        y = x * 2
        z = y + 1
    assert y.is_inference() and z.is_inference() and not (x + 1).is_inference()


def test_operations_stay_in_c_in_inference_mode_and_after_it(asked: list[Any]) -> None:
    x, w = torch.arange(3.0), torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        y = x + w
        (x + w), (x * w)
        asked.clear()
        inside = x * w
        assert asked[-1] is inside and inside.is_inference() and not inside.requires_grad
        with torch.enable_grad():
            assert not (x * w).requires_grad and (x * w).is_inference()
        with torch.inference_mode(False):
            assert (x * w).requires_grad and not (x * w).is_inference()
    assert grad_mode.watch == ["inference"]
    for _ in range(2):
        after = w * x
    assert asked[-1] is after and after.requires_grad and not after.is_inference()
    after.sum().backward()
    assert w.grad is not None and w.grad.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        w * y
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        w * y[:]
    assert (w + y).requires_grad  # saves nothing
    assert (y * x).tolist() == [0, 2, 6]
    with torch.autograd.set_detect_anomaly(True):  # another reason besides
        assert asked[-1] is not None
        asked.clear()
        assert (w * x).requires_grad and not any(isinstance(answer, torch.Tensor) for answer in asked)


def test_a_program_that_grows_too_long_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "LIMIT", 60)
    y = torch.zeros(3)
    for _ in range(100):
        y = y + 1
        assert cpu.slot.program is None or len(cpu.slot.program.code) <= 63
    assert y.tolist() == [100, 100, 100]


@pytest.mark.usefixtures("few_objects")
def test_nothing_is_kept() -> None:
    def run() -> list[Any]:
        x, w = torch.ones(3), torch.ones(3, requires_grad=True)
        y = (x + x) * w
        z = (y * y).sum()
        z.backward()
        return [weakref.ref(o) for o in (x._value, y, y._value, z, z._node, w._grad._value)]

    for _ in range(3):
        held = run()
    program.flush_all()
    gc.collect()
    assert [ref() for ref in held] == [None] * len(held)
    kernel = None
    x = torch.ones(5) * 3
    aval, counts = x._value.aval, []
    for _ in range(4):
        for _ in range(500):
            y = x * x
            kernel = cpu.slot.program.code[-3] if len(cpu.slot.program.code) > 3 else kernel
        del y
        program.flush_all()
        counts.append((sys.getrefcount(aval), sys.getrefcount(kernel)))
    assert counts[-1] == counts[-2]


def test_arguments_of_other_kinds_are_refused() -> None:
    record, finish = IN_C
    with pytest.raises(TypeError, match="record"):
        record(1)
    with pytest.raises(TypeError, match="finish"):
        finish(1, 2)
    assert record(object(), []) is None


def test_an_extension_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "VERSION", -1)
    assert not recorder.begin()
    monkeypatch.setenv("JAXTORCH_NATIVE", "0")
    assert not recorder.begin()


def test_programs_in_an_order_that_depends_on_what_was_read(monkeypatch: pytest.MonkeyPatch):
    """Which of a few programs comes next is found among those that came before, not worked out anew."""
    worked_out: list[bool] = []
    work_out = program._run_unknown
    monkeypatch.setattr(program, "_run_unknown", lambda *args: (worked_out.append(True), work_out(*args))[1])
    x, kinds = torch.arange(4.0), [0, 1, 2, 1, 0, 2, 2, 0, 0, 1]
    for turn in range(30):
        worked_out.clear()
        for kind in kinds:
            y = x + 1
            y = y * 2 if kind == 0 else y.sum() if kind == 1 else y - x
            assert y.max().item() == [8, 10, 1][kind]
        assert turn < 20 or not worked_out


def test_more_programs_than_are_remembered():
    x = torch.arange(4.0)
    for turn in range(14):
        for n in range(1, 12):
            y = x * 1
            for _ in range((n * 7 + turn) % 11):
                y = y + 1
            assert y.max().item() == 3 + (n * 7 + turn) % 11
    found = [s for s in runner._structures.values() if s.others]
    assert found and all(len(s.others) <= runner.FOLLOWERS for s in found)
