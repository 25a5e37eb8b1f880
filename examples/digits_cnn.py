"""Trains a small convolutional network on scikit-learn's handwritten digits: 1,797 images of 8x8 pixels.

    python examples/digits_cnn.py --epochs 20 --output output/digits

The network is the one of PyTorch's beginners' tutorial, two convolutions and three linear layers, sized for
8x8 images. Written for PyTorch: with `import torch` in place of `import jaxtorch as torch` it runs there too,
with the same numbers.
"""

import argparse
from pathlib import Path

import matplotlib
from sklearn.datasets import load_digits
from tqdm import tqdm

import jaxtorch as torch

matplotlib.use("Agg")
from matplotlib import pyplot as plt


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.pool = torch.nn.MaxPool2d(2, 2)
        self.fc1 = torch.nn.Linear(32 * 2 * 2, 120)
        self.fc2 = torch.nn.Linear(120, 84)
        self.fc3 = torch.nn.Linear(84, 10)

    def forward(self, x):  # (N, 1, 8, 8)
        x = self.pool(torch.relu(self.conv1(x)))  # (N, 16, 4, 4)
        x = self.pool(torch.relu(self.conv2(x)))  # (N, 32, 2, 2)
        x = torch.flatten(x, 1)  # (N, 128)
        x = torch.relu(self.fc1(x))  # (N, 120)
        x = torch.relu(self.fc2(x))  # (N, 84)
        return self.fc3(x)  # (N, 10)


def load_data():
    """The images, four fifths of them to train on and one fifth to test with."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).float().unsqueeze(1) / 8 - 1  # (1797, 1, 8, 8), from -1 to 1
    labels = torch.from_numpy(digits.target).long()  # (1797,)
    return torch.utils.data.random_split(torch.utils.data.TensorDataset(images, labels), [0.8, 0.2])


def train(net, train_set, epochs, max_steps=None):
    """Trains `net` and returns the loss of every step."""
    loader = torch.utils.data.DataLoader(train_set, batch_size=32, shuffle=True)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for epoch in range(epochs):
        progress = tqdm(loader, desc=f"epoch {epoch + 1}/{epochs}", leave=epoch == epochs - 1)
        for images, labels in progress:
            optimizer.zero_grad()
            loss = criterion(net(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            progress.set_postfix(loss=f"{losses[-1]:.4f}", refresh=False)
            if len(losses) == max_steps:
                return losses
    return losses


def predict(net, test_set):
    """The test images, their labels, and what `net` takes them for."""
    net.eval()
    images, labels = next(iter(torch.utils.data.DataLoader(test_set, batch_size=len(test_set))))
    with torch.no_grad():
        predictions = net(images).argmax(dim=1)
    return images, labels, predictions


def save_loss_curve(losses, path):
    window = 20
    smooth = [sum(losses[max(0, i - window + 1) : i + 1]) / min(i + 1, window) for i in range(len(losses))]
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    axes.semilogy(losses, color="0.8", linewidth=1, label="each step")
    axes.semilogy(smooth, color="tab:blue", label=f"mean of the last {window}")
    axes.set(xlabel="step", ylabel="cross-entropy loss", title="Training loss on 8x8 digits")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def save_predictions(images, labels, predictions, path):
    """A grid of test images with the digit seen in each: mistakes first, in red, with the true digit."""
    order = torch.argsort((predictions == labels).int(), stable=True)[:40].tolist()
    figure, grid = plt.subplots(4, 10, figsize=(10, 5), layout="constrained")
    for axes, i in zip(grid.flat, order):
        seen, label = predictions[i].item(), labels[i].item()
        axes.imshow(images[i, 0].numpy(), cmap="gray_r", vmin=-1, vmax=1)
        axes.set_axis_off()
        if seen == label:
            axes.set_title(seen)
        else:
            axes.set_title(f"{seen} (is {label})", color="red")
    figure.suptitle("What the network sees in test images, mistakes first")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description="Train a small CNN on scikit-learn's digits.")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("output/digits"), help="folder for pictures")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set, test_set = load_data()
    net = Net()
    losses = train(net, train_set, args.epochs)
    images, labels, predictions = predict(net, test_set)
    correct = (predictions == labels).sum().item()
    print(f"test accuracy: {correct / len(test_set):.4f} ({correct} of {len(test_set)})")

    args.output.mkdir(parents=True, exist_ok=True)
    save_loss_curve(losses, args.output / "loss_curve.png")
    save_predictions(images, labels, predictions, args.output / "predictions.png")
    print(f"pictures: {args.output / 'loss_curve.png'}, {args.output / 'predictions.png'}")


if __name__ == "__main__":
    main()
