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
