"""Kernels run on NumPy at first: PyTorch's results, no compilation for shapes that keep changing, the same places every time."""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
import torch as pytorch

import jaxtorch as torch
from conftest import Run
from jaxtorch._core.host import tiering, writers
from jaxtorch._core.host.numpy_program import NumpyProgram
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.run import runner
from jaxtorch._core.run.log import Counts

pytestmark = pytest.mark.skipif(IMMEDIATE, reason="each operation is compiled by itself in immediate mode")


def mlp(t: Any, n: int) -> Any:
    net = t.nn.Sequential(t.nn.Linear(5, 16), t.nn.LayerNorm(16), t.nn.GELU(), t.nn.Linear(16, 3))
    x, y = t.linspace(-2, 2, 5 * n).view(n, 5), t.arange(n) % 3
    return net, lambda: t.nn.functional.cross_entropy(net(x), y, label_smoothing=0.1)


def convolutional(t: Any, n: int) -> Any:
    net = t.nn.Sequential(
        t.nn.Conv2d(1, 4, 3, padding=1), t.nn.BatchNorm2d(4), t.nn.ReLU(), t.nn.MaxPool2d(2),
        t.nn.Conv2d(4, 4, 3, stride=2, groups=2), t.nn.SiLU(), t.nn.AdaptiveAvgPool2d(1), t.nn.Flatten(), t.nn.Linear(4, 2),
    )  # fmt: skip
    x = t.linspace(-1, 1, n * 64).sin().view(n, 1, 8, 8)
    return net, lambda: net(x).log_softmax(1).pow(2).mean()


def attention(t: Any, n: int) -> Any:
    net = t.nn.ModuleDict({"words": t.nn.Embedding(11, 8), "attend": t.nn.MultiheadAttention(8, 2, batch_first=True)})
    index = (t.arange(3 * n) * 7 % 11).view(3, n)

    def loss() -> Any:
        x = net["words"](index)
        y, weights = net["attend"](x, x, x)
        chosen = y.gather(2, index[:, :, None] % 8).clamp(-0.5, 0.5)
        return (y.tanh() * x).sum() / n + weights.std() + chosen.cumsum(1)[:, -1].mean() + y.norm()

    return net, loss


def recurrent(t: Any, n: int) -> Any:
    net = t.nn.ModuleDict({"cell": t.nn.GRUCell(3, 6), "lstm": t.nn.LSTM(6, 4, batch_first=True)})
    x = t.linspace(-1, 1, 2 * n * 3).view(2, n, 3)

    def loss() -> Any:
        h, hs = t.zeros(2, 6), []
        for i in range(n):
            h = net["cell"](x[:, i], h)
            hs.append(h)
        out, _ = net["lstm"](t.stack(hs, 1))
        return t.where(out > 0, out, out.exp() - 1).abs().max(1)[0].sum() + t.cat(hs).sigmoid().mean()

    return net, loss


def step(t: Any, program: Callable[[Any, int], Any], n: int) -> list[np.ndarray]:
    """The losses and last parameters of two steps of training, from the same parameters in both libraries."""
    pytorch.manual_seed(n)
    weights = {k: v.numpy() for k, v in program(pytorch, n)[0].state_dict().items()}
    net, loss = program(t, n)
    net.load_state_dict({k: t.tensor(v) for k, v in weights.items()})
    optimizer = t.optim.AdamW(net.parameters(), lr=1e-2)
    found = []
    for _ in range(2):
        optimizer.zero_grad()
        value = loss()
        value.backward()
        t.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        found += [value.detach().numpy(), *[p.grad.numpy().copy() for p in net.parameters()]]
        optimizer.step()
    return found


PROGRAMS = [mlp, convolutional, attention, recurrent]


