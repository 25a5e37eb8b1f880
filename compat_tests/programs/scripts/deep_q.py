"""Deep Q-learning with a replay buffer and a target network on a corridor."""

import random
from collections import deque, namedtuple

import torch
from torch import nn

torch.manual_seed(0)
random.seed(0)
Step = namedtuple("Step", ("state", "action", "next_state", "reward"))


class Corridor:
    def reset(self):
        self.place = 3
        return self.seen()

    def seen(self):
        return torch.nn.functional.one_hot(torch.tensor([self.place]), 8).float()

    def step(self, action):
        self.place += 1 if action == 1 else -1
        done = self.place in (0, 7)
        return None if done else self.seen(), (1.0 if self.place == 7 else 0.0), done


def make():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))


policy, target = make(), make()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
memory, environment, losses = deque(maxlen=200), Corridor(), []
for episode in range(6):
    state, done, count = environment.reset(), False, 0
    while not done and count < 15:
        count += 1
        if random.random() < 0.3:
            action = torch.tensor([[random.randrange(2)]])
        else:
            with torch.no_grad():
                action = policy(state).max(1).indices.view(1, 1)
        after, reward, done = environment.step(action.item())
        memory.append(Step(state, action, after, torch.tensor([reward])))
        state = after
        if len(memory) >= 8:
            batch = Step(*zip(*random.sample(memory, 8)))
            final = torch.tensor([s is not None for s in batch.next_state])
            values = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
            later = torch.zeros(8)
            with torch.no_grad():
                if final.any():
                    later[final] = target(torch.cat([s for s in batch.next_state if s is not None])).max(1).values
            wanted = later * 0.9 + torch.cat(batch.reward)
            loss = nn.SmoothL1Loss()(values, wanted.unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(policy.parameters(), 100)
            optimizer.step()
            losses.append(loss.item())
            kept = target.state_dict()
            for key, value in policy.state_dict().items():
                kept[key] = value * 0.05 + kept[key] * 0.95
            target.load_state_dict(kept)
    print(episode, count, losses[-1] if losses else None)
print(*losses[:20])
