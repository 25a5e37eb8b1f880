"""`torch.compile(fullgraph=True)`: numbers given as 0-d tensors, views that are written, refusals, optimizers written in this way."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch
from compile_kit import reasons, variants
from conftest import Run
from jaxtorch._core.record import program
from jaxtorch._dynamo import exc

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="about captured calls, which immediate mode has none of")

NUMBERS = {
    "add_": lambda t, x, y, s: x.add_(y, alpha=-s),
    "sub": lambda t, x, y, s: t.sub(x, y, alpha=s),
    "rsub": lambda t, x, y, s: t.rsub(x, y, alpha=s),
    "addcmul_": lambda t, x, y, s: x.addcmul_(y, y, value=s),
    "addcdiv": lambda t, x, y, s: t.addcdiv(x, y, y + 9, value=s),
    "addmm": lambda t, x, y, s: t.addmm(x, y, y, beta=s, alpha=-s),
    "addmv": lambda t, x, y, s: x[0].addmv(y, y[0], beta=s),
    "baddbmm": lambda t, x, y, s: t.baddbmm(x[None], y[None], y[None], alpha=s),
    "addr": lambda t, x, y, s: t.addr(x, y[0], y[1], beta=s, alpha=s),
    "full": lambda t, x, y, s: t.full((2,), s),
    "full dtype": lambda t, x, y, s: t.full((2,), s, dtype=t.float64),
    "full_like": lambda t, x, y, s: t.full_like(x, s),
    "new_full": lambda t, x, y, s: x.new_full((3,), s),
    "fill_": lambda t, x, y, s: x.fill_(s),
    "lerp_": lambda t, x, y, s: x.lerp_(y, s),
    "clamp": lambda t, x, y, s: x.clamp(min=-s, max=s),
    "clamp_min": lambda t, x, y, s: x.clamp_min(s),
    "pow": lambda t, x, y, s: x.abs() ** s,
    "masked_fill": lambda t, x, y, s: x.masked_fill(y > 0, s),
    "index_fill": lambda t, x, y, s: x.index_fill(0, t.tensor([1]), s),
    "index_add": lambda t, x, y, s: x.index_add(0, t.tensor([1]), y[:1], alpha=s),
    "scatter": lambda t, x, y, s: x.scatter(0, t.tensor([[1, 0, 1]]), s.item()),
    "where": lambda t, x, y, s: t.where(y > 0, x, s),
    "foreach": lambda t, x, y, s: t._foreach_mul([x, y], s),
    "trapezoid": lambda t, x, y, s: t.trapezoid(x, dx=s.item()),
    "eps": lambda t, x, y, s: t.nn.functional.layer_norm(x, (3,), eps=float(s)),
    "item": lambda t, x, y, s: x * s.item(),
    "int": lambda t, x, y, s: x[int(s) :],
    "half": lambda t, x, y, s: x.bfloat16().add(y.bfloat16(), alpha=s),
    "complex": lambda t, x, y, s: t.complex(x, y).add(y, alpha=s),
}
"""Operations with a number that is given as a 0-d tensor."""
CAPTURED = set(NUMBERS) - {"scatter", "trapezoid", "eps", "item", "int"}
"""Those whose number enters the program; the others read it, and are recorded."""


def numpy(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [y for item in x for y in numpy(item)]
    return [np.array(x.detach().tolist())] if hasattr(x, "detach") else [x]


def same(a: Any, b: Any, what: Any = "") -> None:
    for x, y in zip(numpy(a), numpy(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-5, err_msg=str(what))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_is_given_as_a_tensor(name: str) -> None:
    body, compiled, results = NUMBERS[name], None, []
    for t in (reference, torch):

        def f(x: Any, y: Any, s: Any, t: Any = t) -> Any:
            return body(t, x, y, s)

        if t is torch:
            f = compiled = torch.compile(f, fullgraph=True)
        s, found = t.tensor(0.0), []
        for i in range(5):
            x, y = (t.tensor([[0.5, -1, 2], [3, 0.25, -2], [1, 1, i]]) * k for k in (1, 0.5))
            found.append([f(x, y, s.fill_(0.25 + i)), x])
        results.append(found)
    same(*results, name)
    assert [bool(v) for v in (variants(compiled), reasons(compiled))] == [name in CAPTURED, name not in CAPTURED], (
        reasons(compiled)
    )


def test_a_number_that_does_not_fit_raises_in_a_replay_too() -> None:
    f = torch.compile(lambda x, s: x.add(x, alpha=s), fullgraph=True)
    x = torch.ones(2, dtype=torch.int8)
    for i in range(4):
        assert f(x, torch.tensor(i)).tolist() == [1 + i] * 2
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without overflow"):
        f(x, torch.tensor(300)).tolist()


# -- what is refused


def _branch(t: Any, x: Any, s: Any) -> Any:
    x.add_(1)
    return x if s > 0 else -x


def _loop(t: Any, x: Any, s: Any) -> Any:
    x[0].mul_(2)
    while x.sum() < 3:
        x += 1
    return x


def _number(t: Any, x: Any, s: Any) -> Any:
    x.zero_()
    if s.item() > 0:
        x += 1
    return x


def _none_of_it(t: Any, x: Any, s: Any) -> Any:
    x.neg_()
    return not s


def _printed(t: Any, x: Any, s: Any) -> Any:
    x.add_(1)
    print("never")
    return x


def _read(t: Any, x: Any, s: Any) -> Any:
    x.add_(1)
    return x.tolist()


def _compared(t: Any, x: Any, s: Any) -> Any:
    x.add_(1)
    return t.equal(x, x)


def _seeded(t: Any, x: Any, s: Any) -> Any:
    x.uniform_()
    t.manual_seed(3)
    return x


def _caught(t: Any, x: Any, s: Any) -> Any:
    x.add_(1)
    try:
        return x if s > 0 else -x
    except Exception:
        return 3


REFUSED = [
    (_branch, "Unsupported"), (_loop, "Unsupported"), (_number, "UserError"), (_none_of_it, "UserError"), (_printed, "Unsupported"),
    (_read, "Unsupported"), (_compared, "Unsupported"), (_seeded, "Unsupported"), (_caught, "Unsupported"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "error"), REFUSED)
@pytest.mark.parametrize("view", [False, True])
def test_what_is_refused_has_written_nothing(body: Any, error: str, view: bool, capsys: Any) -> None:
    for t, options in ((reference, {"backend": "eager"}), (torch, {})):
        if t is reference and view:
            continue  # that is slow, and shows the type of the error only
        f = t.compile(lambda x, s, t=t: body(t, x, s), fullgraph=True, **options)
        errors = exc if t is torch else reference._dynamo.exc
        t.manual_seed(1)
        before = t.get_rng_state().tolist()
        for _ in range(3 if t is torch else 1):
            whole = t.arange(6.0)
            with pytest.raises(getattr(errors, error)):
                f(whole[2:4] if view else whole, t.tensor(1.0))
            assert whole.tolist() == [0, 1, 2, 3, 4, 5]
            assert t.get_rng_state().tolist() == before
    assert capsys.readouterr().out == ""


READING = """
def f(x, s):
    assert s > 0, "positive"
    return bool(s > 3), x.long().tolist(), list(x), x[x > 0].sum(), max(s, 1.0)
