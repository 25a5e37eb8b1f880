"""captum: attributions of a small convolutional network by six methods."""

import torch
from captum.attr import (
    DeepLift,
    FeatureAblation,
    GuidedBackprop,
    InputXGradient,
    IntegratedGradients,
    LayerConductance,
    LayerGradCam,
    NoiseTunnel,
    Occlusion,
    Saliency,
)
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(64, 3)

    def forward(self, x):
        return self.fc(self.pool(self.relu(self.conv(x))).flatten(1))


net = Net().eval()
x = torch.randn(2, 1, 8, 8, requires_grad=True)
target = torch.tensor([0, 2])
result, delta = IntegratedGradients(net).attribute(x, target=target, n_steps=20, return_convergence_delta=True)
print("ig", result.sum().item(), result.abs().max().item(), delta.abs().max().item() < 0.1)
for method in (Saliency, InputXGradient, GuidedBackprop, DeepLift, FeatureAblation):
    result = method(net).attribute(x, target=target)
    print(method.__name__, result.sum().item(), result.abs().max().item())
print(
    "occlusion",
    Occlusion(net).attribute(x, target=target, sliding_window_shapes=(1, 4, 4), strides=(1, 4, 4)).sum().item(),
)
print("conductance", LayerConductance(net, net.conv).attribute(x, target=target, n_steps=10).sum().item())
print("gradcam", LayerGradCam(net, net.conv).attribute(x, target=target).flatten().tolist()[:5])
torch.manual_seed(0)
print("noise", NoiseTunnel(Saliency(net)).attribute(x, target=target, nt_samples=3, stdevs=0.1).sum().item())
