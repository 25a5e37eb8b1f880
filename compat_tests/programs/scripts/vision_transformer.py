"""A vision transformer from nn.TransformerEncoder, with a class token, warm-up and gradient accumulation."""

import torch
from torch import nn

torch.manual_seed(0)


class ViT(nn.Module):
    def __init__(self, size=16, patch=4, width=32, depth=2, heads=4, classes=5):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        nn.init.trunc_normal_(self.places, std=0.02)
        layer = nn.TransformerEncoderLayer(
            width, heads, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


model = ViT()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 4))
images, labels = torch.randn(12, 3, 16, 16), torch.randint(5, (12,))
for _ in range(6):
    for part in range(2):
        half = slice(part * 6, part * 6 + 6)
        loss = nn.functional.cross_entropy(model(images[half]), labels[half], label_smoothing=0.1) / 2
        loss.backward()
        print(loss.item())
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    schedule.step()
    print(norm.item(), schedule.get_last_lr())
