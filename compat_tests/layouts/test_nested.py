"""`torch.nested`, in both layouts."""

from __future__ import annotations

import copy
import re
import warnings
from typing import Any

import pytest
import torch

from parity import candidate

# What is tried of both layouts; of jagged tensors, values are compared padded.
BOTH = """
x + x | x * 2 | x / 2 | -x | x.sin() | t.relu(x) | F.gelu(x) | F.linear(x, w) | F.linear(x, w, t.ones(4)) | x.clone() | x.float()
x.to(t.float64) | x.detach() | x.contiguous() | x.transpose(1, 2) | F.softmax(x, -1) | F.dropout(x, 0.0) | x.reshape(2, -1, 3)
x.view(2, -1, 3, 1) | x.unsqueeze(-1) | t.zeros_like(x) | t.cat([x, x], -1) | x.chunk(3, -1)[1] | x.masked_fill(x > 1, 0) | x > 1
x.abs() | x.to_padded_tensor(0.0) | t.nested.to_padded_tensor(x, -1.0, output_size=(2, 4, 3)) | x.unbind() | x[0] | x[1]
x.select(0, 1) | x.is_nested | x.layout | x.dim() | x.ndim | x.size(0) | x.size(-1) | x.numel() | x.dtype | x.device
x.requires_grad
x.is_contiguous() | x.values() | x.item() | x.tolist() | x.numpy() | x.squeeze(-1) | x.cumsum(1) | F.linear(x, t.ones(2, 5))
t.nested.nested_tensor(x)
t.nn.Linear(3, 2)(x).dim() | str(x)
x.chunk(dim=-1, chunks=3)[0] | F.linear(input=x, weight=w) | F.softmax(input=x, dim=-1) | x.view(2, -1, -1) | x.reshape(2, -1, -1)
x.add_(1) | x.mul_(x) | x.fill_(2) | x.zero_() | x.squeeze() | bool(x)
[v for v in (x.mul_(2), x)] | (x.unbind()[0].mul_(2), x) | (x.view(2, -1, 3, 1).mul_(2), x) | (x.unsqueeze(1).unbind()[1].zero_(), x)
"""
JAGGED = """
x.size() | x.shape | len(x) | x.offsets() | x.lengths() | list(x) | x @ w.T | x.sum() | x.sum(-1) | x.sum(1) | x.mean()
x.mean(-1)
x.permute(0, 2, 1) | x.argmax(-1) | x.max(dim=-1) | x.amax(-1, keepdim=True) | x.sum(dim=None) | x.view(2, x.size(1), 3, 1)
x.unflatten(-1, (3, 1)) | x.unflatten(2, [-1, 3]) | x.unflatten(1, (1, -1)) | x.unflatten(-1, (2, 2)) | x.unsqueeze(-1).flatten(2)
x.unsqueeze(-1).flatten(start_dim=-2) | x.flatten(1) | x.flatten() | x.unsqueeze(1).flatten(1, 2)
x.select(2, 1) | x.permute(0, 2) | t.cat([x, x], 1) | t.cat([x, x], 0)
x.asinh() | x.lgamma() | x.copysign(x) | t.fmax(x, x) | t.max(x, x) | t.min(x, x) | x.float_power(2) | x.isposinf() | x.signbit()
x.xlogy(x) | t.special.i1e(x) | t.special.entr(x) | x.clamp_min(0.5) | F.softshrink(x)
(x * x + 1).polygamma(1) | x.isclose(x) | x.sigmoid().logit()
x.max() | x.any() | x.exp() | x.sigmoid() | x.pow(2) | F.layer_norm(x, (3,)) | t.where(x > 1, x, x) | x == x
"""
STRIDED = """
t.nested.to_padded_tensor(x, 0.0, (1, 4, 3)) | t.nested.to_padded_tensor(x, 0.0, (4, 3)) | x.type(t.float64) | x.type()
x.reshape(()) | 1 - x | x.size(1) | x.size() | x.shape | t.bmm(x, x.transpose(1, 2)) | F.scaled_dot_product_attention(x, x, x)
2 / x | 2 ** x | 2 % x | 2 // x | x.int() & 1 | 1 & x.int() | x.int() << 1 | x.int() ^ x.int()
x._nested_tensor_size() | x.offsets()
"""
# Of jagged tensors whose parts happen to have one size: which dimension is the ragged one is no question of their lengths.
EQUAL = """
x.shape | x.transpose(1, 2).shape | x.transpose(1, 2).values() | x.transpose(1, 2).offsets() | x.unsqueeze(1).shape
x.view(2, -1, 3, 1).transpose(1, 2).shape | x.permute(0, 2, 1).shape | x.unsqueeze(-1).shape
x.transpose(1, 2).sum(1).shape | x.sum(-1).shape | x.sum(-1, keepdim=True).shape | x.sum(1) | (x.transpose(1, 2) * 2).shape
x.unflatten(-1, (1, 3)).transpose(1, 2).shape | x.unflatten(-1, (1, 3)).transpose(1, 2).transpose(1, 2).flatten(-2).shape
F.linear(x, w).transpose(-1, -2).shape | t.cat([x, x], -1).transpose(1, 2).shape | x.select(2, 0).shape | x.chunk(3, -1)[0].shape
"""
MADE = """
N.nested_tensor([]) | N.nested_tensor([1, 2]) | N.nested_tensor([[1.0, 2.0], [3.0]]) | N.nested_tensor(t.ones(2, 2))
N.nested_tensor([t.ones(2), t.ones(2, 2)]) | N.nested_tensor([t.ones(2), t.ones(3).long()])
N.nested_tensor([t.ones(2)], requires_grad=True) | N.nested_tensor([t.ones(2)], dtype=t.float64)
N.nested_tensor([t.ones(2)], layout=t.sparse_coo)
N.nested_tensor([t.ones(2, 2), t.ones(2, 3)], layout=t.jagged) | N.as_nested_tensor([t.ones(2), t.ones(3)])
N.as_nested_tensor(t.ones(2, 3, 4), layout=t.jagged) | N.nested_tensor_from_jagged(t.arange(6.0)[:, None], t.tensor([0, 2, 6]))
N.nested_tensor_from_jagged(t.arange(6.0)[:, None], t.tensor([0, 2, 6])).unbind() | N.nested_tensor_from_jagged(t.arange(6.0))
N.nested_tensor_from_jagged(t.arange(6.0)[:, None], lengths=t.tensor([2, 4])) | N.masked_select(t.ones(2, 3), t.eye(2, 3).bool())
N.nested_tensor([], layout=t.jagged) | N.nested_tensor([]).to_padded_tensor(0.0)
repr(N.nested_tensor([t.ones(2)], requires_grad=True))
N.narrow(t.arange(12.0).reshape(2, 6), 1, t.tensor([0, 1]), t.tensor([2, 3]), layout=t.jagged).unbind()
"""


