"""Learns to balance a pole on a cart by REINFORCE, in an environment of its own.

    python examples/cartpole_policy_gradient.py --episodes 300 --output output/cartpole

The physics are those of Barto, Sutton and Anderson, 1983; the algorithm is Williams's, 1992, with a learned baseline. Written
for PyTorch: with `import torch` in place of `import jaxtorch as torch` it runs there too.
"""

import argparse
import math
from pathlib import Path

import matplotlib
import numpy as np
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

nn, F = torch.nn, torch.nn.functional
LONGEST = 200  # steps of an episode


class CartPole:
    """State: position and speed of the cart, angle and angular speed of the pole. Actions: push left (0) or right (1)."""

    gravity, cart, pole, half_length, force, step_time = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def reset(self):
        self.state = self.random.uniform(-0.05, 0.05, 4)
        return self.state.astype(np.float32)

    def step(self, action):
        _, speed, angle, turning = self.state
        push = self.force if action == 1 else -self.force
        total = self.cart + self.pole
        pressed = (push + self.pole * self.half_length * turning**2 * math.sin(angle)) / total
        turn = (self.gravity * math.sin(angle) - math.cos(angle) * pressed) / (
            self.half_length * (4 / 3 - self.pole * math.cos(angle) ** 2 / total)
        )
        speeding = pressed - self.pole * self.half_length * turn * math.cos(angle) / total
        self.state = self.state + self.step_time * np.array([speed, speeding, turning, turn])
        fallen = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 12 * math.pi / 180
        return self.state.astype(np.float32), 1.0, fallen


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 64), nn.Tanh())
        self.action = nn.Linear(64, 2)
        self.value = nn.Linear(64, 1)

    def forward(self, state):  # (..., 4)
        hidden = self.body(state)
        return self.action(hidden), self.value(hidden).squeeze(-1)


def play(policy, environment):
    """One episode: its states, actions and rewards."""
    states, actions, rewards = [], [], []
    state = environment.reset()
    with torch.no_grad():
        while len(rewards) < LONGEST:
            logits, _ = policy(torch.from_numpy(state))
            action = torch.multinomial(F.softmax(logits, dim=-1), 1).item()
            states.append(state)
            actions.append(action)
            state, reward, fallen = environment.step(action)
            rewards.append(reward)
            if fallen:
                break
    return np.stack(states), actions, rewards


def loss_of(policy, states, actions, rewards, discount=0.99):
    """The loss of one episode. It is padded to the longest, so that every episode has one shape."""
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + discount * total
        returns.append(total)
    returns.reverse()
    n = len(rewards)
    padded = torch.zeros(LONGEST, 4)
    padded[:n] = torch.from_numpy(states)
    mask = (torch.arange(LONGEST) < n).float()
    chosen = torch.tensor(actions + [0] * (LONGEST - n))
    wanted = torch.tensor(returns + [0.0] * (LONGEST - n))
    logits, values = policy(padded)
    advantage = wanted / 10 - values
    log_chance = -F.cross_entropy(logits, chosen, reduction="none")
    return (mask * (-log_chance * advantage.detach() + 0.5 * advantage**2)).sum() / n


def train(policy, environment, episodes):
    """Trains `policy` and returns the loss and the length of every episode."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    losses, lengths = [], []
    progress = tqdm(range(episodes), desc="training")
    for _ in progress:
        episode = play(policy, environment)
        loss = loss_of(policy, *episode)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        lengths.append(len(episode[2]))
        progress.set_postfix(length=lengths[-1], refresh=False)
    return losses, lengths


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--episodes", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for the picture")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    _, lengths = train(Policy(), CartPole(arguments.seed), arguments.episodes)
    print(f"steps balanced: {np.mean(lengths[:20]):.0f} at first, {np.mean(lengths[-20:]):.0f} at last")
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
        axes.plot(lengths, ".", color="0.7")
        axes.plot(np.convolve(lengths, np.ones(20) / 20, "valid"))
        axes.set(xlabel="episode", ylabel="steps balanced", title="REINFORCE on the cart and pole")
        figure.savefig(arguments.output / "lengths.png", dpi=120)


if __name__ == "__main__":
    main()
