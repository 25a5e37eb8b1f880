"""What modules have in C: attributes, calls and small programs, as the Python code has them."""

from __future__ import annotations

import copy
import pickle
import signal
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch
from jaxtorch._core.dispatch import recorder
from jaxtorch._core.host import small_code
from jaxtorch._core.record import module_depth, program
from jaxtorch._core.record.program import IMMEDIATE
from jaxtorch._core.types.device import cpu

IN_C = recorder.extension()
pytestmark = pytest.mark.skipif(IN_C is None, reason="the recorder was not built")


def both(make: Any) -> tuple[Any, Any]:
    """What a function of the library makes of each of the two."""
    return make(torch), make(reference)


def test_parameters_buffers_and_submodules_are_found() -> None:
    layer = torch.nn.BatchNorm1d(3)
    outer = torch.nn.Sequential(layer)
    assert layer.weight is layer._parameters["weight"]
    assert layer.running_mean is layer._buffers["running_mean"]
    assert getattr(outer, "0") is layer
    layer.register_parameter("none", None)
    assert layer.none is None
    with pytest.raises(AttributeError, match="'BatchNorm1d' object has no attribute 'absent'"):
        _ = layer.absent


def test_a_getattr_of_the_users_own_is_asked_first() -> None:
    def names(lib: Any) -> list[str]:
        asked = []

        class Watching(lib.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = lib.nn.Parameter(lib.ones(1))

            def __getattr__(self, name: str) -> Any:
                asked.append(name)
                return super().__getattr__(name)

        module = Watching()
        asked.clear()
        assert module.weight.item() == 1
        with pytest.raises(AttributeError):
            _ = module.absent
        return asked

    mine, theirs = both(names)
    assert mine == theirs == ["weight", "absent"]


def test_a_property_that_fails_is_read_once() -> None:
    def outcome(lib: Any) -> tuple[int, str]:
        reads = []

        class Failing(lib.nn.Module):
            @property
            def size(self) -> int:
                reads.append(1)
                raise AttributeError("inner")

        with pytest.raises(AttributeError) as error:
            _ = Failing().size
        return len(reads), str(error.value)

    mine, theirs = both(outcome)
    assert mine == theirs


def test_tables_of_other_types() -> None:
    class Upper(dict):
        def __getitem__(self, key: str) -> Any:
            return super().__getitem__(key.lower())

        def __contains__(self, key: object) -> bool:
            return super().__contains__(str(key).lower())

    layer = torch.nn.Linear(2, 2)
    layer._parameters = Upper(layer._parameters)
    assert layer.WEIGHT is layer.weight
    layer._parameters = OrderedDict(layer._parameters)
    assert layer.weight.shape == (2, 2)


def test_a_patched_class_is_followed_and_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, seen = torch.nn.Linear(2, 2), []
    plain = torch.nn.Module.__call__

    def called(self: Any, *args: Any) -> Any:
        seen.append(type(self).__name__)
        return plain(self, *args)

    x = torch.ones(1, 2)
    with monkeypatch.context() as patch:
        patch.setattr(torch.nn.Module, "__call__", called)
        patch.setattr(torch.nn.Module, "__getattr__", lambda self, name: name)
        assert layer.weight == "weight"
        torch.nn.Identity()(x)
    assert seen == ["Identity"]
    assert layer.weight.shape == (2, 2)
    assert layer(x).shape == (1, 2)
    assert seen == ["Identity"]


def test_a_module_without_its_init() -> None:
    class Bare(torch.nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(AttributeError, match="'Bare' object has no attribute '_backward_hooks'"):
        Bare()(1)


def test_errors_leave_the_depth_as_it_was() -> None:
    class Failing(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            assert module_depth.depth == 2
            raise KeyError("inside")

    model = torch.nn.Sequential(Failing())
    assert module_depth.depth == 0
    with pytest.raises(KeyError, match="inside"):
        model(1)
    assert module_depth.depth == 0
    with pytest.raises(TypeError, match="forward"):
        model[0]()
    assert module_depth.depth == 0


def test_hooks_listen() -> None:
    layer, seen = torch.nn.Linear(2, 2), []
    x = torch.ones(1, 2)
    layer(x)
    handle = layer.register_forward_hook(lambda module, args, out: seen.append("own"))
    everywhere = torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: seen.append("all"))
    layer(x)
    handle.remove()
    everywhere.remove()
    layer(x)
    assert seen == ["all", "own"]


def test_modules_are_copied_pickled_and_changed_in_class() -> None:
    class Scaled(torch.nn.Linear):
        pass

    layer = torch.nn.Linear(2, 3)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert twin.weight is not layer.weight
        assert torch.equal(twin.weight, layer.weight)
    layer.__class__ = Scaled
    assert layer.weight.shape == (3, 2)

    class Mixed(torch.nn.Module, dict):
        pass

    assert isinstance(Mixed(), dict)

    class Mixin:
        def area(self) -> int:
            return self.weight.numel()  # pyright: ignore[reportAttributeAccessIssue]

    class WithMixin(Mixin, torch.nn.Linear):
        pass

    layer = torch.nn.Linear(2, 3)
    layer.__class__ = WithMixin
    assert layer.area() == 6


@pytest.fixture
def model() -> Iterator[Any]:
    program.flush_all()
    torch.manual_seed(0)
    made = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    yield made.eval()
    program.flush_all()


def outputs(model: Any, inputs: Any) -> list[Any]:
    with torch.no_grad():
        return [model(x).numpy() for x in inputs]


@pytest.mark.skipif(IMMEDIATE, reason="nothing is recorded in immediate mode")
def test_small_programs_run_through_c(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [torch.randn(5, 3) for _ in range(12)]
    ran = []

    def watched(p: Any) -> bool:
        ran.append(IN_C.run(p))
        return ran[-1]

    monkeypatch.setattr(program, "_threads", {0: None})
    recorder.begin()
    try:
        monkeypatch.setattr(program, "run_in_c", watched)
        found = outputs(model, inputs)
        assert cpu.slot.program is None
        assert True in ran[-3:]  # the first runs are worked out in Python
        recorder.end()
        expected = outputs(model, inputs)
    finally:
        monkeypatch.undo()
        recorder.begin()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(IMMEDIATE, reason="nothing is recorded in immediate mode")
def test_a_program_that_is_broken_off_in_c_stays_pending(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [torch.randn(5, 3) for _ in range(12)]
    expected = outputs(model, inputs)
    monkeypatch.setattr(program, "_threads", {0: None})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    recorder.begin()
    try:
        with torch.no_grad():
            outputs(model, inputs)
            structure = cpu.slot.ran
            call, raised = structure.call, []

            def interrupted(arrays: Any) -> Any:
                if not raised:
                    raised.append(True)
                    signal.raise_signal(signal.SIGINT)
                return call(arrays)

            structure.call = interrupted
            y = model(inputs[3])
            with pytest.raises(KeyboardInterrupt):
                y.tolist()
            assert y._value.array is None and y._value.program.state == "open"
            np.testing.assert_allclose(y.numpy(), expected[3], rtol=1e-5, atol=1e-7)
            structure.call = call
    finally:
        signal.signal(signal.SIGINT, before)
        monkeypatch.undo()
        recorder.begin()


def test_a_host_call_falls_back() -> None:
    if small_code.made_in_c is None:
        pytest.skip("nothing is recorded in immediate mode")
    call = small_code.made_in_c.HostCall(0, 0, (), lambda arrays: ["otherwise", arrays], None)
    with pytest.raises(TypeError, match="list of arrays"):
        call(1)


def test_the_array_of_a_result_that_nobody_keeps_is_the_callers() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for _ in range(5):
        first, second = (x * 2 + 1).numpy(), (x * 2 + 1).numpy()
        first[0, 0] = -1
        assert first.flags.writeable and first.flags.c_contiguous
        assert second[0, 0] == 1
        assert (x * 2 + 1)[0, 0].item() == 1


def test_arrays_of_tensors_that_are_kept_share_their_memory() -> None:
    for _ in range(5):
        y = torch.arange(3.0) * 2
        array = y.numpy()
        array[0] = 7
        assert y.tolist() == [7, 2, 4]
        pair = [torch.arange(3.0) * 2]
        pair[0].numpy()[1] = 9
        assert pair[0].tolist() == [0, 9, 4]
        base = torch.arange(3.0) * 2
        base.detach().numpy()[2] = 5
        assert base.tolist() == [0, 2, 5]
        (torch.zeros(3)).add_(1).numpy()
        weight = torch.ones(3, requires_grad=True)
        factor = torch.arange(3.0) * 1
        z = (weight * factor).sum()
        factor.numpy()[0] = 100  # as in PyTorch, backward reads the memory as it is now
        z.backward()
        assert weight.grad.tolist() == [100, 1, 2]