@pytest.mark.parametrize("often", [tiering.KERNEL_WRITTEN_AFTER, 0], ids=["rules", "functions"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_have_pytorchs_results_and_compile_nothing(
    program: Any, often: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiering, "KERNEL_WRITTEN_AFTER", often)
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1e12)
    monkeypatch.setattr(runner, "_structures", {})  # other tests may have run the same, by other rules
    with jax.log_compiles(), caplog.at_level("WARNING"):
        found = [step(torch, program, n) for n in (5, 6)]
    compiled = [r.getMessage() for r in caplog.records if "Finished XLA compilation" in r.getMessage()]
    assert not compiled
    for n, arrays in zip((5, 6), found, strict=True):
        for a, b in zip(arrays, step(pytorch, program, n), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-6)


def test_a_program_runs_twice_in_the_same_way(run_python: Run) -> None:
    text = """
        import jaxtorch as torch
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(7, 9), torch.nn.Tanh(), torch.nn.Linear(9, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for i in range(90):  # some of them on NumPy, the others compiled
            optimizer.zero_grad()
            loss = net(torch.randn(4 + i % 2, 7)).exp().mean()
            loss.backward()
            optimizer.step()
        print(loss.item(), [p.tolist() for p in net.parameters()])
    """
    first, second = (run_python("-c", textwrap.dedent(text)).stdout for _ in range(2))
    assert first == second


def test_a_kernel_that_keeps_running_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "RUNS", 2)
    seen = []
    outputs = tiering.outputs

    def watched(kernel, arguments, however_often):
        outs = outputs(kernel, arguments, however_often)
        seen.append((kernel.name, outs is not None))
        return outs

    monkeypatch.setattr(tiering, "outputs", watched)
    x = torch.ones(139)
    x.tolist()
    for _ in range(4):  # one operation a program, which is never compiled whole
        assert (x - 2).tolist() == [-1] * 139
    assert [on_numpy for name, on_numpy in seen if name == "sub"] == [True, True, False, False]


def test_a_program_that_keeps_running_is_compiled_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def chain() -> float:
        y = torch.full((143,), 0.5)
        return ((y * 3).exp() + 1).log().sum().item()

    for runs, size in ((3, 143), (0, 144)):
        monkeypatch.setattr(tiering, "RUNS", runs)
        whole = []
        for _ in range(5):
            before = Counts.compiled
            y = torch.full((size,), 0.5)
            assert ((y * 3).exp() + 1).log().sum().item() == pytest.approx(size * 1.7014133, rel=1e-6)
            whole.append(Counts.compiled - before)
        assert whole == ([0, 0, 0, 1, 0] if runs else [0, 1, 0, 0, 0])


def test_a_training_loop_is_compiled_by_its_third_step() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(6, 200), torch.nn.Tanh(), torch.nn.Linear(200, 3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    compiled = []
    for _ in range(8):
        before = Counts.compiled
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.randn(110, 6)), torch.arange(110) % 3).backward()
        optimizer.step()
        schedule.step()
        compiled.append(Counts.compiled - before)
    assert compiled[0] == 0 and sum(compiled[:4]) > 0 and sum(compiled[4:]) == 0


def test_a_dear_program_is_compiled_when_it_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    counts = []
    for _ in range(3):
        before = Counts.compiled
        assert (torch.ones(147) * 2 + 1).sum().item() == 441
        counts.append(Counts.compiled - before)
    assert counts == [0, 1, 0]


def test_programs_that_keep_changing_are_not_compiled_until_they_have_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    monkeypatch.setattr(tiering, "FEW_PROGRAMS", 0)
    monkeypatch.setattr(tiering._Process, "at_once", 12)
    monkeypatch.setattr(tiering, "LIKELY_RUNS", 1000)

    def compiled_by(sizes: Iterable[int]) -> int:
        before = Counts.compiled
        for size in sizes:
            assert (torch.ones(size) * 2 + 1).sum().item() == 3 * size
        return Counts.compiled - before

    assert compiled_by([151, 151, 152, 152]) == 2  # few equations: the process may compile some at once
    assert compiled_by(size for size in range(153, 170) for _ in range(2)) <= 1
    assert compiled_by([169] * tiering.SETTLED_RUNS) == 1
    monkeypatch.setattr(tiering, "LIKELY_RUNS", 1)
    assert compiled_by([170] * 2 * tiering.SETTLED_RUNS) == 0  # it has not cost NumPy much yet


