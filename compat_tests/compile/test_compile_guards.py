"""`torch.compile`: what Python holds is guarded, what cannot be captured runs as ever, memory that others hold is left alone."""

from __future__ import annotations

import gc
import random
import re
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jaxtorch as torch
import jaxtorch.nn.functional as F
from compile_kit import close, compare, reasons, training, trials, variants
from jaxtorch import interop, nn
from jaxtorch._core.compile.kernel import Kernel
from jaxtorch._core.record import program

pytestmark = pytest.mark.skipif(program.IMMEDIATE, reason="nothing is captured in immediate mode")

# -- what Python holds

SCALE = 2.0


def test_a_global_and_a_closure_value_changed():
    global SCALE
    SCALE, shift = 2.0, 1.0
    table = {"k": 1.0, "list": [1.0, 2.0]}

    def f(x):
        return x * SCALE + shift + table["k"] + sum(table["list"])

    compiled = torch.compile(f)
    x = torch.ones(3)
    for i in range(12):
        if i == 4:
            SCALE = 5.0
        if i == 6:
            shift = 7.0
        if i == 8:
            table["k"] = 9.0
        if i == 10:
            table["list"].append(4.0)
        close(compiled(x), f(x))


def test_python_arguments_and_structures():
    def f(x, n, *, mode="a", extra=None):
        out = x
        for _ in range(n):
            out = out + 1
        if mode == "b":
            out = -out
        return {"out": out, "n": n, "pair": (out * 2, extra and extra["z"] * 3), "x": x}

    compiled = torch.compile(f)
    x = torch.ones(2)
    for n, mode in [(1, "a"), (2, "a"), (1, "b"), (2, "a"), (2, "a"), (1, "a"), (1, "a"), (1, "b"), (1, "b")]:
        got = compiled(x, n, mode=mode, extra={"z": x})
        assert got["x"] is x and got["n"] == n
        close(got, f(x, n, mode=mode, extra={"z": x}))
    assert variants(compiled) == 3


def test_state_that_a_call_rebinds():
    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.h = torch.zeros(2, 4)
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.h = torch.tanh(self.linear(x) + self.h.detach())
            self.count += 1
            return self.h

    def build():
        cell = Cell()
        return (lambda x: cell(x)), lambda: [cell.h, cell.count]

    compare(build, make=lambda i: (torch.ones(2, 4) * i,))


class Config:
    factor = 2.0

    def __init__(self):
        self.inner = {"deep": [1.0, {"er": 3.0}]}


def test_objects_and_class_attributes():
    config = Config()

    def f(x):
        return x * config.factor + config.inner["deep"][1]["er"]

    compiled = torch.compile(f)
    x = torch.ones(2)
    try:
        for i in range(12):
            if i == 4:
                config.inner["deep"][1]["er"] = 8.0
            if i == 6:
                Config.factor = 5.0
            if i == 9:
                config.factor = 11.0  # now the instance's own
            close(compiled(x), f(x))
    finally:
        Config.factor = 2.0


def test_helpers_decorators_and_partials():
    from functools import partial

    def helper(x, k):
        return x * k

    double = partial(helper, k=2.0)

    @torch.no_grad()
    def quiet(x):
        return double(x).relu()

    def f(x):
        return quiet(x) + [helper(x, j) for j in range(3)][-1] + max([1, 2])

    compiled = torch.compile(f)
    for _ in range(4):
        x = torch.randn(3)
        close(compiled(x), f(x))
    assert variants(compiled) == 1, reasons(compiled)


# -- what falls back


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("item", "value is needed|content of a tensor"), ("branch", "value is needed|content of"), ("print", "print"),
        ("random", "random"), ("numpy", "random"), ("counter", "changes at each call"), ("append", "changes at each call"),
        ("generator", "cannot be watched|state"), ("clock", "time"), ("mask", "value is needed|content"),
    ],
)  # fmt: skip
def test_what_cannot_be_captured_runs_as_ever(name: str, reason: str, capsys: pytest.CaptureFixture[str]):
    class State:
        n = 0

    state, log, source = State(), [], iter(range(100))

    def append(x):
        log.append(x + 1)
        return x + len(log)

    def counter(x):
        state.n = state.n + 1
        return x * state.n

    def shout(x):
        print("hello")
        return x + 1

    f = {
        "item": lambda x: x * float(x.sum().item()),
        "branch": lambda x: x + 1 if x.sum() > 0 else x - 1,
        "print": shout,
        "random": lambda x: x * random.random(),
        "numpy": lambda x: x * float(np.random.rand()),
        "counter": counter,
        "append": append,
        "generator": lambda x: x + next(source),
        "clock": lambda x: x + time.time() * 0,
        "mask": lambda x: x[x > 0].sum() + x,
    }[name]
    torch.manual_seed(0)
    compiled = torch.compile(f)
    for i in range(5):
        sign = 1 if i % 2 else -1
        x = torch.tensor([1.0, 2.0]) * sign
        random.seed(0), np.random.seed(0)
        got = compiled(x)
        random.seed(0), np.random.seed(0)
        match name:
            case "counter":
                close(got, x * (i + 1))
            case "append":
                close(got, x + i + 1)
            case "generator":
                close(got, x + i)
            case _:
                close(got, f(x))
    assert variants(compiled) == 0
    assert re.search(reason, reasons(compiled)[0]), reasons(compiled)