"""  # as text: pytest makes branches of assertions


def test_what_may_be_read_is_read() -> None:
    scope: dict[str, Any] = {}
    exec(READING, scope)
    compiled = torch.compile(scope["f"], fullgraph=True)
    for i in range(1, 6):
        expected = scope["f"](reference.arange(3.0) * i, reference.tensor(i * 1.0))
        same(compiled(torch.arange(3.0) * i, torch.tensor(float(i))), expected)


@pytest.mark.parametrize("how", ["environment", "setting"])
def test_it_can_be_switched_off(how: str, monkeypatch: Any) -> None:
    if how == "environment":
        monkeypatch.setenv("TORCHDYNAMO_DISABLE", "1")
    else:
        monkeypatch.setattr(torch._dynamo.config, "disable", True)

    def f(x):
        return x if x.sum() > 0 else -x

    module = torch.nn.Linear(2, 2)
    assert torch.compile(f, fullgraph=True) is f and torch.compile(module) is module
    monkeypatch.undo()
    assert torch.compile(f) is not f


# -- the optimizers of small trainers


def optimizers(t: Any, compiled: bool) -> tuple[Callable[..., Any], Callable[..., Any]]:
    decorated = t.compile(dynamic=False, fullgraph=True) if compiled else lambda f: f

    @decorated
    def adamw(p, grad, exp_avg, exp_avg_sq, step_t, lr_t, beta1_t, beta2_t, eps_t, wd_t):
        p.mul_(1 - lr_t * wd_t)
        exp_avg.lerp_(grad, 1 - beta1_t)
        exp_avg_sq.lerp_(grad.square(), 1 - beta2_t)
        bias1, bias2 = 1 - beta1_t**step_t, 1 - beta2_t**step_t
        denom = (exp_avg_sq / bias2).sqrt() + eps_t
        p.add_(exp_avg / denom, alpha=-(lr_t / bias1))

    @decorated
    def muon(grads, params, momentum_buffer, second_buffer, momentum_t, lr_t, wd_t, beta2_t, ns_steps, red_dim):
        momentum_buffer.lerp_(grads, 1 - momentum_t.to(grads.dtype))
        g = grads.lerp_(momentum_buffer, momentum_t.to(grads.dtype))
        X = g.bfloat16()
        if g.size(-2) > g.size(-1):
            X = X.mT
        X = X / (X.norm(dim=(-2, -1), keepdim=True) * 1.02 + 1e-6)
        for a, b, c in [(4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037)][:ns_steps]:
            A = X @ X.mT
            X = a * X + (b * A + c * (A @ A)) @ X
        g = X.mT if g.size(-2) > g.size(-1) else X
        v_mean = g.float().square().mean(dim=red_dim, keepdim=True)
        v_norm = (v_mean.sum(dim=(-2, -1), keepdim=True) * g.size(red_dim)).sqrt()
        second_buffer.lerp_(v_mean.to(second_buffer.dtype), 1 - beta2_t.to(second_buffer.dtype))
        scale = second_buffer.clamp_min(1e-10).rsqrt()
        v_new = ((v_mean * g.size(red_dim)) * scale.float().square()).sum(dim=(-2, -1), keepdim=True).sqrt()
        g = g * (scale * (v_norm / v_new.clamp_min(1e-10))).to(g.dtype)
        mask = (g * params) >= 0
        params.sub_(lr_t.to(g.dtype) * g + lr_t.to(g.dtype) * wd_t.to(g.dtype) * params * mask)

    return adamw, muon


def trained(t: Any, compiled: bool, steps: int) -> Any:
    adamw, muon = optimizers(t, compiled)
    rng = np.random.default_rng(0)

    def normal(*size: int) -> Any:
        return t.tensor(rng.standard_normal(size).astype("float32"))

    flat, matrices = normal(300), normal(7, 12, 8)
    parts = [(slice(0, 200), (10, 20)), (slice(200, 300), (100,))]
    moments = [[t.zeros(shape), t.zeros(shape)] for _, shape in parts]
    momentum, second = t.zeros(4, 12, 8), t.zeros(4, 1, 8)
    step, lr, beta1, beta2, eps, wd, mu = numbers = [t.tensor(0.0) for _ in range(7)]
    found = []
    for i in range(steps):
        for number, value in zip(
            numbers, (i + 1, 0.01 / (i + 1), 0.8 + 0.01 * i, 0.95, 1e-8, 0.01 * i, 0.85 + 0.01 * i), strict=True
        ):
            number.fill_(value)
        for (where, shape), (first, squares) in zip(parts, moments, strict=True):
            adamw(flat[where].view(shape), normal(*shape), first, squares, step, lr, beta1, beta2, eps, wd)
        muon(normal(4, 12, 8), matrices[2:6], momentum, second, mu, lr, wd, beta2, 3, -2)
        found.append(numpy([flat, matrices, moments, momentum, second]))
    return found, (adamw, muon)


def test_muon_and_adamw_over_stacked_parameters() -> None:
    expected, _ = trained(reference, False, 10)
    found, compiled = trained(torch, True, 10)
    for i, (a, b) in enumerate(zip(expected, found, strict=True)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=3e-6, err_msg=str(i))
    assert [variants(f) for f in compiled] == [2, 1] and not any(reasons(f) for f in compiled)


@pytest.mark.parametrize("part", ["w[:2]", "w.view(-1)[6:]", "w.data[1:]", "w.detach().t()", "w"])
def test_parts_of_parameters_are_stepped_without_gradients(part: str) -> None:
    results, compiled = [], None
    for t in (reference, torch):

        def step(p: Any, lr: Any) -> None:
            p.mul_(1 - lr * 0.1)
            p.add_(p.sign(), alpha=-lr)

        if t is torch:
            step = compiled = torch.compile(step, fullgraph=True)
        w, lr, found = t.nn.Parameter(t.linspace(-1, 1, 12).view(4, 3)), t.tensor(0.0), []
        for i in range(5):
            with t.no_grad():
                given = eval(part, {"w": w})
                step(given, lr.fill_(0.1 * i))
            found.append([w, given, w._version, given._version, given.requires_grad])
            w.grad = None
            (w * w).sum().backward()
            found.append(w.grad)
        with pytest.raises(RuntimeError, match=r"in-place|inplace"):
            step(w[:2], lr)
        results.append(found)
    same(*results, part)
    assert variants(compiled) == 1


def test_half_precision_inside_a_captured_call_is_rounded() -> None:
    """Also where the program that it is recorded into has none otherwise."""

    def f(x):
        y = x.bfloat16()
        return ((y * 1.01 + 0.3) * 3 - y).float()

    compiled = torch.compile(f, fullgraph=True)
    for i in range(4):
        x = np.linspace(-2, 2, 64, dtype="float32") + i
        pending = torch.tensor(x) * 1  # so that the replay is one instruction of its program
        np.testing.assert_array_equal(compiled(pending).tolist(), f(reference.tensor(x)).tolist())


# -- views as arguments, writes and refusals, made at random

STATEMENTS = """
    a.add_(b.clone(), alpha=s) | a.mul_(s) | a[1:].copy_(b[1:].clone() * t) | a.t().sub_(1) | a.lerp_(b.clone(), s) | a[0] = s
    b.addcmul_(a.clone(), a.clone(), value=t) | a[:, 1].fill_(t) | a.clamp_(max=t * 9) | c = a * 2 | c = a[1:] | c = b.t()
    c = torch.full((2, 3), s) | c = torch.addmm(a, b, b, beta=s, alpha=t) | b[2:] += t | c = a + b | c.mul_(s) | c = c.clone()
    a.copy_(b.clone()) | b.view(-1)[::2].neg_() | c = a.view(9) | a.unsqueeze(0)[0, 1].add_(c.sum(), alpha=s)
    c = (a > s).float() | a.masked_fill_(b.clone() > t, s)
