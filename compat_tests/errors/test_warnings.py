"""What PyTorch warns of, jaxtorch warns of: the same class, a text that begins alike, at the user's line, as often."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from jaxtorch._core.types import warn_once
from jaxtorch._tensor import storage_warnings
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
    "arrays deep in lists": lambda t: t.tensor([[1], [np.array(2)]]),
    "list with an array after a number": lambda t: t.tensor([1, np.array(2)]),
    "CSR": lambda t: t.eye(2).to_sparse_csr(),
    "BSC": lambda t: t.eye(4).to_sparse_bsc((2, 2)),
    "zeros in CSC": lambda t: t.zeros(2, 2, layout=t.sparse_csc),
    "CSR with checks": lambda t: t.sparse_csr_tensor([0, 1], [0], [1.0], (1, 2), check_invariants=True),
    "LSTM with projections": lambda t: t.nn.LSTM(2, 3, proj_size=1)(t.ones(1, 1, 2)),
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
    "jit.script": lambda t: t.jit.script(t.nn.Linear(1, 1)),
    "jit.trace": lambda t: t.jit.trace(t.nn.Linear(1, 1), t.ones(1, 1)),
    "jit.trace without a check": lambda t: t.jit.trace(t.nn.Linear(1, 1), t.ones(1, 1), check_trace=False),
    "jit.trace of a function": lambda t: t.jit.trace(t.sin, t.ones(1)),
    "jit.trace_module": lambda t: t.jit.trace_module(t.nn.Linear(1, 1), {"forward": t.ones(1, 1)}),
    "jit.freeze": lambda t: t.jit.freeze(t.jit.script(t.nn.Linear(1, 1).eval())),
    "jit.optimize_for_inference": lambda t: t.jit.optimize_for_inference(t.jit.script(t.nn.Linear(1, 1).eval())),
    "jit.fork and wait": lambda t: t.jit.wait(t.jit.fork(abs, -1)),
    "jit.load": lambda t: refused(ValueError, t.jit.load, "no such file"),
    "jit.script of a lambda": lambda t: refused(RuntimeError, t.jit.script, nothing),
    "jit.script of a class": lambda t: refused(RuntimeError, t.jit.script, t.nn.Linear),
    "jit.script without source": lambda t: refused(OSError, t.jit.script, eval("lambda: 0")),
    "oneDNN's flags": lambda t: t.backends.mkldnn.flags(enabled=False).__enter__(),
    "apply_permutation": lambda t: t.nn.modules.rnn.apply_permutation(t.ones(1, 1), t.tensor([0])),
    "NLLLoss2d": lambda t: t.nn.NLLLoss2d(),
    "is_namedtuple": lambda t: t.nn.parallel.scatter_gather.is_namedtuple((1,)),
    "accelerator.set_device_idx": lambda t: refused(RuntimeError, t.accelerator.set_device_idx, 0),
    "sdp_kernel": lambda t: t.backends.cuda.sdp_kernel(),
    "config.to_dict": lambda t: t.compiler.config.to_dict(),
    "ao.quantization.prepare": lambda t: t.ao.quantization.prepare(t.nn.Sequential(t.nn.Linear(1, 1)).eval()),
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
    "to_sparse": lambda t: t.eye(2).to_sparse(),
    "LSTM with projections in float64": lambda t: t.nn.LSTM(2, 3, proj_size=1).double()(t.ones(1, 1, 2).double()),
    "list of NumPy's numbers": lambda t: t.tensor([np.float32(2)]),
    "init": lambda t: t.nn.init.orthogonal_(t.empty(3, 3)),
}


nothing = lambda x: x  # noqa: E731 - what jit.script refuses


def refused(kind: Any, call: Callable[..., Any], *args: Any) -> None:
    """The call, which must raise this."""
    with pytest.raises(kind):
        call(*args)


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
    warn_once._said.clear()
    torch.set_warn_always(True)  # PyTorch's own may have come before
    try:
        theirs = caught(call, torch)
    finally:
        torch.set_warn_always(False)
    ours = caught(call, candidate())
    ours = ours[:1] if name in FIRST else ours  # a body may be traced twice; filters show one
    assert [(w.category, opening(w)) for w in ours] == [(w.category, opening(w)) for w in theirs][: len(ours)] and ours
    assert len(ours) == len(theirs) or name not in EACH
    assert (os.path.basename(ours[0].filename) == "test_warnings.py") is not name.startswith(
        "jit."
    )  # hidden by default
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


STORAGES: dict[str, Callable[[Any], Any]] = {
    "storage": lambda t: t.ones(2).storage(),
    "FloatStorage": lambda t: t.FloatStorage(3),
    "TypedStorage": lambda t: t.TypedStorage([1, 2]),
    "storage_type": lambda t: t.ones(2).storage_type(),
    "copy": lambda t: copy.copy(t.ones(2)._typed_storage()),
    "item": lambda t: t.ones(2)._typed_storage()[0],
    "length": lambda t: len(t.ones(2)._typed_storage()),
    "text": lambda t: str(t.ones(2)._typed_storage()),
    "device": lambda t: t.ones(2)._typed_storage().device,
    "clone": lambda t: t.ones(2)._typed_storage().clone(),
    "double": lambda t: t.ones(2)._typed_storage().double(),
    "float of bytes": lambda t: t.ones(2).untyped_storage().float(),
    "dtype": lambda t: t.ones(2)._typed_storage().dtype,
    "hash": lambda t: hash(t.ones(2)._typed_storage()),
    "equality": lambda t: t.ones(2)._typed_storage() == 3,
    "tensor of it": lambda t: t.FloatTensor(t.ones(2)._typed_storage()),
    "set_": lambda t: t.zeros(0).set_(t.ones(2)._typed_storage()),
    "deepcopy of a tensor": lambda t: copy.deepcopy(t.ones(2)),
    "bytes": lambda t: t.ones(2).untyped_storage().tolist(),
}


@pytest.mark.parametrize("name", list(STORAGES))
def test_first_use_of_a_typed_storage(name: str):
    torch.storage._reset_warn_typed_storage_removal()
    storage_warnings._said.clear()
    found = [[(w.category, opening(w)) for w in caught(STORAGES[name], t)] for t in (torch, candidate())]
    assert found[0] == found[1]
    assert not caught(STORAGES[name], candidate())


FRESH = """
t.sparse_coo_tensor(t.tensor([[0]]), t.tensor([1.0]), (2,), check_invariants=False)
t.eye(2).to_sparse() + t.eye(2).to_sparse()
t.sparse_coo_tensor((2, 2))
t.sparse_coo_tensor(t.tensor([[0]]), t.tensor([1.0]), (2,))
t.sparse.FloatTensor(t.tensor([[0]]), t.ones(1), t.Size([2]))
t.nested.nested_tensor([t.ones(2), t.ones(3)], layout=t.jagged)
t.nested.nested_tensor([t.ones(2), t.ones(3)])
t.nested.as_nested_tensor([t.ones(2), t.ones(3)])
t.sparse.check_sparse_tensor_invariants.disable(); t.set_warn_always(True); t.sparse_coo_tensor((2, 2))
masked(t.ones(2), k)
masked(t.ones(2, requires_grad=True), k)
t.masked.as_masked_tensor(t.ones(2, requires_grad=True), k)
t.masked.MaskedTensor(t.ones(2), k)
masked(t.ones(3), k)
m.sum()
m.std(0)
-(m + 1) * 2
m[0:1][0]
m[0, 0]
m[:, 0]
m[0] = m[1]
m[0, 0] = 3.0
m[0] = t.ones(2)
m[0] = 1.0
m.exp()
g.exp()
g.sum()
m.float()
m.double()
m.clone(), m.detach(), m.get_data(), m.to_tensor(0.0), str(m)
m.any()
m.all(0)
m.cumsum(0)
m.log_softmax(0)
import copy; copy.copy(m)
import copy; copy.deepcopy(m)
"""
SCRIPT = """
import importlib, sys, warnings
root, lines = sys.argv[1:]
t = importlib.import_module(root); importlib.import_module(root + ".masked")
warnings.simplefilter("ignore")
masked = t.masked.masked_tensor
for line in lines.strip().splitlines():
    if line.startswith("masked"):
        k = t.tensor([True, False]); m = masked(t.ones(2, 2), t.ones(2, 2).bool()); g = masked(t.ones(2), k, requires_grad=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try: exec(line, globals()); raised = ""
        except Exception as error: raised = type(error).__name__
    print(line, raised, *[f"{w.category.__name__}: {' '.join(str(w.message).split()[1:7])}" for w in found], sep=" | ")
"""


def test_what_a_fresh_program_is_told(run_python: Any):
    """Where it depends on what came before: sparse, nested and masked tensors, line by line."""
    theirs, ours = (run_python("-c", SCRIPT, root, FRESH).stdout.splitlines() for root in ("torch", "jaxtorch"))
    assert ours == theirs
    assert sum("Warning" in line for line in theirs) > 20


def test_deprecated_names_say_so():
    """What PyTorch marks as deprecated carries the mark here: PEP 702's attribute, of which the warning is made."""
    names = """accelerator.current_device_idx accelerator.set_device_idx nn.modules.rnn.apply_permutation
    nn.parallel.scatter_gather.is_namedtuple library.impl_abstract ao.quantization.prepare ao.quantization.prepare_qat
    ao.quantization.convert ao.quantization.quantize ao.quantization.quantize_qat ao.quantization.quantize_dynamic
    backends.cuda.sdp_kernel""".split()
    for name in names:
        theirs, ours = torch, candidate()
        for part in name.split("."):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        assert ours.__deprecated__.split()[:6] == theirs.__deprecated__.split()[:6]
