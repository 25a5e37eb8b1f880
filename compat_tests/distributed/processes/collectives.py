"""Every collective among three processes; each writes what it sees, and the first process prints it all."""

import datetime
import os
import socket
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed import ReduceOp


def show(out, name, call):
    try:
        found = call()
    except Exception as error:
        text = str(error)
        known = (
            "Cannot use",
            "Invalid",
            "ProcessGroupGloo::all",
            "Argument",
            "Must",
            "Can't",
            "Split",
            "Number",
            "result",
            "The ",
            "Rank ",
        )
        found = f"{type(error).__name__}: {text if text.startswith(known) and '<' not in text else ''}"
    print(name, found, file=out, flush=True)


def reductions(rank, size, out):
    floats, whole = torch.tensor([1.5, -2.25, 3.0]) * (rank + 1), torch.tensor([3, 6, 12]) + rank
    for op in (ReduceOp.SUM, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX, ReduceOp.AVG, ReduceOp.BAND, ReduceOp.BXOR):
        for t in (
            floats,
            floats.half(),
            floats.bfloat16(),
            whole,
            whole.to(torch.uint8),
            whole > 4,
            floats + 1j,
            whole.short(),
        ):
            t = t.clone()
            show(out, f"{op} {t.dtype}", lambda t=t, op=op: (dist.all_reduce(t, op=op), t))
    large = torch.arange(30000.0) * (rank + 1)  # goes round in a ring
    dist.all_reduce(large)
    print(large.sum(), large[-1], file=out)
    t = torch.full((3,), rank + 1.0)
    show(out, "reduce", lambda: (dist.reduce(t, 1), t if rank == 1 else None))
    part = torch.arange(6.0).reshape(2, 3) * (rank + 1)
    show(out, "a view", lambda: (dist.all_reduce(part[1]), part, part._version))
    turned = (torch.arange(6.0).reshape(2, 3) * (rank + 1)).t()
    show(out, "transposed", lambda: (dist.all_reduce(turned), turned))
    show(out, "empty", lambda: dist.all_reduce(torch.empty(0)))
    number = torch.tensor(rank + 1.0)
    show(out, "a number", lambda: (dist.all_reduce(number), number))
    weight = torch.nn.Parameter(torch.ones(2))
    show(out, "a parameter", lambda: (dist.all_reduce(weight), weight))
    several = [torch.full((2,), rank + 1.0), torch.full((1, 3), rank + 2.0)]
    show(out, "coalesced", lambda: (dist.all_reduce_coalesced(several), several))
    array = torch.ones(2)
    seen = array.numpy()
    show(out, "memory of NumPy", lambda: (dist.all_reduce(array), seen))


