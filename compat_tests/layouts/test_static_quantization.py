"""Models quantised in eager mode: observers, `prepare`, `prepare_qat`, `convert`, fused layers, quantised arithmetic."""

from __future__ import annotations

import copy
import io
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch as pytorch

import jaxtorch
from parity import parity_test


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _network(torch: Any) -> Any:
    nn, tq = torch.nn, torch.ao.quantization

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.quant = tq.QuantStub()
            self.conv, self.bn, self.relu = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()
            self.conv2, self.relu2 = nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.ReLU()
            self.pool = nn.AdaptiveAvgPool2d(1)
            self.fc = nn.Linear(8, 5)
            self.dequant = tq.DeQuantStub()
            self.ff = torch.nn.quantized.FloatFunctional()

        def forward(self, x: Any) -> Any:
            x = self.relu(self.bn(self.conv(self.quant(x))))
            y = self.relu2(self.conv2(x))
            y = self.pool(self.ff.add(y, y)).flatten(1)
            return self.dequant(self.fc(y))

    torch.manual_seed(0)
    return Network()


_FUSED = [["conv", "bn", "relu"], ["conv2", "relu2"]]


def _numbers(model: Any, *inputs: Any) -> list[Any]:
    """What a converted model gives, and the scales and zero points of its layers."""
    found = [model(x) for x in inputs]
    for name, layer in model.named_modules():
        if hasattr(layer, "scale"):
            found += [name, type(layer).__name__, float(layer.scale), int(layer.zero_point)]
    return found


def _calibrated(torch: Any, config: Any, fused: bool) -> Any:
    tq = torch.ao.quantization
    model = _network(torch).eval()
    model.qconfig = config
    model = tq.fuse_modules(model, _FUSED) if fused else model
    prepared = tq.prepare(model)
    with torch.no_grad():
        for _ in range(3):
            prepared(torch.randn(4, 3, 8, 8))
    return prepared


@parity_test
def test_a_calibrated_model(torch: Any) -> Any:
    tq = torch.ao.quantization
    configs = (
        tq.get_default_qconfig("fbgemm"),
        tq.default_per_channel_qconfig,
        tq.default_qconfig,
    )  # 7 bits: no overflow there
    found = []
    for config in configs:
        for fused in (True, False):
            prepared = _calibrated(torch, config, fused)
            made = tq.convert(prepared)
            x = torch.randn(4, 3, 8, 8)
            found += [len(repr(prepared)) > 100, sorted(made.state_dict()), *_numbers(made, x)]
            found += [repr(made.fc.weight()), repr(made.conv.weight().qscheme()), made.fc.bias()]
    return found


@pytest.mark.skipif(
    os.environ.get("JAXTORCH_EXECUTION") == "immediate",
    reason="a last digit there puts a value beyond the edge between two steps, and training goes another way",
)
@parity_test
def test_a_model_trained_with_rounding(torch: Any) -> Any:
    tq = torch.ao.quantization
    found = []
    for version in (0, 1):
        model = _network(torch).train()
        model.qconfig = tq.get_default_qat_qconfig("fbgemm", version)
        model = tq.prepare_qat(tq.fuse_modules_qat(model, _FUSED))
        found += [sorted(model.state_dict()), repr(model.conv2)[:300]]
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for step in range(4):
            x, y = torch.randn(8, 3, 8, 8), torch.randint(0, 5, (8,))
            loss = torch.nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.detach())
            if step == 2:
                model.apply(tq.disable_observer)
                model.apply(torch.nn.intrinsic.qat.freeze_bn_stats)
        found += _numbers(tq.convert(model.eval()), torch.randn(2, 3, 8, 8))
    return found


@pytest.mark.parametrize(("source", "target"), [(jaxtorch, pytorch), (pytorch, jaxtorch)])
def test_files_of_converted_models(source: Any, target: Any) -> None:
    def made(torch: Any) -> Any:
        prepared = _calibrated(torch, torch.ao.quantization.get_default_qconfig("fbgemm"), True)
        return torch.ao.quantization.convert(prepared)

    theirs, ours = made(source), made(target)
    with source.no_grad():
        theirs.fc.scale = 0.5
    file = io.BytesIO()
    source.save(theirs.state_dict(), file)
    file.seek(0)
    assert str(ours.load_state_dict(target.load(file))) == "<All keys matched successfully>"
    assert ours.fc.scale == 0.5
    x = pytorch.arange(192.0).sin().view(1, 3, 8, 8).tolist()
    pytorch.testing.assert_close(
        pytorch.tensor(theirs(source.tensor(x)).tolist()), pytorch.tensor(ours(target.tensor(x)).tolist())
    )


@parity_test
def test_observers_of_histograms(torch: Any) -> Any:
    tq = torch.ao.quantization
    found = []
    for settings in (
        {},
        {"reduce_range": True},
        {"dtype": torch.qint8, "qscheme": torch.per_tensor_symmetric},
        {"bins": 64},
    ):
        torch.manual_seed(0)
        observer = tq.HistogramObserver(**settings)
        for by in (1.0, 3.0, 0.5):
            found.append(observer(torch.randn(100) * by).shape)
        observer(torch.ones(0))
        scale, zero = observer.calculate_qparams()
        found += [scale, zero, observer.histogram, sorted(observer.state_dict()), repr(observer)]
    one = tq.HistogramObserver()
    one(torch.full((5,), 2.0))
    one(torch.randn(10))
    return *found, one.calculate_qparams()[0], one.histogram.sum()


