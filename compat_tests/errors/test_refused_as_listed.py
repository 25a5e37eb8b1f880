"""What PyTorch refuses, by the list of faults: the same exception with a message that begins alike."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from parity import candidate

INF, NAN = float("inf"), float("nan")


def _views(t: Any, outputs: Callable[[Any], Any], which: int) -> None:
    """Write to an output of a Function that is a view of its input."""

    class Q(t.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return outputs(x)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return t.zeros(2, 2)

    got = Q.apply(t.ones(2, 2, requires_grad=True))
    (got[which] if isinstance(got, tuple) else got).add_(1)


def _made_without_gradients(t: Any, mode: str, view: Callable[[Any], Any]) -> None:
    x = t.ones(2, 2, requires_grad=True)
    with getattr(t, mode)():
        a = view(x)
    a.add_(t.ones(a.shape, requires_grad=True))


def _squares(s: Any) -> Any:
    return (s.to_dense() ** 2).sum()


def _submodule(t: Any, name: str) -> Any:
    return importlib.import_module(f"{t.__name__}.{name}")


REFUSED: dict[str, Callable[[Any], Any]] = {
    "histc of NaN": lambda t: t.histc(t.tensor([NAN])),
    "histc of infinity": lambda t: t.histc(t.tensor([1.0, INF])),
    "histc of -infinity": lambda t: t.histc(t.tensor([2.0, -INF, 1.0])),
    "histc of a large number and infinity": lambda t: t.histc(t.tensor([1e10, INF], dtype=t.float64)),
    "histc of a range": lambda t: t.histc(t.ones(2), 3, 0.0, INF),
    "histogram of NaN": lambda t: t.histogram(t.tensor([NAN]), 3),
    "histogram of infinity": lambda t: t.histogram(t.tensor([1.5, INF]), 3),
    "histogram of a range": lambda t: t.histogram(t.ones(2), 3, range=(0.0, INF)),
    "histogramdd of infinity": lambda t: t.histogramdd(t.tensor([[1.0, -INF], [2.0, 0.0]]), [3, 3]),
    "two views of a Function's": lambda t: _views(t, lambda x: (x[0], x[1]), 0),
    "a view and no view": lambda t: _views(t, lambda x: (x.clone(), x[0]), 1),
    "unbind in a Function": lambda t: _views(t, lambda x: x.unbind(), 1),
    "an input and more": lambda t: _views(t, lambda x: (x, x.clone()), 0),
    "one view of a Function's": lambda t: _views(t, lambda x: x[0], 0),
    "a view without gradients": lambda t: _made_without_gradients(t, "no_grad", lambda x: x.view(4)),
    "a part without gradients": lambda t: _made_without_gradients(t, "no_grad", lambda x: x.split(1)[0]),
    "a row without gradients": lambda t: _made_without_gradients(t, "no_grad", lambda x: x.unbind()[1]),
    "a view in inference mode": lambda t: _made_without_gradients(t, "inference_mode", lambda x: x[0]),
    **{
        f"{transform} of {layout}": lambda t, layout=layout, transform=transform: getattr(t.func, transform)(_squares)(
            t.eye(2).to_sparse(layout=getattr(t, layout), blocksize=(1, 1) if "_bs" in layout else None)
        )
        for layout in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
        for transform in ("grad", "grad_and_value")
    },
    "vjp of CSR": lambda t: t.func.vjp(_squares, t.eye(2).to_sparse_csr()),
    "grad beside CSR": lambda t: t.func.grad(lambda a, s: (s.to_dense() * a).sum())(
        t.ones(2, 2), t.eye(2).to_sparse_csr()
    ),
    "a result to another process": lambda t: _submodule(t, "multiprocessing.reductions").reduce_tensor(
        t.ones(2, requires_grad=True) * 2
    ),
    "option of the compiler": lambda t: t.compile(abs, options={"nonsense": 3}),
    "option of a group": lambda t: t.compile(abs, options={"triton.nonsense": 1}),
    "option of another type": lambda t: t.compile(abs, options={"max-autotune": 3}),
    "option as a decorator": lambda t: t.compile(options={"epilogue_fusion": "x"})(abs),
    "library of linalg": lambda t: t.backends.cuda.preferred_linalg_library("x"),
    "library of products": lambda t: t.backends.cuda.preferred_blas_library("magma"),
    "library of attention": lambda t: t.backends.cuda.preferred_rocm_fa_library("x"),
    "library as a number": lambda t: t.backends.cuda.preferred_linalg_library(3),
    "cuda.check_error": lambda t: t.cuda.check_error(2),
    "CSR without memory of its layout": lambda t: t.zeros(2, layout=t.sparse_csr, out=t.zeros(2)),
    **{
        f"{kind} of size None": lambda t, kind=kind: getattr(t, f"sparse_{kind}_tensor")([0, 1], [0], [1.0], None)
        for kind in ("csr", "csc")
    },
    "storage.cuda": lambda t: t.ones(2).untyped_storage().cuda(),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str):
    found = []
    for t in (torch, candidate()):
        with pytest.raises(Exception) as caught:
            REFUSED[name](t)
        if name.endswith("size None"):  # the messages name the overloads
            found.append(caught.type.__name__)
            continue
        found.append((caught.type.__name__, str(caught.value).replace("-nan", "nan")[:55]))
    assert found[0] == found[1]


def _events(t: Any) -> Any:
    return _submodule(t, "autograd.profiler_util").EventList


NAMES: dict[str, Callable[[Any], Any]] = {
    "QuantType": lambda t: (t.ao.quantization.QuantType, str(t.ao.quantization.QuantType.QAT)),
    "OperatorExportTypes": lambda t: t.onnx.OperatorExportTypes,
    "TrainingMode": lambda t: t.onnx.TrainingMode,
    "_DisableFuncTorch": lambda t: t._C._DisableFuncTorch,
    "no_dispatch": lambda t: _submodule(t, "utils._mode_utils").no_dispatch,
    "no events": lambda t: repr(_events(t)([]).total_average()),
    "no events, of a device": lambda t: (
        _events(t)([], use_device=None, profile_memory=True).table(),
        type(_events(t)([]).total_average()),
        _events(t),
    ),
    "options with dots and dashes": lambda t: t.compile(lambda: 3, options={"triton.cudagraphs": True})(),
    "options of another backend": lambda t: t.compile(lambda: 3, options={"x": 1}, backend="eager").__name__,
}


@pytest.mark.parametrize("name", NAMES)
def test_named_as_in_pytorch(name: str):
    def shown(found: Any) -> Any:
        if isinstance(found, tuple):
            return tuple(map(shown, found))
        return f"{found.__module__}.{found.__qualname__}" if isinstance(found, type) else found

    theirs, ours = shown(NAMES[name](torch)), shown(NAMES[name](candidate()))
    assert theirs == (
        tuple(str(o).replace("jaxtorch", "torch") for o in ours)
        if isinstance(ours, tuple)
        else (ours.replace("jaxtorch", "torch") if isinstance(ours, str) else ours)
    )


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "bsc"])
def test_compressed_tensors_without_a_size(kind: str):
    values = [[[1.0, 2.0]], [[3.0, 4.0]]] if kind.startswith("b") else [1.0, 2.0]
    theirs, ours = (getattr(t, f"sparse_{kind}_tensor")([0, 1, 2], [0, 1], values) for t in (torch, candidate()))
    assert tuple(theirs.shape) == tuple(ours.shape) and theirs.to_dense().tolist() == ours.to_dense().tolist()
