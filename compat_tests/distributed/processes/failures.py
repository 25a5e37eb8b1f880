"""What processes are told when others do not come, send something else, or die."""

import datetime
import os
import socket
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def show(out, name, call):
    began = time.monotonic()
    try:
        found = call()
    except Exception as error:
        found = f"{'RuntimeError' if isinstance(error, RuntimeError) else type(error).__name__}"
        if "monitoredBarrier" in str(error):
            found += f" {str(error).strip().splitlines()[0]}"
    print(name, found, "late" if time.monotonic() - began > 10 else "", file=out, flush=True)


def main(rank, size, ports, folder):
    def start(port, count, limit):
        os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=str(port))
        limit = datetime.timedelta(seconds=limit)
        dist.init_process_group("gloo", rank=rank, world_size=count, timeout=limit)

    with open(f"{folder}/{rank}", "w") as out:
        if rank < 2:  # each alone
            show(out, "nobody comes", lambda: start(ports[rank], 3, 1))
        show(
            out,
            "no backend",
            lambda: dist.init_process_group("nccl", store=dist.HashStore(), rank=rank, world_size=size),
        )
        start(ports[2], size, 60)
        hasty = [dist.new_group(ranks, timeout=datetime.timedelta(seconds=1)) for ranks in ([0, 1], [0, 2], [0, 1, 2])]
        dist.barrier()
        if rank == 0:
            show(out, "one is late", lambda: dist.all_reduce(torch.ones(2), group=hasty[0]))
            show(out, "barrier", lambda: dist.monitored_barrier(hasty[1]))
            show(out, "barrier", lambda: dist.monitored_barrier(hasty[2], wait_all_ranks=True))
        dist.barrier()
        # what comes too late is there for whoever asks next, and a message that does not fit is an error each time
        if rank == 0:
            show(out, "message is late", lambda: dist.recv(torch.ones(2), 1, group=hasty[0]))
            show(out, "object is late", lambda: dist.recv_object_list([0], 1, group=hasty[0]))
        dist.barrier()
        if rank == 1:
            dist.send(torch.ones(2) * 7, 0, group=hasty[0])
            dist.send_object_list(["seven"], 0, group=hasty[0])
            dist.send(torch.ones(2), 0)
        dist.barrier()
        if rank == 0:
            t, objects = torch.zeros(2), [None]
            show(out, "message", lambda: (dist.recv(t, 1, group=hasty[0]), t.tolist()))
            show(out, "object", lambda: (dist.recv_object_list(objects, 1, group=hasty[0]), objects))
            long = dist.irecv(torch.zeros(3), 1)
            show(out, "message does not fit", long.wait)
            show(out, "message does not fit", lambda: (long.is_completed(), long.is_success(), long.wait()))
        dist.barrier()
        # whether a process holds its group says nothing about the name of the next one
        kept, t = [], torch.ones(1)
        for _ in range(2 if rank < 2 else 0):
            pair = dist.new_group([0, 1], use_local_synchronization=True, timeout=datetime.timedelta(seconds=20))
            dist.all_reduce(t, group=pair)
            if rank:
                kept.append(pair)
            del pair
        print("pairs", t.item(), file=out)
        dist.barrier()
        if rank == 2:
            os._exit(0)
        show(out, "one has died", lambda: dist.recv(torch.ones(2), 2))


if __name__ == "__main__":
    ports = []
    sockets = [socket.socket() for _ in range(3)]
    for free in sockets:
        free.bind(("127.0.0.1", 0))
        ports.append(free.getsockname()[1])
    for free in sockets:
        free.close()
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(3, ports, folder), nprocs=3, start_method="fork")  # has imported torch already
        for rank in range(3):
            with open(f"{folder}/{rank}") as file:
                sys.stdout.write(file.read())
