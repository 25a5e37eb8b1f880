"""tensordict: indexing, stacking, nested keys, modules that read and write them, tensorclasses, saving, parameters."""

import tempfile

import torch
from tensordict import LazyStackedTensorDict, TensorDict, TensorDictParams, from_module, tensorclass
from tensordict.nn import NormalParamExtractor, ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torch import nn

torch.manual_seed(0)
data = TensorDict(
    {"x": torch.randn(4, 3), "y": torch.arange(8).reshape(4, 2), "in": {"z": torch.ones(4, 1)}}, batch_size=[4]
)
print(data)
print(data[1:3]["x"].sum().item(), data["in", "z"].tolist(), data.shape, data.numel())
data["in", "w"] = torch.full((4, 2), 2.0)
data.set("u", torch.zeros(4))
print(sorted(data.keys(True, True), key=str), data.select("x", ("in", "w")).batch_size)
print(
    data.reshape(2, 2).shape, data.unsqueeze(0).shape, torch.cat([data, data]).shape, torch.stack([data, data], 1).shape
)
print(
    data.apply(lambda t: t + 1)["in", "z"].tolist(),
    (data.select("x") * 2)["x"].sum().item(),
    data.to(torch.float64)["u"].dtype,
)
data[0] = data[3].clone()
print((data["x"][0] == data["x"][3]).all().item(), data[torch.tensor([True, False, True, False])].shape)
lazy = LazyStackedTensorDict.lazy_stack([TensorDict({"a": torch.ones(2)}, []), TensorDict({"a": torch.zeros(2)}, [])])
print(lazy["a"].tolist(), lazy[1]["a"].tolist(), data.gather(0, torch.tensor([2, 0]))["y"].tolist())
print([t.shape for t in data.split(3)], [t["u"].item() for t in data.unbind(0)], data.flatten_keys(".")["in.z"].shape)
with tempfile.TemporaryDirectory() as folder:
    data.memmap(folder)
    print(TensorDict.load_memmap(folder)["x"].sum().item())
    torch.save(data, f"{folder}/data.pt")
    print(torch.load(f"{folder}/data.pt", weights_only=False)["in", "w"].tolist())


@tensorclass
class Batch:
    images: torch.Tensor
    labels: torch.Tensor


batch = Batch(images=torch.randn(6, 4), labels=torch.tensor([0, 1, 0, 1, 1, 0]), batch_size=[6])
print(batch[:2].labels.tolist(), batch.to(torch.float64).images.dtype, torch.stack([batch, batch]).shape)

body = TensorDictModule(nn.Sequential(nn.Linear(4, 8), nn.Tanh()), in_keys=["images"], out_keys=["hidden"])
head = TensorDictModule(nn.Linear(8, 2), in_keys=["hidden"], out_keys=["logits"])
model = TensorDictSequential(body, head)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(5):
    out = model(batch.to_tensordict())
    loss = nn.functional.cross_entropy(out["logits"], out["labels"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(model.in_keys, model.out_keys)

actor = TensorDictSequential(
    TensorDictModule(nn.Sequential(nn.Linear(3, 4), NormalParamExtractor()), in_keys=["x"], out_keys=["loc", "scale"]),
    ProbabilisticTensorDictModule(
        in_keys=["loc", "scale"],
        out_keys=["action"],
        distribution_class=torch.distributions.Normal,
        return_log_prob=True,
    ),
)
print(actor(data.select("x"))["loc"].sum().item(), actor(data.select("x"))["scale"].sum().item())

net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
parameters = from_module(net)
print(parameters["0", "weight"].shape, sum(p.sum() for p in parameters.values(True, True)).item())
with (parameters.data * 2).to_module(net):
    print(net(data["x"]).sum().item())
print(net(data["x"]).sum().item(), len(list(TensorDictParams(parameters.clone()).parameters())))
