"""Trains a variational autoencoder on scikit-learn's handwritten digits, and draws new ones.

    python examples/digits_vae.py --epochs 30 --output output/vae

Written for PyTorch: with `import torch` in place of `import jaxtorch as torch` it runs there too. The model is that of
Kingma and Welling, Auto-Encoding Variational Bayes, 2013.
"""

import argparse
from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

nn, F = torch.nn, torch.nn.functional


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mean = nn.Linear(128, latent)
        self.log_variance = nn.Linear(128, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):  # (N, 64), from 0 to 1
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)  # (N, latent)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


def loss_of(logits, x, mean, log_variance):
    """The negative evidence lower bound, the mean over the batch."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (reconstruction + divergence) / len(x)


def load_data():
    images = torch.from_numpy(load_digits().images).float().reshape(-1, 64) / 16  # (1797, 64)
    return torch.utils.data.TensorDataset(images)


def train(model, data, epochs, max_steps=None):
    """Trains `model` and returns the loss of every step."""
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    progress = tqdm(total=epochs * len(loader) if max_steps is None else max_steps, desc="training")
    for _ in range(epochs):
        for (x,) in loader:
            optimizer.zero_grad()
            logits, mean, log_variance = model(x)
            loss = loss_of(logits, x, mean, log_variance)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            progress.update()
            if len(losses) == max_steps:
                return losses
    progress.close()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for the picture")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    model = VAE()
    losses = train(model, load_data(), arguments.epochs)
    print(f"negative evidence lower bound: {sum(losses[:20]) / 20:.2f} at first, {sum(losses[-20:]) / 20:.2f} at last")
    with torch.no_grad():
        drawn = torch.sigmoid(model.decoder(torch.randn(40, model.latent))).reshape(-1, 8, 8).numpy()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        figure, axes = plt.subplots(4, 10, figsize=(8, 3.6), layout="constrained")
        for ax, image in zip(axes.flat, drawn, strict=True):
            ax.imshow(image, cmap="gray_r", vmin=0, vmax=1)
            ax.axis("off")
        figure.suptitle("Digits drawn by the autoencoder")
        figure.savefig(arguments.output / "samples.png", dpi=120)


if __name__ == "__main__":
    main()
