"""Trains torchvision's ResNet-18 on scikit-learn's handwritten digits.

    python -m jaxtorch examples/torchvision_resnet18.py --epochs 2

torchvision imports torch by that name, so this says `import torch`, and `python -m jaxtorch` makes that jaxtorch.
"""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torchvision.models import resnet18
from torchvision.transforms import v2
from tqdm import tqdm


def load_data():
    """The images with three channels of 32x32, four fifths of them to train on and one fifth to test with."""
    digits = load_digits()
    images = torch.from_numpy(digits.images).to(torch.get_default_dtype()).unsqueeze(1) / 16  # (1797, 1, 8, 8)
    prepare = v2.Compose([v2.Resize(32, antialias=True), v2.Normalize([0.5], [0.5])])
    images = prepare(images).expand(-1, 3, -1, -1).contiguous()
    return torch.utils.data.random_split(
        torch.utils.data.TensorDataset(images, torch.from_numpy(digits.target).long()), [0.8, 0.2]
    )


def train(model, train_set, epochs, max_steps=None, batch=32):
    """Trains `model` and returns the loss of every step."""
    loader = torch.utils.data.DataLoader(train_set, batch_size=batch, shuffle=True, drop_last=True)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=epochs * len(loader))
    model.train()
    losses = []
    for _ in range(epochs):
        for images, labels in tqdm(loader, desc="training"):
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
            if len(losses) == max_steps:
                return losses
    return losses


@torch.no_grad()
def accuracy(model, test_set):
    model.eval()
    right = 0
    for images, labels in torch.utils.data.DataLoader(test_set, batch_size=60):
        right += (model(images).argmax(1) == labels).sum().item()
    return right / len(test_set)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=None, help="stop after so many")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    train_set, test_set = load_data()
    model = resnet18(num_classes=10)
    losses = train(model, train_set, arguments.epochs, arguments.steps, arguments.batch)
    print("losses", *[f"{loss:.5f}" for loss in losses[:20]])
    if arguments.steps is None:
        print(f"test accuracy: {accuracy(model, test_set):.4f}")


if __name__ == "__main__":
    main()
