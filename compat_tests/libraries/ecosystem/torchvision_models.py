"""torchvision: ResNet-18 and its feature extraction, boxes, and transforms of tensors."""

import torch
import torchvision
from torch import nn
from torchvision.models.feature_extraction import create_feature_extractor
from torchvision.transforms import v2

torch.manual_seed(0)
model = torchvision.models.resnet18(num_classes=5)
x, y = torch.randn(4, 3, 64, 64), torch.tensor([1, 3, 0, 2])
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
model.eval()
with torch.no_grad():
    parts = create_feature_extractor(model, {"layer1": "low", "avgpool": "pooled"})(x)
    print({name: (tuple(t.shape), t.mean().item()) for name, t in parts.items()})
    change = v2.Compose([v2.Resize(24, antialias=True), v2.CenterCrop(16), v2.Normalize([0.5] * 3, [0.2] * 3)])
    print(change(x).mean().item(), v2.functional.hflip(x)[0, 0, 0, 0].item())
print(torchvision.ops.box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[1.0, 1, 3, 3]])).tolist())
print(torchvision.utils.make_grid(torch.rand(4, 3, 5, 5), nrow=2).shape)
