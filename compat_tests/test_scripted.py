"""What `torch.jit.script` gives raises TorchScript's exceptions."""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings
from typing import Any

import pytest
import torch

import jaxtorch
from parity import parity_test


def _asserted(x: torch.Tensor):
    assert x.dim() == 2, "two dimensions"
    return x


def _raised(x: torch.Tensor):
    if x.dim() != 2:
        raise ValueError("two dimensions")
    return x


def _runtime(x: torch.Tensor):
    if x.dim() != 2:
        raise RuntimeError("two dimensions")
    return x


def _shapes(x: torch.Tensor):
    return x @ x[:2]


def _index(x: torch.Tensor):
    return x[x.numel()]


def _listed(x: torch.Tensor):
    return [1, 2][x.numel()]


def _zero(x: torch.Tensor):
    return 7 // x.dim() // (x.dim() - 1)


FUNCTIONS = [_asserted, _raised, _runtime, _shapes, _index, _listed, _zero]


class _Module(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor):
        assert x.dim() == 2, "two dimensions"
        return self.inner(x)


class _Ours(jaxtorch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = jaxtorch.nn.Linear(3, 2)
        self.count = 0

    def forward(self, x: Any):
        assert x.dim() == 2, "two dimensions"
        return self.inner(x)

    @jaxtorch.jit.export
    def other(self, x: Any):
        if x.dim() != 2:
            raise KeyError("other")


def _failure(script: Any, fn: Any, x: Any) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = script(fn)
    with pytest.raises(Exception) as caught:
        made(x)
    kind = caught.type
    told = str(caught.value)
    said = next((line for line in told.splitlines() if "Error: " in line), told)  # pytest adds lines to assertions
    return f"{kind.__module__}.{kind.__name__}".replace("jaxtorch", "torch"), said


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda f: f.__name__.strip("_"))
def test_functions(fn: Any) -> None:
    kind, said = _failure(torch.jit.script, fn, torch.ones(3))
    our_kind, our_said = _failure(jaxtorch.jit.script, fn, jaxtorch.ones(3))
    assert our_kind == kind
    if kind == "torch.jit.Error":
        assert our_said == said
    with pytest.raises((AssertionError, ValueError, RuntimeError, IndexError, ZeroDivisionError)) as plain:
        fn(jaxtorch.ones(3))
    assert not isinstance(plain.value, jaxtorch.jit.Error)


def test_modules() -> None:
    assert _failure(torch.jit.script, _Module(), torch.ones(3)) == _failure(
        jaxtorch.jit.script, _Ours(), jaxtorch.ones(3)
    )
    module = _Ours()
    scripted: Any = jaxtorch.jit.script(module)
    for made in (scripted, copy.deepcopy(scripted), jaxtorch.jit.script(scripted)):
        for call in (made, made.forward, made.other):
            with pytest.raises(jaxtorch.jit.Error):
                call(jaxtorch.ones(3))
    with pytest.raises(AssertionError, match="two dimensions"):
        module(jaxtorch.ones(3))
    outer = jaxtorch.nn.Sequential(scripted)
    with pytest.raises(jaxtorch.jit.Error, match="AssertionError: two dimensions"):
        outer(jaxtorch.ones(3))
    nested = jaxtorch.jit.script(lambda x: scripted(x))
    with pytest.raises(jaxtorch.jit.Error) as caught:
        nested(jaxtorch.ones(3))
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_scripted_module_is_the_module() -> None:
    module = _Ours()
    scripted: Any = jaxtorch.jit.script(module)
    x = jaxtorch.ones(2, 3)
    scripted.eval()
    scripted.count = 3
    assert not module.training and module.count == 3 and isinstance(scripted, _Ours) and repr(scripted) == repr(module)
    assert [id(p) for p in scripted.parameters()] == [id(p) for p in module.parameters()]
    assert type(pickle.loads(pickle.dumps(scripted))) is _Ours
    file = io.BytesIO()
    jaxtorch.save(scripted.state_dict(), file)
    compiled = jaxtorch.compile(scripted)
    for _ in range(4):
        assert jaxtorch.equal(compiled(x), module(x))
    with jaxtorch.no_grad():
        module.inner.weight.fill_(0.0)
    assert jaxtorch.equal(compiled(x), module(x)) and jaxtorch.equal(scripted(x), module(x))
    loss = scripted(x).sum()
    loss.backward()
    assert module.inner.weight.grad is not None


@parity_test
def test_script_of_a_traced_module(torch: Any) -> Any:
    """A `GraphModule` has a class of its own, which scripting keeps."""

    class Scaled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):  # the annotation is TorchScript's
            return x * self.weight + 1

    traced = torch.fx.symbolic_trace(Scaled())
    scripted = torch.jit.script(traced)
    with torch.no_grad():
        traced.weight.mul_(4)
    x = torch.arange(3.0)
    return scripted(x).detach(), copy.deepcopy(scripted)(x).detach(), list(scripted.state_dict()), traced(x).detach()


def _square(x):
    return x * x


def _kinds(torch: Any) -> list[bool]:
    class Written(torch.jit.ScriptModule):
        pass

    module = torch.jit.script(torch.nn.Linear(2, 2))
    function = torch.jit.script(_square)
    both = [torch.jit.ScriptModule, torch.jit.RecursiveScriptModule, torch.jit.ScriptFunction]
    found = [
        isinstance(x, kind) for x in (module, function, torch.nn.Linear(2, 2), _square, Written()) for kind in both
    ]
    return [
        *found,
        isinstance(module, Written),
        isinstance(module, torch.nn.Module),
        isinstance(copy.deepcopy(module), both[0]),
    ]


def test_what_is_scripted_counts_as_such():
    ours = _kinds(jaxtorch)
    assert ours == _kinds(torch)
    assert any(ours)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")
@pytest.mark.parametrize("kind", [torch, jaxtorch], ids=["torch", "jaxtorch"])
def test_scripting_may_be_off(kind: Any):
    state = importlib.import_module(f"{kind.__name__}.jit._state")
    assert state._enabled and kind.jit.script(_asserted) is not _asserted
    layer = kind.nn.Linear(1, 1)
    state.disable()
    try:
        assert not state._enabled
        assert kind.jit.script(_raised) is _raised and kind.jit.script_method(_raised) is _raised
        assert kind.jit.script(layer) is layer
    finally:
        state.enable()


@pytest.mark.parametrize("kind", [torch, jaxtorch], ids=["torch", "jaxtorch"])
def test_the_variable_that_turns_scripting_off(kind: Any, monkeypatch: pytest.MonkeyPatch):
    proxy = importlib.import_module(f"{kind.__name__}.jit._state").EnabledProxy
    found = {}
    for value in ("0", "1", "0v", "1v", "true", "NO"):
        monkeypatch.setenv("PYTORCH_JIT", value)
        found[value] = bool(proxy())
    assert found == {"0": False, "1": True, "0v": False, "1v": True, "true": True, "NO": False}
    monkeypatch.setenv("PYTORCH_JIT", "perhaps")
    with pytest.raises(ValueError, match="Unknown setting of PYTORCH_JIT"):
        proxy()


def test_scripted_modules_name_their_class_and_are_not_saved() -> None:
    made: Any = jaxtorch.jit.script(_Ours())
    assert made.original_name == torch.jit.script(torch.nn.Linear(1, 1)).original_name.replace("Linear", "_Ours")
    for call in (made.save, made.save_to_buffer):
        with pytest.raises(NotImplementedError, match=r"torch\.jit\.ScriptModule\.save"):
            call("file")
