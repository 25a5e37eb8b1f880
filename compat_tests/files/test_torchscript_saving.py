"""`torch.jit.save` of traced modules, and of those that were loaded: PyTorch loads the files and computes the same."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch

import jaxtorch
from jaxtorch import nn
from jaxtorch.nn import functional as F
from torchscript_kit import same

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*deprecated")


def _theirs(x: Any) -> Any:
    return torch.from_numpy(x.detach().numpy().copy())


class Convolutional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2)
        self.scale = nn.Parameter(jaxtorch.ones(2))
        self.rest = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Dropout(0.5))
        self.shift = jaxtorch.arange(2.0)

    def forward(self, x: Any) -> Any:
        x = F.relu(self.norm(self.conv(x)))
        x = F.adaptive_avg_pool2d(x, 1)
        b = x.size(0)
        x = x.view(b, -1)
        y = self.head(x) * self.scale + 1 - self.shift
        z = jaxtorch.cat([y, y], dim=1)[:, 0:2]
        q = x.shape[1] // 2
        more = y[0], y[..., None], y[:, None, 1], F.gelu(y), F.softmax(y, dim=-1), y.double(), y.max(1)[0], q * 2, 2 / y
        return {"a": self.rest(z)}, y.mean(dim=1, keepdim=True), jaxtorch.zeros(b, 2), 1 - y, *more


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.lstm = nn.LSTM(4, 5, 2, batch_first=True)
        self.norm = nn.LayerNorm(5)

    def forward(self, x: Any) -> Any:
        y, (h, _) = self.lstm(self.table(x))
        return self.norm(y), h


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        b, t, c = x.size()
        q, k, v = self.qkv(x).split(8, dim=2)
        q, k, v = (p.view(b, t, 2, c // 2).transpose(1, 2) for p in (q, k, v))
        mixed = (
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
            + F.softmax(q @ k.transpose(-2, -1) * 0.5, dim=-1) @ v
        )
        return self.out(mixed.transpose(1, 2).contiguous().view(b, t, c))


CASES: list[Any] = [
    (Convolutional, lambda n: jaxtorch.randn(n, 3, 6, n + 4)),
    (Recurrent, lambda n: jaxtorch.randint(0, 10, (n, 3 + n))),
    (Attention, lambda n: jaxtorch.randn(n, n + 2, 8)),
]


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_pytorch_loads_what_is_saved(kind: Any, example: Any) -> None:
    jaxtorch.manual_seed(0)
    traced = jaxtorch.jit.trace(kind().eval(), example(2), check_trace=False, strict=False)
    file = io.BytesIO()
    jaxtorch.jit.save(traced, file, _extra_files={"about.txt": "text"})
    extra = {"about.txt": ""}
    file.seek(0)
    theirs = torch.jit.load(file, _extra_files=extra)
    assert extra == {"about.txt": b"text"} and theirs.original_name == kind.__name__
    for n in (2, 5):
        x = example(n)
        same(traced(x), theirs(_theirs(x)))
    same(traced.state_dict(), theirs.state_dict())
    file.seek(0)
    ours = jaxtorch.jit.load(file)
    with jaxtorch.no_grad():
        for p in ours.parameters():
            p.mul_(0.5)
    again = torch.jit.load(io.BytesIO(ours.save_to_buffer()))
    same(ours(x), again(_theirs(x)))


def test_training_batch_norm_and_pathless_files(tmp_path: Any) -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2), nn.Flatten())
    traced = jaxtorch.jit.trace(module, jaxtorch.randn(3, 1, 6, 6), check_trace=False)
    count = int(module[1].num_batches_tracked)
    traced.save(tmp_path / "m.pt")
    assert int(module[1].num_batches_tracked) == count  # saving has run nothing of the module's own
    theirs = torch.jit.load(tmp_path / "m.pt")
    x = jaxtorch.randn(4, 1, 6, 6)
    same(traced(x), theirs(_theirs(x)))
    same(traced.state_dict(), theirs.state_dict())


class Branching(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + 1 if x.sum() > 0 else x


class Noise(nn.Module):
    def forward(self, x: Any) -> Any:
        return x + jaxtorch.randn(2)


class Normalised(nn.Module):
    def forward(self, x: Any) -> Any:
        return F.normalize(x)


@pytest.mark.parametrize(
    ("module", "named"), [(Branching(), "torch.fx"), (Noise(), "random numbers"), (Normalised(), "normalize")]
)
def test_what_cannot_be_written_is_named(module: Any, named: str) -> None:
    traced = jaxtorch.jit.trace(module, jaxtorch.ones(1, 2), check_trace=False)
    with pytest.raises(NotImplementedError, match=named):
        jaxtorch.jit.save(traced, io.BytesIO())


def test_scripted_and_frozen_modules_are_refused() -> None:
    scripted = jaxtorch.jit.script(nn.Linear(2, 2).eval())
    for module in (scripted, jaxtorch.jit.freeze(scripted)):
        with pytest.raises(NotImplementedError, match=r"torch\.jit\.script"):
            module.save(io.BytesIO())
