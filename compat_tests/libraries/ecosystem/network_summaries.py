"""torchinfo, torchsummary, thop: what they count in a small network."""

import thop
import torch
import torchinfo
import torchsummary
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(
    nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
)
print(
    torchinfo.summary(
        net, (2, 3, 16, 16), verbose=0, col_names=("input_size", "output_size", "num_params", "mult_adds")
    )
)
torchsummary.summary(net, (3, 16, 16), device="cpu")
print(thop.profile(net, (torch.randn(1, 3, 16, 16),), verbose=False))
