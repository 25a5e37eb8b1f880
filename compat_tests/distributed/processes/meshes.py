"""Meshes over four processes, then over two of them; each writes what it sees, and the first process prints it all."""

import copy
import datetime
import os
import pickle
import socket
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.nn.parallel import DistributedDataParallel


def show(out, name, call):
    try:
        found = call()
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    print(name, found, file=out, flush=True)


def ranks(group):
    return dist.get_process_group_ranks(group), group.group_desc


def look(out, mesh):
    """Everything that can be asked of a mesh, also what it has not."""
    show(
        out,
        "mesh",
        lambda: (mesh, mesh.mesh, mesh.device_type, mesh.mesh_dim_names, mesh.ndim, mesh.shape, mesh.get_rank()),
    )
    show(out, "where", lambda: (mesh.get_coordinate(), mesh.size(), [ranks(group) for group in mesh.get_all_groups()]))
    for dim in (None, 0, 1, -1, 2, "a", "b", "c", 1.5):
        show(out, f"group {dim}", lambda: ranks(mesh.get_group(dim)))
        show(out, f"rank {dim}", lambda: mesh.get_local_rank(dim))
        if not isinstance(dim, float):
            show(out, f"size {dim}", lambda: mesh.size(dim))
    for names in ("a", "b", ("a", "b"), ("a", "c"), ("b", "a"), "d", 0):
        show(
            out,
            f"part {names}",
            lambda: (mesh[names], mesh[names].mesh, mesh[names].get_coordinate(), mesh[names] == mesh),
        )
        show(out, f"groups {names}", lambda: [ranks(group) for group in mesh[names].get_all_groups()])


def grids(rank, size, out):
    look(out, init_device_mesh("cpu", (size,)))
    for shape in ((size,), (size // 2, 2), (size, 1), (size // 2, 1, 2), (1, size)):
        look(out, init_device_mesh("cpu", shape, mesh_dim_names=tuple("abc"[: len(shape)])))
    grid = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("a", "b"))
    t = torch.tensor([rank + 1.0])
    show(out, "sums", lambda: [(dist.all_reduce(t, group=grid.get_group(name)), t.item()) for name in ("a", "b")])
    show(out, "kept", lambda: pickle.loads(pickle.dumps(grid)).get_group("a") is grid.get_group("a"))
    show(out, "kept", lambda: copy.deepcopy(grid)["b"] == grid["b"])
    show(out, "nothing", lambda: (grid[()], grid[()].get_all_groups()))
    again = init_device_mesh("cpu", (size // 2, 2), mesh_dim_names=("a", "b"))
    show(
        out, "same", lambda: (grid == again, hash(grid) == hash(again), grid["a"] == again["a"], grid["a"] == grid["b"])
    )
    show(out, "same", lambda: (grid == init_device_mesh("cpu", (size // 2, 2)), grid == 3, len({grid, again})))


def others(rank, size, out):
    look(out, DeviceMesh("cpu", [0, size - 1], mesh_dim_names=("a",)))
    column = DeviceMesh("cpu", torch.tensor([[0], [1]]), mesh_dim_names=["a", "b"])
    show(out, "column", lambda: (column, column.get_coordinate(), column["a"].mesh))
    show(out, "column", lambda: ranks(column.get_group("a")))
    turned = DeviceMesh("cpu", torch.arange(size).flip(0).reshape(2, -1).double(), mesh_dim_names=("a", "b"))
    look(out, turned)
    look(out, DeviceMesh.from_group(dist.group.WORLD, "cpu", mesh_dim_names=("a",)))
    show(out, "world", lambda: DeviceMesh.from_group(dist.group.WORLD, "cpu").get_group() is dist.group.WORLD)
    show(
        out,
        "groups",
        lambda: DeviceMesh.from_group(turned.get_all_groups(), "cpu", turned.mesh, mesh_dim_names=("x", "y")),
    )
    for call in (
        lambda: init_device_mesh("cpu", (size + 1,)),
        lambda: init_device_mesh("cpu:0", (size,)),
        lambda: init_device_mesh("cpu", (size,), mesh_dim_names=("a", "b")),
        lambda: init_device_mesh("cpu", (size, 1), mesh_dim_names=("a", "a")),
        lambda: init_device_mesh("cpu", size),
        lambda: init_device_mesh("cpu", (-1,)),
        lambda: init_device_mesh("cpu", ()),
        lambda: DeviceMesh("cpu"),
        lambda: DeviceMesh("cpu", list(range(size)) * 2),
        lambda: DeviceMesh("cpu", [0, 9]),
        lambda: DeviceMesh.from_group(dist.group.WORLD, "cpu", [1, 0]),
        lambda: DeviceMesh.from_group([dist.group.WORLD], "cpu", [0, 1]),
        lambda: DeviceMesh.from_group([dist.group.WORLD], "cpu"),
        lambda: DeviceMesh.from_group(3, "cpu"),
    ):
        show(out, "no mesh", call)


def models(rank, size, out):
    line, grid = init_device_mesh("cpu", (size,)), init_device_mesh("cpu", (size, 1), mesh_dim_names=("a", "b"))
    model = torch.nn.Linear(2, 1)
    show(out, "model", lambda: DistributedDataParallel(model, device_mesh=line).process_group is line.get_group())
    show(out, "model", lambda: DistributedDataParallel(model, device_mesh=grid["b"]).process_group.size())
    show(out, "model", lambda: DistributedDataParallel(model, device_mesh=grid))
    show(out, "model", lambda: DistributedDataParallel(model, device_mesh=line, process_group=dist.group.WORLD))


def groups(rank, size, out):
    show(
        out, "backends", lambda: [dist.is_backend_available(name) for name in ("gloo", "GLOO", "nccl", "mpi", "other")]
    )


def main(rank, ports, folder):
    warnings.simplefilter("ignore")
    with open(f"{folder}/{rank}", "w") as out:
        for size, port in ((4, ports[0]), (2, ports[1])):
            if rank < size:
                os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
                dist.init_process_group("gloo", rank=rank, world_size=size, timeout=datetime.timedelta(seconds=60))
                for part in (grids, others, models, groups):
                    part(rank, size, out)
                mesh = init_device_mesh("cpu", (size,))
                dist.barrier()
                dist.destroy_process_group()
                show(out, "after", mesh.get_group)
                show(out, "after", mesh.get_rank)


if __name__ == "__main__":
    sockets = [socket.socket() for _ in range(2)]
    for free in sockets:
        free.bind(("127.0.0.1", 0))
    ports = [free.getsockname()[1] for free in sockets]
    for free in sockets:
        free.close()
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(ports, folder), nprocs=4, start_method="fork")  # has imported torch already
        for rank in range(4):
            with open(f"{folder}/{rank}") as file:
                sys.stdout.write(file.read())
