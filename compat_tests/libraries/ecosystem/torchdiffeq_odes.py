"""torchdiffeq: solvers on a known equation, and a neural ODE trained through odeint and through its adjoint."""

import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
y0 = torch.tensor([[2.0, 0.0]])
t = torch.linspace(0.0, 2.0, 12)


def field(t, y):
    return y**3 @ A


for method in ("dopri5", "bosh3", "adaptive_heun", "euler", "midpoint", "rk4", "explicit_adams"):
    print(method, odeint(field, y0, t, method=method)[-1].flatten().tolist())


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.calls = 0

    def forward(self, t, y):
        self.calls += 1
        return self.net(y**3)


with torch.no_grad():
    truth = odeint(field, y0, t)
for solve in (odeint, odeint_adjoint):
    torch.manual_seed(0)
    model = Field()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (solve(model, y0, t, rtol=1e-4, atol=1e-4) - truth).abs().mean()
        loss.backward()
        optimizer.step()
        print(solve.__name__, loss.item())


class Falling(nn.Module):
    def forward(self, t, state):
        _, speed = state
        return speed, torch.full_like(speed, -9.8)


when, (position, speed) = odeint_event(
    Falling(),
    (torch.tensor([10.0]), torch.tensor([0.0])),
    torch.tensor(0.0),
    event_fn=lambda t, s: s[0],
    atol=1e-6,
    rtol=1e-6,
)
print(when.item(), speed[-1].item())
