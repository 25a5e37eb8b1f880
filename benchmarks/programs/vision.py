"""Images, sound and volumes: small networks of the usual kinds, trained or run."""

import torch
import torch.nn.functional as F
from torch import nn


def _train(model, x, y, optimizer, steps, loss_fn=F.cross_entropy):
    """The usual loop; `x` and `y` are lists of batches."""
    for step in range(steps):
        inputs, targets = x[step % len(x)], y[step % len(y)]
        optimizer.zero_grad()
        loss = loss_fn(model(inputs), targets)
        loss.backward()
        optimizer.step()
        yield loss.item()


def _images(batch, size, channels=3, classes=10, count=4):
    return [torch.randn(batch, channels, size, size) for _ in range(count)], [
        torch.randint(0, classes, (batch,)) for _ in range(count)
    ]


def vgg():
    """VGG with batch norm and dropout, 3x32x32, batch 16, SGD."""
    layers, c = [], 3
    for v in (32, 32, "M", 64, 64, "M", 128, 128, "M"):
        if v == "M":
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(c, v, 3, padding=1), nn.BatchNorm2d(v), nn.ReLU(inplace=True)]
            c = v
    model = nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(128 * 16, 256), nn.ReLU(True), nn.Dropout(), nn.Linear(256, 10)
    )
    x, y = _images(16, 32)
    yield from _train(model, x, y, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, weight_decay=5e-4), 40)


class _Inverted(nn.Module):
    def __init__(self, c, expand, out, kernel, stride, act):
        super().__init__()
        h = c * expand
        self.residual = stride == 1 and c == out
        self.body = nn.Sequential(
            nn.Conv2d(c, h, 1, bias=False),
            nn.BatchNorm2d(h),
            act(),
            nn.Conv2d(h, h, kernel, stride, kernel // 2, groups=h, bias=False),
            nn.BatchNorm2d(h),
            act(),
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(h, h // 4, 1), nn.ReLU(), nn.Conv2d(h // 4, h, 1), nn.Hardsigmoid()
        )
        self.project = nn.Sequential(nn.Conv2d(h, out, 1, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.body(x)
        y = self.project(y * self.squeeze(y))
        return x + y if self.residual else y


def _mobilenet():
    blocks = [nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish()]
    c = 16
    for out, kernel, stride in ((16, 3, 1), (24, 3, 2), (24, 3, 1), (40, 5, 2), (40, 5, 1), (80, 3, 2)):
        blocks.append(_Inverted(c, 4, out, kernel, stride, nn.Hardswish))
        c = out
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10))


def mobilenet():
    """MobileNetV3 blocks (depthwise, squeeze and excite, hardswish), 3x64x64, batch 16."""
    model = _mobilenet()
    x, y = _images(16, 64)
    yield from _train(model, x, y, torch.optim.RMSprop(model.parameters(), 1e-3, momentum=0.9), 30)


def mobilenet_eval():
    """The same network in eval, one image at a time, class read."""
    model = _mobilenet().eval()
    x, _ = _images(1, 96)
    with torch.no_grad():
        for step in range(60):
            out = model(x[step % 4])
            out.argmax(1).item()
            yield out.sum().item()


class _DenseLayer(nn.Module):
    def __init__(self, c, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(c), nn.Conv2d(c, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        y = self.conv1(F.relu(self.norm1(x)))
        return torch.cat([x, self.conv2(F.relu(self.norm2(y)))], 1)


def densenet():
    """DenseNet of 2 blocks of 4 layers, 3x32x32, batch 16, SGD with Nesterov."""
    c, layers = 24, [nn.Conv2d(3, 24, 3, padding=1, bias=False)]
    for block in range(2):
        for _ in range(4):
            layers.append(_DenseLayer(c, 12))
            c += 12
        layers += [nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c // 2, 1, bias=False), nn.AvgPool2d(2)]
        c //= 2
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10))
    x, y = _images(16, 32)
    yield from _train(model, x, y, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, nesterov=True), 30)


def _double(c, out):
    return nn.Sequential(
        nn.Conv2d(c, out, 3, padding=1),
        nn.BatchNorm2d(out),
        nn.ReLU(True),
        nn.Conv2d(out, out, 3, padding=1),
        nn.BatchNorm2d(out),
        nn.ReLU(True),
    )


class _UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.down3 = _double(3, 16), _double(16, 32), _double(32, 64)
        self.up2, self.merge2 = nn.ConvTranspose2d(64, 32, 2, 2), _double(64, 32)
        self.merge1, self.out = _double(48, 16), nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.down3(F.max_pool2d(b, 2))
        b = self.merge2(torch.cat([self.up2(c), b], 1))
        up = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.out(self.merge1(torch.cat([up, a], 1)))


def unet():
    """U-Net with a transposed convolution and a bilinear one, 3x64x64, batch 4, dice and cross entropy."""
    model = _UNet()
    x = [torch.randn(4, 3, 64, 64) for _ in range(4)]
    y = [(i[:, :1].cumsum(2).squeeze(1) > 0).long() for i in x]

    def loss_fn(out, target):
        p = out.softmax(1)[:, 1]
        dice = 1 - (2 * (p * target).sum() + 1) / (p.sum() + target.sum() + 1)
        return F.cross_entropy(out, target) + dice

    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 1e-3), 30, loss_fn)