def test_a_long_program_of_small_arrays_is_given_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    tiering.forget()

    def compiled_by(size: int) -> int:
        before = Counts.compiled
        for _ in range(12):
            assert (torch.ones(size) * 2 + 1).sum().item() == 3 * size
        return Counts.compiled - before

    assert compiled_by(171) == 1
    monkeypatch.setattr(tiering, "LONG_PROGRAM", 2)
    assert compiled_by(172) == 0
    monkeypatch.setattr(tiering, "SMALL_EQUATION", 1.0)
    tiering.forget()
    assert compiled_by(173) == 1
    monkeypatch.setattr(tiering, "SMALL_EQUATION", 8e3)
    monkeypatch.setattr(tiering, "LIKELY_RUNS", 1000)
    tiering.forget()
    assert compiled_by(174) == 1


def test_a_long_program_of_small_arrays_is_not_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    monkeypatch.setattr(tiering, "FEW_PROGRAMS", 0)
    monkeypatch.setattr(tiering, "COMPILED_AT_ONCE", 2)
    monkeypatch.setattr(tiering._Process, "at_once", 2)

    def compiled_by(size: int) -> int:
        before = Counts.compiled
        for _ in range(3):
            assert (torch.ones(size) * 2 + 1).sum().item() == 3 * size
        return Counts.compiled - before

    assert compiled_by(175) == 0
    monkeypatch.setattr(tiering, "SMALL_EQUATION", 1.0)  # what it works on is not small
    assert compiled_by(176) == 1


def test_a_packed_loop_and_its_backward_run_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    suits, found = tiering.suits, {}
    monkeypatch.setattr(tiering, "suits", lambda kernel: found.setdefault(kernel.name, suits(kernel)))
    rnn = torch.nn.GRU(3, 4, bidirectional=True)
    x = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 3, requires_grad=True), [5, 3])
    output = torch.nn.utils.rnn.pad_packed_sequence(rnn(x)[0])[0]
    output.sum().backward()
    rnn.weight_hh_l0.grad.tolist()
    assert found["_gru_layer_fwd"] and all(found.values())


def test_results_own_their_memory() -> None:
    x = torch.ones(137)
    y = x.reshape(137, 1).expand(137, 2)
    z = y.clone()
    total = (x.view(1, 137) * 3).sum()
    x.mul_(5)
    assert z.sum().item() == 274 and total.item() == 411 and x.sum().item() == 685


@pytest.mark.filterwarnings("error")
def test_broken_numbers_are_pytorchs_and_warn_of_nothing() -> None:
    def results(t: Any) -> list[Any]:
        x = t.tensor([0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 3e38, 1e-30])
        i = t.tensor([7, -7, 2**31 - 1, -(2**31)], dtype=t.int32)
        e = t.zeros(0, 3)
        found = [x / x, x * 3e38, x.exp(), x.log(), x.sqrt(), 1 / x, x.softmax(0), x.logsumexp(0), x.max(), x.argmax(),
                 x.sum(), x.mean(), x.sort()[0], x.sign(), x.nan_to_num(), x % 2, x // 2, x.clamp(-1, 1), x[:4].int(),
                 i * i, i + i, i // 3, i % -3, i / 2, -i, i << 3, i.float(), e.sum(), e.mean(), e.sum(0), e.prod(),
                 (e @ t.zeros(3, 2)).shape, t.cat([e, e]).numel(), t.tensor(3.0) * t.tensor(2), x.half(), x.bfloat16() + 1,
                 t.tensor([1, 2]) * t.tensor([0.5, 1.5]).double(), t.tensor([True, False]).sum(), x == x, x.isnan()]  # fmt: skip
        return [f.double().tolist() if hasattr(f, "tolist") else f for f in found] + [
            str(f.dtype) for f in found if hasattr(f, "dtype")
        ]

    for a, b in zip(results(torch), results(pytorch), strict=True):
        assert (
            a == pytest.approx(b, rel=1e-6, nan_ok=True)
            if not isinstance(a, str)
            else a.split(".")[-1] == b.split(".")[-1]
        )


