"""A GPT and a vision transformer, of the same block."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from .task import Task


@dataclass(frozen=True)
class Sizes:
    """Of a GPT. `bias`: do its linear layers and norms have one?"""

    vocabulary: int
    context: int
    width: int
    layers: int
    heads: int
    bias: bool


SMALL = Sizes(vocabulary=65, context=128, width=128, layers=4, heads=4, bias=False)
GPT2 = Sizes(vocabulary=50304, context=1024, width=768, layers=12, heads=12, bias=True)
"""GPT-2 of 124 million parameters; its vocabulary of 50,257 is rounded up to a multiple of 64, as nanoGPT does."""


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


def gpt(torch: Any, sizes: Sizes = SMALL) -> Task:
    """A GPT as nanoGPT builds it, with tied output weights; on characters: 4 layers, width 128, 128 tokens."""
    nn = torch.nn
    width = sizes.width
    Block = _transformer(torch)

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(sizes.vocabulary, width)
            self.positions = nn.Embedding(sizes.context, width)
            self.blocks = nn.ModuleList(
                [Block(width, sizes.heads, causal=True, bias=sizes.bias) for _ in range(sizes.layers)]
            )
            self.norm = nn.LayerNorm(width, bias=sizes.bias)
            self.head = nn.Linear(width, sizes.vocabulary, bias=False)
            self.tokens.weight = self.head.weight
            residual = 0.02 / math.sqrt(2 * sizes.layers)  # layers that write to the residual stream start smaller
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


def gpt2(torch: Any) -> Task:
    """GPT-2 124M in mixed precision: bfloat16 under autocast."""
    task = gpt(torch, GPT2)
    task.precision = functools.partial(torch.autocast, "cuda", torch.bfloat16)
    return task


VIT_WIDTH, VIT_LAYERS, VIT_HEADS, VIT_PATCH = 128, 4, 4, 4


def vit(torch: Any) -> Task:
    """A small vision transformer on 32x32 images: patches of 4x4, 4 layers, width 128, a class token."""
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
