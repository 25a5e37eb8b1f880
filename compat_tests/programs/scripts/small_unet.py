"""A U-Net for segmentation with dice loss, mixed with a diffusion step of noise prediction."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Double(nn.Sequential):
    def __init__(self, i, o):
        super().__init__(
            nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1, bias=False), nn.GroupNorm(4, o), nn.SiLU(),
        )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, channels=1):
        super().__init__()
        self.down1, self.down2, self.middle = Double(channels, 8), Double(8, 16), Double(16, 16)
        self.up2, self.up1 = nn.ConvTranspose2d(16, 16, 2, stride=2), nn.Upsample(scale_factor=2, mode="bilinear")
        self.merge2, self.merge1 = Double(32, 8), Double(16, 8)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.up2(self.middle(F.max_pool2d(b, 2)))
        c = self.merge2(torch.cat([b, c], dim=1))
        return self.out(self.merge1(torch.cat([a, self.up1(c)], dim=1)))


grid = torch.stack(torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")).float()
centres = torch.randint(4, 12, (8, 2, 1, 1)).float()
masks = (((grid - centres) ** 2).sum(1, keepdim=True) < 12).float()
images = masks + 0.5 * torch.randn_like(masks)
net = UNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
for _ in range(6):
    logits = net(images)
    p = torch.sigmoid(logits)
    dice = 1 - (2 * (p * masks).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + masks.sum((1, 2, 3)) + 1)
    loss = F.binary_cross_entropy_with_logits(logits, masks) + dice.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
betas = torch.linspace(1e-4, 0.02, 50)
alphas = torch.cumprod(1 - betas, 0)
for _ in range(4):
    t = torch.randint(50, (8,))
    noise = torch.randn_like(masks)
    a = alphas[t].view(-1, 1, 1, 1)
    loss = F.mse_loss(net(a.sqrt() * masks + (1 - a).sqrt() * noise), noise)
    optimizer.zero_grad(set_to_none=False)
    loss.backward()
    optimizer.step()
    print(loss.item())
net.eval()
with torch.inference_mode():
    print(net(images).mean().item())
