"""Generative models, graphs, points."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def vae():
    """VAE on 784 pixels, batch 64, Adam."""
    encode, mean, spread = nn.Sequential(nn.Linear(784, 256), nn.ReLU()), nn.Linear(256, 20), nn.Linear(256, 20)
    decode = nn.Sequential(nn.Linear(20, 256), nn.ReLU(), nn.Linear(256, 784))
    model = nn.ModuleList([encode, mean, spread, decode])
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for step in range(60):
        x = torch.rand(64, 784)
        h = encode(x)
        mu, logvar = mean(h), spread(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        loss = F.binary_cross_entropy_with_logits(decode(z), x, reduction="sum") - 0.5 * torch.sum(
            1 + logvar - mu.pow(2) - logvar.exp()
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item() / len(x) / 784


def dcgan():
    """DCGAN of 3x32x32, two optimizers, batch 16."""
    g = nn.Sequential(
        nn.ConvTranspose2d(64, 64, 4, 1, 0, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    d = nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(16, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2, True),
        nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, True), nn.Conv2d(64, 1, 4), nn.Flatten(),
    )  # fmt: skip
    og, od = torch.optim.Adam(g.parameters(), 2e-4, (0.5, 0.999)), torch.optim.Adam(d.parameters(), 2e-4, (0.5, 0.999))
    real = torch.rand(4, 16, 3, 32, 32) * 2 - 1
    criterion, ones, zeros = nn.BCEWithLogitsLoss(), torch.ones(16, 1), torch.zeros(16, 1)
    for step in range(30):
        fake = g(torch.randn(16, 64, 1, 1))
        d.zero_grad()
        loss_d = criterion(d(real[step % 4]), ones) + criterion(d(fake.detach()), zeros)
        loss_d.backward()
        od.step()
        g.zero_grad()
        loss_g = criterion(d(fake), ones)
        loss_g.backward()
        og.step()
        yield loss_d.item() + loss_g.item()


def wgan_gp():
    """WGAN with gradient penalty (double backward), convolutional critic on 1x16x16, batch 16."""
    g = nn.Sequential(
        nn.Linear(16, 128), nn.LeakyReLU(0.2), nn.Linear(128, 256), nn.Tanh(), nn.Unflatten(1, (1, 16, 16))
    )
    d = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(512, 1),
    )
    og, od = torch.optim.Adam(g.parameters(), 1e-4, (0.0, 0.9)), torch.optim.Adam(d.parameters(), 1e-4, (0.0, 0.9))
    data = torch.randn(64, 16, 1, 16, 16)
    for step in range(60):
        real, fake = data[step % 64], g(torch.randn(16, 16)).detach()
        mix = torch.rand(16, 1, 1, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_(True)
        (grad,) = torch.autograd.grad(d(between).sum(), between, create_graph=True)
        penalty = ((grad.flatten(1).norm(2, 1) - 1) ** 2).mean()
        loss = d(fake).mean() - d(real).mean() + 10 * penalty
        od.zero_grad()
        loss.backward()
        od.step()
        if step % 5 == 4:
            og.zero_grad()
            (-d(g(torch.randn(16, 16))).mean()).backward()
            og.step()
        yield loss.item()


class _Time(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.d, self.mlp = d, nn.Sequential(nn.Linear(d, 64), nn.SiLU(), nn.Linear(64, 64))

    def forward(self, t):
        f = torch.exp(torch.arange(self.d // 2) * (-math.log(1e4) / (self.d // 2)))
        a = t[:, None].float() * f[None]
        return self.mlp(torch.cat([a.sin(), a.cos()], 1))


class _Denoise(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = _Time()
        self.a, self.b, self.c = (
            nn.Conv2d(1, 32, 3, padding=1),
            nn.Conv2d(32, 64, 3, 2, 1),
            nn.Conv2d(64, 64, 3, padding=1),
        )
        self.na, self.nb, self.up, self.out = (
            nn.GroupNorm(8, 32),
            nn.GroupNorm(8, 64),
            nn.Conv2d(64, 32, 3, padding=1),
            nn.Conv2d(64, 1, 3, padding=1),
        )

    def forward(self, x, t):
        e = self.time(t)[:, :, None, None]
        a = F.silu(self.na(self.a(x)))
        b = F.silu(self.nb(self.b(a))) + e
        b = F.silu(self.c(b))
        u = self.up(F.interpolate(b, scale_factor=2, mode="nearest"))
        return self.out(torch.cat([u, a], 1))


def diffusion_train():
    """DDPM training of a small U-Net on 1x16x16, batch 16, with an EMA."""
    model = _Denoise()
    ema = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    alpha = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 200), 0)
    data = torch.randn(64, 1, 16, 16)
    for step in range(40):
        x = data[torch.randint(0, 64, (16,))]
        t, noise = torch.randint(0, 200, (16,)), torch.randn_like(x)
        a = alpha[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for p, q in zip(ema.parameters(), model.parameters()):
                p.lerp_(q, 0.05)
        yield loss.item()


@torch.no_grad()
def diffusion_sample():
    """DDPM sampling: 100 steps, a Python number for the time, indices into schedules."""
    model = _Denoise().eval()
    beta = torch.linspace(1e-4, 0.02, 100)
    alpha, bar = 1 - beta, torch.cumprod(1 - beta, 0)
    x = torch.randn(4, 1, 16, 16)
    for i in reversed(range(100)):
        t = torch.full((4,), i, dtype=torch.long)
        e = model(x, t)
        x = (x - beta[i] / (1 - bar[i]).sqrt() * e) / alpha[i].sqrt()
        if i > 0:
            x = x + beta[i].sqrt() * torch.randn_like(x)
        yield x.std().item()


def gcn():
    """Graph convolution by index_add and scatter_add, 1,000 nodes, 8,000 edges, accuracy each step."""
    nodes, source, target = 1000, torch.randint(0, 1000, (8000,)), torch.randint(0, 1000, (8000,))
    degree = torch.zeros(nodes).scatter_add_(0, target, torch.ones(8000)).clamp(min=1)
    w = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 7)])
    optimizer = torch.optim.Adam(w.parameters(), 0.01, weight_decay=5e-4)
    x, y, mask = torch.randn(nodes, 64), torch.randint(0, 7, (nodes,)), torch.rand(nodes) < 0.3

    def forward():
        h = x
        for i, layer in enumerate(w):
            h = layer(h)
            h = torch.zeros(nodes, h.size(1)).index_add_(0, target, h[source] / degree[target].unsqueeze(1))
            if i < 2:
                h = F.dropout(F.relu(h), 0.5)
        return h

    for step in range(40):
        optimizer.zero_grad()
        out = forward()
        loss = F.cross_entropy(out[mask], y[mask])
        loss.backward()
        optimizer.step()
        (out.argmax(1)[~mask] == y[~mask]).float().mean().item()
        yield loss.item()


def gat_batches():
    """Graph attention (softmax over edges by scatter_reduce) on graphs of other sizes in each step."""
    lin, att, head = nn.Linear(16, 32), nn.Linear(64, 1), nn.Linear(32, 2)
    optimizer = torch.optim.Adam([*lin.parameters(), *att.parameters(), *head.parameters()], 0.01)
    for step in range(60):
        n = 40 + (step * 7) % 23
        e = 4 * n + (step * 11) % 17
        source, target, x = torch.randint(0, n, (e,)), torch.randint(0, n, (e,)), torch.randn(n, 16)
        batch = torch.arange(n) // 10
        h = lin(x)
        s = F.leaky_relu(att(torch.cat([h[source], h[target]], 1)).squeeze(1), 0.2)
        top = torch.full((n,), -1e9).scatter_reduce(0, target, s, "amax").detach()
        w = (s - top[target]).exp()
        w = w / torch.zeros(n).scatter_add(0, target, w)[target]
        h = F.elu(torch.zeros(n, 32).index_add(0, target, w.unsqueeze(1) * h[source]))
        graphs = int(batch.max()) + 1
        pooled = torch.zeros(graphs, 32).index_add(0, batch, h)
        loss = F.cross_entropy(head(pooled), torch.arange(graphs) % 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def pointnet():
    """PointNet: shared 1x1 convolutions, max over points, random rotations; kNN features by cdist and topk."""
    net = nn.Sequential(
        nn.Conv1d(6, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU()
    )
    head = nn.Sequential(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10))
    optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()], 1e-3)
    points, labels = torch.randn(64, 128, 3), torch.randint(0, 10, (64,))
    for step in range(40):
        index = torch.randperm(64)[:16]
        p, y = points[index], labels[index]
        near = torch.cdist(p, p).topk(8, dim=2, largest=False).indices
        neighbours = p[torch.arange(16)[:, None, None], near] - p.unsqueeze(2)
        x = torch.cat([p, neighbours.abs().amax(2)], 2).transpose(1, 2)
        loss = F.cross_entropy(head(net(x).max(2)[0]), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def nerf():
    """NeRF: positional encoding, an MLP over samples along rays, volume rendering with cumprod, batch of 128 rays."""
    net = nn.Sequential(nn.Linear(39, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 4))
    optimizer = torch.optim.Adam(net.parameters(), 5e-4)
    for step in range(40):
        origin, direction = torch.randn(128, 3), F.normalize(torch.randn(128, 3), dim=1)
        depth = torch.linspace(2, 6, 32) + torch.rand(128, 32) * 4 / 32
        points = origin[:, None] + direction[:, None] * depth[..., None]
        encoded = torch.cat([points] + [f(points * 2**i) for i in range(6) for f in (torch.sin, torch.cos)], -1)
        out = net(encoded)
        colour, density = torch.sigmoid(out[..., :3]), F.relu(out[..., 3])
        delta = torch.cat([depth[:, 1:] - depth[:, :-1], torch.full((128, 1), 1e10)], 1)
        alpha = 1 - torch.exp(-density * delta)
        weight = alpha * torch.cumprod(torch.cat([torch.ones(128, 1), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        loss = F.mse_loss((weight[..., None] * colour).sum(1), torch.sigmoid(origin))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()
