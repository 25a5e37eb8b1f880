"""`torch.ao.quantization`: observers, fake quantisation, dynamically quantised layers. Whole models: test_static_quantization."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from parity import attempt, parity_test


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _input(torch: Any, *shape: int, by: float = 1.0) -> Any:
    count = 1
    for n in shape:
        count *= n
    return (torch.arange(float(count)) * 0.37 * by).sin().view(shape) * 3 + 0.2


def _network(torch: Any) -> Any:
    torch.manual_seed(0)
    parts = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.ReLU()), torch.nn.Linear(16, 4, bias=False)
    return torch.nn.Sequential(*parts)


@parity_test
def test_dynamically_quantised_linear_layers(torch: Any) -> Any:
    model, linear = _network(torch), torch.nn.Linear
    found = []
    for spec in ({linear}, {"0"}, {"0.0": torch.ao.quantization.default_dynamic_qconfig}, None,
                 {linear: torch.ao.quantization.per_channel_dynamic_qconfig}):  # fmt: skip
        made = torch.quantization.quantize_dynamic(model, spec, dtype=torch.qint8)
        results = [made(_input(torch, 5, 20)), made(_input(torch, 2, 3, 20, by=0.1) * 100), made(torch.zeros(1, 20))]
        found += [repr(made), made.training, list(made.state_dict()), *results]
        found += [
            made(torch.zeros(0, 20)).shape,
            type(made[0][0]).__name__,
            repr(made[0][0].weight()) if spec is None else "",
        ]
    wide = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(700, 9)))
    return *found, wide(_input(torch, 4, 700)), model.training, isinstance(model[1], linear)


@parity_test
def test_a_quantised_layer_refuses_other_inputs(torch: Any) -> Any:
    made = torch.ao.quantization.quantize_dynamic(_network(torch), {torch.nn.Linear})
    kinds = []
    for x in (torch.ones(2, 19), torch.ones(2, 20, dtype=torch.float64)):
        try:
            made(x)
        except RuntimeError as error:
            kinds.append(type(error).__name__)
    seen: list[Any] = []
    model = _network(torch)
    model[1].register_forward_hook(lambda *args: seen.append(len(args)))
    torch.ao.quantization.quantize_dynamic(model, inplace=True)(torch.ones(2, 20))
    return kinds, seen, model[1].__class__.__name__, model.training


@pytest.mark.parametrize(("source", "target"), [(jaxtorch, pytorch), (pytorch, jaxtorch)])
def test_files_of_quantised_models(source: Any, target: Any) -> None:
    file = io.BytesIO()
    made = source.ao.quantization.quantize_dynamic(_network(source))
    source.save(made.state_dict(), file)
    file.seek(0)
    other = target.ao.quantization.quantize_dynamic(target.nn.Sequential(
        target.nn.Sequential(target.nn.Linear(20, 16), target.nn.ReLU()), target.nn.Linear(16, 4, bias=False)
    ))  # fmt: skip
    assert str(other.load_state_dict(target.load(file))) == "<All keys matched successfully>"
    theirs, ours = made(_input(source, 5, 20)), other(_input(target, 5, 20))
    pytorch.testing.assert_close(pytorch.tensor(theirs.tolist()), pytorch.tensor(ours.tolist()))


OBSERVERS = """
Q.MinMaxObserver
Q.MovingAverageMinMaxObserver
Q.PerChannelMinMaxObserver
Q.MovingAveragePerChannelMinMaxObserver
Q.default_weight_observer
Q.default_observer
Q.default_per_channel_weight_observer
Q.weight_observer_range_neg_127_to_127
Q.MinMaxObserver.with_args(dtype=T.quint8, qscheme=T.per_tensor_symmetric)
Q.MinMaxObserver.with_args(dtype=T.qint8, reduce_range=True)
Q.MinMaxObserver.with_args(quant_min=-127, quant_max=127, reduce_range=True, dtype=T.qint8)
Q.MinMaxObserver.with_args(dtype=T.qint32)
Q.MinMaxObserver.with_args(quant_min=0, quant_max=15, qscheme=T.per_tensor_symmetric)
Q.MinMaxObserver.with_args(quant_min=5, quant_max=2)
Q.MinMaxObserver.with_args(quant_min=3, quant_max=9)
Q.MinMaxObserver.with_args(qscheme=T.per_channel_affine)
Q.MinMaxObserver.with_args(dtype=T.float32)
Q.PerChannelMinMaxObserver.with_args(ch_axis=1)
Q.default_weight_observer.with_args(eps=2.0)
"""


@pytest.mark.parametrize("text", OBSERVERS.split("\n")[1:-1])
def test_observers(text: str) -> None:
    def run(torch: Any) -> list[Any]:
        try:
            made = eval(text, {"T": torch, "Q": torch.ao.quantization})()
        except (AssertionError, NotImplementedError) as error:
            return [type(error)]
        found = [repr(made), repr(made.calculate_qparams())]
        for by in (1.0, 2.3):
            x = _input(torch, 4, 6, by=by) * by
            found += [made(x) is x, repr(made), repr(made.calculate_qparams()), repr(made.state_dict())]
        return found

    assert run(jaxtorch) == run(pytorch)


@parity_test
def test_fake_quantize(torch: Any) -> Any:
    Q = torch.ao.quantization
    found: list[Any] = []
    for made in (
        Q.FakeQuantize(),
        Q.default_fake_quant(),
        Q.default_weight_fake_quant(),
        Q.default_per_channel_weight_fake_quant(),
    ):
        x = _input(torch, 3, 4).requires_grad_()
        y = made(x)
        (y * y).sum().backward()
        found += [repr(made), y, x.grad, list(made.state_dict())]
        made.apply(Q.disable_observer)
        found += [made(x * 9), made.scale]
        made.apply(Q.disable_fake_quant)
        kinds = {"qscheme": made.qscheme, "dtype": made.dtype}
        other = Q.FakeQuantize(Q.PerChannelMinMaxObserver if made.ch_axis == 0 else Q.MinMaxObserver, **kinds)
        found += [made(x) is x, str(other.load_state_dict(made.state_dict())), other.scale, other.fake_quant_enabled]
    return found


@parity_test
def test_fake_quantize_with_scales_that_are_learnt(torch: Any) -> Any:
    """Zero points between numbers and outside of the range, and inputs that lie between two steps."""
    found: list[Any] = []
    x = torch.cat([torch.arange(-9.0, 10.0) * 0.125, torch.tensor([30.0, -30.0, 3e17, -3e17])])
    beyond = torch.cat([x, torch.tensor([3e20, float("nan"), float("inf")])])
    for low, high, zero, factor in [
        (low, high, z, f)
        for low, high in ((0, 255), (-8, 20))
        for z in (1.0, 2.3, 2.5, -2.7, -2.5, -3.5, 300.0)
        for f in (1.0, 0.5)
    ]:
        for fn, given, axis in (
            (torch._fake_quantize_learnable_per_tensor_affine, beyond, ()),
            (torch._fake_quantize_learnable_per_channel_affine, torch.stack([x, x / 2]), (0,)),
        ):
            leaf = given.clone().requires_grad_()
            scale = torch.tensor([0.25, 0.03][: len(axis) + 1], requires_grad=True)
            points = torch.tensor([zero, -zero][: len(axis) + 1], requires_grad=True)
            y = fn(leaf, scale, points, *axis, low, high, factor)
            y.nan_to_num().mul(torch.arange(y.shape[-1]) % 5 + 1.0).sum().backward()
            found += [y, y.grad_fn.name(), leaf.grad, scale.grad, points.grad]
    return found


@parity_test
def test_what_learnt_scales_refuse(torch: Any) -> Any:
    one, many = torch._fake_quantize_learnable_per_tensor_affine, torch._fake_quantize_learnable_per_channel_affine
    x, t = torch.linspace(-3, 3, 10).view(2, 5), torch.tensor
    calls: list[Any] = [
        lambda: one(x, t(0.1), t(2.0), 0, 255), lambda: one(x, t([0.1]), t([2.0]), 5, 2),
        lambda: one(x.long(), t([0.1]), t([2.0]), 0, 9),
        lambda: one(x.half(), t([0.1]), t([2.0]), 0, 9), lambda: one(x.double(), t([-0.1]), t([2.0]), 0, 9),
        lambda: one(x, 0.1, 2, 0, 9), lambda: one(x[:0], t([0.1]), t([2.0]), 0, 9), lambda: one(x, t([0.0]), t([2.0]), 0, 9),
        lambda: many(x, t([0.1, 0.2]), t([2, 3]), 0, 0, 255), lambda: many(x, t([0.1] * 3), t([2.0] * 3), 0, 0, 255),
        lambda: many(x, t([0.1, 0.2]), t([2.0] * 3), 0, 0, 255), lambda: many(x, t([0.1, 0.2]), t([2.0, 3.0]), 2, 0, 255),
        lambda: many(x, t([0.1, 0.2]), t([2.0, 3.0]), -2, 0, 255), lambda: many(x, t([[0.1, 0.2]]), t([[2.0, 3.0]]), 0, 0, 255),
        lambda: many(x, t([0.1, 0.2]), t([2.0, 3.0]), 0, 9, 3), lambda: many(x.long(), t([0.1, 0.2]), t([2.0, 3.0]), 0, 0, 3),
    ]  # fmt: skip
    return [attempt(call) for call in calls]


def test_what_is_missing_says_so() -> None:
    T: Any = jaxtorch
    Q = T.ao.quantization
    for call in (
        lambda: Q.quantize_dynamic(T.nn.Sequential(T.nn.Embedding(2, 3)), {T.nn.Embedding}),
        lambda: Q.quantize_dynamic(T.nn.Sequential(T.nn.Linear(2, 3)), dtype=T.float16),
        lambda: Q.get_default_qconfig_mapping(),
        lambda: T.ao.nn.quantized.ConvTranspose2d(1, 1, 1),
    ):
        with pytest.raises(NotImplementedError, match=r"jaxtorch"):
            call()


@parity_test
def test_old_names_of_modules(torch: Any) -> Any:
    import importlib

    name = torch.__name__
    found = []
    for old, new, names in (
        ("quantization.observer", "ao.quantization.observer", "HistogramObserver MinMaxObserver PlaceholderObserver"),
        ("quantization.fake_quantize", "ao.quantization.fake_quantize", "FakeQuantize FixedQParamsFakeQuantize"),
        ("quantization.qconfig", "ao.quantization.qconfig", "QConfig get_default_qconfig"),
        ("quantization.quantize", "ao.quantization.quantize", "quantize_dynamic prepare convert"),
        ("quantization.stubs", "ao.quantization.stubs", "QuantStub DeQuantStub QuantWrapper"),
        ("nn.quantized", "ao.nn.quantized", "BatchNorm2d Conv2d FloatFunctional"),
        ("nn.quantized.dynamic", "ao.nn.quantized.dynamic", "Linear LSTM"),
    ):
        first, second = importlib.import_module(f"{name}.{old}"), importlib.import_module(f"{name}.{new}")
        found += [(old, part, getattr(first, part) is getattr(second, part)) for part in names.split()]
    return found, callable(importlib.import_module(f"{name}.ao.quantization").quantize)  # no module has taken its place
