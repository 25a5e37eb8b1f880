"""Errors that only the data shows: raised when values are next waited for."""

from __future__ import annotations

import inspect
import io
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch as reference

import jaxtorch as torch
import jaxtorch.nn.functional as F
from jaxtorch._core.define.op import Array, op
from jaxtorch._core.record import deferred_errors, program, value_checks
from jaxtorch._core.record.value_checks import flag
from jaxtorch._core.run import runner
from parity import parity_test

RECORDED = not program.IMMEDIATE


@op(function=False, method=False, name="_test_positive")
def positive(input: Array):
    """The input, all of whose elements must be positive."""
    code = jnp.where(jnp.any(input <= 0), 1 + jnp.sum(input <= 0), 0).astype(np.int64)
    flag(code, lambda code: ValueError(f"positive(): {code - 1} elements are not positive"))
    return input * 2


@op(function=False, method=False, name="_test_twice_checked")
def twice_checked(input: Array):
    flag((jnp.max(input) > 10).astype(np.int64), lambda code: ValueError("too large"))
    flag((jnp.min(input) < -10).astype(np.int64), lambda code: IndexError("too small"))
    return input + 1, input - 1


@pytest.fixture(autouse=True)
def nothing_pending() -> Iterator[None]:
    yield
    program.flush_all()
    deferred_errors.forget()


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is raised at the call, as where nothing would catch it: pytest does."""
    if not RECORDED:
        pytest.skip("immediate mode raises at once")
    monkeypatch.setattr(deferred_errors, "is_caught", lambda *_: False)
    monkeypatch.setattr(deferred_errors, "raise_pending", lambda: None)
    monkeypatch.setattr(value_checks, "HOST_PROGRAM", 0.0)
    value_checks._flags.clear()


GOOD, BAD, WORSE = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -2.0]), torch.tensor([-1.0, -2.0])

READERS: dict[str, Callable[[Any], Any]] = {
    "item": lambda t: t.sum().item(),
    "tolist": lambda t: t.tolist(),
    "numpy": lambda t: t.numpy(),
    "repr": repr,
    "bool": lambda t: bool((t > 0).all()),
    "float": lambda t: float(t[0]),
    "deepcopy": lambda t: __import__("copy").deepcopy(t).tolist(),
    "array": np.asarray,
    "jax": lambda t: t.jax(),
    "save": lambda t: torch.save(t, io.BytesIO()),
    "nonzero": lambda t: t.nonzero(),
    "dlpack": lambda t: np.from_dlpack(t),
    "equal": lambda t: torch.equal(t, t + 1),
    "in place": lambda t: torch.zeros(2).add_(t).tolist(),
    "a view": lambda t: t[1:].tolist(),
    "storage": lambda t: t.untyped_storage().tolist(),
    "pickle": pickle.dumps,
    "iteration": lambda t: [float(x) for x in t],
    "format": lambda t: f"{t[0]:.2f}",
}


@pytest.mark.parametrize("reader", READERS)
def test_each_read_of_what_depends_on_it_raises_it(later: None, reader: str) -> None:
    y = positive(BAD) + 1
    other = torch.ones(2) + 1
    for _ in range(3):
        with pytest.raises(ValueError, match=re.escape("positive(): 1 elements are not positive")):
            READERS[reader](y)
        assert other.tolist() == [2.0, 2.0]


def test_each_has_its_own(later: None) -> None:
    first, fine, second = positive(BAD), positive(GOOD), positive(WORSE)
    a, b = twice_checked(torch.tensor([-20.0, 20.0]))
    both = first + second
    for _ in range(2):
        found = []
        for t in (second, first, fine, a, b, both, fine + 1):
            try:
                found.append(t.tolist())
            except (ValueError, IndexError) as error:
                found.append(str(error).split("\n")[0])
        assert found == [
            "positive(): 2 elements are not positive",
            "positive(): 1 elements are not positive",
            [2.0, 4.0],
            "too large",  # and too small: the call would have ended with the first error
            "too large",
            "positive(): 1 elements are not positive",
            [3.0, 5.0],
        ]


def test_it_goes_on_through_programs(later: None) -> None:
    """Of values that failed in a program that has run, later programs make values that fail; others are numbers."""
    for _ in range(4):  # NumPy, and compiled
        w = torch.arange(300.0).reshape(3, 100)
        bad = positive(w - 1)
        program.flush_all()
        sums, fine = (bad + w).sum(1), w.sum(1) * 2
        program.flush_all()
        assert fine.tolist() == [9900.0, 29900.0, 49900.0]
        with pytest.raises(ValueError, match="2 elements"):
            (sums * 2).tolist()
        assert bad.shape == (3, 100) and bad.grad is None


def test_nothing_is_raised_where_all_is_well():
    assert positive(GOOD).tolist() == [2.0, 4.0]
    a, b = twice_checked(GOOD)
    assert (a.tolist(), b.tolist()) == ([2.0, 3.0], [0.0, 1.0])


def test_the_message_names_the_line(later: None) -> None:
    with pytest.raises(ValueError) as caught:
        here = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
        y = positive(BAD)
        y.tolist()
    assert f"(the operation was called at {__file__}:{here})" in str(caught.value)


def test_every_tier_checks():
    for _ in range(3):
        assert positive(GOOD + 1).tolist() == [4.0, 6.0]
        with pytest.raises(ValueError):
            positive(BAD + 1 - 1)


def test_with_gradients():
    for _ in range(3):
        w = torch.tensor([1.0, 2.0], requires_grad=True)
        positive(w).sum().backward()
        assert w.grad.tolist() == [2.0, 2.0]
        w = torch.tensor([1.0, -2.0], requires_grad=True)
        with pytest.raises(ValueError, match="not positive"):
            positive(w * 1)
        assert w.grad is None


def test_a_gradient_depends_on_it(later: None) -> None:
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    (positive(w) * w).sum().backward()
    for _ in range(2):
        with pytest.raises(ValueError, match="not positive"):
            w.grad.tolist()
    w.grad = None
    (w * w).sum().backward()
    assert w.grad.tolist() == [2.0, -4.0]


def test_a_jax_transformation_does_not_check():
    """Inside `jax.jit` nothing can be raised from data; JAX's own rule holds."""
    out = jax.jit(lambda a: positive(torch.from_jax(a)).jax())(jnp.array([1.0, -1.0]))
    assert out.tolist() == [2.0, -2.0]


