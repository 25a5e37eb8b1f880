"""Trains an LSTM language model, word by word, on the documentation inside Python's standard library.

    python examples/lstm_language_model.py --epochs 3 --output output/lstm

The state is carried from batch to batch and detached, as in truncated backpropagation through time. Written for PyTorch:
with `import torch` in place of `import jaxtorch as torch` it runs there too.
"""

import argparse
import inspect
import json
import math
import re
import textwrap
from pathlib import Path

import matplotlib
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

nn = torch.nn


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, width=64, layers=2, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout)
        self.head = nn.Linear(width, vocabulary)
        self.head.weight = self.embedding.weight  # tied
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)

    def forward(self, index, state):  # (T, B)
        y, state = self.lstm(self.embedding(index), state)  # (T, B, width)
        return self.head(y).flatten(0, 1), state

    def first_state(self, batch):
        zeros = torch.zeros(self.lstm.num_layers, batch, self.lstm.hidden_size)
        return zeros, zeros.clone()


def load_words(vocabulary=800):
    """The words of some modules as numbers, the rarer ones as 0, and the vocabulary."""
    text = "".join(inspect.getsource(module) for module in (argparse, inspect, json, textwrap))
    words = re.findall(r"[a-z]+|[.,:()=]", text.lower())
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    common = ["<rare>", *sorted(counts, key=lambda w: (-counts[w], w))[: vocabulary - 1]]
    place = {word: i for i, word in enumerate(common)}
    return torch.tensor([place.get(word, 0) for word in words]), common


def train(model, words, epochs, batch=16, length=24, max_steps=None):
    """Trains `model` and returns the loss of every step."""
    columns = words[: len(words) // batch * batch].view(batch, -1).t().contiguous()  # (words, B)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = (len(columns) - 1) // length
    losses = []
    progress = tqdm(total=epochs * steps if max_steps is None else max_steps, desc="training")
    for _ in range(epochs):
        state = model.first_state(batch)
        for i in range(steps):
            x = columns[i * length : (i + 1) * length]
            y = columns[i * length + 1 : (i + 1) * length + 1].reshape(-1)
            state = tuple(s.detach() for s in state)
            model.zero_grad()
            output, state = model(x, state)
            loss = criterion(output, y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
            losses.append(loss.item())
            progress.update()
            if len(losses) == max_steps:
                return losses
    progress.close()
    return losses


@torch.no_grad()
def sample(model, count):
    """`count` words from the model, beginning with the commonest."""
    state, word, found = model.first_state(1), torch.ones(1, 1, dtype=torch.long), []
    for _ in range(count):
        output, state = model(word, state)
        word = torch.multinomial(torch.softmax(output, -1), 1)
        found.append(word.item())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for the picture")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    words, vocabulary = load_words()
    model = LanguageModel(len(vocabulary))
    losses = train(model, words, arguments.epochs)
    last = sum(losses[-20:]) / 20
    print(f"{len(words):,} words; perplexity {math.exp(losses[0]):.0f} at first, {math.exp(last):.0f} at last")
    print(" ".join(vocabulary[i] for i in sample(model.eval(), 40)))
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
        axes.plot(losses)
        axes.set(xlabel="step", ylabel="cross-entropy loss a word", title="An LSTM on Python's source")
        figure.savefig(arguments.output / "loss_curve.png", dpi=120)


if __name__ == "__main__":
    main()