""".replace("\n", "|").split("|")[1:-1]
RESULTS = ("a", "b", "c", "[a, c]", "a[1]", "b[:, :2]", "(c, c)", "a.sum() * s", "None", "[a.t(), a]")
REFUSALS = ("if s > 0:\n        a.add_(1)", "c = a.tolist()", "print(1)", "if float(t) < 9:\n        c = a")
ARGUMENTS = {
    "plain": lambda m: (m[0].clone(), m[1].clone()),
    "part": lambda m: (m[0], m[1]),
    "part and other": lambda m: (m[1], m[0].clone()),
    "whole": lambda m: (m[0].view(-1).view(3, 3), m[2]),
    "transposed": lambda m: (m[0].t(), m[1].t()),
    "columns": lambda m: (m.view(-1)[:9].view(3, 3), m.view(9, 3)[6:]),
    "twice": lambda m: (m[0],) * 2,
    "the same part": lambda m: (m[1], m[1]),
    "overlapping": lambda m: (m.view(9, 3)[:3], m.view(9, 3)[2:5]),
    "one of the other": lambda m: (lambda x: (x, x.view(3, 3)))(m[2]),
    "data": lambda m: (m.data[0], m.detach()[1]),
    "strided": lambda m: (m[:, 0], m[:, 1]),
}


def program(rng: random.Random) -> tuple[str, bool]:
    """The text of a function, and is it refused?"""
    lines = ["c = b.clone()"]
    lines += [rng.choice(STATEMENTS).strip() for _ in range(rng.randint(1, 5))]
    refused = rng.random() < 0.15
    if refused:
        lines.insert(rng.randint(1, len(lines)), rng.choice(REFUSALS))
    return "def f(a, b, s, t):\n    " + "\n    ".join([*lines, f"return {rng.choice(RESULTS)}"]), refused


def outcome(t: Any, f: Any, kind: str, i: int, whole: Any, s: Any, u: Any) -> Any:
    a, b = ARGUMENTS[kind](whole)
    s.fill_(0.25 + 0.5 * i)
    u.fill_(0.125 * i)
    try:
        result = f(a, b, s, u)
    except RuntimeError as error:
        return [type(error).__name__, whole, a, b]
    found = numpy([[] if result is None else result, whole, a, b, a._version - b._version])
    for k, r in enumerate(result if isinstance(result, (list, tuple)) else [result]):
        if r is not None:  # whose memory it is shows when it is written
            r.mul_(0.5 + k)
    return [*found, *numpy([whole, a, b])]


def check_program(text: str, refused: bool, kind: str) -> None:
    found = []
    for t in (reference, torch):
        scope: dict[str, Any] = {"torch": t}
        exec(text, scope)
        f = scope["f"] if t is reference else torch.compile(scope["f"], fullgraph=True)
        whole = t.linspace(-2, 2, 27).view(3, 3, 3)
        s, u = t.tensor(0.0), t.tensor(0.0)
        if refused and t is torch:
            before = whole.tolist()
            for i in range(3):
                with pytest.raises(RuntimeError) as error:  # an earlier statement may be wrong in itself
                    f(*ARGUMENTS[kind](whole), s.fill_(i), u)
                assert not isinstance(error.value, exc.TorchDynamoException) or whole.tolist() == before
            return
        if not refused:
            with np.errstate(all="ignore"):
                found.append([outcome(t, f, kind, i, whole, s, u) for i in range(5)])
    if not refused:
        for a, b in zip(*found, strict=True):
            assert [x for x in a if isinstance(x, str)] == [x for x in b if isinstance(x, str)]
            same([x for x in a if not isinstance(x, str)], [x for x in b if not isinstance(x, str)])


@pytest.mark.parametrize("seed", range(24))
def test_programs_made_at_random(seed: int) -> None:
    rng = random.Random(seed)
    text, refused = program(rng)
    kind = list(ARGUMENTS)[seed % len(ARGUMENTS)]
    try:
        check_program(text, refused, kind)
    except BaseException as error:
        error.add_note(f"{text}\n{kind}")
        raise


def test_other_tensors_in_the_process_change_nothing(run_python: Run) -> None:
    """Sparse and quantised tensors, which have no memory of their own, and functions that ask a class with `__torch_function__`."""
    script = """
import warnings; warnings.simplefilter("ignore")
import jaxtorch as torch
class Asked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})
kept = [Asked([1.0]), torch.eye(3).to_sparse(), torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)]
kept[0] + 1
double = torch.compile(lambda x: x * 2 + kept[2].dequantize().sum(), fullgraph=True)
print([double(torch.ones(2) * k).tolist() for k in range(4)])
@torch.compile(fullgraph=True)
def branch(x):
    return x if float(x) < 9 else -x
try:
    branch(torch.ones(()))
except Exception as error:
    print(type(error).__name__)
"""
    told = run_python("-c", script).stdout.splitlines()
    assert told == ["[[2.0, 2.0], [4.0, 4.0], [6.0, 6.0], [8.0, 8.0]]", "UserError"]