# -- PyTorch's own errors --


def _take(torch: Any) -> Any:
    return torch.arange(3.0)[torch.tensor([0, 7])]


def _take_negative(torch: Any) -> Any:
    return torch.arange(6.0).reshape(2, 3)[:, torch.tensor([-4])]


def _index_select(torch: Any) -> Any:
    return torch.arange(3.0).index_select(0, torch.tensor([3]))


def _gather(torch: Any) -> Any:
    return torch.arange(6.0).reshape(2, 3).gather(1, torch.tensor([[0], [3]]))


def _scatter(torch: Any) -> Any:
    return torch.zeros(3).scatter(0, torch.tensor([3]), torch.tensor([1.0]))


def _index_put(torch: Any) -> Any:
    x = torch.zeros(3)
    x[torch.tensor([5])] = 1.0
    return x


def _embedding(torch: Any) -> Any:
    return torch.nn.functional.embedding(torch.tensor([1, 4]), torch.ones(3, 2))


def _cross_entropy(torch: Any) -> Any:
    return torch.nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 3]))


def _nll(torch: Any) -> Any:
    return torch.nn.functional.nll_loss(torch.ones(2, 3), torch.tensor([-1, 2]))


def _integer_division(torch: Any) -> Any:
    return torch.tensor([1, 2]) // torch.tensor([1, 0])


def _in_range(torch: Any) -> Any:
    return torch.arange(3.0)[torch.tensor([0, -3, 2])]


@pytest.mark.parametrize(
    "body",
    [_take, _take_negative, _index_select, _gather, _scatter, _index_put, _embedding, _cross_entropy, _nll,
     _integer_division, _in_range],
    ids=lambda f: f.__name__.strip("_"),
)  # fmt: skip
def test_pytorchs_errors_for_bad_data(body: Callable[[Any], Any]):
    def observe(module: Any) -> Any:
        try:
            return body(module).tolist()
        except Exception as error:
            return type(error)

    assert observe(torch) == observe(reference)


def test_a_factor_that_is_not_a_number_is_never_said_to_be_one() -> None:
    """Of matrices that are singular but for rounding PyTorch may factor others; what has no factor here is reported."""
    torch.manual_seed(0)
    reported = 0
    for size in range(2, 6):
        scale = torch.rand(40, 1, 1, dtype=torch.float64) + 0.01
        matrices = scale.expand(40, size, size).contiguous()
        factor, info = torch.linalg.cholesky_ex(matrices)
        made = torch.isclose(factor @ factor.mT, matrices).flatten(1).all(1)
        assert not factor.isnan().any() and made[info == 0].all() and (info <= size).all()
        reported += int((info > 0).sum())
    assert reported > 20
    with pytest.raises(torch.linalg.LinAlgError, match="not positive-definite"):
        torch.linalg.cholesky(torch.full((2, 2), 0.06300319525987962, dtype=torch.float64))


