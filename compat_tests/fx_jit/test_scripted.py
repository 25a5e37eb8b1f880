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


class _Layers:
    """A network of either kind, and what its Python counts."""

    def __init__(self, torch: Any) -> None:
        calls = self.calls = [0]

        class Net(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.lin, self.bn, self.d = torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.Dropout(0.5)
                self.times = 3
                self.register_buffer("b", torch.zeros(3))

            def forward(self, x: torch.Tensor):
                return self.d(self.bn(self.lin(x)).relu()) * self.times + self.b

        class Counting(Net):
            def forward(self, x):
                calls[0] += 1
                return super().forward(x)

        self.Net, self.Counting, self.x = Net, Counting, torch.arange(20.0).reshape(5, 4).sin()


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

    def calls(x: Any) -> Any:
        return scripted(x)

    nested = jaxtorch.jit.script(calls)
    with pytest.raises(jaxtorch.jit.Error) as caught:
        nested(jaxtorch.ones(3))
    assert isinstance(caught.value.__cause__, AssertionError)


def test_a_scripted_module_has_the_tensors_of_the_module() -> None:
    module = _Ours()
    scripted: Any = jaxtorch.jit.script(module)
    x = jaxtorch.ones(2, 3)
    scripted.eval()
    scripted.count = 3
    assert module.training and module.inner.training and module.count == 0
    assert isinstance(scripted, _Ours) and repr(scripted) == repr(module)
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
        with pytest.raises(NotImplementedError, match=r"torch\.jit\.script"):
            call("file")


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@parity_test
def test_scripted_modules_have_settings_of_their_own(torch: Any) -> Any:
    torch.manual_seed(0)
    made = _Layers(torch)
    m = made.Net()
    s = torch.jit.script(m)
    s.eval()
    seen: list[Any] = [m.training, m.bn.training, s.training, s.bn.training]
    m.times, s.times = 7, 9
    seen += [m.times, s.times, s(made.x), m.bn.num_batches_tracked]
    m(made.x)
    s.train()(made.x)
    s.load_state_dict({name: value + 1 for name, value in s.state_dict().items()})
    s.eval()(made.x).sum().backward()
    seen += [m.bn.num_batches_tracked, m.bn.running_mean, m.lin.weight, m.lin.bias.grad]
    m.double()
    seen += [s.bn.running_mean.dtype, s.bn.weight.dtype, s.b.dtype]
    m.lin = torch.nn.Linear(4, 3)
    return [*seen, s.lin.weight[0, 0] == m.lin.weight[0, 0]]


@pytest.mark.filterwarnings("ignore:.*torch.jit", "ignore::torch.jit.TracerWarning")
@parity_test
def test_traced_modules_keep_the_settings_that_they_had(torch: Any) -> Any:
    torch.manual_seed(3)
    made = _Layers(torch)
    m, x = made.Counting().eval(), made.x
    t = torch.jit.trace(m, x, check_trace=False)
    seen: list[Any] = [made.calls[0], m.bn.num_batches_tracked, isinstance(t, torch.jit.ScriptModule), t.original_name]
    m.train()
    m.times = 100
    seen += [t.training, t(x).detach(), t.train().training, t.bn.training, t(x).detach(), m.bn.num_batches_tracked]
    t.double()
    wide = x.double()
    seen += [t(wide).detach(), copy.deepcopy(t)(wide).detach(), sorted(t.state_dict())]
    seen += [m.b.dtype, m.lin.weight.dtype, t.b.dtype]
    m = made.Net()  # in training
    t = torch.jit.trace(m, x, check_trace=False)
    seen += [m.bn.num_batches_tracked, m.bn.running_mean, torch.rand(2)]
    seen += [t(x).detach(), t.eval()(x).detach(), m.bn.num_batches_tracked]
    torch.jit.trace(m, x, check_trace=True)  # TracerWarning: dropout is not deterministic
    return [*seen, m.bn.num_batches_tracked, m.training, torch.rand(2)]


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@parity_test
def test_what_may_be_traced(torch: Any) -> Any:
    made = _Layers(torch)
    torch.manual_seed(3)
    m, x = made.Net().eval(), made.x
    by_name = torch.jit.trace(m, example_kwarg_inputs={"x": x})(x=x)
    of_module = torch.jit.trace_module(m, {"forward": x})
    function = torch.jit.trace(lambda a, b: (a + b, a - b), (x, x))
    seen = [by_name, of_module(x), isinstance(of_module, torch.jit.ScriptModule), torch.jit.trace(m.forward, x)(x)]
    seen += [function(x, x), isinstance(function, torch.jit.ScriptFunction), torch.rand(1)]
    wrong = []
    for call in (lambda: torch.jit.trace(m, x[:, :3]), lambda: torch.jit.freeze(m), lambda: torch.jit.freeze(3)):
        try:
            call()
        except RuntimeError as error:
            wrong.append(str(error)[:40])
    return [*seen, wrong]


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@parity_test
def test_frozen_modules_have_no_parameters(torch: Any) -> Any:
    made = _Layers(torch)
    torch.manual_seed(3)
    x, seen = made.x, []
    for make in (torch.jit.script, lambda m: torch.jit.trace(m, x)):
        m = made.Net().eval()
        frozen = torch.jit.freeze(make(m))
        out = frozen(x)
        seen += [out, out.requires_grad, list(frozen.state_dict()), list(frozen.named_children()), repr(frozen)]
        seen += [
            isinstance(frozen, torch.jit.ScriptModule),
            frozen.original_name,
            copy.deepcopy(frozen)(x),
            hasattr(frozen, "lin"),
        ]
        seen += [m.lin.weight.requires_grad, torch.jit.optimize_for_inference(make(m))(x).requires_grad]
    kept = torch.jit.freeze(torch.jit.script(made.Net().eval()), preserved_attrs=["times"])
    try:
        torch.jit.freeze(torch.jit.script(made.Net()))
    except RuntimeError as error:
        seen.append(str(error)[:40])
    return [*seen, kept.times, kept(x)]


@pytest.mark.filterwarnings("ignore:.*torch.jit")
@parity_test
def test_modules_of_scripted_and_traced_ones(torch: Any) -> Any:
    torch.manual_seed(3)
    x = torch.ones(2, 4)
    inner = torch.jit.script(torch.nn.Linear(4, 3)), torch.jit.trace(torch.nn.Linear(3, 2), torch.ones(1, 3))
    outer = torch.nn.Sequential(*inner)
    tied = torch.nn.ModuleList([torch.nn.Linear(2, 2)] * 2)
    again = torch.jit.trace(torch.nn.Sequential(*tied), torch.ones(1, 2))
    return (
        outer(x),
        sorted(outer.state_dict()),
        copy.deepcopy(outer)(x),
        len(list(again.parameters())),
        outer.eval()[0].training,
    )
