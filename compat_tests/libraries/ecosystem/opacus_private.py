"""Opacus: layers replaced, clipped and noisy gradients of each sample, the privacy spent, ghost clipping, recurrent layers."""

import warnings

import torch
from opacus import PrivacyEngine
from opacus.grad_sample import GradSampleModule
from opacus.layers import DPLSTM, DPMultiheadAttention
from opacus.utils.batch_memory_manager import BatchMemoryManager
from opacus.validators import ModuleValidator
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
torch.manual_seed(0)
images = torch.randn(48, 1, 8, 8)
classes = (images.mean((1, 2, 3)) > 0).long()
data = TensorDataset(images, classes)


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 2)
    )


model = network()
print([type(error).__name__ for error in ModuleValidator.validate(model, strict=False)])
model = ModuleValidator.fix(model)
print(model)

engine = PrivacyEngine()
model, optimizer, loader = engine.make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
    data_loader=DataLoader(data, batch_size=16),
    noise_multiplier=0.9,
    max_grad_norm=1.0,
    poisson_sampling=False,
)
for epoch in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("private", epoch, loss.item(), [p.grad_sample.norm().item() for p in model.parameters()][:2])
print("epsilon", engine.get_epsilon(1e-4))
saved = {name: value.clone() for name, value in model.state_dict().items()}
model.load_state_dict(saved)
print("saved", sum(value.sum().item() for value in saved.values()))

model = ModuleValidator.fix(network())
engine = PrivacyEngine()
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model,
    optimizer=torch.optim.Adam(model.parameters(), lr=1e-2),
    data_loader=DataLoader(data, batch_size=24),
    epochs=1,
    target_epsilon=5.0,
    target_delta=1e-3,
    max_grad_norm=0.5,
)
with BatchMemoryManager(data_loader=loader, max_physical_batch_size=8, optimizer=optimizer) as parts:
    for x, y in parts:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        print("sampled", len(x), loss.item())

model = ModuleValidator.fix(network())
model, optimizer, criterion, loader = PrivacyEngine().make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
    criterion=nn.CrossEntropyLoss(),
    data_loader=DataLoader(data, batch_size=16),
    noise_multiplier=0.5,
    max_grad_norm=1.0,
    poisson_sampling=False,
    grad_sample_mode="ghost",
)
for x, y in loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    print("ghost", loss.item())

torch.manual_seed(2)
for layer, inputs in (
    (DPLSTM(4, 5, batch_first=True), (torch.randn(3, 6, 4),)),
    (DPMultiheadAttention(8, 2), (torch.randn(5, 3, 8),) * 3),
    (nn.Embedding(9, 4), (torch.randint(9, (3, 5)),)),
):
    sampled = GradSampleModule(layer)
    out = sampled(*inputs)
    (out if isinstance(out, torch.Tensor) else out[0]).square().sum().backward()
    print(type(layer).__name__, [p.grad_sample.norm().item() for p in sampled.parameters()])
