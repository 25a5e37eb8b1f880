"""safetensors: a model's state through a file and through bytes, of several element types."""

import tempfile
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

torch.manual_seed(0)
folder = Path(tempfile.mkdtemp())
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
tensors = {
    **net.state_dict(),
    "half": torch.randn(3).half(),
    "brain": torch.randn(2, 2).bfloat16(),
    "flags": torch.tensor([True, False]),
    "bytes": torch.arange(5, dtype=torch.uint8),
    "empty": torch.zeros(0, 3),
    "transposed": torch.arange(6.0).reshape(2, 3).t().contiguous(),
}
save_file(tensors, folder / "a.safetensors", metadata={"format": "pt"})
found = load_file(folder / "a.safetensors")
for name in sorted(found):
    print(name, found[name].dtype, tuple(found[name].shape), torch.equal(found[name], tensors[name]))
with safe_open(folder / "a.safetensors", framework="pt") as file:
    print(sorted(file.keys()) == sorted(tensors), file.metadata(), file.get_tensor("transposed").tolist())
    print(file.get_slice("0.weight")[1:3, :2].shape)
print(sorted(load(save({"x": torch.ones(2)}))), load(save({"x": torch.ones(2)}))["x"].tolist())
save_model(net, str(folder / "m.safetensors"))
other = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
print(load_model(other, str(folder / "m.safetensors")))
x = torch.randn(5, 4)
print(torch.equal(net.eval()(x), other.eval()(x)))