def copies(rank, size, out):
    def zeros(*shape):
        return [torch.zeros(*shape) for _ in range(size)]

    one = torch.full((2, 2), rank + 1.0)
    for source in range(size):
        t = one.clone()
        show(out, "broadcast", lambda t=t, source=source: (dist.broadcast(t, source), t))
    flags = torch.full((3,), rank == 2)
    show(out, "broadcast of flags", lambda: (dist.broadcast(flags, 2), flags))
    found = zeros(2, 2)
    show(out, "all_gather", lambda: (dist.all_gather(found, one), found))
    show(out, "sizes", lambda: dist.all_gather([torch.zeros(2 + i) for i in range(size)], torch.ones(2)))
    show(out, "length", lambda: dist.all_gather(zeros(2)[1:], torch.ones(2)))
    show(out, "types", lambda: dist.all_gather([t.double() for t in zeros(2)], torch.ones(2)))
    for shape in ((2 * size, 2), (size, 2, 2), (size, 2)):
        t = torch.zeros(shape)
        show(out, "all_gather_single", lambda t=t: (dist.all_gather_single(t, one), t))
    for root in range(size):
        parts = zeros(2, 2) if rank == root else None
        show(out, "gather", lambda root=root, parts=parts: (dist.gather(one, parts, dst=root), parts))
        parts = [torch.full((2,), i * 10.0 + rank) for i in range(size)] if rank == root else None
        t = torch.zeros(2)
        show(out, "scatter", lambda root=root, parts=parts, t=t: (dist.scatter(t, parts, src=root), t))
    if rank == 0:
        show(out, "no list", lambda: dist.gather(torch.ones(2), None, dst=0))
        show(out, "no list", lambda: dist.scatter(torch.ones(2), None, src=0))
    else:
        show(out, "a list", lambda: dist.gather(torch.ones(2), [torch.ones(2)] * size, dst=0))
        show(out, "a list", lambda: dist.scatter(torch.ones(2), [torch.ones(2)] * size, src=0))
    t = torch.zeros(2)
    show(
        out,
        "reduce_scatter",
        lambda: (dist.reduce_scatter(t, [torch.full((2,), i * 10.0 + rank) for i in range(size)]), t),
    )
    show(out, "reduce_scatter_single", lambda: (dist.reduce_scatter_single(t, torch.arange(2.0 * size) + rank), t))
    show(
        out,
        "all_to_all",
        lambda: (dist.all_to_all(z := zeros(2), [torch.full((2,), rank * 10.0 + k) for k in range(size)]), z),
    )
    row = torch.arange(6.0) + 10 * rank
    for given, sizes in (
        (torch.zeros(6), ()),
        (torch.zeros((rank + 1) * size), ([rank + 1] * size, [1, 2, 3])),
        (torch.zeros(6), (None, [1, 1])),
        (torch.zeros(6), (None, [1, 1, 9])),
    ):
        show(
            out,
            "all_to_all_single",
            lambda given=given, sizes=sizes: (dist.all_to_all_single(given, row, *sizes), given),
        )
    show(out, "no tensor", lambda: dist.all_reduce([1.0]))
    show(out, "no list", lambda: dist.all_gather(torch.ones(2), torch.ones(2)))
    show(out, "no operation", lambda: dist.all_reduce(torch.ones(2), op="sum"))
    show(out, "no such rank", lambda: dist.broadcast(torch.ones(2), 7))
    show(out, "no source", lambda: dist.broadcast(torch.ones(2)))
    show(out, "two sources", lambda: dist.broadcast(torch.ones(2), 0, group_src=0))


def messages(rank, size, out):
    before, after = (rank - 1) % size, (rank + 1) % size
    received = torch.zeros(2)
    works = [dist.isend(torch.full((2,), float(rank)), after), dist.irecv(received, before)]
    show(out, "ring", lambda: ([work.wait() for work in works], received, works[1].is_completed()))
    if rank == 0:
        for to in (1, 2):
            dist.send(torch.arange(3.0), to)
            dist.send(torch.tensor([7.0]), to, tag=3)
        show(out, "from anybody", lambda: sorted((dist.recv(received), received.tolist()) for _ in range(2)))
    else:
        three, seven = torch.zeros(3), torch.zeros(1)
        show(out, "recv", lambda: (dist.recv(three, 0), three, dist.recv(seven, src=0, tag=3), seven))
        dist.send(torch.full((2,), float(rank)), 0)
    show(out, "to itself", lambda: dist.send(torch.ones(1), rank))
    dist.barrier()
    first, second = torch.zeros(1), torch.zeros(1)
    if rank == 0:
        works = [dist.irecv(first, 1), dist.irecv(second, 1)]
        show(out, "in their order", lambda: ([work.wait() for work in works], first, second))
    elif rank == 1:
        dist.send(torch.ones(1), 0)
        dist.send(torch.ones(1) * 2, 0)
    dist.barrier()
    batch = [dist.P2POp(dist.isend, torch.full((2,), rank + 0.5), after), dist.P2POp(dist.irecv, received, before)]
    show(out, "batch", lambda: ([work.wait() for work in dist.batch_isend_irecv(batch)], received))
    show(out, "no batch", lambda: dist.batch_isend_irecv([1]))
    show(out, "no message", lambda: dist.P2POp(dist.send, torch.ones(1), 0))
    objects = [None] * size
    show(
        out,
        "objects",
        lambda: (dist.all_gather_object(objects, {"rank": rank, "t": torch.full((2,), float(rank))}), objects),
    )
    three = [{"a": 1}, "x", torch.arange(3)] if rank == 1 else [None] * 3
    show(out, "objects", lambda: (dist.broadcast_object_list(three, src=1), three))
    gathered = [None] * size if rank == 0 else None
    show(out, "objects", lambda: (dist.gather_object((rank, "y"), gathered, dst=0), gathered))
    given = [None]
    show(
        out,
        "objects",
        lambda: (dist.scatter_object_list(given, [{"k": i} for i in range(size)] if rank == 0 else None, src=0), given),
    )
    if rank == 0:
        dist.send_object_list([1, {"z": 2}], 1)
    elif rank == 1:
        two = [None, None]
        show(out, "objects", lambda: (dist.recv_object_list(two, 0), two))
    t = torch.full((2,), rank + 1.0)
    work = dist.all_reduce(t, async_op=True)
    show(out, "under way", lambda: (work.wait(), t, work.is_completed(), work.get_future().wait()))
    many = [torch.full((2,), rank + 1.0 + k) for k in range(5)]
    works = [dist.all_reduce(t, async_op=True) for t in many]
    show(out, "under way", lambda: ([work.wait() for work in reversed(works)], many))
    future = dist.all_reduce(t, async_op=True).get_future().then(lambda done: done.value()[0] * 2)
    show(out, "then", lambda: future.wait())


