"""What PyTorch warns of, jaxtorch warns of: the same class, a text that begins alike, at the user's line, as often."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from jaxtorch._core import warned
from parity import candidate


def matrix(t: Any) -> Any:
    return t.eye(3) + 1


ONCE: dict[str, Callable[[Any], Any]] = {
    "T of three dimensions": lambda t: t.ones(2, 2, 2).T,
    "T of a number": lambda t: t.ones(()).T,
    "H of a number": lambda t: t.ones(()).H,
    "mT of a number": lambda t: t.ones(()).mT,
    "mH of a number": lambda t: t.ones(()).mH,
    "adjoint of a number": lambda t: t.ones(()).adjoint(),
    "qr": lambda t: t.qr(matrix(t)),
    "cholesky": lambda t: t.cholesky(matrix(t)),
    "lu": lambda t: t.lu(matrix(t)),
    "lu_solve": lambda t: t.lu_solve(matrix(t), t.eye(3), t.tensor([1, 2, 3], dtype=t.int32)),
    "triangular_solve": lambda t: t.triangular_solve(matrix(t), matrix(t)),
    "chain_matmul": lambda t: t.chain_matmul(matrix(t), matrix(t)),
    "cross without dim": lambda t: t.cross(matrix(t), matrix(t)),
    "stft without window": lambda t: t.stft(t.ones(32), 8, return_complex=True),
    "stft as real numbers": lambda t: t.stft(t.ones(32), 8, window=t.ones(8), return_complex=False),
    "istft without window": lambda t: t.istft(t.stft(t.ones(32), 8, return_complex=True, window=t.ones(8)), 8),
    "where with bytes": lambda t: t.where(t.tensor([1, 0], dtype=t.uint8), 1.0, 2.0),
    "padding same, even": lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 2, 2), padding="same"),
    "meshgrid": lambda t: t.meshgrid(t.ones(2), t.ones(2)),
    "read-only array": lambda t: t.from_numpy(np.broadcast_to(np.ones(1), (2,))),
    "read-only buffer": lambda t: t.frombuffer(b"12345678", dtype=t.float32),
    "list of arrays": lambda t: t.tensor([np.ones(2), np.ones(2)]),
    "float of a tensor with a gradient": lambda t: float(t.ones(1, requires_grad=True)),
    "complex to real": lambda t: t.ones(2).copy_(t.ones(2, dtype=t.complex64)),
    "complex summed as real": lambda t: t.ones(2, dtype=t.complex64).sum(dtype=t.float32),
    "complex added up as real": lambda t: t.ones(2, dtype=t.complex64).cumsum(0, dtype=t.float64),
    "complex softmax as real": lambda t: t.softmax(t.ones(2, dtype=t.complex64), 0, dtype=t.float32),
    "backward with create_graph": lambda t: (t.ones(1, requires_grad=True) ** 2).backward(create_graph=True),
    "old sparse constructor": lambda t: t.sparse.FloatTensor(t.tensor([[0], [0]]), t.tensor([1.0]), t.Size([2, 2])),
}
FIRST: dict[
    str, Callable[[Any], Any]
] = {  # each time in PyTorch, here where the shape is new (each time in immediate mode)
    "std of one": lambda t: t.ones(1).std(),
    "var of one": lambda t: t.ones(2, 1).var(1),
    "std_mean of one": lambda t: t.std_mean(t.ones(1)),
    "cov of one": lambda t: t.cov(t.ones(1, 1)),
}


def watched(module: Any) -> Any:
    """The module, with a full backward hook."""
    module.register_full_backward_hook(lambda module, inputs, outputs: None)
    return module


def in_dict(t: Any) -> Any:
    """A watched module's result that is no tensor."""
    layer = t.nn.Module()
    layer.forward = lambda x: {"result": x}
    return watched(layer)(t.ones(1, requires_grad=True))


