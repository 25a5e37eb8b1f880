"""Trains a generative adversarial network on scikit-learn's handwritten digits, and draws new ones.

    python examples/digits_gan.py --epochs 60 --output output/gan

Written for PyTorch: with `import torch` in place of `import jaxtorch as torch` it runs there too. The game is that of
Goodfellow et al., Generative Adversarial Networks, 2014, with convolutions.
"""

import argparse
from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt

nn = torch.nn
LATENT = 16


def make_generator():
    return nn.Sequential(
        nn.ConvTranspose2d(LATENT, 64, 2, bias=False),  # (N, 64, 2, 2)
        nn.BatchNorm2d(64),
        nn.ReLU(True),
        nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1, bias=False),  # (N, 32, 4, 4)
        nn.BatchNorm2d(32),
        nn.ReLU(True),
        nn.ConvTranspose2d(32, 1, 4, stride=2, padding=1),  # (N, 1, 8, 8)
        nn.Tanh(),
    )


def make_discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 32, 4, stride=2, padding=1),  # (N, 32, 4, 4)
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 64, 4, stride=2, padding=1, bias=False),  # (N, 64, 2, 2)
        nn.BatchNorm2d(64),
        nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(64, 1, 2),  # (N, 1, 1, 1)
        nn.Flatten(0),
    )


def load_data():
    images = torch.from_numpy(load_digits().images).float().unsqueeze(1) / 8 - 1  # (1797, 1, 8, 8), from -1 to 1
    return torch.utils.data.TensorDataset(images)


def train(generator, discriminator, data, epochs, max_steps=None):
    """Trains both and returns (the discriminator's loss, the generator's) of every step."""
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True, drop_last=True)
    criterion = nn.BCEWithLogitsLoss()
    for_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    for_discriminator = torch.optim.Adam(discriminator.parameters(), lr=5e-4, betas=(0.5, 0.999))
    losses = []
    progress = tqdm(total=epochs * len(loader) if max_steps is None else max_steps, desc="training")
    for _ in range(epochs):
        for (real,) in loader:
            ones, zeros = torch.ones(len(real)), torch.zeros(len(real))
            fake = generator(torch.randn(len(real), LATENT, 1, 1))

            for_discriminator.zero_grad()
            loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
            loss_d.backward()
            for_discriminator.step()

            for_generator.zero_grad()
            loss_g = criterion(discriminator(fake), ones)
            loss_g.backward()
            for_generator.step()

            losses.append((loss_d.item(), loss_g.item()))
            progress.update()
            if len(losses) == max_steps:
                return losses
    progress.close()
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for the picture")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    generator, discriminator = make_generator(), make_discriminator()
    losses = train(generator, discriminator, load_data(), arguments.epochs)
    print(f"last losses: discriminator {losses[-1][0]:.3f}, generator {losses[-1][1]:.3f}")
    generator.eval()
    with torch.no_grad():
        drawn = generator(torch.randn(40, LATENT, 1, 1)).squeeze(1).numpy()
    if arguments.output is not None:
        arguments.output.mkdir(parents=True, exist_ok=True)
        figure, axes = plt.subplots(4, 10, figsize=(8, 3.6), layout="constrained")
        for ax, image in zip(axes.flat, drawn, strict=True):
            ax.imshow(image, cmap="gray_r", vmin=-1, vmax=1)
            ax.axis("off")
        figure.suptitle("Digits drawn by the generator")
        figure.savefig(arguments.output / "samples.png", dpi=120)


if __name__ == "__main__":
    main()
