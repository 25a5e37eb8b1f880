"""DistributedDataParallel in two processes: twenty steps, no_sync, unused parameters, hooks, checkpoints."""

import datetime
import os
import socket
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as fn
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

X = torch.randn(64, 6, generator=torch.Generator().manual_seed(5))
Y = X[:, :3].argmax(1)


def training(rank, out):
    torch.manual_seed(rank)  # the second process takes over what the first has drawn
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3))
    ddp = DistributedDataParallel(model)
    sampler = DistributedSampler(TensorDataset(X, Y))
    loader = DataLoader(TensorDataset(X, Y), batch_size=8, sampler=sampler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(ddp(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item(), model[0].weight.grad.norm().item(), file=out)
    print(list(ddp.state_dict()), [t.double().sum().item() for t in ddp.state_dict().values()], file=out)
    optimizer.zero_grad()
    mine = slice(8 * rank, 8 * rank + 8)
    with ddp.no_sync():
        nn.functional.cross_entropy(ddp(X[mine]), Y[mine]).backward()
    print("alone", model[0].weight.grad.norm().item(), file=out)
    nn.functional.cross_entropy(ddp(X[mine] * 2), Y[mine]).backward()
    print("together", model[0].weight.grad.norm().item(), file=out)
    nn.functional.cross_entropy(model(X[mine]), Y[mine]).backward()
    print("past the wrapper", model[0].weight.grad.norm().item(), file=out)
    ddp.eval()
    with torch.no_grad():
        print(ddp(X).sum().item(), ddp(X).sum().item(), file=out)
    return ddp


class Partly(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x, both=False):
        return self.first(x) + (self.second(x) if both else 0)


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 1, bias=False), nn.Linear(2, 1, bias=False)

    def forward(self, x):
        return self.a(x), self.b(x)


def special(rank, out):
    torch.manual_seed(3)
    model = Partly()
    ddp = DistributedDataParallel(model, find_unused_parameters=True)
    for both in (False, False, rank == 0, True):
        ddp.zero_grad()
        ddp(X[rank::2], both).pow(2).mean().backward()
        grad = model.second.weight.grad
        print(model.first.weight.grad.norm().item(), None if grad is None else grad.norm().item(), file=out)
    ddp = DistributedDataParallel(Partly())
    ddp(X).mean().backward()
    try:
        ddp(X).mean().backward()
    except RuntimeError as error:
        print(str(error).split(".")[0], file=out)
    x = torch.full((1, 2), rank + 1.0)
    model = nn.Linear(2, 2)
    loss = DistributedDataParallel(model)(x).sum()
    loss.backward(retain_graph=True)
    print(model.weight.grad, file=out)
    loss.backward()  # not averaged
    print(model.weight.grad, file=out)
    model = Two()
    ddp = DistributedDataParallel(model)
    a, b = ddp(x)
    a.sum().backward()
    print(model.b.weight.grad, file=out)
    b.sum().backward()
    print(model.a.weight.grad, model.b.weight.grad, file=out)


def average_twice(state, bucket):
    future = dist.all_reduce(bucket.buffer() / 2, async_op=True).get_future()
    return future.then(lambda done: done.value()[0] * state)


def hooks(rank, out):
    x = torch.full((1, 2), rank + 1.0)
    for state, hook in (
        (2.0, average_twice),
        (None, default_hooks.allreduce_hook),
        (None, default_hooks.fp16_compress_hook),
    ):
        model = nn.Linear(2, 1, bias=False)
        ddp = DistributedDataParallel(model)
        ddp.register_comm_hook(state, hook)
        ddp(x).sum().backward()
        print(model.weight.grad, file=out)
    try:
        ddp.register_comm_hook(None, hook)
    except RuntimeError as error:
        print(error, file=out)
    model, seen = nn.Linear(2, 1, bias=False), []
    model.weight.register_hook(lambda grad: seen.append(grad.clone()))
    DistributedDataParallel(model)(x).sum().backward()
    print(seen, model.weight.grad, file=out)
    model = nn.Linear(2, 2).bfloat16()
    DistributedDataParallel(model)(x.bfloat16()).sum().backward()
    print(model.weight.grad, file=out)


def sharded(rank, out):
    torch.manual_seed(1)
    ddp = DistributedDataParallel(nn.Linear(6, 3))
    optimizer = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.Adam, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.cross_entropy(ddp(X[rank::2]), Y[rank::2]).backward()
        optimizer.step()
    print([p.sum().item() for p in ddp.parameters()], file=out)
    optimizer.consolidate_state_dict(to=0)
    if rank == 0:
        print([s["exp_avg"].sum().item() for s in optimizer.state_dict()["state"].values()], file=out)


def with_gradients(rank, out):
    def case(call, count=1):
        xs = [(torch.arange(4.0) + rank + 10 * k).requires_grad_() for k in range(count)]
        found = call(*xs)
        found = [found] if isinstance(found, torch.Tensor) else found
        sum(((t * (torch.arange(4.0) + rank + 1)).sum() * (k + 1) for k, t in enumerate(found))).backward()
        print(list(found), [x.grad for x in xs], file=out)

    case(lambda x: fn.all_reduce(x * 2))
    case(lambda x: fn.broadcast(x * 2, 1))
    case(lambda x: fn.reduce(x * 2, 1) * rank)
    case(lambda x: fn.all_gather(x * 2))
    case(lambda x: fn.gather(x * 2, 0))
    case(lambda x, y: fn.scatter([x, y], 0), 2)
    case(lambda x, y: fn.reduce_scatter(torch.zeros(4), [x * 1, y * 1]), 2)
    case(lambda x, y: fn.all_to_all([torch.zeros(4), torch.zeros(4)], [x * 1, y * 1]), 2)
    case(lambda x: fn.all_to_all_single(torch.zeros(4), x * 1))


def main(rank, size, port, folder):
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
    with open(f"{folder}/{rank}", "w") as out:
        ddp = training(rank, out)
        special(rank, out)
        hooks(rank, out)
        sharded(rank, out)
        with_gradients(rank, out)
        if rank == 0:
            torch.save(ddp.state_dict(), f"{folder}/model.pt")
        dist.barrier()
        ddp.load_state_dict(torch.load(f"{folder}/model.pt", map_location="cpu"))
        print(ddp.module[0].weight.sum().item(), file=out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(2, port, folder), nprocs=2, start_method="fork")  # has imported torch already
        for rank in range(2):
            with open(f"{folder}/{rank}") as file:
                sys.stdout.write(file.read())
