"""A graph convolutional network by index_add and scatter, on a ring with chords."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
n = 24
edges = torch.tensor([(i, (i + k) % n) for i in range(n) for k in (1, 5)]).t()
edges = torch.cat([edges, edges.flip(0)], dim=1)
features, labels = torch.randn(n, 8), (torch.arange(n) // 8)


class Convolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x, edges):
        source, target = edges
        degree = torch.zeros(x.size(0)).scatter_add_(0, target, torch.ones(edges.size(1))).clamp(min=1)
        norm = degree.pow(-0.5)
        messages = self.linear(x)[source] * (norm[source] * norm[target]).unsqueeze(-1)
        return torch.zeros(x.size(0), messages.size(1)).index_add(0, target, messages) + self.bias


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Linear(2 * width, 1)

    def forward(self, x, edges):
        source, target = edges
        e = F.leaky_relu(self.score(torch.cat([x[source], x[target]], -1))).squeeze(-1)
        top = torch.full((x.size(0),), -1e9).scatter_reduce(0, target, e, "amax")
        e = (e - top[target]).exp()
        total = torch.zeros(x.size(0)).index_add(0, target, e)
        return torch.zeros_like(x).index_add(0, target, x[source] * (e / total[target]).unsqueeze(-1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.attention = Convolution(8, 16), Convolution(16, 3), Attention(16)

    def forward(self, x, edges):
        return self.two(self.attention(F.relu(self.one(x, edges)), edges), edges)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02, weight_decay=5e-4)
train = torch.arange(n) % 3 != 0
for _ in range(20):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(features, edges)[train], labels[train])
    loss.backward()
    optimizer.step()
    print(loss.item())
print(net(features, edges).argmax(1).tolist())
