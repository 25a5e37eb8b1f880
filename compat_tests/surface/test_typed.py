"""What type checkers say of a typed program is what they say of it with PyTorch."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from conftest import ROOT

EXPRESSIONS = """
    torch.cat([a, b]).sum() | a.shape | a.shape[0] | a.shape[1:] | a[0] | a == 0 | a + 1 | 1 - a | -a | a @ b.T | a.topk(2)
    torch.topk(a, 2) | torch.topk(a, 2).values | torch.float32 | torch.int64 | torch.bool | a.dtype | a.device | torch.device("cpu")
    a.size() | a.size(0) | a.max() | a.max(1) | a.max(dim=1).indices | torch.max(a, 1) | torch.min(a, b) | torch.sort(a)
    a.median(0) | torch.split(a, 1) | a.chunk(2) | a.unbind() | a.item() | a.numpy() | a.grad | a.requires_grad | a.is_cuda
    a.numel() | a.dim() | a.view(-1) | a.reshape(3, 2) | a.to("cpu") | a.long() | a.detach().cpu() | a.mean(dim=1, keepdim=True)
    a.stride() | a.stride(0) | a.add_(1) | torch.no_grad() | torch.tensor([1, 2]) | torch.arange(3) | torch.randn(2)
    torch.where(a > 0, a, b) | torch.where(a > 0) | torch.einsum("ij,kj->ik", a, b) | torch.stack([a, b]) | torch.is_tensor(a)
    torch.allclose(a, b) | torch.equal(a, b) | torch.cuda.is_available() | torch.std_mean(a) | torch.svd(a) | torch.nonzero(a)
    torch.pi | torch.get_default_dtype() | torch.Generator() | torch.manual_seed(0) | torch.clamp(a, 0) | a.clamp(min=0)
    torch.cummax(a, 0) | torch.kthvalue(a, 1) | torch.aminmax(a) | torch.slogdet(a) | torch.lu_unpack(a, b) | torch.meshgrid(a, b)
    torch.finfo(torch.float32).eps | torch.iinfo(torch.int32).max | torch.result_type(a, b) | torch.is_grad_enabled() | torch.strided
    F.relu(a) | F.softmax(a, dim=1) | F.cross_entropy(a, b) | F.linear(a, b) | F.layer_norm(a, (3,)) | F.conv2d(a, b)
    F.nll_loss(a, b) | m | m.bias | m.in_features | m(a) | m.forward(a) | m.parameters() | m.train() | m.to("cpu") | m.state_dict()
    nn.Sequential(m, nn.ReLU()) | nn.Parameter(a) | o | o.zero_grad() | o.param_groups | nn.CrossEntropyLoss()(a, b)
    torch.load("x") | torch.save(a, "x") | torch.autograd.grad(a.sum(), a) | TensorDataset(a, b)[0] | net.fc | net.w | net.w.grad
    function
"""
PROGRAM = """
from __future__ import annotations
import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.utils.data import DataLoader, Dataset, TensorDataset

class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.fc(x)) * self.w

@torch.no_grad()
def function(x: torch.Tensor, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    return x.to(device, dtype)

a = torch.ones(2, 3)
b = torch.zeros((2, 3), dtype=torch.float32)
m = nn.Linear(3, 2)
net = Net()
o = optim.SGD(m.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(a, b), batch_size=2)
for batch in loader:
    o.zero_grad()
"""
MISTAKES = """
x: int = a.sum()
torch.ones(3).sqeeze()
torch.cat(a, a, a)
torch.sqeeze(a)
a.topk(2).value
y: str = torch.float32
F.reluu(a)
m.forward(a, a)
torch.no_grad(3)
a.size("0")
"""
MORE_EXACT = {
    "m.weight": "Parameter",
    "torch.linalg.norm(a)": "Tensor",
    "torch.linalg.eigh(a)": "linalg_eigh",
    "torch.unique(a)": "Tensor",
    "a.tolist()": "list[Any]",
    "torch.compile(m)": "OptimizedModule",
    "nn.Sequential(m)[0]": "Module",
}
"""What PyTorch's annotations leave open or say otherwise, and jaxtorch's say."""

expressions = [e.strip() for line in EXPRESSIONS.strip().splitlines() for e in line.split(" | ")] + list(MORE_EXACT)
mistakes = MISTAKES.strip().splitlines()


def named(program: str, library: str) -> str:
    return program if library == "torch" else re.sub(r"\bfrom torch\b", "from jaxtorch", program).replace(
        "import torch\n", "import jaxtorch as torch\n").replace("import torch.", "import jaxtorch.")  # fmt: skip


def checker(*command: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "MYPYPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, env=env, timeout=600
    )


@cache
def said(library: str, folder: Path) -> tuple[dict[str, str], dict[str, bool]]:
    """The revealed type of each expression, and whether pyright finds fault with each mistake."""
    lines = [*named(PROGRAM, library).splitlines(), *(f"reveal_type({e})" for e in expressions), *mistakes]
    path = folder / f"of_{library}.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    done = checker("pyright", "--pythonpath", sys.executable, "--outputjson", str(path))
    types: dict[str, str] = {}
    faults: dict[str, bool] = dict.fromkeys(mistakes, False)
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        line = lines[found["range"]["start"]["line"]]
        if found["severity"] == "information":
            types[line[12:-1]] = found["message"].partition('" is "')[2][:-1]
        else:
            assert line in faults, found
            faults[line] = True
    return types, faults


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("typed")


@pytest.mark.parametrize("expression", expressions)
def test_types_are_pytorchs(expression: str, folder: Path):
    ours = said("jaxtorch", folder)[0][expression]
    if expression in MORE_EXACT:
        assert ours == MORE_EXACT[expression]
        return
    assert ours == said("torch", folder)[0][expression]


@pytest.mark.parametrize("mistake", mistakes)
def test_mistakes_are_found_as_with_pytorch(mistake: str, folder: Path):
    assert said("torch", folder)[1][mistake]
    assert said("jaxtorch", folder)[1][mistake]


def test_an_ordinary_program_is_typed_strictly(folder: Path):
    """mypy --strict finds nothing in the program, nor pyright."""
    path = folder / "ordinary.py"
    path.write_text(named(PROGRAM, "jaxtorch"), encoding="utf-8")
    done = checker("mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(folder / "cache"), str(path))
    assert done.returncode == 0, done.stdout + done.stderr
