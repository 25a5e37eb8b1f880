"""Hogwild: processes that are spawned train one model in shared memory; so are tensors, views and buffers among their arguments."""

import torch
import torch.multiprocessing as mp
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x):
        return self.fc(x)


def train(rank, model, x, y, columns, copied):
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    column = columns[rank]
    column += 1 + rank
    model.steps.fill_(20)
    copied += 1
    assert column.stride() == (3,) and column.is_shared() and model.fc.weight.is_shared() and not copied.is_contiguous()


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    y = (x.sum(1) > 0).long()
    model = Net().share_memory()
    tables = [torch.zeros(4, 3).share_memory_() for _ in range(2)]
    before = nn.functional.cross_entropy(model(x), y).item()
    mp.spawn(train, args=(model, x, y, [table[:, 1] for table in tables], torch.zeros(3, 2).t()), nprocs=2)
    after = nn.functional.cross_entropy(model(x), y).item()
    print(after < 0.7 * before)
    print(model.steps)
    print(tables)
    print([p.requires_grad and p.is_leaf and p.is_shared() for p in model.parameters()], type(model.fc.weight).__name__)
    with torch.no_grad():
        model.fc.weight.zero_()
    print(model(x)[0].tolist() == model.fc.bias.tolist())
