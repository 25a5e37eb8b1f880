"""A GPT and a vision transformer, of the same block."""

from __future__ import annotations

import math
from typing import Any

from .task import Task

GPT_VOCABULARY, GPT_CONTEXT = 65, 128
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
            self.tokens = nn.Embedding(GPT_VOCABULARY, GPT_WIDTH)
            self.positions = nn.Embedding(GPT_CONTEXT, GPT_WIDTH)
            self.blocks = nn.ModuleList(
                [Block(GPT_WIDTH, GPT_HEADS, causal=True, bias=False) for _ in range(GPT_LAYERS)]
            )
            self.norm = nn.LayerNorm(GPT_WIDTH, bias=False)
            self.head = nn.Linear(GPT_WIDTH, GPT_VOCABULARY, bias=False)
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
