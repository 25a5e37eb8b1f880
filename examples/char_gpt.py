"""Trains a small GPT on the source text of Python's standard library, character by character, and samples from it.

    python examples/char_gpt.py --steps 500 --output output/char_gpt

The text is that of a few modules of the interpreter that runs this. Written for PyTorch: with `import torch` in place of
`import jaxtorch as torch` it runs there too.
"""

import argparse
import inspect
import json
import math
import textwrap
from pathlib import Path

import matplotlib
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

nn, F = torch.nn, torch.nn.functional


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width, bias=False)
        self.project = nn.Linear(width, width, bias=False)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):  # (B, T, C)
        B, T, C = x.shape
        q, k, v = self.attention(self.norm1(x)).split(C, dim=2)
        q, k, v = (
            t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in (q, k, v)
        )  # (B, heads, T, C/heads)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.project(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, context=64, width=64, heads=4, layers=2):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._initialise)
        for name, parameter in self.named_parameters():
            if name.endswith("project.weight"):
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers))

    def _initialise(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, index, targets=None):  # (B, T)
        positions = torch.arange(index.shape[1], device=index.device)
        x = self.tokens(index) + self.positions(positions)  # (B, T, C)
        logits = self.head(self.norm(self.blocks(x)))  # (B, T, vocabulary)
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    @torch.no_grad()
    def generate(self, index, count, temperature=0.8, top_k=20):
        """`index` (B, T) and `count` characters more. The window keeps its length, so one program serves every step."""
        window = F.pad(index, (max(0, self.context - index.shape[1]), 0))[:, -self.context :]
        for _ in range(count):
            logits = self(window)[0][:, -1] / temperature
            smallest = torch.topk(logits, top_k).values[:, -1:]
            chances = F.softmax(logits.masked_fill(logits < smallest, -math.inf), dim=-1)
            chosen = torch.multinomial(chances, 1)
            index = torch.cat([index, chosen], dim=1)
            window = torch.cat([window[:, 1:], chosen], dim=1)
        return index


def load_text():
    """The source of some modules, and its characters."""
    text = "".join(inspect.getsource(module) for module in (argparse, inspect, json, textwrap))
    return text, sorted(set(text))


def train(model, data, steps, batch=16, learning_rate=3e-3):
    """Trains `model` on the tensor of characters `data` and returns the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    progress = tqdm(range(steps), desc="training")
    for _ in progress:
        starts = torch.randint(len(data) - model.context - 1, (batch,)).tolist()
        x = torch.stack([data[i : i + model.context] for i in starts])
        y = torch.stack([data[i + 1 : i + 1 + model.context] for i in starts])
        loss = model(x, y)[1]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--sample", type=int, default=400, help="characters to sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for the picture")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    text, characters = load_text()
    place = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([place[c] for c in text])
    model = GPT(len(characters))
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(text):,} characters of {len(characters)} kinds, {count:,} parameters")
    losses = train(model, data, arguments.steps)
    print(f"loss: {sum(losses[:10]) / 10:.3f} at first, {sum(losses[-10:]) / 10:.3f} at last")
    model.eval()
    prompt = torch.tensor([[place[c] for c in "def "]])
    print("".join(characters[i] for i in model.generate(prompt, arguments.sample)[0].tolist()))
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
        axes.plot(losses)
        axes.set(xlabel="step", ylabel="cross-entropy loss a character", title="A small GPT on Python's source")
        figure.savefig(arguments.output / "loss_curve.png", dpi=120)


if __name__ == "__main__":
    main()
