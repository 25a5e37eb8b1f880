"""A normalising flow of affine couplings on two moons, and a mixture density network."""

import math

import torch
from torch import nn

torch.manual_seed(0)
angle = torch.rand(256) * math.pi
moons = torch.stack([angle.cos(), angle.sin()], 1)
moons[::2] = torch.tensor([1.0, 0.5]) - moons[::2]
moons += 0.05 * torch.randn(256, 2)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 2))
        nn.init.zeros_(self.net[-1].weight)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        scale, shift = self.net(a).chunk(2, dim=1)
        scale = torch.tanh(scale)
        b = b * scale.exp() + shift
        return torch.cat([b, a] if self.flip else [a, b], 1), scale.sum(1)


flow = nn.ModuleList([Coupling(bool(i % 2)) for i in range(6)])
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(20):
    x, total = moons, torch.zeros(len(moons))
    for layer in flow:
        x, log_det = layer(x)
        total = total + log_det
    log_prior = -0.5 * (x**2).sum(1) - math.log(2 * math.pi)
    loss = -(log_prior + total).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())

y = torch.linspace(-1, 1, 64).unsqueeze(1)
x = y + 0.3 * torch.sin(2 * math.pi * y) + 0.05 * torch.randn_like(y)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 9))
optimizer = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for _ in range(10):
    logits, mean, log_std = net(x).chunk(3, -1)
    log_chance = -0.5 * ((y - mean) / log_std.exp()) ** 2 - log_std - 0.5 * math.log(2 * math.pi)
    loss = -torch.logsumexp(torch.log_softmax(logits, -1) + log_chance, -1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
