"""Quantised tensors: what makes them, what they print, the operations they have, files."""

from __future__ import annotations

import copy
import io
import pickle
import warnings
from typing import Any

import pytest
import torch as pytorch

import jaxtorch

QUANTISERS = """
T.quantize_per_tensor(x, 0.1, 10, T.quint8)
T.quantize_per_tensor(x, 0.05, -3, T.qint8)
T.quantize_per_tensor(x, 0.5, 7, T.quint8)
T.quantize_per_tensor(x, 0.01, 0, T.qint32)
T.quantize_per_tensor(x, T.tensor(0.1), T.tensor(3), T.quint8)
T.quantize_per_tensor([x, x], T.tensor([0.1, 0.2]), T.tensor([3, 4]), T.quint8)[1]
T.quantize_per_channel(x, T.tensor([0.1, 0.01]), T.tensor([0, 3]), 0, T.qint8)
T.quantize_per_tensor_dynamic(x, T.qint8, False)
T.quantize_per_tensor_dynamic(x, T.quint8, True)
T._make_per_tensor_quantized_tensor(T.tensor([1, -2], dtype=T.int8), 0.1, 2)
T.quantize_per_tensor(x, 0.1, 300, T.quint8)
T.quantize_per_tensor(x, 0.1, 3, T.uint8)
T.quantize_per_tensor(x.double(), 0.1, 3, T.quint8)
T.quantize_per_channel(x, T.ones(3), T.zeros(3).long(), 0, T.qint8)
"""
CALLS = """
q.int_repr() | q.dequantize() | q.q_scale() | q.q_zero_point() | q.qscheme() | q.dtype | q.is_quantized | q.stride() | q.type()
q.element_size() | q.is_floating_point() | q[0] | q[0, 1] | q.t() | q.view(-1) | q.reshape(2, 4) | q.permute(1, 0).contiguous()
q.unsqueeze(0) | q.flatten() | q.expand(2, 4, 2) | q.split(1)[1] | q.index_select(0, T.tensor([1])) | T.flip(q, [0]) | q.repeat(2, 1)
q[T.tensor([0])] | q.clone() | q.detach() | q.data | list(q)[1] | len(q) | q.cpu() | q[0, 0].item() | float(q[0, 1])
f"{q[0, 1]:.2f}"
q.relu() | T.relu(q) | F.relu6(q) | F.hardtanh(q) | q.clamp(0, 1) | T.sigmoid(q) | T.tanh(q) | F.hardsigmoid(q) | q.max() | q.min()
q.sort().values | q.topk(1).indices | q == q | q > 0 | T.equal(q, q) | T.cat([q, q]) | T.stack([q, q]) | q.mean() | q.to(T.quint8)
F.max_pool2d(i, 2) | F.adaptive_avg_pool2d(i, 1) | F.adaptive_avg_pool2d(i, (2, 3)) | T.nn.ReLU(inplace=True)(q.clone())
q.fill_(1.0) | q.copy_(-x.view(4, 2)) | T.dequantize([q, q])[1] | T.int_repr(q) | q.requires_grad | q.numel() | T.is_tensor(q)
p.q_per_channel_scales() | p.q_per_channel_axis() | p.q_per_channel_zero_points() | p.qscheme() | p[1] | p.unsqueeze(0)
p.dequantize()
q + q | q * q | q.sum() | q.abs() | q.exp() | q @ q.t() | T.zeros_like(q) | q.zero_() | q.new_zeros(3) | q.float() | q.to(T.float32)
q.numpy() | q.tolist() | q.item() | q.requires_grad_() | q.q_per_channel_axis() | p.q_scale() | x.q_scale() | F.softmax(q, 1)
q.bool()
"""


def _outcome(T: Any, call: str) -> Any:
    x = T.tensor([[-1.0, 0.0, 0.5, 2.3], [1.25, -0.3, 0.75, 100.0]])
    names: dict[str, Any] = {"T": T, "F": T.nn.functional, "x": x}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names["q"] = T.quantize_per_tensor(x.view(4, 2), 0.1, 10, T.quint8)
        names["i"] = T.quantize_per_tensor(T.linspace(-3, 9, 72).sin().view(1, 2, 6, 6), 0.01, 60, T.quint8)
        names["p"] = T.quantize_per_channel(x, T.tensor([0.1, 0.01]), T.tensor([0, 3]), 0, T.qint8)
        try:
            return repr(eval(call, names))
        except (RuntimeError, TypeError) as error:  # NotImplementedError among them
            kind = NotImplementedError if isinstance(error, NotImplementedError) else type(error)
            return kind, str(error).split("\n")[0] if kind is not NotImplementedError else ""


def _calls(text: str) -> list[str]:
    return [c.strip() for line in text.strip().splitlines() for c in line.split(" | ")]


@pytest.mark.parametrize("call", _calls(QUANTISERS) + _calls(CALLS))
def test_quantised_tensors(call: str) -> None:
    theirs, ours = _outcome(pytorch, call), _outcome(jaxtorch, call)
    if isinstance(theirs, tuple):
        assert ours[0] is theirs[0] and theirs[1].startswith(ours[1])
    else:
        assert ours == theirs


def _quantised(T: Any) -> dict[str, Any]:
    x = T.arange(24.0).view(4, 6).sin() * 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q = T.quantize_per_tensor(x, 0.05, 1, T.qint8)
        p = T.quantize_per_channel(x, T.tensor([0.1, 0.2, 0.3, 0.4]), T.tensor([0, 1, 2, 3]), 0, T.qint8)
    return {"q": q, "p": p, "t": q.t(), "part": q[1:], "kind": T.quint8, "scheme": T.per_channel_symmetric}


@pytest.mark.parametrize(("source", "target"), [(jaxtorch, pytorch), (pytorch, jaxtorch), (jaxtorch, jaxtorch)])
def test_files_of_quantised_tensors(source: Any, target: Any) -> None:
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source.save(_quantised(source), file)
        file.seek(0)
        found = target.load(file)
    assert repr(found) == repr(_quantised(pytorch))
    found["q"].fill_(1.0)  # the memory is shared as it was
    assert found["t"].dequantize().unique().numel() == 1


def test_copies_of_quantised_tensors() -> None:
    for t in _quantised(jaxtorch).values():
        if isinstance(t, jaxtorch.Tensor):
            assert jaxtorch.equal(copy.deepcopy(t), t) and jaxtorch.equal(pickle.loads(pickle.dumps(t)), t)
    assert pickle.loads(pickle.dumps(jaxtorch.per_tensor_affine)) is jaxtorch.per_tensor_affine


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("t", [jaxtorch, pytorch])
def test_lists_by_their_names(t: Any) -> None:
    parts = {"scales": t.tensor([0.1, 0.5]), "zero_points": t.tensor([3, 0]), "dtype": t.quint8}
    both = t.quantize_per_tensor(tensors=[t.tensor([0.31, 1.0]), t.tensor([2.0])], **parts)
    assert [x.tolist() for x in t.dequantize(tensors=both)] == [x.dequantize().tolist() for x in both]
    assert [x.int_repr().tolist() for x in both] == [[6, 13], [4]]
    for wrong in (t.dequantize, t.quantize_per_tensor):
        with pytest.raises(TypeError):
            wrong()
