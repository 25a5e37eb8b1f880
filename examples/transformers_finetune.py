"""Fine-tunes a small BERT of Hugging Face's transformers to tell imports, definitions and control flow in lines of Python.

    python -m jaxtorch examples/transformers_finetune.py --epochs 3

The model is made from a configuration, with random weights; the text is the standard library's source, and a line's label is
what it begins with: an import, a definition, a control word, or something else. transformers imports torch by that name, so
this says `import torch`, and `python -m jaxtorch` makes that jaxtorch.
"""

import argparse
import inspect
import json
import textwrap

import torch
from tqdm import tqdm
from transformers import BertConfig, BertForSequenceClassification

LABELS = ("other", "import", "definition", "control")
LENGTH = 32


def label_of(line):
    first = line.split()[0].rstrip(":")
    if first in ("import", "from"):
        return 1
    if first in ("def", "class", "async"):
        return 2
    return 3 if first in ("if", "elif", "else", "for", "while", "try", "except", "return", "raise", "with") else 0


def load_data():
    """Lines as (N, LENGTH) characters with a mask, and (N,) labels."""
    source = "".join(inspect.getsource(module) for module in (argparse, inspect, json, textwrap))
    lines = [line.strip() for line in source.split("\n") if len(line.strip()) > 3]
    index = torch.zeros(len(lines), LENGTH, dtype=torch.long)
    mask = torch.zeros(len(lines), LENGTH, dtype=torch.long)
    for i, line in enumerate(lines):
        codes = [1, *(min(ord(c), 127) for c in line[: LENGTH - 1])]
        index[i, : len(codes)] = torch.tensor(codes)
        mask[i, : len(codes)] = 1
    labels = torch.tensor([label_of(line) for line in lines])
    return torch.utils.data.random_split(torch.utils.data.TensorDataset(index, mask, labels), [0.8, 0.2])


def make_model():
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=128, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            max_position_embeddings=LENGTH, num_labels=len(LABELS), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )
    )  # fmt: skip


def train(model, train_set, epochs, max_steps=None):
    """Trains `model` and returns the loss of every step."""
    loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    losses = []
    for _ in range(epochs):
        for index, mask, labels in tqdm(loader, desc="training"):
            loss = model(input_ids=index, attention_mask=mask, labels=labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            if len(losses) == max_steps:
                return losses
    return losses


@torch.no_grad()
def accuracy(model, test_set):
    model.eval()
    right = 0
    for index, mask, labels in torch.utils.data.DataLoader(test_set, batch_size=64):
        right += (model(input_ids=index, attention_mask=mask).logits.argmax(1) == labels).sum().item()
    return right / len(test_set)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=None, help="stop after so many")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    train_set, test_set = load_data()
    model = make_model()
    losses = train(model, train_set, arguments.epochs, arguments.steps)
    print("losses", *[f"{loss:.5f}" for loss in losses[:20]])
    if arguments.steps is None:
        print(f"test accuracy: {accuracy(model, test_set):.4f}")


if __name__ == "__main__":
    main()