def calls(text: str) -> list[str]:
    return [c.strip() for c in text.replace("\n", "|").split("|") if c.strip()]


def seen(t: Any, x: Any) -> Any:
    """What can be compared: names of ragged dimensions are counted, and errors are known by their types."""
    if isinstance(x, (tuple, list)) and not isinstance(x, t.Size):
        return [seen(t, v) for v in x]
    if isinstance(x, t.Tensor) and x.is_nested:
        return str(x.layout), str(x.dtype), [p.tolist() for p in x.unbind()]
    text = re.sub(r"\bj\d+", "j", repr(x).replace("jaxtorch", "torch"))
    return text


def run(t: Any, call: str, layout: str = "strided", equal: bool = False) -> Any:
    t.manual_seed(0)
    parts = [t.arange(6.0).reshape(2, 3), (t.arange(6.0) if equal else t.arange(3.0)).reshape(-1, 3) + 10]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = t.nested.nested_tensor(parts, layout=getattr(t, layout))
        try:
            return seen(t, eval(call, {"t": t, "F": t.nn.functional, "N": t.nested, "x": x, "w": t.ones(4, 3)}))
        except Exception as error:
            return "raises " + type(error).__name__


CASES = [(c, "strided") for c in calls(BOTH + STRIDED)] + [(c, "jagged") for c in calls(BOTH + JAGGED)]


def close(a: Any, b: Any) -> bool:
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(close, a, b))
    return a == pytest.approx(b, rel=1e-5, abs=1e-6) if isinstance(a, float) else a == b


@pytest.mark.parametrize("call, layout", CASES)
def test_call(call: str, layout: str):
    expected, actual = run(torch, call, layout), run(candidate(), call, layout)
    if isinstance(expected, str) and expected.startswith("raises"):
        assert isinstance(actual, str) and actual.startswith("raises")
    else:
        assert close(actual, expected), (actual, expected)


@pytest.mark.parametrize("call", calls(EQUAL))
def test_parts_of_one_size(call: str):
    assert run(candidate(), call, "jagged", True) == run(torch, call, "jagged", True)


@pytest.mark.parametrize("call", calls(MADE))
def test_made(call: str):
    assert run(candidate(), call) == run(torch, call)


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_gradients(layout: str):
    found = []
    for t in (torch, candidate()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            a, b = t.arange(6.0).reshape(2, 3).requires_grad_(), t.ones(1, 3, requires_grad=True)
            w = t.linspace(0, 1, 12).reshape(4, 3).requires_grad_()
            x = t.nested.as_nested_tensor([a, b], layout=getattr(t, layout))
            t.nn.functional.linear(x * 2, w).to_padded_tensor(0.0).pow(2).sum().backward()
            leaf = t.nested.nested_tensor([a, b], layout=getattr(t, layout), requires_grad=True)
            (leaf * leaf).to_padded_tensor(0.0).sum().backward()
            found.append([g.tolist() for g in (a.grad, b.grad, w.grad, *leaf.grad.unbind())])
    assert close(found[1], found[0])


def test_what_is_missing_is_named():
    t = candidate()
    x = t.nested.nested_tensor([t.ones(2), t.ones(3)])
    with pytest.raises(NotImplementedError, match="cumsum: jaxtorch has no such operation for nested tensors"):
        x.cumsum(0)


def test_a_copy_of_a_nested_tensor_has_its_own_memory():
    seen = []
    for t in (torch, candidate()):
        x = t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged, requires_grad=True)
        y = copy.deepcopy(x)
        with t.no_grad():
            y.mul_(2)
        seen.append(
            ([p.tolist() for p in x], [p.tolist() for p in y], y.requires_grad, y.is_leaf, y.layout == t.jagged)
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("options", [{}, {"max_seqlen": 5}, {"max_seqlen": 4}])
def test_padding_of_packed_values(options: dict[str, int]):
    """As long as all parts together, where nobody has said how long the longest is."""
    found = []
    for t in (torch, candidate()):
        x = t.nested.nested_tensor_from_jagged(t.arange(18.0).view(6, 3), t.tensor([0, 2, 6]), **options)
        found.append([(x * 2).to_padded_tensor(-1.0).tolist(), x.to_padded_tensor(0.0, (2, 7, 3)).tolist()])
    assert found[0] == found[1]