def groups(rank, size, out):
    pair = dist.new_group([0, 2])
    show(
        out,
        "group",
        lambda: (pair == dist.GroupMember.NON_GROUP_MEMBER, dist.get_rank(pair), dist.get_world_size(pair)),
    )
    t = torch.tensor([rank + 1.0])
    show(out, "all_reduce", lambda: (dist.all_reduce(t, group=pair), t))
    show(out, "broadcast", lambda: (dist.broadcast(t, 2, group=pair), t))
    show(
        out,
        "ranks",
        lambda: (dist.get_process_group_ranks(pair), dist.get_global_rank(pair, 1), dist.get_group_rank(pair, 2)),
    )
    show(out, "no member", lambda: dist.get_group_rank(pair, 1))
    show(out, "backend", lambda: dist.get_backend(pair))
    if rank == 0:
        dist.send(torch.ones(1) * 7, 2, group=pair)
    elif rank == 2:
        show(out, "recv", lambda: (dist.recv(t, 0, group=pair), t))
    else:
        show(out, "outside", lambda: dist.send(t, 0, group=pair))
        show(out, "outside", lambda: dist.recv(t, 0, group=pair))
    both = [None] * 2
    show(out, "objects", lambda: (dist.all_gather_object(both, rank, group=pair), both))
    for ranks in ([0, 9], [0, 0], [0, 1, 2, 0]):
        show(out, "no group", lambda ranks=ranks: dist.new_group(ranks))
    world = dist.group.WORLD
    show(
        out,
        "world",
        lambda: (dist.get_process_group_ranks(world), world.rank(), world.size(), world.name(), world.group_name),
    )
    for count in (1, 2, 4, 0):
        show(
            out,
            "subgroups",
            lambda count=count: [dist.get_process_group_ranks(g) for g in dist.new_subgroups(count)[:1]],
        )
    show(out, "subgroups", lambda: dist.get_process_group_ranks(dist.new_subgroups_by_enumeration([[0, 2], [1]])[0]))
    show(out, "barrier", lambda: (dist.monitored_barrier(), dist.barrier()))
    show(out, "twice", lambda: dist.init_process_group("gloo", rank=rank, world_size=size))


def main(rank, size, port, folder):
    warnings.simplefilter("ignore")
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
    with open(f"{folder}/{rank}", "w") as out:
        for part in (reductions, copies, messages, groups):
            part(rank, size, out)
        dist.barrier()
        dist.destroy_process_group()
        show(out, "after", dist.get_rank)
        show(out, "after", dist.destroy_process_group)


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(3, port, folder), nprocs=3, start_method="fork")  # has imported torch already
        for rank in range(3):
            with open(f"{folder}/{rank}") as file:
                sys.stdout.write(file.read())
