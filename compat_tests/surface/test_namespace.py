"""The namespace as a module: what importing it brings, star imports, and functions before their first call."""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import jaxtorch
from parity import parity_test

FRESH = """
import sys
import jaxtorch as torch
late = ["jaxtorch._compile", "jaxtorch.optim", "jaxtorch.serialization", "jaxtorch.func", "jaxtorch.testing", "jaxtorch.utils.data"]
assert not [name for name in late if name in sys.modules]
assert torch.optim.lr_scheduler.StepLR and torch.utils.data.DataLoader and torch.func.grad and torch.autograd.functional.jvp
assert torch.load is torch.serialization.load and torch.compile and torch.vmap is torch.func.vmap
assert {"optim", "load", "compile", "testing", "add"} <= set(dir(torch))
"""


def test_what_few_programs_use_is_imported_when_asked_for(run_python: Callable[..., Any]):
    run_python("-c", FRESH)


def test_a_star_import_takes_no_submodule():
    found: dict[str, Any] = {"random": "the program's"}
    exec("from jaxtorch import *", found)
    assert found["random"] == "the program's"
    assert found["add"] is jaxtorch.add
    assert found["save"] is jaxtorch.save
    assert "optim" not in found


FIRST = """
import inspect
import pickle
import threading
import jaxtorch as torch
from jaxtorch._core.dispatch import torch_function

assert str(inspect.signature(torch.logaddexp)) == "(input, other, *, out=None)"
assert pickle.loads(pickle.dumps(torch.logaddexp)) is torch.logaddexp
code = torch.logaddexp.__code__
x, answers, together = torch.ones(3), [], threading.Barrier(8)

def call(i):
    together.wait()
    answers.append(x.logaddexp(x) if i % 2 else torch.logaddexp(x, other=x))

threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(answers) == 8 and all(torch.equal(a, answers[0]) for a in answers)
assert torch.logaddexp.__code__ is not code and torch.Tensor.logaddexp.__code__ is not code  # the method's has fewer names

class Told(torch.Tensor):  # functions ask from now on, those as well that have not been called
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append(func)
        return super().__torch_function__(func, types, args, kwargs)

seen = []
torch.ones(3).as_subclass(Told).hypot(x)
torch.heaviside(torch.ones(3).as_subclass(Told), x)
assert seen[-1] is torch.heaviside and torch.Tensor.hypot in seen, seen
"""


def test_the_first_call_of_a_function(run_python: Callable[..., Any]):
    run_python("-c", FIRST)


@parity_test
def test_errors_of_a_first_call(torch: Any) -> Any:
    def said(call: Callable[[], Any]) -> Any:
        try:
            call()
        except TypeError as error:
            return type(error).__name__
        return "no error"

    x = torch.ones(2)
    calls = [lambda: torch.nextafter(x), lambda: torch.nextafter(x, x, x), lambda: x.nextafter(x, none=1)]
    return [[said(c) for c in calls] for _ in range(2)]


def test_signatures_stay_after_the_first_call():
    before = inspect.signature(jaxtorch.fmax)
    jaxtorch.fmax(jaxtorch.ones(1), jaxtorch.ones(1))
    assert inspect.signature(jaxtorch.fmax) == before
    assert pickle.loads(pickle.dumps(jaxtorch.fmax)) is jaxtorch.fmax


@pytest.mark.parametrize("path", ["special", "fft", "linalg", "nn.functional", "signal.windows"])
@parity_test
def test_functions_can_be_pickled(torch: Any, path: str) -> Any:
    module = functools.reduce(getattr, path.split("."), torch)
    names = "entr zeta airy_ai fft fft2 rfftn det matrix_norm relu hardtanh cosine erf expit xlogy logsumexp".split()
    found = {name: getattr(module, name) for name in names if hasattr(module, name)}
    return {name: pickle.loads(pickle.dumps(f)) is f for name, f in found.items()}