def test_a_call_that_imports_a_module_is_captured_and_follows_the_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "imported_once.py").write_text(
        "import sys, time\nstarted = time.time(), sys._getframe(0)\nscale = 3.0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def scaled(x):
        import imported_once  # pyright: ignore[reportMissingImports]

        return x * imported_once.scale

    def shifted(x):
        from imported_once import scale  # pyright: ignore[reportMissingImports]

        return x + scale

    compiled, shift = torch.compile(scaled), torch.compile(shifted)
    for i in range(5):
        close(compiled(torch.ones(2) * i), torch.ones(2) * i * 3)
        close(shift(torch.ones(2) * i), torch.ones(2) * i + 3)
    assert variants(compiled) == variants(shift) == 1
    sys.modules["imported_once"].scale = 5.0  # pyright: ignore[reportAttributeAccessIssue]
    close(compiled(torch.ones(2)), torch.full((2,), 5.0))
    close(shift(torch.ones(2)), torch.full((2,), 6.0))


def test_seeding_saving_and_modes_are_not_replayed(tmp_path: Path):
    path = str(tmp_path / "state.pt")

    def seeded(x):
        torch.manual_seed(7)
        return x + torch.rand(2)

    def saving(x):
        torch.save({"step": 1}, path)
        return x + 1

    def switching(x):
        torch.set_grad_enabled(not torch.is_grad_enabled())
        return x + 1

    with torch.enable_grad():
        for f, reason in [(seeded, "seeds a generator"), (saving, "saves a file"), (switching, "changes a mode")]:
            compiled = torch.compile(f)
            results = [compiled(torch.zeros(2)).tolist() for _ in range(6)]
            assert all(r == results[0] for r in results) and variants(compiled) == 0
            assert reason in reasons(compiled)[0]
            (tmp_path / "state.pt").unlink(missing_ok=f is not saving)
            compiled(torch.zeros(2))
            assert (tmp_path / "state.pt").exists() is (f is saving)
    torch.set_grad_enabled(True)


@pytest.mark.parametrize("what", ["number", "tensor"])
def test_a_call_that_changes_its_arguments_is_not_replayed(what: str):
    def f(batch, seen):
        batch["new"] = 3 if what == "number" else batch["x"] * 2
        seen.append(batch["new"])
        return batch["x"] + 1

    compiled = torch.compile(f)
    for i in range(5):
        batch, seen = {"x": torch.full((2,), float(i))}, []
        close(compiled(batch, seen), torch.full((2,), i + 1.0))
        close(batch["new"], 3 if what == "number" else torch.full((2,), i * 2.0))
        assert len(seen) == 1 and seen[0] is batch["new"]
    assert reasons(compiled) == ["it changes its arguments"]


def test_the_planning_of_an_einsum_needs_no_watching():
    compiled = torch.compile(lambda *operands: torch.einsum("a,bA,a,bC,aC->aA", *operands), fullgraph=True)
    for i in range(4):
        operands = [torch.full((4,), i + 1.0), torch.eye(3), torch.ones(4), torch.ones(3, 3), torch.ones(4, 3)]
        close(compiled(*operands), torch.full((4, 3), 3.0 * (i + 1)))


def test_a_condition_that_changes_at_each_call_is_given_up():
    class Box:
        value = 0.0

    box = Box()
    f = torch.compile(lambda x: x + box.value)
    for i in range(14):
        box.value = float(i)
        close(f(torch.zeros(2)), torch.full((2,), float(i)))
    assert "value changes too often" in reasons(f)[0]


# -- memory that others hold


def test_what_the_user_holds_of_parameters_and_gradients():
    net = nn.Linear(4, 3)
    step, _ = training(net, torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9))
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4), torch.arange(8) % 3
    for i in range(7):
        copy, alias, version = net.weight.detach().clone(), net.weight.detach(), net.weight._version
        old_grad = net.weight.grad
        kept = None if old_grad is None else old_grad.tolist()
        before = copy.tolist()
        compiled(x, y)
        assert copy.tolist() == before, i
        assert alias.tolist() == net.weight.tolist() != before
        assert old_grad is None or old_grad.tolist() == kept
        assert net.weight._version == version + 1
        assert net.weight.grad is not old_grad