def test_what_numpy_would_do_otherwise_goes_to_xla() -> None:
    with pytest.raises(RuntimeError, match=r"(?i)zero"):
        (torch.tensor([1, 2]) // torch.tensor([0, 1])).tolist()
    big = torch.tensor([1e20, float("nan"), -5.5])
    assert big.int().tolist() == pytorch.tensor([1e20, float("nan"), -5.5]).int().tolist()


def test_a_loop_of_several_programs_is_compiled_by_its_third_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    monkeypatch.setattr(tiering._Process, "at_once", 0)
    nets = [torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 5)) for _ in range(3)]
    optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
    compiled = []
    for _ in range(5):
        before = Counts.compiled
        for net, optimizer in zip(nets, optimizers, strict=True):
            optimizer.zero_grad()
            loss = net(torch.ones(3, 5)).pow(2).mean()
            loss.backward()
            optimizer.step()
            loss.item()
        compiled.append(Counts.compiled - before)
    assert compiled[3:] == [0, 0]
    assert sum(compiled) >= 1


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_embeddings_run_on_numpy(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    suits, found = tiering.suits, {}
    monkeypatch.setattr(tiering, "suits", lambda kernel: found.setdefault(kernel.name, suits(kernel)))
    results = []
    for t in (torch, pytorch):
        weight = t.arange(24.0).reshape(6, 4).sin().requires_grad_()
        index, offsets = t.tensor([5, 0, 0, 3, 2, 1, 4]), t.tensor([0, 2, 2, 5, 7, 7])  # empty bags, some at the end
        bags = t.nn.functional.embedding_bag(index, weight, offsets, mode=mode)
        (bags * bags).sum().backward()
        results.append((bags.detach().numpy(), weight.grad.numpy()))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert found and all(found.values())


def test_a_loop_that_divides_floats_runs_on_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    suits, found = tiering.suits, {}
    monkeypatch.setattr(tiering, "suits", lambda kernel: found.setdefault(kernel.name, suits(kernel)))
    results = []
    scores = np.random.default_rng(0).standard_normal((7, 2, 5)).astype(np.float32)
    for t in (torch, pytorch):
        x = t.tensor(scores, requires_grad=True)
        loss = t.nn.functional.ctc_loss(x.log_softmax(-1), t.tensor([[1, 2], [3, 3]]), [7, 6], [2, 2])
        loss.backward()
        results.append((loss.detach().numpy(), x.grad.numpy()))
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    assert found["_ctc_fwd"] if "_ctc_fwd" in found else found["_ctc"]


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """What XLA compiles meanwhile."""
    compiled: list[str] = []

    def heard(name: str, *_: Any, **__: Any) -> None:
        if "backend_compile" in name:
            compiled.append(name)

    jax.monitoring.register_event_duration_secs_listener(heard)
    try:
        yield compiled
    finally:
        jax.monitoring.unregister_event_duration_listener(heard)


NUMPY = pytest.mark.skipif(tiering.RUNS == 0, reason="NumPy is switched off")


@NUMPY
def test_functions_transformed_do_not_compile_each_primitive() -> None:
    """`torch.func` of a shape that was not met before: the values that PyTorch has, and nothing for XLA to compile."""

    def made(t: Any) -> list[Any]:
        w, x = t.linspace(-1, 1, 7 * 11).sin().view(7, 11), t.linspace(0, 2, 5 * 11).view(5, 11)

        def f(w: Any, x: Any) -> Any:
            return t.where(x[:7] > 1, (w @ x).tanh(), 0.5 * x[:7]).softmax(0)

        jacobians = t.func.vmap(t.func.jacrev(f), (None, 0))(w, x)
        second = t.func.hessian(lambda x: f(w, x).pow(2).sum())(x[1])
        _, tangent = t.func.jvp(lambda x: f(w, x).cumsum(0), (x[2],), (x[3],))
        return [jacobians.tolist(), second.tolist(), tangent.tolist()]

    with compilations() as compiled:
        ours = made(torch)
    assert not compiled
    for a, b in zip(ours, made(pytorch), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_convolutions_cost_is_of_the_patches_that_it_copies():
    """A weight's gradient has windows as large as the image, but few places."""

    def cost(x: tuple[int, ...], kernel: tuple[int, ...]) -> float:
        structs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in (x, kernel)]
        made = jax.make_jaxpr(lambda x, kernel: jax.lax.conv_general_dilated(x, kernel, (1, 1), "VALID"))(*structs)
        return NumpyProgram(made).cost

    forward, of_weight = cost((64, 3, 32, 32), (6, 3, 5, 5)), cost((3, 64, 32, 32), (6, 64, 28, 28))
    assert forward / 2 < of_weight < 2 * forward


@NUMPY
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_linear_systems_compile_nothing(kind: str, batch: tuple[int, ...]) -> None:
    """LU factorisations, triangular systems and their gradients, at a size that was not met before."""

    def made(t: Any) -> list[Any]:
        n = 5 + len(batch)
        x = t.arange(int(np.prod(batch)) * n * n, dtype=getattr(t, kind)).pow(2).sin().view(*batch, n, n) + 2 * t.eye(n)
        a, b = x.clone().requires_grad_(), x[..., :2].cos().requires_grad_()
        lower = a.tril()
        outs = [
            t.cholesky_solve(b, lower), t.linalg.solve_triangular(lower.mT, b, upper=True),
            t.linalg.solve_triangular(lower, b.mT, upper=False, left=False), t.linalg.solve(a, b), t.linalg.inv(a),
        ]  # fmt: skip
        sum(o.pow(2).sum() for o in outs).backward()
        return [o.tolist() for o in [*outs, a.grad, b.grad]]

    with compilations() as compiled:
        ours = made(torch)
    assert not compiled
    for a, b in zip(ours, made(pytorch), strict=True):
        a, b = np.asarray(a), np.asarray(b)
        np.testing.assert_allclose(a, b, rtol=0, atol=(2e-3 if kind == "float32" else 1e-9) * np.abs(b).max())


def test_a_loop_over_time_is_not_compiled_for_lengths_that_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1.0)
    monkeypatch.setattr(
        tiering, "SMALL_EQUATION", 1.0
    )  # as with large arrays: one that is not small need not be given time
    monkeypatch.setattr(tiering, "LONG_PROGRAM", 20)

    def state(lib: Any, n: int) -> float:
        x, h = lib.linspace(-1, 1, 3 * n).view(n, 3), lib.ones(3)
        for t in range(n):
            h = (h * 0.5 + x[t]).tanh()
        return h.sum().item()

    def compiled_by(lengths: list[int]) -> int:
        tiering.forget()
        before = Counts.compiled
        for n in lengths:
            assert state(torch, n) == pytest.approx(state(pytorch, n), rel=1e-5)
        return Counts.compiled - before

    assert compiled_by([31] * 12) == 1
    assert compiled_by([21, 22, 23, 24] * 6) == 0
    assert compiled_by([41, 42, 43, 44] * 4 + [45] * 400) == 1  # it has run for as long as compiling it quickly takes


