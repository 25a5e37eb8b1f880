"""The engine: what is recorded, when it runs, what it compiles, what it keeps and what it overwrites."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxtorch as torch
from jaxtorch._core.compile.kernel import Kernel
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import state_packing
from jaxtorch._core.run.log import Counts
from jaxtorch._core.tensor.tensor import wrap
from jaxtorch._core.types.device import cpu

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="about recording")


@pytest.fixture(autouse=True)
def nothing_pending(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tiering, "RUNS", 0)  # programs are compiled whole when they come again
    program.flush_all()
    yield
    program.flush_all()


class Grown:
    structures = compiled = 0


@contextmanager
def counting() -> Iterator[Grown]:
    """How many structures were met and programs compiled inside."""
    grown = Grown()
    before = Counts.structures, Counts.compiled
    yield grown
    program.flush_all()
    grown.structures, grown.compiled = Counts.structures - before[0], Counts.compiled - before[1]


def pending(t: Any) -> bool:
    return t._value.array is None


def pointer(t: Any) -> int:
    return t._array().unsafe_buffer_pointer()


def ready(*shape: int, fill: float = 1.0) -> Any:
    """A tensor that has been computed: an input of what is recorded next."""
    t = torch.full(shape, fill)
    t.tolist()
    return t


def instructions() -> list[str]:
    """The names of the kernels recorded on the CPU."""
    code = cpu.slot.program.code if cpu.slot.program else []
    return [item.name for item in code if not isinstance(item, int)]


class Net:
    """Two linear layers in plain operations, trained with SGD or Adam."""

    def __init__(self, optimizer: Callable[[Any], Any] | None = None) -> None:
        torch.manual_seed(0)
        shapes = [(8, 4), (8,), (3, 8), (3,)]
        self.params = [(torch.randn(*s) * 0.3).requires_grad_() for s in shapes]
        self.optimizer = (optimizer or (lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)))(self.params)
        self.x, self.y = torch.randn(16, 4), torch.randn(16, 3)

    def forward(self, x: Any) -> Any:
        w1, b1, w2, b2 = self.params
        return torch.relu(x @ w1.t() + b1) @ w2.t() + b2

    def loss(self, n: int = 16) -> Any:
        return ((self.forward(self.x[:n]) - self.y[:n]) ** 2).mean()

    def step(self, n: int = 16) -> Any:
        loss = self.loss(n)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


# -- recording --


def test_a_chain_is_recorded_and_runs_as_one_program():
    y = ready(4)
    with counting() as grown:
        for _ in range(10):
            y = y * 2 + 1
        assert pending(y) and instructions() == ["mul", "add"] * 10
        assert y.tolist() == [2047.0] * 4
    assert grown.structures == 1 and not pending(y)


def test_the_second_run_is_one_compiled_program():
    def chain() -> Any:
        y = torch.ones(5)
        for _ in range(7):
            y = y * 3 - 1
        return y.sum().item()

    with counting() as first:
        a = chain()
    with counting() as second:
        b = chain()
    with counting() as third:
        c = chain()
    assert a == b == c == 5 * (3**7 - (3**7 - 1) / 2)
    assert (first.structures, first.compiled) == (1, 0)  # instruction by instruction
    assert (second.structures, second.compiled) == (0, 1)  # compiled whole
    assert (third.structures, third.compiled) == (0, 0)


def test_a_long_program_is_run_before_it_grows_without_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(program, "LIMIT", 300)
    y = torch.zeros(2)
    for _ in range(1000):
        y = y + 1
        assert len(cpu.slot.program.code if cpu.slot.program else []) <= 310
    assert y.tolist() == [1000.0] * 2


# -- what makes a new structure --


def _schedule(net: Net, i: int) -> None:
    net.optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
    net.step().item()


def _scalars(net: Net, i: int) -> None:
    (net.x * (0.1 * i) + i - 1 / (i + 2)).sum().item()


def _alpha(net: Net, i: int) -> None:
    torch.add(net.x, net.x, alpha=0.5 + i).sum().item()


def _select(net: Net, i: int) -> None:
    (net.x[i] * net.x[-1 - i]).sum().item()


def _select_in_loop(net: Net, i: int) -> None:
    total = torch.zeros(())
    for row in range(3):
        total = total + net.x[row + i].sum()
    total.item()


def _window(net: Net, i: int) -> None:
    net.x[1 + i : 3 + i].sum().item()


def _written_row(net: Net, i: int) -> None:
    buffer = torch.zeros(16, 4)
    buffer[i] = net.x[i]
    buffer.sum().item()


def _momentum(net: Net, i: int) -> None:
    net.optimizer.param_groups[0]["momentum"] = 0.9 - 0.01 * i
    net.step().item()


def _nothing(net: Net, i: int) -> None:
    net.step().item()


@pytest.mark.parametrize(
    "body",
    [_nothing, _schedule, _momentum, _scalars, _alpha, _select, _select_in_loop, _window, _written_row],
    ids=lambda f: f.__name__.strip("_"),
)
def test_what_varies_from_step_to_step_makes_no_new_program(body: Callable[[Net, int], None]):
    net = Net()
    for i in range(3):
        body(net, i)
    with counting() as grown:
        for i in range(3, 11):
            body(net, i)
    assert (grown.structures, grown.compiled) == (0, 0)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "Adagrad", "RMSprop"])
def test_every_optimizer_settles(optimizer: str):
    net = Net(lambda p: getattr(torch.optim, optimizer)(p, lr=0.01))
    for _ in range(4):
        net.step()
    with counting() as grown:
        for _ in range(6):
            net.step()
    assert grown.structures == 0
    with counting() as other:  # the loss is wanted now: the test can see a new structure
        net.step().item()
    assert other.structures == 1


def test_another_shape_is_another_program_and_the_first_one_stays():
    net = Net()
    for n in (16, 16, 16, 5, 5, 5):
        net.step(n).item()
    with counting() as grown:
        for n in (16, 5, 16, 16, 5):
            net.step(n).item()
    assert grown.structures == 0
    with counting() as other:
        net.step(7).item()
    assert other.structures > 0


def test_the_tiers_agree():
    """Instruction by instruction or compiled whole, training goes the same way."""
    net, again = Net(), Net()
    losses = [net.step().item() for _ in range(6)]
    repeated = [again.step().item() for _ in range(6)]
    assert losses == pytest.approx(repeated, rel=1e-6) and losses[5] < losses[0]


# -- liveness --


@contextmanager
def outputs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of outputs of each program that runs inside or is pending at the end."""
    found: list[int] = []
    original = program.runner.run

    def spying(slot: Any, code: Any, arrays: Any, live: list[int], *rest: Any) -> Any:
        found.append(len(live))
        return original(slot, code, arrays, live, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(program.runner, "run", spying)
        yield found
        program.flush_all()


def _unheld(x: Any) -> Any:
    return (x + 1) * 2


def _held(x: Any) -> Any:
    middle = x + 1
    return middle, middle * 2


def _deleted(x: Any) -> Any:
    middle = x + 1
    result = middle * 2
    del middle
    return result


def _listed(x: Any) -> Any:
    kept = [x + 1, x + 2]
    return kept, kept[0] * kept[1]


def _rebound(x: Any) -> Any:
    x = x + 1
    x = x * 2
    return x


def _enclosed(x: Any) -> Any:
    middle = x + 1
    return (lambda: middle), middle * 2


def _weakly(x: Any) -> Any:
    middle = x + 1
    return weakref.ref(middle), middle * 2


def _in_place(x: Any) -> Any:
    y = x + 1
    y.mul_(2)
    y += 3
    return y


def _saved_for_backward(x: Any) -> Any:
    w = x.detach().requires_grad_()
    return (w * 2).exp().sum()  # exp saves its own result


def _detached_from_its_graph(x: Any) -> Any:
    w = x.detach().requires_grad_()
    return (w * 2).exp().sum().detach()


@pytest.mark.parametrize(
    "body, count",
    [(_unheld, 1), (_held, 2), (_deleted, 1), (_listed, 3), (_rebound, 1), (_enclosed, 2), (_weakly, 1),
     (_in_place, 1), (_saved_for_backward, 2), (_detached_from_its_graph, 1)],
    ids=lambda f: getattr(f, "__name__", "").strip("_"),
)  # fmt: skip
def test_what_is_held_is_an_output(body: Callable[[Any], Any], count: int, monkeypatch: pytest.MonkeyPatch):
    x = ready(20 + sum(map(ord, body.__name__)) % 97)  # each of a size of its own: what comes again is run in C
    with outputs(monkeypatch) as found:
        result = body(x)
        program.flush_all()
    assert found == [count] and result is not None


def test_an_unused_result_is_not_computed(monkeypatch: pytest.MonkeyPatch):
    x = ready(4)
    with outputs(monkeypatch) as found:
        for _ in range(5):
            x * 3
    assert sum(found) == 0


# -- donation --


def test_parameters_and_state_are_updated_in_place(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_packing, "PACK_ELEMENTS", 0)
    net = Net()
    for _ in range(4):
        net.step()
        net.optimizer.zero_grad()
        program.flush_all()
    tensors = [*net.params, *[net.optimizer.state[p]["momentum_buffer"] for p in net.params]]
    before, values = {pointer(t) for t in tensors}, [t.tolist() for t in tensors]
    for _ in range(3):
        net.step()
        net.optimizer.zero_grad()
        program.flush_all()
    assert {pointer(t) for t in tensors} == before
    assert all(t.tolist() != old for t, old in zip(tensors, values, strict=True))


def _held_jax(net: Net) -> Any:
    return net.params[0].jax()


def _held_detached(net: Net) -> Any:
    return net.params[0].detach().clone()


def _held_value(net: Net) -> Any:
    return torch.from_jax(net.params[0].jax())


def _held_numpy_copy(net: Net) -> Any:
    return np.asarray(net.params[0].jax())


@pytest.mark.parametrize("hold", [_held_jax, _held_detached, _held_value, _held_numpy_copy])
def test_what_the_user_holds_keeps_its_content(hold: Callable[[Net], Any]):
    net = Net()
    for _ in range(3):
        net.step()
    program.flush_all()
    held = hold(net)
    read = (lambda: np.array(held.tolist())) if isinstance(held, torch.Tensor) else (lambda: np.array(held))
    before = read()
    for _ in range(4):
        net.step()
    program.flush_all()
    np.testing.assert_array_equal(read(), before)
    assert not np.array_equal(net.params[0].detach().numpy(), before)


def test_a_detached_alias_follows_and_a_numpy_view_too():
    net = Net()
    alias, view = net.params[0].detach(), net.params[1].detach().numpy()
    for _ in range(4):
        net.step()
    np.testing.assert_array_equal(alias.tolist(), net.params[0].tolist())
    np.testing.assert_array_equal(view, net.params[1].detach().tolist())


def test_a_value_that_two_tensors_share_is_not_overwritten():
    x = torch.ones(3) * 2
    program.flush_all()
    y = x.clone()
    program.flush_all()
    for _ in range(3):
        x.add_(1)
        program.flush_all()
    assert (x.tolist(), y.tolist()) == ([5.0] * 3, [2.0] * 3)


# -- accumulation --


def test_gradients_accumulate_over_programs():
    w = torch.ones(3, requires_grad=True)
    for k in range(1, 5):
        (w * k).sum().backward()
        if k % 2:
            program.flush_all()
    assert w.grad.tolist() == [10.0] * 3
    w.grad.zero_()
    (w * 2).sum().backward()
    assert w.grad.tolist() == [2.0] * 3


# -- errors --


def failing(t: Any) -> Any:
    """Record an operation that fails when it runs."""

    def body(*_: Any) -> Any:
        raise ValueError("cannot run")

    aval = t._value.aval
    kernel = Kernel("failing", lambda x: (x,), (aval,), aval.slot)
    kernel._jitted = kernel._compiled = body
    kernel.host_run_limit = 0
    return wrap(program.emit(kernel, [t._read()])[0])


def test_a_program_that_fails_leaves_everything_else_usable():
    x = torch.arange(3.0)
    x.tolist()
    bad = failing(x)
    with pytest.raises(ValueError, match="cannot run"):
        bad.tolist()
    with pytest.raises(RuntimeError, match="program failed when it ran"):
        bad.tolist()
    assert (x + 1).tolist() == [1.0, 2.0, 3.0]
    y = x * 2
    with pytest.raises(RuntimeError, match="program failed when it ran"):
        _ = y + bad  # the instruction that was begun is taken back
    assert instructions() == ["mul"]
    assert (y + 1).tolist() == [1.0, 3.0, 5.0]


def test_a_wrong_shape_is_raised_where_it_is_called_and_records_nothing():
    x, other = ready(3) * 1, ready(4)
    with pytest.raises(RuntimeError, match="must match the size"):
        x + other
    assert instructions() == []  # making `other` ran the rest
    assert (x + 1).tolist() == [2.0] * 3


# -- inside JAX --


def test_tensors_inside_jit_grad_and_vmap():
    def f(a: Any) -> Any:
        t = torch.from_jax(a)
        return ((t * 2).sin() + 1).sum().jax()

    x = jnp.linspace(0.0, 1.0, 5)
    np.testing.assert_allclose(jax.jit(f)(x), jnp.sum(jnp.sin(x * 2) + 1), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(f)(x), 2 * jnp.cos(2 * x), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(f)(jnp.stack([x, -x])), [f(x), f(-x)], rtol=1e-6)


def test_torch_gradients_inside_jit():
    @jax.jit
    def f(a: Any) -> Any:
        t = torch.from_jax(a).requires_grad_()
        (t**3).sum().backward()
        return t.grad.jax()

    np.testing.assert_allclose(f(jnp.arange(3.0)), 3 * jnp.arange(3.0) ** 2)


def test_what_is_pending_can_run_while_jax_traces():
    outside = torch.ones(3) * 4
    other = torch.ones(3) * 5

    @jax.jit
    def f(a: Any) -> Any:
        assert outside.sum().item() == 12  # runs a program in the middle of tracing
        return (torch.from_jax(a) + outside * other).jax()  # mixes a tracer with pending values

    np.testing.assert_array_equal(f(jnp.zeros(3)), [20.0] * 3)
    assert not isinstance(outside._array(), jax.core.Tracer) and (outside + other).tolist() == [9.0] * 3


def test_a_tracer_does_not_disturb_the_open_program():
    x = ready(3)
    y = x + 1
    before = instructions()
    jax.jit(lambda a: (torch.from_jax(a) * y + x).jax())(jnp.ones(3))
    z = y * 2
    assert instructions()[-1] == "mul" and len(instructions()) <= len(before) + 1
    assert z.tolist() == [4.0] * 3


def test_a_leaked_tracer_is_an_error():
    kept = []
    jax.jit(lambda a: kept.append(torch.from_jax(a) * 2) or a)(jnp.ones(2))
    with pytest.raises(RuntimeError, match="being traced by a JAX transformation"):
        kept[0].tolist()


# -- types --


def test_64_bit_types_are_exact_while_jax_stays_32_bit():
    big = torch.tensor(2**62 + 1)
    assert (big + 1).item() == 2**62 + 2
    third = torch.tensor(1.0, dtype=torch.float64) / 3
    assert third.item() == 1 / 3 and (third * 3 - 1).item() == (1 / 3) * 3 - 1
    w = torch.tensor([1 / 3], dtype=torch.float64, requires_grad=True)
    (w * (1 / 7)).sum().backward()
    assert w.grad.item() == 1 / 7
    assert jnp.arange(3).dtype == jnp.int32 and jnp.asarray(0.5).dtype == jnp.float32
    assert jax.jit(lambda a: a * 2)(1.5).dtype == jnp.float32


def test_numbers_are_rounded_once():
    x = torch.tensor([0.1], dtype=torch.float64)
    for k in (0.1, 1e-300, 1 / 3):
        assert (x * k).item() == 0.1 * k
    assert (torch.tensor([1], dtype=torch.int64) * (2**60 + 1)).item() == 2**60 + 1


# -- lifetimes --


def test_handles_die_with_their_last_reference():
    gc.disable()
    try:
        w = torch.ones(4, requires_grad=True)
        y = (w * 2).exp()
        node, value = weakref.ref(y.grad_fn), weakref.ref(y._value)
        inner = weakref.ref(y.grad_fn.next_functions[0][0])
        program.flush_all()
        del y
        assert node() is None and inner() is None and value() is None
    finally:
        gc.enable()
