"""Raw tensors, linear algebra, physics, reinforcement learning, odd optimizers."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn


class _Pole:
    """A pole on a cart, in plain Python."""

    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return list(self.s)

    def step(self, action):
        x, v, a, w = self.s
        f = 10.0 if action else -10.0
        acc = f * 0.9 - a * 9.8 * 0.1
        self.s = [x + 0.02 * v, v + 0.02 * acc, a + 0.02 * w, w + 0.02 * (9.8 * a - acc * 0.8) * 1.5]
        self.t += 1
        return list(self.s), 1.0, abs(self.s[2]) > 0.21 or abs(self.s[0]) > 2.4 or self.t >= 60


def dqn():
    """DQN: an action, a replayed batch of 32, a soft update of the target at every step."""
    random.seed(0)
    policy, target = (
        nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in range(2)
    )
    target.load_state_dict(policy.state_dict())
    optimizer, memory, env = torch.optim.AdamW(policy.parameters(), 1e-4, amsgrad=True), deque(maxlen=1000), _Pole()
    state = torch.tensor(env.reset()).unsqueeze(0)
    for step in range(200):
        if random.random() < 0.3:
            action = torch.tensor([[random.randrange(2)]])
        else:
            with torch.no_grad():
                action = policy(state).max(1)[1].view(1, 1)
        observed, reward, done = env.step(action.item())
        following = None if done else torch.tensor(observed).unsqueeze(0)
        memory.append((state, action, following, torch.tensor([reward])))
        state = torch.tensor(env.reset()).unsqueeze(0) if done else following
        if len(memory) < 32:
            yield 0.0
            continue
        batch = list(zip(*random.sample(memory, 32)))
        final = torch.tensor([s is not None for s in batch[2]])
        values = policy(torch.cat(batch[0])).gather(1, torch.cat(batch[1]))
        future = torch.zeros(32)
        with torch.no_grad():
            future[final] = target(torch.cat([s for s in batch[2] if s is not None])).max(1)[0]
        loss = F.smooth_l1_loss(values, (future * 0.99 + torch.cat(batch[3])).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        a, b = target.state_dict(), policy.state_dict()
        for key in b:
            a[key] = b[key] * 0.005 + a[key] * 0.995
        target.load_state_dict(a)
        yield loss.item()


def reinforce():
    """REINFORCE: episodes of any length, log probabilities in a list; a yield an episode."""
    random.seed(0)
    policy = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2))
    optimizer, env = torch.optim.Adam(policy.parameters(), 1e-2), _Pole()
    for episode in range(40):
        state, logs, rewards, done = env.reset(), [], [], False
        while not done:
            p = policy(torch.tensor(state).unsqueeze(0)).softmax(1)
            m = torch.distributions.Categorical(p)
            action = m.sample()
            logs.append(m.log_prob(action))
            state, reward, done = env.step(action.item())
            rewards.append(reward)
        returns, total = [], 0.0
        for r in reversed(rewards):
            total = r + 0.99 * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = torch.cat([-l * r for l, r in zip(logs, returns)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def ppo():
    """PPO on a vector of 8 environments: 32 steps of acting, GAE in a loop, 4 epochs of minibatches; a yield an update."""
    random.seed(0)
    actor, critic = (
        nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, n)) for n in (2, 1)
    )
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 3e-4, eps=1e-5)
    envs = [_Pole() for _ in range(8)]
    obs_now = torch.tensor([e.reset() for e in envs])
    for update in range(20):
        obs, actions, logs, values, rewards, dones = (
            torch.zeros(32, 8, 4),
            torch.zeros(32, 8),
            torch.zeros(32, 8),
            torch.zeros(32, 8),
            torch.zeros(32, 8),
            torch.zeros(32, 8),
        )
        for t in range(32):
            obs[t] = obs_now
            with torch.no_grad():
                dist = torch.distributions.Categorical(logits=actor(obs_now))
                action = dist.sample()
                values[t] = critic(obs_now).flatten()
            actions[t], logs[t] = action, dist.log_prob(action)
            told = [e.step(a) for e, a in zip(envs, action.tolist())]
            rewards[t], dones[t] = torch.tensor([r for _, r, _ in told]), torch.tensor([float(d) for _, _, d in told])
            obs_now = torch.tensor([e.reset() if d else o for e, (o, _, d) in zip(envs, told)])
        with torch.no_grad():
            advantages, last, following = torch.zeros(32, 8), 0, critic(obs_now).flatten()
            for t in reversed(range(32)):
                mask = 1 - dones[t]
                delta = rewards[t] + 0.99 * following * mask - values[t]
                advantages[t] = last = delta + 0.99 * 0.95 * mask * last
                following = values[t]
            returns = advantages + values
        flat = [x.flatten(0, 1) for x in (obs, actions, logs, advantages, returns)]
        for epoch in range(4):
            for index in torch.randperm(256).split(64):
                o, a, l, adv, ret = (x[index] for x in flat)
                dist = torch.distributions.Categorical(logits=actor(o))
                ratio = (dist.log_prob(a) - l).exp()
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                loss = (
                    torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()
                    + 0.5 * (critic(o).flatten() - ret).pow(2).mean()
                    - 0.01 * dist.entropy().mean()
                )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_([*actor.parameters(), *critic.parameters()], 0.5)
                optimizer.step()
        yield loss.item()


def kmeans():
    """k-means of 5,000 points in 16 dimensions, 20 centres: cdist, argmin, a mean by boolean mask each."""
    x = torch.randn(5000, 16)
    centres = x[torch.randperm(5000)[:20]].clone()
    for step in range(30):
        near = torch.cdist(x, centres).argmin(1)
        for k in range(20):
            members = x[near == k]
            if len(members):
                centres[k] = members.mean(0)
        yield centres.norm().item()


def decompositions():
    """PCA by svd, eigh, cholesky, qr and a solve of changing matrices, float64."""
    x = torch.randn(200, 40, dtype=torch.float64)
    for step in range(40):
        centred = x - x.mean(0)
        _, s, v = torch.linalg.svd(centred, full_matrices=False)
        c = centred.T @ centred / 200 + 0.1 * torch.eye(40, dtype=torch.float64)
        w, _ = torch.linalg.eigh(c)
        l = torch.linalg.cholesky(c)
        y = torch.cholesky_solve(x[:40].T, l)
        q, r = torch.linalg.qr(y)
        z = torch.linalg.solve(c, r)
        x = x + 0.01 * (centred @ v.T[:, :40]) / s
        yield (w.sum() + z.abs().sum() + torch.logdet(c)).item() / 100


def gaussian_process():
    """Gaussian process regression: the marginal likelihood through cholesky, data that grow by one each step."""
    scale, length, noise = (torch.tensor(v, requires_grad=True) for v in (0.0, 0.0, -2.0))
    optimizer = torch.optim.Adam([scale, length, noise], 0.05)
    data = torch.rand(100, 2)
    for step in range(50):
        x = data[: 30 + step]
        y = torch.sin(4 * x.sum(1))
        k = scale.exp() * torch.exp(-0.5 * torch.cdist(x, x).pow(2) / length.exp() ** 2) + (
            noise.exp() + 1e-4
        ) * torch.eye(len(x))
        l = torch.linalg.cholesky(k)
        a = torch.cholesky_solve(y.unsqueeze(1), l).squeeze(1)
        loss = (0.5 * y @ a + l.diagonal().log().sum()) / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def heat():
    """Heat equation on 128x128 by slices written in place, 20 time steps a yield."""
    u = torch.zeros(128, 128)
    u[40:60, 50:80] = 1.0
    for step in range(40):
        for _ in range(20):
            new = u.clone()
            new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.2 * (
                u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
            )
            new[0], new[-1], new[:, 0], new[:, -1] = 0, 0, 0, 0
            u = new
        yield u.sum().item() / 600


def n_body():
    """200 bodies, pairwise forces, leapfrog, float64, energy each step."""
    p, v, m = (
        torch.randn(200, 3, dtype=torch.float64),
        torch.zeros(200, 3, dtype=torch.float64),
        torch.rand(200, dtype=torch.float64),
    )

    def force(p):
        d = p[None] - p[:, None]
        r = (d.pow(2).sum(-1) + 0.01) ** -1.5
        return (d * (r * m[None])[..., None]).sum(1)

    for step in range(100):
        v += 0.005 * force(p)
        p += 0.01 * v
        v += 0.005 * force(p)
        yield (0.5 * (m * v.pow(2).sum(1)).sum()).item() / 100


def game_of_life():
    """Conway's game by conv2d with a fixed kernel, boolean logic, a count each step."""
    board = (torch.rand(1, 1, 128, 128) < 0.3).float()
    kernel = torch.ones(1, 1, 3, 3)
    kernel[0, 0, 1, 1] = 0
    for step in range(100):
        n = F.conv2d(F.pad(board, (1, 1, 1, 1), mode="circular"), kernel)
        board = ((n == 3) | ((board == 1) & (n == 2))).float()
        yield int(board.sum()) / 16384