@parity_test
def test_what_is_left_of_a_factorisation_that_fails(torch: Any) -> Any:
    torch.manual_seed(0)
    root = torch.randn(5, 5, dtype=torch.float64)
    matrix = root @ root.mT + torch.eye(5, dtype=torch.float64)
    found = []
    for k in range(5):
        broken = matrix.clone()
        broken[k, k] -= 30
        for upper in (False, True):
            found += list(torch.linalg.cholesky_ex(broken, upper=upper))
        found += list(torch.linalg.cholesky_ex(torch.stack([matrix, broken, -matrix])))
        imaginary = torch.zeros_like(matrix)
        imaginary[1, 0], imaginary[0, 1] = 0.5, -0.5
        found += list(torch.linalg.cholesky_ex(torch.complex(broken, imaginary)))
    leaf = torch.stack([matrix, -matrix]).requires_grad_()
    torch.linalg.cholesky_ex(leaf).L[0].sum().backward()
    return [*(t.contiguous() for t in found), leaf.grad[0]]


LOOKED_UP: dict[str, Callable[[Any, Any], Any]] = {
    "cross_entropy": lambda torch, i: torch.nn.functional.cross_entropy(torch.ones(i.shape[0], 5), i),
    "cross_entropy with a gradient": lambda torch, i: torch.nn.functional.cross_entropy(
        torch.ones(i.shape[0], 5, requires_grad=True), i
    ),
    "nll_loss": lambda torch, i: torch.nn.functional.nll_loss(torch.ones(i.shape[0], 5), i, ignore_index=7),
    "embedding": lambda torch, i: torch.nn.functional.embedding(i, torch.ones(5, 2)),
    "gather": lambda torch, i: torch.ones(5).gather(0, i),
    "take": lambda torch, i: torch.ones(5).take(i),
    "index_select": lambda torch, i: torch.ones(5, 2).index_select(0, i),
}
INDICES = [[0, 4, 2], [0, 5, 2], [0, -1, 2], [-100, 7, 2], [-100, 2], [7, 3, 3], [6], [-5], [-6], []]


@pytest.mark.parametrize("name", LOOKED_UP)
@pytest.mark.parametrize("computed", [False, True])
def test_indices_out_of_range(name: str, computed: bool) -> None:
    """Where indices are on the host, the error is raised at the call; where they are still to be computed, later."""
    for numbers in INDICES:
        found = []
        for library in (torch, reference):
            index = library.tensor(numbers, dtype=library.int64)
            if computed:
                index = index * 1
            try:
                result = LOOKED_UP[name](library, index)
                found.append(result.tolist())
            except (IndexError, RuntimeError) as error:
                said = str(error).split("\n")[0]  # of several bad indices it names one or another
                found.append((type(error), re.sub(r"-?\d+", "#", said)))
        assert repr(found[0]) == repr(found[1]), numbers


@pytest.mark.skipif(not RECORDED, reason="about recorded programs")
def test_a_loop_over_batches_has_one_program() -> None:
    """Class numbers that are ignored, in some batches, make no other program."""
    layer, losses = torch.nn.Linear(3, 5), []
    before = len(runner._structures)
    for numbers in [[0, 1], [-100, 4], [3, -100], [2, 2]] * 3:
        losses.append(torch.nn.functional.cross_entropy(layer(torch.ones(2, 3)), torch.tensor(numbers)))
        losses[-1].backward()
        program.flush_all()
        if len(losses) == 3:
            before = len(runner._structures)
    assert len(runner._structures) == before


def test_division_by_a_known_zero_raises_at_the_call() -> None:
    found = []
    for torch_ in (torch, reference):
        t, said = torch_.tensor([3, 4]), []
        zero: Callable[[], Any] = lambda make=torch_.tensor: make([1, 0])  # noqa: E731
        calls: list[Callable[[], Any]] = [
            lambda t=t: t // 0, lambda t=t: t % 0, lambda t=t, z=zero: t // z(), lambda t=t, z=zero: t.fmod(z()),
            lambda t=t, z=zero: t.clone().div_(z(), rounding_mode="trunc"), lambda t=t: t[:0] // 0,
            lambda t=t: t // 2.0, lambda z=zero: 7 // z(), lambda t=t: 7 % t, lambda t=t: t // 0.0,
        ]  # fmt: skip
        for call in calls:
            try:
                result = call()  # no value is asked for before the program goes on
            except RuntimeError as error:
                said.append(str(error).splitlines()[0])
            else:
                said.append(result)
        found.append([s if isinstance(s, str) else s.tolist() for s in said])
    assert repr(found[0]) == repr(found[1])