def test_a_kernel_that_runs_often_becomes_a_function_and_still_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "KERNEL_WRITTEN_AFTER", 2)
    kernels = set()
    outputs = tiering.outputs

    def watched(kernel: Any, arguments: Any, however_often: bool) -> Any:
        kernels.add(kernel)
        return outputs(kernel, arguments, however_often)

    monkeypatch.setattr(tiering, "outputs", watched)
    x = torch.arange(1, 18)
    for n in range(6):  # one operation a program
        assert (x // (n + 1)).tolist() == (pytorch.arange(1, 18) // (n + 1)).tolist()
        assert x.view(17, 1).expand(17, 2).tolist() == [[k, k] for k in range(1, 18)]
    made = [
        kernel for kernel in kernels if kernel.numpy_program is not None and kernel.numpy_program.function is not None
    ]
    assert made
    large = torch.full((17,), float("inf"))
    for _ in range(5):
        assert large.to(torch.int64).tolist() == torch.full((17,), float("inf")).to(torch.int64).tolist()


def test_a_large_result_that_lies_otherwise_is_no_quick_program() -> None:
    """Turning an array round is a view, whose copy into a result takes as long as any other operation."""

    def cost(n: int) -> float:
        return writers.cost(NumpyProgram(jax.make_jaxpr(lambda x: jax.lax.rev(x, (1,)))(np.ones((n, n), np.float32))))

    assert cost(16) < tiering.HOST_PROGRAM / 10 and cost(1024) > tiering.HOST_PROGRAM
    x = torch.arange(600_000).view(300, 2000)
    for _ in range(4):
        y = x.flip(1)
        assert y[0, :2].tolist() == [1999, 1998] and y[299, -1].item() == 598_000
    inner = NumpyProgram(jax.make_jaxpr(lambda x: jax.lax.rev(x, (1,)).sum())(np.ones((1024, 64), np.float32)))
    assert writers.copied(inner) == 0