@parity_test
def test_following_and_rounding_at_once(torch: Any) -> Any:
    found = []
    for channels, symmetric, low, high in (
        (False, False, 0, 127),
        (False, True, -128, 127),
        (True, True, -128, 127),
        (True, False, 0, 255),
    ):
        torch.manual_seed(1)
        x = torch.randn(3, 4, requires_grad=True)
        ends = [torch.tensor([]) if channels else torch.tensor(float(v)) for v in ("inf", "-inf")]
        scale, zero = torch.ones(3 if channels else 1), torch.zeros(3 if channels else 1, dtype=torch.int32)
        on = torch.tensor([1])
        for by in (1, 2):
            y = torch.fused_moving_avg_obs_fake_quant(
                x * by, on, on, *ends, scale, zero, 0.01, low, high, 0, channels, symmetric
            )
        y.square().sum().backward()
        found += [y.detach(), *ends, scale, zero, x.grad]
    return found


@parity_test
def test_quantised_arithmetic(torch: Any) -> Any:
    functional, ops = torch.ao.nn.quantized.functional, torch.ops.quantized
    torch.manual_seed(0)
    x = torch.quantize_per_tensor(torch.randn(1, 2, 4, 4), 0.05, 100, torch.quint8)
    y = torch.quantize_per_tensor(torch.randn(1, 2, 4, 4), 0.03, 20, torch.quint8)
    w = torch.quantize_per_tensor(torch.randn(3, 2, 3, 3), 0.02, 0, torch.qint8)
    each = torch.tensor([0.01, 0.02, 0.03, 0.04]), torch.zeros(4, dtype=torch.int64)
    grouped = torch.quantize_per_channel(torch.randn(4, 1, 2, 2), *each, 0, torch.qint8)
    bias = torch.randn(3)
    made = [getattr(ops, n)(x, y, 0.1, 3) for n in ("add", "add_relu", "mul", "mul_relu", "matmul")]
    made += [ops.cat([x, y], 1, 0.06, 90)]
    made += [ops.add_scalar(x, s) for s in (0.5, -3.0, 20.0, -20.0)] + [ops.mul_scalar(x, s) for s in (2.0, -0.5, 0.0)]
    made += [
        functional.hardswish(x, 0.05, 50),
        functional.elu(x, 0.05, 50),
        functional.leaky_relu(x, 0.1, scale=0.05, zero_point=50),
    ]
    made += [functional.clamp(x, -0.5, 0.5), functional.hardtanh(x), functional.hardsigmoid(x)]
    made += [functional.conv2d(x, w, bias, padding=1, scale=0.2, zero_point=40)]
    made += [functional.conv2d(x, grouped, None, stride=2, groups=2, scale=0.2, zero_point=40)]
    made += [functional.avg_pool2d(x, 3, 1, 1), functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)]
    made += [functional.linear(x[0], torch.quantize_per_tensor(torch.randn(3, 4), 0.05, 0, torch.qint8), bias, 0.1, 3)]
    return [(q.int_repr(), q.q_scale(), q.q_zero_point()) for q in made]


@parity_test
def test_recurrent_layers_quantised_dynamically(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    found = []
    for layer in (
        nn.LSTM(4, 3, 2, bidirectional=True, batch_first=True),
        nn.GRU(4, 3, 2),
        nn.LSTMCell(4, 3),
        nn.GRUCell(4, 3),
        nn.RNNCell(4, 3),
    ):
        x = torch.randn(2, 4) if "Cell" in type(layer).__name__ else torch.randn(2, 5, 4)
        made = torch.quantization.quantize_dynamic(nn.Sequential(layer))[0]
        with torch.no_grad():
            found += [repr(made), list(made.state_dict()), made(x), torch.randn(3)]
    return found


@parity_test
def test_what_cannot_be_fused_or_prepared(torch: Any) -> Any:
    nn, tq = torch.nn, torch.ao.quantization
    attempts = (
        lambda: tq.fuse_modules(nn.Sequential(nn.ReLU(), nn.Linear(2, 2)).eval(), ["0", "1"]),
        lambda: tq.fuse_modules(nn.Sequential(nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)), ["0", "1"]),
        lambda: tq.prepare_qat(nn.Sequential(nn.Linear(2, 2)).eval()),
        lambda: tq.get_default_qconfig("elsewhere"),
    )
    found = []
    for attempt in attempts:
        try:
            found.append(repr(attempt()))
        except Exception as error:
            found += [type(error).__name__, str(error).replace(torch.__name__, "torch")]
    return found


@parity_test
def test_copies_of_resized_tensors(torch: Any) -> Any:
    found = []
    for count in (0, 1, 2, 5):
        x = torch.ones(count)
        x.resize_(3).fill_(2.0)
        copied = copy.deepcopy([x, x[1:]])
        copied[0][2] = 7.0
        found += [*copied, x, copied[0].untyped_storage().nbytes()]
    return found
