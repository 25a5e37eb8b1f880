"""`torch.masked.MaskedTensor`."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from parity import candidate

CALLS = """
a | a + 1 | a + a | a * d | d + a | -a | a / 2 | a**2 | a > 1 | a == a | abs(a) | a.sin() | t.sqrt(a) | a.clamp(1, 2)
a.clone().neg_() | t.abs(input=a) | t.pow(a, a) | a**M.masked_tensor(d, ~m) | t.clamp(a, min=d) | a.type() | a.type(t.float64)
a.sum() | a.sum(1) | t.sum(a, dim=0, keepdim=True) | a.mean(0) | a.mean() | a.amax(1) | a.amin() | a.prod(1) | a.argmax(1)
a.argmin() | a.var(1) | a.std() | a.all() | t.softmax(a, 1) | a.to(t.float64) | a.long() | a.bool() | a.float() | a.clone()
a.t() | a.transpose(0, 1) | a.mT | a.reshape(3, 2) | a.view(6) | a.flatten() | a[0] | a[:, 1:] | a.unsqueeze(0) | a.expand(2, 2, 3)
a.split(1) | a.select(0, 0) | t.cat([a, a]) | t.stack([a, a]) | t.where(m, a, a) | t.ones_like(a) | t.maximum(a, a) | t.atan2(a, a)
a.contiguous() | a.detach() | a.to_tensor(-1.0) | a.get_data() | a.get_mask() | a.shape | a.dtype | len(a) | a.numel()
a.sum().item()
M.is_masked_tensor(a) | M.is_masked_tensor(d) | isinstance(a, t.Tensor) | M.masked_tensor(d.long(), m) | M.as_masked_tensor(d, m)
M.masked_tensor(d, m, requires_grad=True).requires_grad | M.masked_tensor(t.ones(2, 0), t.ones(2, 0).bool()).shape
M.masked_tensor(d[0, 0], m[0, 1]) | M.masked_tensor(d > 1, m)
a @ a.t() | a.masked_fill(m, 0.0) | a.cumsum(0) | a.squeeze() | a.relu() | a + M.masked_tensor(d, ~m) | M.masked_tensor(d, m[0])
M.masked_tensor(d, m.float()) | M.masked_tensor(d, 3) | M.masked_tensor([1.0], m) | M.masked_tensor(a, m) | M.masked_tensor(d, m[:1])
a.max(1) | a.unbind(0) | a.item() | t.max(a, a * 2) | a.clone().copy_(a * 2) | a.add(other=a) | a + M.masked_tensor(d, ~m)
"""


def run(t: Any, call: str) -> Any:
    t.manual_seed(0)
    M = t.masked
    d = t.arange(6.0).reshape(2, 3)
    m = t.tensor([[True, False, True], [False, True, True]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = eval(call, {"t": t, "M": M, "d": d, "m": m, "a": M.masked_tensor(d, m)})
        except Exception as error:
            return type(error).__name__
        return repr(found).replace("jaxtorch", "torch")


@pytest.mark.parametrize("call", [c.strip() for c in CALLS.replace("\n", "|").split("|") if c.strip()])
def test_call(call: str):
    assert run(candidate(), call) == run(torch, call)


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
@pytest.mark.parametrize("correction", [0, 0.5, 1, 2])
def test_correction(correction: float):
    """PyTorch's MaskedTensors take no correction; its `torch.masked.var` does."""
    t = candidate()
    d = t.arange(8.0).reshape(2, 4)
    m = t.tensor([[True, False, True, True], [False, True, True, True]])
    found = t.masked.masked_tensor(d, m).var(1, correction=correction)
    expected = torch.masked.var(
        torch.arange(8.0).reshape(2, 4), 1, correction=correction, mask=torch.tensor(m.tolist())
    )
    assert found.to_tensor(0.0).tolist() == pytest.approx(expected.tolist())


def test_gradients():
    found = []
    for t in (torch, candidate()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            d = t.arange(6.0).reshape(2, 3)
            m = t.tensor([[True, False, True], [False, True, True]])
            a = t.masked.masked_tensor(d, m, requires_grad=True)
            (a * a).sum().backward()
            b = t.masked.masked_tensor(d, m, requires_grad=True)
            (b.exp() * 2).to_tensor(0).sum().backward()
            x = d.clone().requires_grad_()
            (t.masked.as_masked_tensor(x, m) * 3).sum().backward()
            found.append([repr(a.grad), repr(b.grad), (x.grad.to_tensor(0) if t is torch else x.grad).tolist()])
    assert found[0] == found[1]
