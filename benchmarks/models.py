"""The benchmark's models, written once as PyTorch text: `build(name, torch)` takes real PyTorch or jaxtorch.

Everything here uses only the `torch` module it is handed, so both sides run the same program.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

BATCHES = 4
"""How many different batches a loop turns through."""


@dataclass
class Task:
    """A model with its loss and its optimizer: all that one training step needs."""

    model: Any
    loss: Any
    optimizer: Any


def train_step(task: Task, inputs: Any, targets: Any) -> Any:
    """One step of the plain training loop; returns the loss, unread."""
    task.optimizer.zero_grad()
    loss = task.loss(task.model(inputs), targets)
    loss.backward()
    task.optimizer.step()
    return loss


def mlp(torch: Any) -> Task:
    """Multilayer perceptron 32-64-64-10."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Task(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


def lenet(torch: Any) -> Task:
    """The two convolutions and three linear layers of PyTorch's beginners' tutorial."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 6, 5)
            self.pool = nn.MaxPool2d(2, 2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):  # (N, 3, 32, 32)
            x = self.pool(torch.relu(self.conv1(x)))  # (N, 6, 14, 14)
            x = self.pool(torch.relu(self.conv2(x)))  # (N, 16, 5, 5)
            x = torch.flatten(x, 1)  # (N, 400)
            x = torch.relu(self.fc1(x))  # (N, 120)
            x = torch.relu(self.fc2(x))  # (N, 84)
            return self.fc3(x)  # (N, 10)

    model = Net()
    return Task(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


VOCABULARY, CONTEXT = 65, 128
GPT_WIDTH, GPT_LAYERS, GPT_HEADS = 128, 4, 4


def _transformer(torch: Any) -> Any:
    """The pre-norm transformer block that GPT and ViT share."""
    nn = torch.nn

    class Attention(nn.Module):
        def __init__(self, width: int, heads: int, causal: bool, bias: bool) -> None:
            super().__init__()
            self.heads, self.causal = heads, causal
            self.qkv = nn.Linear(width, 3 * width, bias=bias)
            self.proj = nn.Linear(width, width, bias=bias)

        def forward(self, x):  # (B, T, C)
            B, T, C = x.size()
            q, k, v = self.qkv(x).split(C, dim=2)
            q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)  # (B, H, T, C/H)
            k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)  # (B, H, T, C/H)
            v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)  # (B, H, T, C/H)
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)  # (B, H, T, C/H)
            return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))  # (B, T, C)

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, causal: bool, bias: bool) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(width, bias=bias)
            self.attention = Attention(width, heads, causal, bias)
            self.norm2 = nn.LayerNorm(width, bias=bias)
            self.up = nn.Linear(width, 4 * width, bias=bias)
            self.gelu = nn.GELU()
            self.down = nn.Linear(4 * width, width, bias=bias)

        def forward(self, x):  # (B, T, C)
            x = x + self.attention(self.norm1(x))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

    return Block


def _adamw(torch: Any, model: Any) -> Any:
    """AdamW as nanoGPT sets it: matrices decay, biases and norms do not."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95))


def gpt(torch: Any) -> Task:
    """A character-level GPT as nanoGPT builds it: 4 layers, width 128, 128 tokens, tied output weights."""
    nn = torch.nn
    Block = _transformer(torch)

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, GPT_WIDTH)
            self.positions = nn.Embedding(CONTEXT, GPT_WIDTH)
            self.blocks = nn.ModuleList(
                [Block(GPT_WIDTH, GPT_HEADS, causal=True, bias=False) for _ in range(GPT_LAYERS)]
            )
            self.norm = nn.LayerNorm(GPT_WIDTH, bias=False)
            self.head = nn.Linear(GPT_WIDTH, VOCABULARY, bias=False)
            self.tokens.weight = self.head.weight
            residual = 0.02 / math.sqrt(2 * GPT_LAYERS)  # layers that write to the residual stream start smaller
            for name, p in self.named_parameters():
                if p.dim() >= 2:
                    std = residual if name.endswith(("proj.weight", "down.weight")) else 0.02
                    nn.init.normal_(p, mean=0.0, std=std)

        def forward(self, indices):  # (B, T)
            positions = torch.arange(0, indices.size(1), dtype=torch.long, device=indices.device)  # (T,)
            x = self.tokens(indices) + self.positions(positions)  # (B, T, C)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))  # (B, T, V)

    model = GPT()

    def loss(logits, targets):
        return nn.functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    return Task(model, loss, _adamw(torch, model))


VIT_WIDTH, VIT_LAYERS, VIT_HEADS, VIT_PATCH = 192, 6, 3, 4


