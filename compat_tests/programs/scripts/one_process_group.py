"""torch.distributed with one process, DistributedDataParallel, DataParallel, and TorchScript passed through."""

import os
import tempfile
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

print(dist.is_available(), dist.is_initialized())
store = tempfile.mktemp()
dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
print(dist.is_initialized(), dist.get_rank(), dist.get_world_size(), dist.get_backend())
t = torch.arange(3.0)
dist.all_reduce(t, op=dist.ReduceOp.SUM)
gathered = [torch.zeros(3)]
dist.all_gather(gathered, t)
objects = [None]
dist.all_gather_object(objects, {"rank": dist.get_rank()})
work = dist.broadcast(t, src=0, async_op=True)
work.wait()
dist.barrier()
print(t.tolist(), gathered[0].tolist(), objects)
torch.manual_seed(0)
model = DistributedDataParallel(nn.Linear(3, 2))
data = TensorDataset(torch.randn(8, 3), torch.randn(8, 2))
sampler = DistributedSampler(data, shuffle=True, seed=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(data, batch_size=4, sampler=sampler):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        print(loss.item())
print(list(model.state_dict()), type(model.module).__name__)
sharded = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(sharded, 1)
sharded.step()
schedule.step()
sharded.consolidate_state_dict()
sharded.load_state_dict(sharded.state_dict())
print(model.module.weight.tolist(), sharded.param_groups[0]["lr"], sharded.state_dict()["state"][0]["step"])
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    dist.all_gather_into_tensor(t, torch.ones(3))
    dist.reduce_scatter_tensor(t, torch.ones(3))
print(t.tolist(), *[f"{w.category.__name__}: {w.message}" for w in caught])
dist.all_gather_single(t, torch.zeros(3))
dist.reduce_scatter_single(gathered[0], t)
print(gathered[0].tolist())
print(
    dist._rank_not_in_group(None),
    dist._rank_not_in_group(dist.group.WORLD),
    dist.distributed_c10d._rank_not_in_group(dist.GroupMember.NON_GROUP_MEMBER),
)
for function, shape in ((dist._all_gather_base, 3), (dist._reduce_scatter_base, 3)):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = torch.zeros(shape)
        function(result, torch.arange(3.0))
    print(result.tolist(), [(w.category.__name__, str(w.message)) for w in caught])
dist.destroy_process_group()
print(dist.is_initialized())
try:
    dist.get_rank()
except (ValueError, RuntimeError) as error:
    print(type(error).__name__)
wrapped = nn.DataParallel(nn.Linear(3, 1))
print(list(wrapped.state_dict()), tuple(wrapped(torch.ones(4, 3)).shape))


@torch.jit.script
def clipped(x: torch.Tensor, limit: float) -> torch.Tensor:
    if limit > 0:
        return x.clamp(-limit, limit)
    return x


print(clipped(torch.tensor([-3.0, 0.5]), 1.0).tolist(), torch.jit.is_scripting(), torch.jit.is_tracing())
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "hubconf.py"), "w") as file:
    file.write(
        'dependencies = ["torch"]\nimport torch\n\n\ndef tiny(n=2):\n    """Makes a layer."""\n    return torch.nn.Linear(n, 1)\n'
    )
print(tuple(torch.hub.load(folder, "tiny", source="local", n=4).weight.shape))
