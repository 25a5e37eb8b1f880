"""ResNet-18 and ResNet-50."""

from __future__ import annotations

import functools
from typing import Any

from .task import Task

RESNET_STAGES = ((64, 1), (128, 2), (256, 2), (512, 2))


def resnet18(torch: Any) -> Task:
    """ResNet-18 for 32x32 images: a 3x3 stem in place of the 7x7 one and its pooling."""
    nn = torch.nn

    class BasicBlock(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride=stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.conv2 = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.shortcut = nn.Sequential()
            if stride != 1 or inner != outer:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer)
                )

        def forward(self, x):  # (N, C, H, W)
            y = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 64, 3, padding=1, bias=False)
            self.bn = nn.BatchNorm2d(64)
            blocks, inner = [], 64
            for outer, stride in RESNET_STAGES:
                blocks += [BasicBlock(inner, outer, stride), BasicBlock(outer, outer, 1)]
                inner = outer
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(512, 10)

        def forward(self, x):  # (N, 3, 32, 32)
            x = self.blocks(torch.relu(self.bn(self.conv(x))))  # (N, 512, 4, 4)
            return self.fc(x.mean(dim=(2, 3)))  # (N, 10)

    model = ResNet()
    # A small rate: at 0.01 on random labels, rounding alone drives float32 losses 3 % apart within ten steps.
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-4)
    return Task(model, nn.CrossEntropyLoss(), optimizer)


BOTTLENECK_STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))
"""Of ResNet-50: inner width, blocks, stride of the first."""


def resnet50(torch: Any) -> Task:
    """ResNet-50 for 224x224 images and 1,000 classes, in mixed precision (bfloat16 under autocast) and channels last."""
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, inner: int, width: int, stride: int) -> None:
            super().__init__()
            outer = 4 * width
            self.conv1 = nn.Conv2d(inner, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride=stride, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, outer, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(outer)
            self.shortcut = nn.Sequential()
            if stride != 1 or inner != outer:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride=stride, bias=False), nn.BatchNorm2d(outer)
                )

        def forward(self, x):  # (N, C, H, W)
            y = torch.relu(self.bn1(self.conv1(x)))
            y = torch.relu(self.bn2(self.conv2(y)))
            return torch.relu(self.bn3(self.conv3(y)) + self.shortcut(x))

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 64, 7, stride=2, padding=3, bias=False)
            self.bn = nn.BatchNorm2d(64)
            self.pool = nn.MaxPool2d(3, stride=2, padding=1)
            blocks, inner = [], 64
            for width, count, stride in BOTTLENECK_STAGES:
                for i in range(count):
                    blocks.append(Bottleneck(inner, width, stride if i == 0 else 1))
                    inner = 4 * width
            self.blocks = nn.Sequential(*blocks)
            self.fc = nn.Linear(inner, 1000)

        def forward(self, x):  # (N, 3, 224, 224)
            x = self.pool(torch.relu(self.bn(self.conv(x))))  # (N, 64, 56, 56)
            return self.fc(self.blocks(x).mean(dim=(2, 3)))  # (N, 1000)

    model = ResNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=5e-5)
    precision = functools.partial(torch.autocast, "cuda", torch.bfloat16)
    return Task(model, nn.CrossEntropyLoss(), optimizer, precision)
