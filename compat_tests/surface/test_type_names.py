"""What classes say they are called: PyTorch's names where `import torch` gives jaxtorch, jaxtorch's own elsewhere."""

from __future__ import annotations

import importlib
import json
import textwrap
from pathlib import Path

import pytest

import jaxtorch
from conftest import TABLES, Run

NAMES = [n.split()[0] for n in (TABLES / "public_names.txt").read_text().splitlines() if n.strip()]

# Where PyTorch keeps parts that jaxtorch has elsewhere, or that it has only to say that they are absent.
ELSEWHERE = (
    "ao.quantization", "autograd.profiler", "distributed", "export", "fft.Tensor",
    "autograd.function.FunctionCtx", "Event", "Stream", "nn.LinearCrossEntropyOptions", "nn.modules.LinearCrossEntropyOptions",
    "nn.modules.loss.LinearCrossEntropyOptions", "fx.ProxyableClassMeta", "jit", "library.CustomOpDef", "linalg.LinAlgError", "mtia",
    "nn.attention.SDPBackend", "nn.attention.flex_attention.FlexKernelOptions", "onnx", "profiler", "quantization",
    "sparse.SparseSemiStructured", "types.Storage", "xpu", "StorageBase", "DisableTorchFunction", "DisableTorchFunctionSubclass",
    "SymBool", "SymFloat", "SymInt", "ScriptFunction", "ScriptModule", "DeviceObjType", "PyTorchFileReader", "PyTorchFileWriter",
    "Tag", "Future", "monitor", "accelerator.Graph", "package",
)  # fmt: skip

SHOW = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
import torch
found = {}
for name in json.loads(open(sys.argv[1]).read()):
    item = torch
    try:
        for i, part in enumerate(name.split(".")):
            if not hasattr(item, part):
                importlib.import_module("torch." + ".".join(name.split(".")[: i + 1]))
            item = getattr(item, part)
    except (ImportError, AttributeError, NotImplementedError):
        continue
    if isinstance(item, type):
        found[name] = str(item)
print(json.dumps(found))
"""


def test_classes_are_named_as_in_pytorch_once_installed(tmp_path: Path, run_python: Run):
    wanted = [n.removeprefix("jaxtorch.") for n in NAMES]
    (tmp_path / "names.json").write_text(json.dumps([n for n in wanted if not n.startswith(ELSEWHERE)]))
    (tmp_path / "show.py").write_text(SHOW)
    ours = json.loads(run_python("-m", "jaxtorch", "show.py", "names.json").stdout)
    theirs = json.loads(run_python("show.py", "names.json").stdout)
    both = ours.keys() & theirs.keys()
    assert len(both) > 600
    # `class Name: Any` in one and a real class in the other are told apart by other tests.
    assert {n: ours[n] for n in both} == {n: theirs[n] for n in both}


@pytest.mark.parametrize(
    "name", ["", "nn", "optim", "distributions", "utils.data", "autograd", "cuda", "fx", "optim.lr_scheduler"]
)
def test_every_public_class_is_where_it_says(name: str):
    module = importlib.import_module(f"jaxtorch.{name}".rstrip("."))
    seen = 0
    for attribute in getattr(module, "__all__", dir(module)):
        cls = getattr(module, attribute, None)
        if isinstance(cls, type) and cls.__module__.startswith("jaxtorch") and not attribute.startswith("_"):
            assert getattr(importlib.import_module(cls.__module__), cls.__qualname__) is cls
            seen += 1
    assert seen > 2


PROGRAM = """
    import copy, pickle
    import torch
    from torch import nn

    x = torch.ones(2, requires_grad=True)
    y = x * 2

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    print(type(x), x.__class__.__module__, type(nn.Parameter(x.detach())), type(x.dtype), type(x.shape), type(x.device))
    print(type(y.grad_fn), type(y.grad_fn.next_functions[0][0]), type(Double.apply(x).grad_fn))
    print(type(nn.Linear(2, 2)), nn.Linear.__module__, nn.Linear.__qualname__, torch.optim.Adam, type(torch.no_grad()))
    print(type(torch.optim.lr_scheduler.StepLR(torch.optim.SGD([x], 0.1), 1)), torch.utils.data.DataLoader, torch.Generator)
    print(torch.distributions.Normal, torch.distributions.transforms.AffineTransform, type(x.untyped_storage()))
    parametrized = torch.nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    print(type(parametrized))
    for item in (nn.Linear(2, 2), x.detach(), nn.Parameter(x.detach()), torch.float32, torch.device("cpu"), torch.Size([1, 2]),
                 torch.distributions.Normal(0.0, 1.0), nn.MultiheadAttention(4, 2)):
        again = pickle.loads(pickle.dumps(item))
        assert type(again) is type(item) and str(again) == str(item)
        assert type(copy.deepcopy(item)) is type(item)
"""


def test_programs_print_pytorchs_names_and_pickle_by_them(tmp_path: Path, run_python: Run):
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    ours, theirs = run_python("-m", "jaxtorch", "program.py").stdout, run_python("program.py").stdout
    assert ours == theirs and len(ours.splitlines()) == 6


def test_without_install_the_names_are_jaxtorchs():
    assert str(jaxtorch.Tensor) == "<class 'jaxtorch.Tensor'>"
    assert str(jaxtorch.nn.Linear) == "<class 'jaxtorch.nn.modules.linear.Linear'>"
