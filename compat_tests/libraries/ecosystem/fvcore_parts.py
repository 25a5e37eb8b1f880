"""fvcore: losses, initialisation, counts of parameters, schedules, checkpoints. Its counts of operations need TorchScript."""

import tempfile

import torch
from fvcore.common.checkpoint import Checkpointer
from fvcore.common.param_scheduler import CompositeParamScheduler, CosineParamScheduler, LinearParamScheduler
from fvcore.common.registry import Registry
from fvcore.nn import (
    giou_loss,
    parameter_count,
    parameter_count_table,
    sigmoid_focal_loss,
    smooth_l1_loss,
    update_bn_stats,
    weight_init,
)
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
weight_init.c2_msra_fill(net[0])
weight_init.c2_xavier_fill(net[4])
print(net[0].weight.std().item(), dict(parameter_count(net)))
print(parameter_count_table(net))
boxes = torch.tensor([[0.0, 0.0, 2.0, 2.0], [1.0, 1.0, 3.0, 4.0]], requires_grad=True)
others = torch.tensor([[1.0, 1.0, 2.0, 3.0], [0.0, 1.0, 3.0, 3.0]])
loss = giou_loss(boxes, others, reduction="sum") + smooth_l1_loss(boxes, others, beta=0.5, reduction="mean")
loss.backward()
print(loss.item(), boxes.grad.tolist())
x, y = torch.randn(6, 3, 8, 8), torch.randint(4, (6,))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(5):
    loss = sigmoid_focal_loss(net(x), nn.functional.one_hot(y, 4).float(), alpha=0.25, reduction="mean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
update_bn_stats(net, [x, x + 1], num_iters=2, progress=None)
print(net[1].running_mean.tolist())
schedule = CompositeParamScheduler(
    [LinearParamScheduler(0.0, 1.0), CosineParamScheduler(1.0, 0.0)],
    lengths=[0.25, 0.75],
    interval_scaling=["rescaled"] * 2,
)
print([round(schedule(k / 8), 6) for k in range(8)])
registry = Registry("nets")
registry.register(nn.Linear)
print("Linear" in registry, registry.get("Linear")(2, 3))
with tempfile.TemporaryDirectory() as folder:
    Checkpointer(net, folder, optimizer=optimizer).save("last", epoch=3)
    twin = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 4))
    print(
        Checkpointer(twin, folder).load(f"{folder}/last.pth")["epoch"], (twin.eval()(x) == net.eval()(x)).all().item()
    )
