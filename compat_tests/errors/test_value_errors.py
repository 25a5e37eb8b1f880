"""Errors that depend on values come out of the call, as in PyTorch, where something would catch them there: with PyTorch's type,
whatever the operands are (on the host, pending, computed by XLA). What a program does after it has caught one is what it does with
PyTorch."""

# ruff: noqa: SIM105

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch as reference

import jaxtorch as torch
from conftest import Run
from fuzz_value_errors import differs
from jaxtorch._core.record import deferred_errors, program
from jaxtorch._core.run import except_handlers, runner

RECORDED = not program.IMMEDIATE
LIBRARIES = (torch, reference)


def F(library: Any) -> Any:
    return library.nn.functional


CALLS: dict[str, tuple[Callable[..., Any], list[Any], list[Any]]] = {
    # operation of (library, *operands), operands that are refused, operands that are taken
    "binary_cross_entropy": (lambda t, x, y: F(t).binary_cross_entropy(x, y), [[1.5, 0.5], [1.0, 0.0]], [[0.5, 0.25], [1.0, 0.0]]),
    "bce target": (lambda t, x, y: F(t).binary_cross_entropy(x, y), [[0.5, 0.5], [1.0, 7.0]], [[0.5, 0.5], [1.0, 0.5]]),
    "gaussian_nll_loss": (lambda t, x, v: F(t).gaussian_nll_loss(x, x * 2, v), [[1.0, 2.0], [1.0, -1.0]], [[1.0, 2.0], [1.0, 1.0]]),
    "masked_scatter": (lambda t, x, m: x.masked_scatter(m > 0, x[:1]), [[1.0, 2.0], [1.0, 1.0]], [[1.0, 2.0], [1.0, 0.0]]),
    "floor_divide": (lambda t, x, y: x // y, [[7, 8], [1, 0]], [[7, 8], [1, 2]]),
    "remainder": (lambda t, x, y: x % y, [[7, 8], [0, 1]], [[7, 8], [3, 2]]),
    "fmod": (lambda t, x, y: x.fmod(y), [[7, 8], [0, 1]], [[7, 8], [3, 2]]),
    "number by tensor": (lambda t, y: 7 // y, [[0, 1]], [[3, 2]]),
    "histc of infinity": (lambda t, x: t.histc(x, 3), [[1.0, float("inf")]], [[1.0, 2.0]]),
    "histc of nan": (lambda t, x: t.histc(x, 3), [[1.0, float("nan")]], [[1.0, 2.0]]),
    "quantile": (lambda t, x, q: t.quantile(x, q), [[1.0, 2.0], [0.0, -0.5]], [[1.0, 2.0], [0.0, 0.5]]),
    "nanquantile": (lambda t, x, q: t.nanquantile(x, q), [[1.0, 2.0], [2.0, 0.5]], [[1.0, 2.0], [0.0, 0.5]]),
    "multi_margin_loss": (lambda t, x, y: F(t).multi_margin_loss(x[None], y), [[1.0, 2.0, 3.0], [3]], [[1.0, 2.0, 3.0], [2]]),
    "multilabel_margin": (lambda t, x, y: F(t).multilabel_margin_loss(x, y), [[1.0, 2.0], [2, -1]], [[1.0, 2.0], [1, -1]]),
    "max_unpool1d": (lambda t, x, i: F(t).max_unpool1d(x[None], i[None], 2), [[1.0, 2.0], [1, 4]], [[1.0, 2.0], [1, 3]]),
    "searchsorted": (lambda t, x, s: t.searchsorted(x, x, sorter=s), [[1.0, 2.0], [0, 2]], [[1.0, 2.0], [0, 1]]),
    "index": (lambda t, x, i: x[i], [[1.0, 2.0], [0, 2]], [[1.0, 2.0], [0, -2]]),
    "index_select": (lambda t, x, i: x.index_select(0, i), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "gather": (lambda t, x, i: x.gather(0, i), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "take": (lambda t, x, i: x.take(i), [[1.0, 2.0], [2]], [[1.0, 2.0], [-1]]),
    "take_along_dim": (lambda t, x, i: x.take_along_dim(i), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "scatter": (lambda t, x, i: x.scatter(0, i, x), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "scatter_add": (lambda t, x, i: x.scatter_add(0, i, x), [[1.0, 2.0], [-1]], [[1.0, 2.0], [1]]),
    "scatter_reduce": (lambda t, x, i: x.scatter_reduce(0, i, x, "amax"), [[1.0, 2.0], [5]], [[1.0, 2.0], [1]]),
    "index_add": (lambda t, x, i: x.index_add(0, i, x[:1]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "index_copy": (lambda t, x, i: x.index_copy(0, i, x[:1]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "index_fill": (lambda t, x, i: x.index_fill(0, i, 5), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "index_put": (lambda t, x, i: x.index_put((i,), x[0]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "put_": (lambda t, x, i: x.clone().put_(i, x[:1]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "embedding": (lambda t, x, i: F(t).embedding(i, x[:, None]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "embedding_bag": (lambda t, x, i: F(t).embedding_bag(i[None], x[:, None]), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "one_hot": (lambda t, i: F(t).one_hot(i, 2), [[0, 2]], [[0, 1]]),
    "cross_entropy": (lambda t, x, i: F(t).cross_entropy(x[None], i), [[1.0, 2.0], [2]], [[1.0, 2.0], [1]]),
    "nll_loss": (lambda t, x, i: F(t).nll_loss(x[None], i), [[1.0, 2.0], [-1]], [[1.0, 2.0], [1]]),
    "adaptive": (lambda t, x, i: t.nn.AdaptiveLogSoftmaxWithLoss(2, 5, [2])(x[None], i)[1] * 0, [[1.0, 2.0], [5]], [[1.0, 2.0], [4]]),
    "bincount": (lambda t, i: t.bincount(i), [[0, -1]], [[0, 1]]),
    "multinomial": (lambda t, x: t.multinomial(x, 1) * 0, [[-1.0, 2.0]], [[1.0, 2.0]]),
    "bernoulli": (lambda t, x: t.bernoulli(x) * 0, [[-1.0, 2.0]], [[1.0, 0.5]]),
    "poisson": (lambda t, x: t.poisson(x) * 0, [[-1.0, 2.0]], [[1.0, 0.5]]),
    "normal": (lambda t, x: t.normal(x, x) * 0, [[-1.0, 2.0]], [[1.0, 0.5]]),
    "cholesky": (lambda t, x: t.linalg.cholesky(x.diag()), [[-1.0, 2.0]], [[1.0, 0.25]]),
    "inv": (lambda t, x: t.linalg.inv(x.diag()), [[0.0, 2.0]], [[1.0, 0.25]]),
    "cov": (lambda t, x, w: t.cov(x, aweights=w), [[1.0, 2.0, 4.0], [1.0, -1.0, 1.0]], [[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]]),
    "Normal": (lambda t, x: t.distributions.Normal(x, x, validate_args=True).mean, [[-1.0, 2.0]], [[1.0, 0.25]]),
    "Categorical": (lambda t, x: t.distributions.Categorical(x, validate_args=True).probs, [[-1.0, 2.0]], [[1.0, 0.25]]),
    "log_prob": (lambda t, x: t.distributions.Exponential(x * 0 + 1, validate_args=True).log_prob(x), [[-1.0, 2.0]], [[1.0, 0.25]]),
}  # fmt: skip

STATES: dict[str, Callable[[Any, Any], Any]] = {
    "on the host": lambda t, x: x,
    "pending": lambda t, x: x * 1,
    "long pending": lambda t, x: _far(x),
    "computed": lambda t, x: _computed(t, x),
    "with a gradient": lambda t, x: x.requires_grad_() * 1 if x.dtype == t.float32 else x * 1,
}


def _far(x: Any) -> Any:
    for _ in range(60):
        x = x + 1 - 1
    return x


def _computed(t: Any, x: Any) -> Any:
    big = (x + t.zeros(400, 400, dtype=x.dtype)[:, :1]).repeat(1, 300)[7, : len(x)]  # too large for the host
    if t is torch:
        program.flush_all()
    return big


def outcome(body: Callable[[], Any]) -> Any:
    try:
        return body()
    except Exception as error:
        return type(error).__name__, str(error).split("\n")[0] if isinstance(error, ZeroDivisionError) else ""


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("name", CALLS)
def test_it_is_caught_at_the_call(name: str, state: str) -> None:
    call, bad, good = CALLS[name]
    for numbers in (bad, good, bad):
        found = []
        for library in LIBRARIES:
            operands = [STATES[state](library, library.tensor(n)) for n in numbers]
            said: Any = "no error"
            try:
                said = call(library, *operands)
            except Exception as error:
                said = (type(error).__name__.strip("_"),)
            after = (library.ones(2) + 1).tolist()  # has no part in it
            found.append((said if isinstance(said, tuple) else said.detach().tolist(), after))
        if isinstance(found[1][0], tuple):
            assert repr(found[0]) == repr(found[1])
        else:
            assert not isinstance(found[0][0], tuple) and reference.allclose(
                reference.tensor(found[0][0]), reference.tensor(found[1][0]), equal_nan=True
            )


def network(library: Any) -> tuple[Any, Any]:
    library.manual_seed(0)
    model = library.nn.Sequential(library.nn.Linear(6, 12), library.nn.Tanh(), library.nn.Linear(12, 1))
    return model, library.optim.Adam(model.parameters(), lr=0.1)


class Training:
    """A training whose probabilities leave the range in some steps."""

    def __init__(self, library: Any, bad: tuple[int, ...]) -> None:
        self.library, self.bad = library, bad
        self.model, self.optimizer = network(library)
        self.inputs = library.randn(8, 4, 6)
        self.seen: list[Any] = []

    def loss(self, i: int) -> Any:
        p = self.library.sigmoid(self.model(self.inputs[i])).squeeze(1)
        return self.library.nn.functional.binary_cross_entropy(p + 1 if i in self.bad else p, self.library.ones(4))

    def step(self, i: int) -> None:
        self.optimizer.zero_grad()
        self.loss(i).backward()
        self.optimizer.step()

    def result(self) -> Any:
        weights = [p.detach().tolist() for p in self.model.parameters()]
        state = [[v.tolist() for v in s.values()] for s in self.optimizer.state.values()]
        return self.seen, weights, state


def bad_batches_are_left_out(t: Training) -> None:
    for i in range(8):
        try:
            t.step(i)
        except RuntimeError as error:
            t.seen.append((i, str(error)))


def the_loop_is_left(t: Training) -> None:
    try:
        for i in range(8):
            t.step(i)
            t.seen.append(i)
    except RuntimeError:
        t.seen = [len(t.seen) >= min(t.bad)]  # the error comes out of the step, what follows the loss has been done


def accumulated(t: Training) -> None:
    for i in range(0, 8, 2):
        try:
            t.optimizer.zero_grad()
            for k in (i, i + 1):
                t.loss(k).backward()
            t.optimizer.step()
        except RuntimeError:
            t.seen.append(i)


def a_with_that_swallows(t: Training) -> None:
    for i in range(8):
        with contextlib.suppress(RuntimeError):
            t.step(i)
            t.seen.append(i)


@contextlib.contextmanager
def _noting(seen: list[Any]) -> Any:
    try:
        yield
    except RuntimeError:
        seen.append("noted")


@contextlib.contextmanager
def _timed() -> Any:
    try:
        yield
    finally:
        pass


def context_managers(t: Training) -> None:
    for i in range(8):
        with _noting(t.seen), _timed():
            t.step(i)


def read_in_the_handler(t: Training) -> None:
    for i in range(8):
        before = t.model[0].bias.detach().clone()
        try:
            t.step(i)
        except RuntimeError:
            t.seen.append((before == t.model[0].bias).all().item())


def in_a_thread(t: Training) -> None:
    def work() -> None:
        try:
            for i in range(8):
                t.step(i)
        except RuntimeError:
            t.seen.append("in the thread")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def evaluated(t: Training) -> None:
    t.model.eval()
    total = t.library.zeros(())
    with t.library.no_grad():
        try:
            for i in range(8):
                total += t.loss(i)
                t.seen.append(i)
        except RuntimeError:
            t.seen.append("caught")
    t.seen.append(round(total.item(), 4))


@pytest.mark.parametrize("bad", [(2, 4), (7,), (0,), (0, 1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.parametrize(
    "loop",
    [bad_batches_are_left_out, the_loop_is_left, accumulated, a_with_that_swallows, context_managers,
     read_in_the_handler, in_a_thread, evaluated],
)  # fmt: skip
def test_a_training_goes_on_as_pytorchs(loop: Callable[[Training], None], bad: tuple[int, ...]) -> None:
    found = []
    for library in LIBRARIES:
        training = Training(library, bad)
        loop(training)
        found.append(training.result())
    assert found[0][0] == found[1][0]
    for ours, theirs in zip(found[0][1:], found[1][1:], strict=True):
        assert len(ours) == len(theirs)
        for a, b in zip(_flat(ours), _flat(theirs), strict=True):
            assert abs(a - b) < 1e-4


def _flat(x: Any) -> Any:
    return [number for part in x for number in _flat(part)] if isinstance(x, list) else [x]


@pytest.mark.skipif(not RECORDED, reason="about recorded programs")
@pytest.mark.parametrize("around", ["nothing catches", "a handler around the loop"])
def test_a_training_step_is_one_program(around: str) -> None:
    """A loop inside somebody's `try` keeps one program a step."""
    training = Training(torch, ())
    ran: list[Any] = []

    def loop() -> None:
        for i in range(8):
            training.step(i)
            ran.append(training.optimizer.param_groups)

    before = runner.run
    counted: list[int] = []

    def run(*args: Any) -> Any:
        counted.append(1)
        return before(*args)

    if around == "nothing catches":
        deferred_errors.waiting = False
    try:
        flushed = program._flushed

        def count(p: Any) -> None:
            counted.append(1)
            flushed(p)

        program._flushed = count
        loop()
        program.flush_all()
    finally:
        program._flushed = flushed
        deferred_errors.waiting = True
    assert len(counted) <= 9


@pytest.mark.parametrize("fullgraph", [False, True])
def test_compiled_functions_raise_at_the_call(fullgraph: bool) -> None:
    found = []
    for library in LIBRARIES:
        table = library.arange(6.0)
        total = library.zeros(3)

        def look(i: Any, table: Any = table, total: Any = total) -> Any:
            values = table[i * 1]
            total.add_(values)
            return values * 2

        look_up = torch.compile(look, fullgraph=fullgraph) if library is torch else look
        said: list[Any] = []
        for numbers in ([0, 1, 2], [1, 1, 1], [2, 2, 2], [0, 6, 0], [3, 3, 3], [-7, 0, 0], [5, 5, 5]):
            try:
                said.append(look_up(library.tensor(numbers)).tolist())
            except IndexError:
                said.append("IndexError")
            said.append(total.tolist())
        found.append(said)
    assert found[0] == found[1]


def test_the_first_call_of_a_compiled_function_that_fails_has_written_nothing() -> None:
    table, total = torch.arange(6.0), torch.zeros(3)

    @torch.compile(fullgraph=True)
    def look(i: Any) -> Any:
        values = table[i * 1]
        total.add_(values)
        return values * 2

    for _ in range(4):
        with pytest.raises(IndexError):
            look(torch.tensor([0, 9, 0]))
        assert total.tolist() == [0.0, 0.0, 0.0]


UNCAUGHT: dict[str, str] = {
    "a later line ends the program": """
import torch
p = torch.rand(10, requires_grad=True)
print("begun")
loss = torch.nn.functional.binary_cross_entropy(p * 3 + 1, torch.ones(10))
print(torch.ones(3).sum().item())
""",
    "a handler that has no part in it": """
import torch
p = torch.rand(10, requires_grad=True)
def loss(): return torch.nn.functional.binary_cross_entropy(p * 3 + 1, torch.ones(10))
q = None
try:
    q = loss()
except RuntimeError as error:
    print("caught", error)
try:
    print(torch.ones(1).sum().item())
except RuntimeError:
    print("never")
print(q)
""",
    "an index that is bad, and one that was": """
import torch
e = torch.nn.Embedding(10, 4)
for i in ([1, 12], [1, 2], [11]):
    try:
        print(e(torch.tensor(i) * 1).shape)
    except IndexError as error:
        print(error)
try:
    torch.distributions.Normal(0.0, -1.0)
except ValueError:
    print("ValueError")
""",
    "raised again": """
import torch
def f(n):
    return torch.tensor([7, 8, 9]) // (torch.arange(3) * n)
for n in (0, 1, 2):
    try:
        print(f(n + 1)[1:].tolist())
    except RuntimeError as error:
        print(error)
print((torch.tensor([7, 8, 9])[1:] // torch.arange(1, 3)).tolist())
""",
    "exit": """
import sys, torch
def main():
    x = torch.rand(5, requires_grad=True)
    loss = torch.nn.functional.binary_cross_entropy(x + 1, torch.ones(5))
    print("not reached", loss.item())
try:
    main()
except RuntimeError as error:
    print("failed:", error)
    sys.exit(3)
""",
    "what a finally sees": """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.Adam(model.parameters())
table, three, done = torch.arange(5.0), torch.arange(3), []
def look(k):
    try:
        found = table[three * k]
        done.append(k)
    finally:
        print(done, k)
    return found
def train():
    for k in range(6):
        optimizer.zero_grad()
        p = model(table[:3]).sigmoid() + (k == 4)
        nn.functional.binary_cross_entropy(p, torch.ones(1)).backward()
        optimizer.step()
        done.append(k)
try:
    train()
finally:
    print(done, f"{sum(p.sum().item() for p in model.parameters()):.4f}")
    done.clear()
    for k in range(4):
        look(k)
""",
}


@pytest.mark.parametrize("name", UNCAUGHT)
def test_scripts(name: str, run_python: Run, tmp_path: Any) -> None:
    """Scripts say and return what they do with PyTorch; where nothing catches the error, some lines may come before it."""
    (tmp_path / "script.py").write_text(UNCAUGHT[name])
    import sys

    theirs = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    ours = run_python("-m", "jaxtorch", str(tmp_path / "script.py"), status=theirs.returncode)
    assert ours.stdout == theirs.stdout
    if theirs.returncode == 1:
        assert theirs.stderr.splitlines()[-1].split(":")[0] in ours.stderr


def around() -> tuple[int, bool]:
    found = except_handlers.call_site()
    return sum(r[1] in CODES for r in found.regions), found.in_loops


CODES: set[int] = set()


def test_what_stands_around_a_call() -> None:
    class Ends:
        def __enter__(self) -> None:
            pass

        def __exit__(self, *exc: Any) -> None:
            return None

    class Swallows:
        def __enter__(self) -> None:
            pass

        def __exit__(self, kind: Any, *exc: Any) -> bool:
            return kind is RuntimeError

    here: dict[str, int] = {}

    def note(name: str) -> None:
        here[name] = around()[0]

    def body() -> None:
        note("nothing")
        try:
            note("except")
        except RuntimeError:
            pass
        try:
            note("another class")
        except KeyError:
            pass
        try:
            note("a tuple")
        except (KeyError, IndexError):
            pass
        try:
            note("the second of two")
        except KeyError:
            pass
        except Exception:
            raise
        try:
            note("an empty finally")
        finally:
            pass
        try:
            note("finally")
        finally:
            len(here)
        try:
            try:
                note("two")
            except RuntimeError:
                pass
        except BaseException:
            raise
        with torch.no_grad():
            note("no_grad")
        with contextlib.suppress(RuntimeError):
            note("suppress")
        with _noting([]):
            note("a generator that catches")
        if except_handlers.standing is not None:
            with Ends():
                note("with")
            with _timed():
                note("a generator that does not")
        with Swallows():
            note("a with that swallows")
        try:
            raise KeyError
        except KeyError:
            note("within a handler")
        [note("a comprehension") for _ in range(1)]

    CODES.update((id(body.__code__),))
    body()
    caught = {"except", "a tuple", "the second of two", "suppress", "a generator that catches", "a with that swallows"}
    caught.add("finally")
    assert here == {name: 2 if name == "two" else int(name in caught) for name in here}


@pytest.mark.parametrize("seed", range(0, 1200, 30))
def test_programs_made_at_random(seed: int) -> None:
    """`fuzz_value_errors.py` makes many more."""
    assert differs(seed) == ""