CTC: dict[str, dict[str, Any]] = {
    "fitting": {},
    "without labels": {"targets": [], "targets_long": [0, 0, 0]},
    "steps beyond the input": {"steps": [5, 6, 7]},
    "negative steps": {"steps": [5, -1, 9]},
    "a negative length": {"targets_long": [3, -1, 3], "steps": [9, 9, 9]},
    "too few labels": {"targets": [1, 2, 3], "steps": [9, 9, 9]},
    "too many labels": {"targets": [1, 2, 3, 1, 1, 1]},
    "rows": {"targets": [[1, 2], [3, 0], [1, 1]]},
    "rows too short": {"targets": [[1], [3], [1]]},
    "rows missing": {"targets": [[1, 2], [3, 0]]},
    "three dimensions": {"targets": [[[1, 2], [3, 0], [1, 1]]]},
    "labels of one": {"targets": 1},
    "no whole steps": {"steps": [5.0, 5.0, 4.0], "blank": 9},
    "blank": {"steps": [5, 5], "blank": 9},
}


@pytest.mark.parametrize("case", CTC)
@pytest.mark.parametrize("computed", [False, True])
def test_ctc_targets_and_lengths_that_do_not_fit(case: str, computed: bool) -> None:
    """Wherever the lengths are on the host, as tensors or lists, the error comes at the call."""
    found: dict[Any, list[Any]] = {torch: [], reference: []}
    for library, said in found.items():
        given = {"targets": [1, 2, 3, 1, 1], "steps": [5, 5, 4], "targets_long": [2, 1, 2], "blank": 0} | CTC[case]
        scores = library.zeros(5, 3, 4).log_softmax(2).requires_grad_()
        targets = library.tensor(given["targets"], dtype=library.int64)
        for listed in (False, True):
            steps, lengths = given["steps"], given["targets_long"]
            if listed and type(steps[0]) is float:
                continue
            if not listed:
                steps, lengths = library.tensor(steps), library.tensor(lengths)
            if computed and not listed:
                steps, lengths = steps * 1, lengths * 1
            try:
                loss = library.nn.functional.ctc_loss(scores, targets, steps, lengths, given["blank"])
                if computed or case in ("fitting", "without labels", "rows"):
                    said.append(round(loss.item(), 4))
                else:
                    said.append("no error")
            except RuntimeError as error:
                said.append(str(error).split("\n")[0])
    assert found[torch] == found[reference]


AT_EXIT = """
import atexit
atexit.register(lambda: print("earlier handler"))
import jaxtorch as torch
import jaxtorch.nn.functional as F
rows = torch.nn.functional.embedding(torch.full((70000,), {index}) + 0, torch.ones(3, 2))
print("last line")
"""


@pytest.mark.parametrize("index", [2, 7])
def test_a_script_that_reads_nothing_still_tells_of_its_error(index: int) -> None:
    bad = index == 7
    done = subprocess.run(
        [sys.executable, "-c", AT_EXIT.format(index=index)], capture_output=True, text=True, check=False
    )
    assert ("IndexError" in done.stderr) == bad
    assert (done.returncode != 0) == bad
    if RECORDED:
        assert done.stdout.split("\n")[:2] == ["last line", "earlier handler"]


def test_indices_that_were_fine_for_one_table_are_looked_at_for_another() -> None:
    """Here they are looked at once for each size, and they are on the host: nothing else would find it."""
    i = torch.tensor([1, 9])
    assert F.embedding(i, torch.randn(101, 11)).shape == (2, 11)
    with pytest.raises(IndexError):
        F.embedding(i, torch.randn(6, 11))
    labels = torch.tensor([0, 7])
    F.cross_entropy(torch.randn(2, 8), labels).item()
    with pytest.raises(IndexError, match="Target 7 is out of bounds"):
        F.cross_entropy(torch.randn(2, 5), labels).item()


@pytest.mark.parametrize("look", [lambda i, w: F.embedding(i, w), lambda i, w: w[i]])
@pytest.mark.parametrize("compiled", [False, True])
def test_indices_that_a_step_has_changed_are_looked_at_again(compiled: bool, look: Any) -> None:
    table, i = torch.randn(4, 2), torch.zeros(2, dtype=torch.int64)

    def step():
        i.add_(1)

    advance = torch.compile(step) if compiled else step
    for _ in range(3):
        advance()
        look(i, table).sum().item()
    for _ in range(4):
        advance()
        with pytest.raises(IndexError):
            look(i, table).sum().item()


def test_many_that_nobody_has_looked_at_are_kept_apart(later: None) -> None:
    table, found = torch.ones(4, 2), []
    for n in [7] + [1] * 2 * deferred_errors.UNREAD_RUNS + [8]:
        found.append(torch.embedding(table, torch.full((70000,), n) + 0))
        program.flush_all()  # as an optimizer's step does, which nobody waits for
    assert len(deferred_errors._unread) <= deferred_errors.UNREAD_RUNS
    for t in (found[0], found[-1], found[0]):
        with pytest.raises(IndexError):
            t.tolist()
    assert found[1].sum().item() == 140000