EACH: dict[str, Callable[[Any], Any]] = {
    "gradient of no leaf": lambda t: (t.ones(1, requires_grad=True) * 2).grad,
    "schedule before optimizer": lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([t.ones(1)], 0.1), 1).step(),
    "sample_n": lambda t: t.distributions.Normal(0.0, 1.0).sample_n(2),
    "index_fill_ of an expanded tensor": lambda t: t.ones(1).expand(2).index_fill_(0, t.tensor([0]), 1),
    "index_put_ of an expanded tensor": lambda t: t.ones(1).expand(2).__setitem__(t.tensor([0]), 1),
    "full backward hook without inputs": lambda t: watched(t.nn.Linear(1, 1))(t.ones(1)).backward(),
    "full backward hook without tensors": in_dict,
    "memory_cached": lambda t: t.cuda.memory_cached(),
    "non-tuple index": lambda t: t.ones(2, 2)[[[0, 1], [1, 0]]],
    "out of another shape": lambda t: t.add(t.ones(2), 1, out=t.empty(3)),
}
SILENT: dict[str, Callable[[Any], Any]] = {
    "T of a matrix": lambda t: t.ones(2, 2).T,
    "int of a tensor with a gradient": lambda t: int(t.ones(1, requires_grad=True)),
    "float of a tensor with a gradient, without recording": lambda t: without_recording(t, float),
    "tensor of a tensor with a gradient, without recording": lambda t: without_recording(t, lambda x: t.tensor([x])),
    "item": lambda t: t.ones(1, requires_grad=True).item(),
    "std without correction": lambda t: t.ones(1).std(unbiased=False),
    "padding same, odd": lambda t: t.nn.functional.conv2d(t.ones(1, 1, 4, 4), t.ones(1, 1, 3, 3), padding="same"),
    "cross with dim": lambda t: t.cross(matrix(t), matrix(t), dim=0),
    "init": lambda t: t.nn.init.orthogonal_(t.empty(3, 3)),
}


def without_recording(t: Any, call: Callable[[Any], Any]) -> Any:
    """The call on a tensor that requires a gradient, under no_grad."""
    with t.no_grad():
        return call(t.ones(1, requires_grad=True))


def caught(call: Callable[[Any], Any], t: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(t)
    return [w for w in found if w.category is not ResourceWarning]


def opening(w: warnings.WarningMessage) -> str:
    return " ".join(str(w.message).replace("(Triggered", " (Triggered").split()[:6])


@pytest.mark.usefixtures("functions_as_written")
@pytest.mark.parametrize("name", [*ONCE, *FIRST, *EACH])
def test_what_is_warned_of(name: str):
    call = (ONCE | FIRST | EACH)[name]
    warned._said.clear()
    torch.set_warn_always(True)  # PyTorch's own may have come before
    try:
        theirs = caught(call, torch)
    finally:
        torch.set_warn_always(False)
    ours = caught(call, candidate())
    ours = ours[:1] if name in FIRST else ours  # a body may be traced twice; filters show one
    assert [(w.category, opening(w)) for w in ours] == [(w.category, opening(w)) for w in theirs][: len(ours)] and ours
    assert os.path.basename(ours[0].filename) == "test_warnings.py"
    if name not in FIRST:
        again = caught(call, candidate())
        assert len(again) == (len(ours) if name in EACH else 0)


@pytest.mark.parametrize("name", list(SILENT))
def test_what_is_not_warned_of(name: str):
    for t in (torch, candidate()):
        assert not caught(SILENT[name], t)


def test_warn_always():
    t = candidate()
    try:
        t.set_warn_always(True)
        assert t.is_warn_always_enabled()
        assert [len(caught(ONCE["T of a number"], t)) for _ in range(2)] == [1, 1]
    finally:
        t.set_warn_always(False)
    assert not caught(ONCE["T of a number"], t)


def test_sdp_kernel_keeps_settings_inside():
    for t in (torch, candidate()):
        with pytest.warns(FutureWarning, match="sdp_kernel"), t.backends.cuda.sdp_kernel(enable_flash=False):
            assert not t.backends.cuda.flash_sdp_enabled() and t.backends.cuda.math_sdp_enabled()
        assert t.backends.cuda.flash_sdp_enabled()
