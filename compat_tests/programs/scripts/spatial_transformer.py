"""A spatial transformer that starts at the identity: pooling before an in-place ReLU, and a loop in the style of old PyTorch."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd import Variable

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.Conv2d(1, 4, 5), nn.MaxPool2d(2, stride=2), nn.ReLU(True))
        self.place = nn.Linear(4 * 4 * 4, 6)
        self.place.weight.data.zero_()
        self.place.bias.data.copy_(torch.tensor([1, 0, 0, 0, 1, 0], dtype=torch.float))
        self.conv = nn.Conv2d(1, 6, 3)
        self.fc = nn.Linear(150, 5)

    def forward(self, x):
        theta = self.place(self.where(x).view(-1, 64)).view(-1, 2, 3)
        x = F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False)
        x = F.relu(F.max_pool2d(self.conv(x), 2), inplace=True)
        return F.log_softmax(self.fc(x.view(-1, 150)), dim=1)


model = Net()
images, labels = Variable(torch.rand(16, 1, 12, 12)), Variable(torch.LongTensor(16).random_(0, 5))
momentum = [torch.zeros_like(p) for p in model.parameters()]
for step in range(5):
    loss = F.nll_loss(model(images), labels)
    model.zero_grad()
    loss.backward()
    for p, m in zip(model.parameters(), momentum):
        m.mul_(0.9).add_(p.grad.data)
        p.data.add_(m, alpha=-0.05)
    print(f"step {step} loss {loss.data:.5f}")
    print(model.place.bias.grad)

w = Variable(torch.randn(3, 2), requires_grad=True)
x = torch.linspace(-1, 1, 30).view(10, 3)
for step in range(40):
    error = (x.mm(w).clamp(min=0) - 1).pow(2).sum()
    if step % 10 == 0:
        print(step, error.item())
    error.backward()
    w.data -= 0.01 * w.grad.data
    w.grad.data.zero_()
