"""Mistakes that people make: the same exception, with the same first line, as in PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from conftest import Run
from parity import Raised, candidate, outcome, reference

LAYERS = """nn.Linear(3, 2)(x); nn.Linear(3, 2)(x.long()); nn.Linear(4, 2)(x.double()); nn.Linear(4, 2)(np.ones((2, 4)))
    nn.Linear(4); nn.Linear(4, 2, foo=1); nn.Conv2d(3, 4); nn.Conv2d(3, 4, kernal_size=2); nn.ReLU(1, 2); nn.ConstantPad2d(1)
    nn.ConvTranspose1d(foo=1); nn.AvgPool2d(); nn.MaxPool2d(); nn.LazyConv2d(1); nn.MaxUnpool2d(); nn.BatchNorm2d(); nn.Dropout(2)
    nn.Conv2d(3, 4, 2)(torch.ones(1, 4, 5, 5)); nn.Conv2d(1, 4, 2)(torch.ones(1, 1, 5, 5).double())
    nn.Conv2d(1, 4, 2)(torch.ones(1, 1, 5, 5).long()); nn.Conv2d(1, 4, 2)(torch.ones(5, 5)); nn.Conv2d(3, 4, 2, groups=2)
    nn.Conv2d(1, 4, 0)(torch.ones(1, 1, 5, 5)); nn.Conv1d(1, 4, 0)(torch.ones(1, 1, 5)); nn.Conv3d(1, 1, 0)(torch.ones(1, 1, 2, 2, 2))
    F.conv1d(torch.ones(1, 3, 5), torch.ones(4, 3, 2, 2)); F.conv_transpose2d(torch.ones(1, 3, 5, 5), torch.ones(3, 4, 2))
    nn.LSTMCell(3, 4)(torch.ones(2, 3), torch.ones(2, 4)); nn.RMSNorm((3, 4))(torch.ones(4)); nn.LayerNorm(4)(torch.ones(2, 3))
    nn.RNN(3, 4)(torch.ones(2, 5, 6, 3)); nn.LSTM(3, 4)(torch.ones(5)); nn.Embedding(3, 2)(torch.tensor([True]))
    nn.Embedding(3, 2)(torch.tensor([0.5])); nn.Embedding(3, 2)(torch.tensor([0, 3])); nn.MultiheadAttention(5, 2)
    F.scaled_dot_product_attention(x, x.double(), x); F.scaled_dot_product_attention(x, x, x, torch.ones(2, 2).long())
    nn.MaxPool2d(2.0)(torch.ones(1, 1, 4, 4)); F.pad(x, 1); F.pad(x, (1.0, 1.0)); F.pad(x, (1,)); nn.Softmax(dim=2)(x)
    nn.Sequential(nn.Linear); nn.TransformerEncoder(nn.TransformerEncoderLayer, 2); nn.ModuleList([1]); nn.Upsample()(x[None])
    nn.Linear(2, 2).load_state_dict({}); nn.Linear(2, 2).load_state_dict({'weight': torch.ones(3, 2), 'bias': torch.ones(2), 'x': x})
    nn.Linear(2, 2).weigth; nn.Linear(2, 2).register_buffer('weight', x); nn.Linear(2, 2).register_buffer('b', 3)
    nn.Linear(2, 2).register_parameter('p', x); nn.Linear(2, 2).to(torch.int64); nn.Module()(1); nn.ModuleDict({1: nn.ReLU()})"""
LOSSES = """nn.CrossEntropyLoss()(x, torch.tensor([0, 4])); nn.CrossEntropyLoss()(x, torch.tensor([0, 1, 2]))
    nn.CrossEntropyLoss()(x, torch.tensor([0.0, 1.0])); nn.CrossEntropyLoss()(x, torch.tensor([0, 1]).int())
    nn.CrossEntropyLoss(label_smoothing=2)(x, torch.tensor([0, 1]))
    nn.CrossEntropyLoss(label_smoothing=-0.1)(x, torch.tensor([0, 1]))
    nn.MSELoss()(x, 1.0); nn.MSELoss()(x, None); nn.L1Loss()(x, [1.0]); nn.MSELoss()(x, torch.ones(3)); nn.BCELoss()(x * 2, x)
    nn.BCEWithLogitsLoss()(x, x[0]); nn.NLLLoss()(x, torch.ones(2)); nn.CTCLoss()(c, torch.ones(2, 2).long(), [4, 4], [2, 3])
    nn.CTCLoss()(c, torch.ones(2, 2).long(), torch.tensor([4.0, 4.0]), torch.tensor([2, 2])); nn.TripletMarginLoss(margin=-1)(x, x, x)
    nn.CTCLoss()(x[0], torch.ones(2).long(), torch.tensor(4), torch.tensor(2)); nn.KLDivLoss()(x.long(), x.long())"""
REST = """torch.device(''); torch.device('cuda:a'); torch.device('float32'); torch.device('gpu'); torch.device('cpu', 'a')
    x.to('float32'); x.view(3); x + torch.ones(3); x @ x; x[2]; x[0, 4]; x[1.0]; x.item(); bool(x); x.numpy().foo
    torch.broadcast_shapes((1.0,)); torch.broadcast_shapes((-1,)); torch.cat([x, x[0]]); torch.stack([x, x[0]]); torch.mean(x.long())
    torch.tensor([[1, 2], [3]]); torch.tensor(['a']); torch.tensor([None]); torch.zeros(2, dtype='float'); torch.sum([1.0])
    torch.exp(np.ones(2)); torch.sigmoid([1.0]); torch.einsum('ij,jk', x, x); torch.bincount(torch.tensor([-1]))
    torch.normal(x, -1.0)
    optim.SGD([], 0.1); optim.SGD([x], -1); optim.SGD([1], 0.1); optim.SGD({'params': x}, 0.1)
    optim.Adam([x.clone().requires_grad_() * 2])
    schedule(o, 3); optim.lr_scheduler.StepLR(3, 2); optim.lr_scheduler.OneCycleLR(o, 0.1)
    data.DataLoader([1], batch_size=0); data.DataLoader([1], num_workers=-1); data.DataLoader([1], shufle=True)
    list(data.DataLoader([x, x[0]], 2)); data.random_split([1, 2], [1]); data.TensorDataset(x, x[0]); x.sum().backward()
    torch.ones(2, requires_grad=True).numpy(); torch.ones(2, requires_grad=True).add_(1); torch.tensor([1], requires_grad=True)
    torch.ones(2, requires_grad=True).backward(); torch.autograd.grad(x.sum(), x); torch.ones(3).foo; F.max_pool2d(); F.relu()
    torch.tensor([2**63, 1]); torch.tensor([1.5, 2**63]); torch.nonzero(x, as_tuple=1); x.contiguous(memory_format=1)
    torch.save(x, '/nonexistent/x.pt'); torch.load('/nonexistent.pt'); torch.Generator('x'); torch.manual_seed('a')"""


def _expressions(texts: str) -> list[str]:
    return [e.strip() for line in texts.splitlines() for e in line.split(";")]


def _made(torch: Any, text: str) -> Any:
    torch.manual_seed(0)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "np": np}
    names |= {"x": torch.ones(2, 4), "c": torch.ones(4, 2, 3).log_softmax(2), "data": torch.utils.data}
    names |= {"schedule": torch.optim.lr_scheduler.MultiplicativeLR, "o": torch.optim.SGD([torch.ones(2)], 0.1)}
    return eval(text, names)


def _shown(found: Any) -> Any:
    if not isinstance(found, Raised):
        return found
    first = found.message.split("\n")[0].replace("jaxtorch", "torch")
    return found.kind, first.replace("_max_pool2d()", "max_pool2d()")


@pytest.mark.parametrize("text", _expressions(LAYERS) + _expressions(LOSSES) + _expressions(REST))
def test_the_message_is_the_same(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, actual = [_shown(outcome(t, _made, text)) for t in (reference(), candidate())]
    assert str(actual) == str(expected)


def test_an_old_argument_is_warned_of() -> None:
    for torch in (reference(), candidate()):
        x = torch.ones(2, requires_grad=True)
        with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
            torch.autograd.grad(x.sum(), x, only_inputs=False)


def test_names_of_methods_and_empty_storages() -> None:
    shown = [
        (t.nn.Linear(1, 1).parameters.__qualname__, repr(t.ones(0).untyped_storage()).replace("jaxtorch", "torch"))
        for t in (reference(), candidate())
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    "text", ["x.view(dtype='a')", "x.where(1, 2)", "x.set_(3)", "torch.empty(2, memory_format='a')"]
)
def test_the_exception_is_the_same(text: str) -> None:
    expected, actual = [outcome(t, _made, text) for t in (reference(), candidate())]
    assert isinstance(expected, Raised) and actual.kind == expected.kind


def test_dropout_of_too_few_dimensions() -> None:
    """Two dimensions count as an example without a batch."""
    found = []
    for torch in (reference(), candidate()):
        torch.manual_seed(0)
        with pytest.warns(UserWarning, match="dropout3d"):
            found.append(torch.nn.functional.dropout3d(torch.ones(3, 5)).tolist())
    assert found[0] == found[1]


_WITH_A_CLASS = """
import jaxtorch as torch

