"""Many small operations, with results read in between: tables of values, advantages, search, filters, a tally."""

import random

import torch
import torch.nn.functional as F
from torch import nn


def q_learning():
    """Tabular Q-learning: single elements read and written; a yield for each episode of 30 steps."""
    random.seed(0)
    q = torch.zeros(16, 4)
    for episode in range(100):
        state = 0
        for t in range(30):
            action = random.randrange(4) if random.random() < 0.2 else q[state].argmax().item()
            following = (state * 5 + action + 1) % 16
            reward = 1.0 if following == 15 else -0.1
            q[state, action] += 0.1 * (reward + 0.9 * q[following].max() - q[state, action])
            state = following
        yield q.sum().item()


def advantages():
    """Generalised advantage estimation backwards over 64 steps of 4 environments."""
    for step in range(60):
        rewards, values, dones = torch.randn(64, 4), torch.randn(65, 4), (torch.rand(64, 4) < 0.05).float()
        found, last = torch.zeros(64, 4), torch.zeros(4)
        for t in reversed(range(64)):
            mask = 1.0 - dones[t]
            delta = rewards[t] + 0.99 * values[t + 1] * mask - values[t]
            last = delta + 0.99 * 0.95 * mask * last
            found[t] = last
        found = (found - found.mean()) / (found.std() + 1e-8)
        yield found[0].sum().item()


def beam_search():
    """A beam of 3 over a GRU cell, 10 tokens."""
    embed, cell, head = nn.Embedding(40, 16), nn.GRUCell(16, 32), nn.Linear(32, 40)
    for step in range(50):
        with torch.no_grad():
            beams = [([step % 40], 0.0, torch.zeros(1, 32))]
            for t in range(10):
                candidates = []
                for tokens, score, h in beams:
                    following = cell(embed(torch.tensor([tokens[-1]])), h)
                    best, ids = F.log_softmax(head(following), dim=-1).squeeze(0).topk(3)
                    for p, i in zip(best, ids):
                        candidates.append((tokens + [i.item()], score + p.item(), following))
                beams = sorted(candidates, key=lambda c: -c[1])[:3]
        yield beams[0][1]


def value_iteration():
    """Value iteration on 25 states with 4 actions, until the values change little."""
    n = 25
    chances, rewards = torch.rand(4, n, n), torch.randn(4, n)
    chances = chances / chances.sum(-1, keepdim=True)
    for step in range(60):
        values = torch.zeros(n) + step * 0.01
        for sweep in range(30):
            q = rewards + 0.9 * (chances @ values)
            new = q.max(0).values
            change, values = (new - values).abs().max().item(), new
            if change < 1e-6:
                break
        yield values.mean().item() + q.argmax(0)[0].item()


def tally():
    """Running metrics: a confusion matrix filled sample by sample, Welford's mean and variance."""
    confusion = torch.zeros(10, 10, dtype=torch.long)
    mean, squares, correct, seen = torch.zeros(8), torch.zeros(8), 0, 0
    for step in range(1, 200):
        logits, y = torch.randn(32, 10), torch.randint(0, 10, (32,))
        p = logits.argmax(1)
        correct, seen = correct + (p == y).sum().item(), seen + len(y)
        for a, b in zip(y, p):
            confusion[a, b] += 1
        row = logits[:, :8].mean(0)
        d = row - mean
        mean += d / step
        squares += d * (row - mean)
        yield correct / seen + confusion.diag().sum().item() / seen + (squares / step).sum().item()