def vit(torch: Any) -> Task:
    """A small vision transformer on 32x32 images: patches of 4x4, 6 layers, width 192, a class token."""
    nn = torch.nn
    Block = _transformer(torch)
    count = (32 // VIT_PATCH) ** 2

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, VIT_WIDTH, VIT_PATCH, stride=VIT_PATCH)
            self.class_token = nn.Parameter(torch.zeros(1, 1, VIT_WIDTH))
            self.positions = nn.Parameter(0.02 * torch.randn(1, 1 + count, VIT_WIDTH))
            self.blocks = nn.Sequential(
                *[Block(VIT_WIDTH, VIT_HEADS, causal=False, bias=True) for _ in range(VIT_LAYERS)]
            )
            self.norm = nn.LayerNorm(VIT_WIDTH)
            self.head = nn.Linear(VIT_WIDTH, 10)

        def forward(self, x):  # (N, 3, 32, 32)
            x = self.patches(x).flatten(2).transpose(1, 2)  # (N, 64, C)
            x = torch.cat([self.class_token.expand(x.size(0), -1, -1), x], dim=1)  # (N, 65, C)
            x = self.norm(self.blocks(x + self.positions))  # (N, 65, C)
            return self.head(x[:, 0])  # (N, 10)

    model = ViT()
    return Task(model, nn.CrossEntropyLoss(), _adamw(torch, model))


LSTM_WIDTH, LSTM_LAYERS = 128, 2


def lstm(torch: Any) -> Task:
    """A character-level language model of two LSTM layers, width 128, 64 characters at a time."""
    nn = torch.nn

    class CharacterLSTM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(VOCABULARY, LSTM_WIDTH)
            self.lstm = nn.LSTM(LSTM_WIDTH, LSTM_WIDTH, LSTM_LAYERS, batch_first=True)
            self.head = nn.Linear(LSTM_WIDTH, VOCABULARY)

        def forward(self, indices):  # (B, T)
            x, _ = self.lstm(self.tokens(indices))  # (B, T, C)
            return self.head(x)  # (B, T, V)

    model = CharacterLSTM()

    def loss(logits, targets):
        return nn.functional.cross_entropy(logits.reshape(-1, logits.size(-1)), targets.reshape(-1))

    return Task(model, loss, torch.optim.Adam(model.parameters(), lr=1e-3))


RESNET_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def resnet18(torch: Any) -> Task:
    """ResNet-18 for 32x32 images: a 3x3 stem in place of the 7x7 one and its pooling."""
    nn = torch.nn

    class BasicBlock(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.shortcut = nn.Sequential()
            if stride != 1 or inner != outer:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer)
                )

        def forward(self, x):  # (N, C, H, W)
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 64, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(64)
            blocks, inner = [], 64
            for outer, stride in RESNET_STAGES:
                blocks += [BasicBlock(inner, outer, stride), BasicBlock(outer, outer, 1)]
                inner = outer
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(512, 10)

        def forward(self, x):  # (N, 3, 32, 32)
            x = self.blocks(torch.relu(self.bn(self.conv(x))))  # (N, 512, 4, 4)
            return self.fc(x.mean(dim=(2, 3)))  # (N, 10)

    model = ResNet()
    # A small rate: at 0.01 on random labels, rounding alone drives float32 losses 3 % apart within ten steps.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    return Task(model, nn.CrossEntropyLoss(), optimizer)


def _images(count: int, shape: tuple[int, ...]):
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return rng.standard_normal((count, *shape), np.float32), rng.integers(0, 10, count)

    return draw


def _text(count: int, length: int):
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        text = rng.integers(0, VOCABULARY, (count, length + 1))
        return text[:, :-1].copy(), text[:, 1:].copy()

    return draw


MODELS: dict[str, tuple[Any, Any, str]] = {
    "mlp": (mlp, _images(64, (32,)), "MLP 32-64-64-10, batch 64, SGD momentum"),
    "lenet": (lenet, _images(64, (3, 32, 32)), "LeNet 3x32x32, batch 64, SGD momentum"),
    "gpt": (gpt, _text(8, CONTEXT), "GPT 4 layers, width 128, 128 tokens, batch 8, AdamW"),
    "vit": (vit, _images(16, (3, 32, 32)), "ViT 6 layers, width 192, 65 tokens, batch 16, AdamW"),
    "lstm": (lstm, _text(32, 64), "LSTM 2 layers, width 128, 64 tokens, batch 32, Adam"),
    "resnet18": (resnet18, _images(16, (3, 32, 32)), "ResNet-18 3x32x32, batch 16, SGD momentum"),
}
"""Name -> how to build the task, how to draw a batch, description."""


def build(name: str, torch: Any) -> Task:
    """The task of that name, on real PyTorch or on jaxtorch."""
    return MODELS[name][0](torch)


def batches(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same few batches for every side."""
    rng = np.random.default_rng(0)
    return [MODELS[name][1](rng) for _ in range(BATCHES)]