class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)

torch.add(torch.ones(2).as_subclass(Tagged), 1)
try:
    torch.nn.functional.max_pool2d()
except TypeError as error:
    print(str(error).split()[0])
"""


def test_names_stay_where_a_class_has_a_torch_function(run_python: Run) -> None:
    assert run_python("-c", _WITH_A_CLASS).stdout == "max_pool2d()\n"


@pytest.mark.parametrize(
    "text", ["x.view(3)", "x + torch.ones(3)", "x @ x", "torch.cat([x, x[0]])", "x.sum(dim=3)", "nn.Linear(3, 2)(x)"]
)
def test_an_error_comes_from_no_other(text: str) -> None:
    """What is looked up on the way, and not found, is no part of the error that a program logs."""
    for torch in (reference(), candidate()):
        with pytest.raises((RuntimeError, IndexError)) as caught:
            _made(torch, text)
        assert caught.value.__context__ is None


def test_an_error_while_another_is_handled_shows_it() -> None:
    for torch in (reference(), candidate()):
        first = KeyError("first")
        with pytest.raises(RuntimeError) as caught:
            try:
                raise first
            except KeyError:
                torch.ones(2, 4).view(3)
        assert caught.value.__context__ is first


WRONG_SHAPE = """
import traceback
import torch
calls = lambda: torch.ones(2, 3) @ torch.ones(5, 2), lambda: torch.nn.Linear(3, 4)(torch.ones(2, 5)), lambda: torch.ones(6).view(4)
for call in calls:
    try:
        call()
    except RuntimeError as error:
        frames = [f.filename for f in traceback.extract_tb(error.__traceback__)]
        print(len(frames), any("jax/_src" in f for f in frames), error.__context__)
"""


def test_tracebacks_end_at_the_operation(tmp_path, run_python):
    """What traces an operation, once for each type, is shown where it is asked for."""
    (tmp_path / "program.py").write_text(WRONG_SHAPE, encoding="utf-8")
    for wanted, few in (("", True), ("frames", False)):
        told = run_python("-m", "jaxtorch", "program.py", env={"JAXTORCH_LOG": wanted}).stdout.splitlines()
        assert len(told) == 3
        for line in told:
            count, deep, context = line.split(maxsplit=2)
            assert (int(count) <= 7) is few and deep == str(not few) and context == "None"