def test_a_graph_made_outside_notices_a_compiled_update():
    net = nn.Linear(4, 3)
    step, _ = training(net, torch.optim.SGD(net.parameters(), lr=0.5))
    compiled = torch.compile(step)
    x, y = torch.randn(8, 4, requires_grad=True), torch.arange(8) % 3
    for _ in range(4):
        compiled(x.detach(), y)
    out = net(x)
    compiled(x.detach(), y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_in_place_on_an_argument_and_on_a_view():
    def f(x, i):
        x[1:3] += 1
        x.mul_(2)
        return x

    compiled = torch.compile(f)
    for _ in range(4):
        a, b = torch.arange(5.0), torch.arange(5.0)
        assert compiled(a, 0) is a
        close(a, f(b, 0))
        assert a._version == b._version


def test_views_of_results_keep_their_strides():
    f = torch.compile(lambda x: (x + 1).t())
    for _ in range(4):
        out = f(torch.randn(2, 3))
        assert out.stride() == (1, 3) and not out.is_contiguous() and out._base.shape == (2, 3)
    assert variants(f) == 1


def test_arguments_shared_with_numpy_and_pending():
    f = torch.compile(lambda x: x * 2 + 1)
    array = np.arange(4, dtype=np.float32)
    shared = torch.from_numpy(array)
    base = torch.arange(8.0)
    for i in range(5):
        array[0] = i
        close(f(shared), shared * 2 + 1)
        close(f(base[4:] * i), base[4:] * i * 2 + 1)


def test_data_errors_are_raised():
    table = torch.randn(4, 2)
    f = torch.compile(lambda i: F.embedding(i, table))
    for _ in range(4):
        f(torch.tensor([1, 2])).sum().item()
    with pytest.raises(IndexError):
        f(torch.tensor([1, 9])).sum().item()


def test_reset_and_switches():
    f = torch.compile(lambda x: x + 1)
    for _ in range(3):
        f(torch.ones(2))
    assert variants(f) == 1
    torch.compiler.reset()
    assert trials(f) == []
    plain = lambda x: x  # noqa: E731
    assert torch.compile(plain, disable=True) is plain


def test_a_module_pickles_and_lists_its_state_as_in_pytorch():
    net = nn.Linear(2, 2)
    model = torch.compile(net)
    assert list(model.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    assert model.weight is net.weight and model._orig_mod is net


def test_stances():
    ran: list[int] = []

    def body(x: Any) -> Any:
        ran.append(1)
        return x + 1

    f = torch.compile(lambda x: x + 1)
    x, other = torch.ones(3), torch.ones(3, dtype=torch.int64)
    for _ in range(3):
        f(x)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert f(x).tolist() == [2.0] * 3
        with pytest.raises(RuntimeError, match="fail_on_recompile"):
            f(other)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert f(other).tolist() == [2] * 3
    assert variants(f) == 1
    g = torch.compile(body)

    @torch.compiler.set_stance("force_eager")
    def eager() -> Any:
        return [g(x).tolist() for _ in range(4)]

    assert eager() == [[2.0] * 3] * 4
    assert len(ran) == 4
    torch.compiler.set_stance("nonsense")
    with pytest.raises(RuntimeError, match="stance"):
        f(torch.ones(2, 2))
    torch.compiler.set_stance("default")
    assert f(torch.ones(2, 2)).tolist() == [[2.0, 2.0]] * 2


def test_tensors_that_gc_freeze_hides_are_not_captured():
    def f(x):
        return x * 2

    compiled = torch.compile(f)
    visible = program.visible
    compiled(torch.ones(3))
    try:
        gc.freeze()
        compiled(torch.ones(3))
        assert "gc.freeze" in reasons(compiled)[0]
    finally:
        program.visible = program.Visible()
    again = torch.compile(f)
    again(torch.ones(3))
    again(torch.ones(3))
    assert reasons(again) == [] and program.visible is not visible


def test_operations_are_traced_unobserved_and_the_users_code_after_them_is_not(monkeypatch):
    profilers = []
    make = Kernel.__init__

    def watched(self, *args: Any, **named: Any) -> None:
        profilers.append(sys.getprofile())
        make(self, *args, **named)

    monkeypatch.setattr(Kernel, "__init__", watched)

    def f(w):
        loss = (w * 3).sin().sum()  # of a shape that no other test has
        loss.backward()
        print(end="")
        return loss

    compiled = torch.compile(f)
    compiled(torch.ones(3, 41, 7, requires_grad=True))
    assert len(profilers) > 3 and set(profilers) == {None}
    assert "print" in reasons(compiled)[0]
    assert sys.getprofile() is None


def test_code_in_a_jax_function_is_observed():
    def stamped(x):
        return x * time.perf_counter()

    stamped = interop.jax_function(stamped)

    def f(x):
        return stamped(x * 2)

    compiled = torch.compile(f)
    compiled(torch.ones(3))
    assert "perf_counter" in reasons(compiled)[0]
