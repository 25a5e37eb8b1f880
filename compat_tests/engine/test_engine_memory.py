"""What the engine keeps: training, evaluation, deep graphs, with no garbage collector."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import psutil
import pytest

import jaxtorch as torch
from conftest import Run
from jaxtorch._core.autograd import backward
from jaxtorch._core.graph import derivative, nodes
from jaxtorch._core.host import tiering
from jaxtorch._core.record import deferred_errors, module_depth, program
from jaxtorch._core.run import log, memory_gate, runner
from jaxtorch._core.tensor import views
from jaxtorch._core.types import value
from jaxtorch._core.types.device import cpu
from jaxtorch.optim import optimizer

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="about recording")


@pytest.fixture(autouse=True)
def without_garbage_collection() -> Iterator[None]:
    program.flush_all()
    gc.disable()
    yield
    gc.enable()
    program.flush_all()


def tables() -> dict[str, int]:
    """The sizes of everything that the engine could fill without bound."""
    from jaxtorch._core.define.op import functions

    ops = [f.op for f in functions.values() if hasattr(f, "op")]
    return {
        "structures": len(runner._structures),
        "avals": len(value._avals),
        "node types": len(nodes._node_types),
        "sums": len(backward._sums),
        "view reads": len(views._reads),
        "view writes": len(views._writes),
        "layouts": len(views._layouts),
        "flags": len(deferred_errors._unraised) + len(deferred_errors._unread),
        "history": len(log._history),
        "update kernels": len(optimizer._kernels),
        "entries": sum(len(op.entries) + len(op.inplace_entries) for op in ops),
        "objects": len(gc.get_objects()),
        "arrays": len(jax.live_arrays()),
    }


def resident() -> int:
    return psutil.Process().memory_info().rss


class Net:
    def __init__(self, lr: float = 0.01) -> None:
        torch.manual_seed(0)
        self.params = [(torch.randn(*s) * 0.3).requires_grad_() for s in [(32, 8), (32,), (4, 32), (4,)]]
        self.optimizer = torch.optim.Adam(self.params, lr=lr)
        self.x, self.y = torch.randn(64, 8), torch.randn(64, 4)

    def forward(self, x: Any) -> Any:
        w1, b1, w2, b2 = self.params
        return torch.relu(x @ w1.t() + b1) @ w2.t() + b2

    def step(self, i: int) -> Any:
        k = i % 48
        loss = ((self.forward(self.x[k : k + 16]) - self.y[k : k + 16]) ** 2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def train_long() -> None:
    """10,000 steps; the sizes of the engine's tables, and the process's memory, at three points of the way."""
    net, running = Net(), 0.0
    sizes: dict[int, dict[str, int]] = {}
    rss: dict[int, int] = {}
    for i in range(10_001):
        loss = net.step(i)
        if i % 100 == 0:
            running += loss.item()
            del loss
            if i in (300, 5_000, 10_000):
                program.flush_all()
                sizes[i], rss[i] = tables(), resident()
    early, middle, late = sizes[300], sizes[5_000], sizes[10_000]
    slack = {"objects": 50}
    grown = {k: (early[k], middle[k], late[k]) for k in early if late[k] > early[k] + slack.get(k, 0)}
    assert not grown, grown
    assert rss[10_000] - rss[5_000] < 16 << 20, rss  # the arrays of a step, kept at each, would be 50 MB
    assert running / 101 < 2.0  # it did train


def test_ten_thousand_steps_in_constant_memory(run_python: Run):
    """In a process of its own: what other tests leave behind in the allocator does not count."""
    here = Path(__file__).parent
    folders = [str(here), str(here.parent)]
    run_python("-c", f"import sys; sys.path[:0] = {folders!r}; import test_engine_memory as t; t.train_long()")


def deep(n: int, width: int) -> tuple[Any, Any]:
    w = torch.ones(width, requires_grad=True)
    y = w
    for _ in range(n // 2):
        y = y * 1.0001
        y = y + 0.0
    return w, y


def test_a_graph_of_ten_thousand_operations_runs_backward():
    depth = 10_000
    assert sys.getrecursionlimit() < depth
    w, y = deep(depth, 3)
    y.sum().backward()
    assert w.grad.tolist() == pytest.approx([1.0001 ** (depth // 2)] * 3, rel=1e-3)


def test_a_deep_graph_is_freed_without_recursion():
    _, y = deep(10_000, 2)  # another width: nothing is compiled whole
    node = y.grad_fn
    for _ in range(9_000):
        node = node.next_functions[0][0]
    last = weakref.ref(node)
    del node
    assert last() is not None
    del y
    assert last() is None


def test_a_graph_is_freed_with_its_last_handle():
    x = torch.ones(64, 64)
    w = torch.ones(64, 64, requires_grad=True)
    program.flush_all()
    before = len(jax.live_arrays())
    hidden = (x @ w).exp()
    y = hidden.sin().sum()
    refs = [weakref.ref(o) for o in (y.grad_fn, hidden.grad_fn, hidden._value, y._value)]
    y.item()
    refs += [weakref.ref(v.array) for v in (hidden._value, y._value)]  # JAX's, or NumPy's after a first run
    del hidden
    assert all(r() is not None for r in refs)
    del y
    assert [r() for r in refs] == [None] * 6
    assert len(jax.live_arrays()) == before


def test_backward_frees_what_it_used():
    w = torch.ones(64, requires_grad=True)
    loss = (w * 2).exp().sum()
    saved = weakref.ref(loss.grad_fn.next_functions[0][0].saved[0])
    loss.backward()
    assert saved() is None or saved().array is None
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()
    kept = (w * 2).exp().sum()
    kept.backward(retain_graph=True)
    kept.backward()
    assert w.grad.sum().item() == pytest.approx(3 * 64 * 2 * torch.tensor(2.0).exp().item(), rel=1e-5)


def in_use() -> int:
    """Bytes of computed arrays, and of what the open program will make."""
    program.flush_all()
    return sum(a.nbytes for a in jax.live_arrays())


def test_an_evaluation_loop_holds_only_the_outputs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 0.0)  # what is quick waits: test_numpy_code.py
    net = Net()
    with torch.no_grad():
        for _ in range(3):  # what programs read again and again moves to the device
            ((net.forward(net.x) - net.y) ** 2).mean().item()
        base, outputs, losses = in_use(), [], []
        for _ in range(40):
            module_depth.outermost_entered()
            out = net.forward(net.x)
            module_depth.outermost_returned()
            assert cpu.slot.program is None
            outputs.append(out)
            losses.append(((out - net.y) ** 2).mean())
    del out
    assert in_use() - base <= 40 * (64 * 4 * 4 + 4)
    assert [loss.item() for loss in losses] == pytest.approx([losses[0].item()] * 40)


def test_gradient_accumulation_holds_one_micro_batch():
    """Without `calls.outermost_entered`, 64 micro-batches would be one program with all their activations."""
    net = Net()
    recorded: list[int] = []
    for _ in range(2):
        net.optimizer.zero_grad()
        for _ in range(64):
            module_depth.outermost_entered()
            out = net.forward(net.x)
            ((out - net.y) ** 2).mean().backward()
            open_program = cpu.slot.program
            recorded.append(len(open_program.values))
        net.optimizer.step()
    assert max(recorded[3:]) <= min(recorded[3:]) + 8
    expected = Net()
    for _ in range(2):
        expected.optimizer.zero_grad()
        (64 * ((expected.forward(expected.x) - expected.y) ** 2).mean()).backward()
        expected.optimizer.step()
    for a, b in zip(net.params, expected.params, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


def test_values_that_are_shared_are_freed_when_the_last_handle_goes():
    x = torch.ones(1000)
    program.flush_all()
    before = len(jax.live_arrays())
    y = x + 1
    views_of_y = [y[:10], y.view(10, 100), y.detach(), y.data]
    views_of_y[0].add_(1)
    assert y[:20].tolist() == [3.0] * 10 + [2.0] * 10
    storage = weakref.ref(y._alias.storage)
    del y
    assert storage() is not None
    del views_of_y
    assert storage() is None and len(jax.live_arrays()) == before


def test_hooks_and_retained_gradients_make_no_cycles():
    w = torch.ones(4, requires_grad=True)
    y = w * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 2)
    z = y.sum()
    z.backward()
    assert (y.grad.tolist(), w.grad.tolist()) == ([2.0] * 4, [4.0] * 4)
    refs = [weakref.ref(t) for t in (y, z)] + [weakref.ref(y.grad_fn), weakref.ref(w)]
    del y, z, w
    assert [r() for r in refs] == [None] * 4


def test_gradient_forms_are_shared_between_calls():
    w = torch.ones(3, requires_grad=True)
    made: list[Any] = []
    original = derivative.GradForm._derive

    def counting(self: Any) -> None:
        made.append(self)
        original(self)

    derivative.GradForm._derive = counting  # type: ignore[method-assign]
    try:
        for i in range(20):
            (w.lerp(w * i, 0.25)).sum().backward()
        first = len(made)
        for i in range(20):
            (w.lerp(w * i, 0.25)).sum().backward()
    finally:
        derivative.GradForm._derive = original  # type: ignore[method-assign]
    assert len(made) == first


def test_large_programs_wait_for_each_other():
    def work(arrays: list[Any]) -> list[Any]:
        ready.append([r().is_ready() for r in memory_gate._results_before])
        return list(slow(*arrays))

    ready: list[list[bool]] = []
    slow = jax.jit(lambda x, y: (x @ x @ x @ x / 1e6, y + 1), donate_argnums=(0, 1))
    call = memory_gate.waiting(work)
    arrays = [jnp.ones((600, 600)), jnp.ones(3)]
    memory_gate._results_before.clear()
    for _ in range(4):
        arrays = call(arrays)
    assert ready == [[], [True, True], [True, True], [True, True]]
    assert memory_gate.are_large([torch.empty(2**25, device="meta")._value.aval])
    assert not memory_gate.are_large([torch.empty(2**24, device="meta")._value.aval])