class _Next(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.depth = nn.Conv2d(c, c, 7, padding=3, groups=c)
        self.norm, self.up, self.down = nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
        self.gamma = nn.Parameter(1e-6 * torch.ones(c))

    def forward(self, x):
        y = self.depth(x).permute(0, 2, 3, 1)
        y = self.gamma * self.down(F.gelu(self.up(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


def convnext():
    """ConvNeXt blocks (7x7 depthwise, LayerNorm, GELU), 3x64x64, batch 8, AdamW."""
    model = nn.Sequential(
        nn.Conv2d(3, 48, 4, 4), _Next(48), _Next(48), nn.GroupNorm(1, 48), nn.Conv2d(48, 96, 2, 2), _Next(96), _Next(96),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(96), nn.Linear(96, 10),
    )  # fmt: skip
    x, y = _images(8, 64)
    yield from _train(model, x, y, torch.optim.AdamW(model.parameters(), 4e-4), 30)


def dilated():
    """Atrous pyramid: 3x3 convolutions with dilations 1, 2, 4, 8, joined, segmentation, batch 4 of 3x48x48."""

    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 24, 3, padding=1)
            self.branches = nn.ModuleList(nn.Conv2d(24, 24, 3, padding=d, dilation=d) for d in (1, 2, 4, 8))
            self.out = nn.Conv2d(96, 5, 1)

        def forward(self, x):
            x = F.relu(self.stem(x))
            return self.out(torch.cat([F.leaky_relu(b(x), 0.1) for b in self.branches], 1))

    model = Pyramid()
    x = [torch.randn(4, 3, 48, 48) for _ in range(4)]
    y = [torch.randint(0, 5, (4, 48, 48)) for _ in range(4)]
    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 1e-3), 40)


def wavenet():
    """1D causal dilated convolutions with gates, batch 8 of 16x512."""

    class Layer(nn.Module):
        def __init__(self, c, d):
            super().__init__()
            self.d, self.gate, self.mix = d, nn.Conv1d(c, 2 * c, 2, dilation=d), nn.Conv1d(c, c, 1)

        def forward(self, x):
            a, b = self.gate(F.pad(x, (self.d, 0))).chunk(2, 1)
            return x + self.mix(torch.tanh(a) * torch.sigmoid(b))

    model = nn.Sequential(nn.Conv1d(16, 32, 1), *[Layer(32, 2**i) for i in range(6)], nn.ReLU(), nn.Conv1d(32, 16, 1))
    x = [torch.randn(8, 16, 512) for _ in range(4)]
    y = [i.roll(-1, 2) for i in x]
    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 1e-3), 40, F.mse_loss)


def audio():
    """M5 on raw sound: strided 1D convolutions, batch norm, max pooling, batch 16 of 1x8000."""
    model = nn.Sequential(
        nn.Conv1d(1, 32, 80, 16), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4), nn.Conv1d(32, 32, 3), nn.BatchNorm1d(32), nn.ReLU(),
        nn.MaxPool1d(4), nn.Conv1d(32, 64, 3), nn.BatchNorm1d(64), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(64, 35), nn.LogSoftmax(1),
    )  # fmt: skip
    x = [torch.randn(16, 1, 8000) for _ in range(4)]
    y = [torch.randint(0, 35, (16,)) for _ in range(4)]
    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 0.01, weight_decay=1e-4), 40, F.nll_loss)


def volumes():
    """3D convolutions, batch norm and pooling, batch 4 of 1x24x24x24."""
    model = nn.Sequential(
        nn.Conv3d(1, 16, 3, padding=1), nn.BatchNorm3d(16), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(16, 32, 3, padding=1), nn.BatchNorm3d(32), nn.ReLU(),
        nn.MaxPool3d(2), nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 5),
    )  # fmt: skip
    x = [torch.randn(4, 1, 24, 24, 24) for _ in range(4)]
    y = [torch.randint(0, 5, (4,)) for _ in range(4)]
    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 1e-3), 25)


def super_resolution():
    """Residual blocks with instance and group norm, PixelShuffle, L1, batch 4 of 3x24x24."""

    class Block(nn.Module):
        def __init__(self, norm):
            super().__init__()
            self.body = nn.Sequential(
                nn.Conv2d(32, 32, 3, padding=1, padding_mode="reflect"),
                norm,
                nn.PReLU(),
                nn.Conv2d(32, 32, 3, padding=1),
            )

        def forward(self, x):
            return x + self.body(x)

    model = nn.Sequential(
        nn.Conv2d(3, 32, 5, padding=2), Block(nn.InstanceNorm2d(32, affine=True)), Block(nn.GroupNorm(8, 32)), nn.Conv2d(32, 128, 3, padding=1),
        nn.PixelShuffle(2), nn.PReLU(), nn.Conv2d(32, 3, 3, padding=1), nn.Sigmoid(),
    )  # fmt: skip
    y = [torch.rand(4, 3, 48, 48) for _ in range(4)]
    x = [F.interpolate(i, scale_factor=0.5, mode="bicubic") for i in y]
    yield from _train(model, x, y, torch.optim.Adam(model.parameters(), 1e-3), 30, F.l1_loss)


def autocast():
    """A small CNN under bfloat16 autocast, batch 16 of 3x32x32."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(1024, 128), nn.GELU(), nn.Linear(128, 10),
    )  # fmt: skip
    x, y = _images(16, 32)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(30):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x[step % 4]), y[step % 4])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield loss.item()


def accumulation():
    """Gradient accumulation over 4 micro batches, clipping, an EMA of the weights, a schedule, validation every 5."""
    import copy

    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2048, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    ema = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    x, y = _images(8, 32)
    for step in range(60):
        total = 0.0
        for i in range(4):
            loss = F.cross_entropy(model(x[i]), y[i]) / 4
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        with torch.no_grad():
            for p, q in zip(ema.parameters(), model.parameters()):
                p.mul_(0.99).add_(q, alpha=0.01)
            if step % 5 == 4:
                ema.eval()
                correct = sum((ema(a).argmax(1) == b).sum().item() for a, b in zip(x, y))
                total += correct * 1e-6
        yield total