def fft_convolution():
    """A Fourier neural operator: rfft2, complex weights, irfft2, batch 4 of 32x32."""

    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.mix = nn.Parameter(0.02 * torch.randn(16, 16, 8, 8, dtype=torch.cfloat)), nn.Conv2d(16, 16, 1)

        def forward(self, x):
            f = torch.fft.rfft2(x)
            out = torch.zeros_like(f)
            out[:, :, :8, :8] = torch.einsum("bixy,ioxy->boxy", f[:, :, :8, :8], self.w)
            return F.gelu(torch.fft.irfft2(out, s=x.shape[-2:]) + self.mix(x))

    model = nn.Sequential(nn.Conv2d(1, 16, 1), Spectral(), Spectral(), nn.Conv2d(16, 1, 1))
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    x = torch.randn(4, 4, 1, 32, 32)
    for step in range(40):
        loss = F.mse_loss(model(x[step % 4]), x[step % 4].roll(2, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def pinn():
    """Burgers' equation: second derivatives by autograd.grad(create_graph=True), 500 points, Adam."""
    net = nn.Sequential(
        nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    )
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    x0 = torch.linspace(-1, 1, 100).view(-1, 1)
    for step in range(50):
        xt = torch.rand(500, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])
        xt.requires_grad_(True)
        u = net(xt)
        (du,) = torch.autograd.grad(u, xt, torch.ones_like(u), create_graph=True)
        ux, ut = du[:, :1], du[:, 1:]
        uxx = torch.autograd.grad(ux, xt, torch.ones_like(ux), create_graph=True)[0][:, :1]
        start = net(torch.cat([x0, torch.zeros_like(x0)], 1))
        loss = (ut + u * ux - 0.01 / 3.14159 * uxx).pow(2).mean() + (start + torch.sin(3.14159 * x0)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def pinn_lbfgs():
    """The same kind of loss by LBFGS with a strong Wolfe line search; a yield an outer step."""
    net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
    optimizer = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=10, line_search_fn="strong_wolfe")
    x = torch.linspace(0, 1, 100).view(-1, 1).requires_grad_(True)

    def closure():
        optimizer.zero_grad()
        u = net(x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = (du + u).pow(2).mean() + (u[0] - 1).pow(2).sum()
        loss.backward()
        return loss

    for step in range(20):
        loss = optimizer.step(closure)
        yield loss.item()


def maml():
    """MAML on sines by functional_call: 4 tasks, 2 inner steps, second order."""
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    for step in range(40):
        total = 0.0
        optimizer.zero_grad()
        for task in range(4):
            amplitude, phase = torch.rand(1) * 4 + 0.1, torch.rand(1) * 3
            x = torch.rand(20, 1) * 10 - 5
            y = amplitude * torch.sin(x + phase)
            weights = dict(net.named_parameters())
            for _ in range(2):
                inner = F.mse_loss(torch.func.functional_call(net, weights, (x[:10],)), y[:10])
                grads = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
                weights = {k: w - 0.01 * g for (k, w), g in zip(weights.items(), grads)}
            loss = F.mse_loss(torch.func.functional_call(net, weights, (x[10:],)), y[10:]) / 4
            loss.backward()
            total += loss.item()
        yield total


def factorisation():
    """Matrix factorisation: embeddings of 2,000 users and 3,000 items with biases, batch 512, SGD."""
    u, v, bu, bv = nn.Embedding(2000, 32), nn.Embedding(3000, 32), nn.Embedding(2000, 1), nn.Embedding(3000, 1)
    model = nn.ModuleList([u, v, bu, bv])
    optimizer = torch.optim.SGD(model.parameters(), 0.1, weight_decay=1e-5)
    users, items, ratings = torch.randint(0, 2000, (20000,)), torch.randint(0, 3000, (20000,)), torch.rand(20000) * 5
    for step in range(60):
        s = slice((step * 512) % 19000, (step * 512) % 19000 + 512)
        i, j = users[s], items[s]
        predicted = (u(i) * v(j)).sum(1) + bu(i).squeeze() + bv(j).squeeze()
        loss = F.mse_loss(predicted, ratings[s])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def raw_softmax():
    """Softmax regression in raw tensors, updates under no_grad, batches by a shuffled index."""
    x, y = torch.randn(2000, 100), torch.randint(0, 10, (2000,))
    w, b = torch.zeros(100, 10, requires_grad=True), torch.zeros(10, requires_grad=True)
    for epoch in range(20):
        total = 0.0
        for index in torch.randperm(2000).split(128):
            logits = x[index] @ w + b
            logp = logits - logits.exp().sum(1, keepdim=True).log()
            loss = -logp[torch.arange(len(index)), y[index]].mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                b -= 0.1 * b.grad
                w.grad.zero_()
                b.grad.zero_()
            total += loss.item() * len(index)
        yield total / 2000


def detection():
    """Boxes: scores, masks, nonzero, sort, greedy non-maximum suppression in a loop; shapes that depend on data."""
    for step in range(40):
        boxes = torch.rand(300, 4)
        boxes[:, 2:] = boxes[:, :2] + boxes[:, 2:] * 0.3
        scores = torch.rand(300)
        keep = scores > 0.4
        boxes, scores = boxes[keep], scores[keep]
        order, kept = scores.argsort(descending=True), []
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        while order.numel() > 0 and len(kept) < 20:
            i = order[0]
            kept.append(i.item())
            low, high = torch.max(boxes[i, :2], boxes[order[1:], :2]), torch.min(boxes[i, 2:], boxes[order[1:], 2:])
            inter = (high - low).clamp(min=0).prod(1)
            iou = inter / (area[i] + area[order[1:]] - inter)
            order = order[1:][iou <= 0.3]
        yield scores[kept].sum().item() / 20


def metrics():
    """Metrics of each batch: confusion matrix by bincount, unique, topk accuracy, sorted AUC, histc, quantiles."""
    for step in range(60):
        n = 500 + step % 5
        logits, y = torch.randn(n, 10), torch.randint(0, 10, (n,))
        p = logits.argmax(1)
        confusion = torch.bincount(y * 10 + p, minlength=100).view(10, 10)
        recall = confusion.diag() / confusion.sum(1).clamp(min=1)
        top = (logits.topk(5, 1).indices == y[:, None]).any(1).float().mean()
        scores, order = logits[:, 0].sort(descending=True)
        hits = (y[order] == 0).float().cumsum(0)
        auc = hits[(y[order] != 0).nonzero().squeeze(1)].mean() / hits[-1]
        classes, counts = p.unique(return_counts=True)
        h = torch.histc(scores, 20, -3, 3)
        yield (recall.mean() + top + auc + counts.float().std() / 100 + h.max() / n + logits.quantile(0.9)).item()


def ragged_attention():
    """Sentences selected by masks: boolean indexing of a padded batch, index_select, training."""
    embed, a, head = (
        nn.Embedding(300, 32, padding_idx=0),
        nn.MultiheadAttention(32, 4, batch_first=True),
        nn.Linear(32, 300),
    )
    optimizer = torch.optim.Adam([*embed.parameters(), *a.parameters(), *head.parameters()], 1e-3)
    for step in range(40):
        tokens = torch.randint(1, 300, (8, 20))
        masked = torch.rand(8, 20) < 0.15
        inputs = tokens.masked_fill(masked, 299)
        x = embed(inputs)
        x = x + a(x, x, x, need_weights=False)[0]
        loss = F.cross_entropy(head(x[masked]), tokens[masked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def loader():
    """DataLoader with transforms of each sample, a CNN, a validation loop with item() in every step; a yield an epoch."""

    class Pictures(torch.utils.data.Dataset):
        def __init__(self, n):
            self.x, self.y = torch.randint(0, 256, (n, 3, 28, 28), dtype=torch.uint8), torch.randint(0, 10, (n,))
            self.mean, self.std = (
                torch.tensor([0.5, 0.5, 0.5]).view(3, 1, 1),
                torch.tensor([0.2, 0.2, 0.2]).view(3, 1, 1),
            )

        def __len__(self):
            return len(self.x)

        def __getitem__(self, i):
            x = (self.x[i].float() / 255 - self.mean) / self.std
            if torch.rand(1) < 0.5:
                x = x.flip(2)
            top = torch.randint(0, 5, (1,)).item()
            x = F.pad(x, (2, 2, 2, 2))[:, top : top + 28, 2:30]
            return x, self.y[i]

    training, validation = (torch.utils.data.DataLoader(Pictures(n), 32, shuffle=n > 200) for n in (320, 100))
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    for epoch in range(10):
        model.train()
        for x, y in training:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        total, correct = 0.0, 0
        with torch.no_grad():
            for x, y in validation:
                out = model(x)
                total += F.cross_entropy(out, y).item()
                correct += (out.argmax(1) == y).sum().item()
        yield total / 4


def regression64():
    """A float64 MLP with full batches, 400x8, weight decay, a plateau schedule, early stopping."""
    torch.set_default_dtype(torch.float64)
    net = nn.Sequential(nn.Linear(8, 50), nn.SiLU(), nn.Linear(50, 50), nn.SiLU(), nn.Linear(50, 1))
    optimizer = torch.optim.Adam(net.parameters(), 1e-2, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=5)
    x = torch.randn(400, 8)
    y = x.sin().sum(1, keepdim=True)
    best = float("inf")
    for step in range(100):
        optimizer.zero_grad()
        loss = F.mse_loss(net(x[:300]), y[:300])
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            held = F.mse_loss(net(x[300:]), y[300:]).item()
        schedule.step(held)
        best = min(best, held)
        yield loss.item()
