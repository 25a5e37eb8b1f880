"""A multilayer perceptron and LeNet."""

from __future__ import annotations

from typing import Any

from .task import Task


def mlp(torch: Any) -> Task:
    """Multilayer perceptron 32-64-64-10."""
    nn = torch.nn
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    return Task(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


def lenet(torch: Any) -> Task:
    """The two convolutions and three linear layers of PyTorch's beginners' tutorial."""
    nn = torch.nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 6, 5)
            self.pool = nn.MaxPool2d(2, 2)
            self.conv2 = nn.Conv2d(6, 16, 5)
            self.fc1 = nn.Linear(16 * 5 * 5, 120)
            self.fc2 = nn.Linear(120, 84)
            self.fc3 = nn.Linear(84, 10)

        def forward(self, x):  # (N, 3, 32, 32)
            x = self.pool(torch.relu(self.conv1(x)))  # (N, 6, 14, 14)
            x = self.pool(torch.relu(self.conv2(x)))  # (N, 16, 5, 5)
            x = torch.flatten(x, 1)  # (N, 400)
            x = torch.relu(self.fc1(x))  # (N, 120)
            x = torch.relu(self.fc2(x))  # (N, 84)
            return self.fc3(x)  # (N, 10)

    model = Net()
    return Task(model, nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))
