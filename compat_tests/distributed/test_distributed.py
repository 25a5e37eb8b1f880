"""`torch.distributed` with several processes: programs of `processes/` on both modules, and what differs or fails."""

from __future__ import annotations

import importlib
import textwrap
import threading
from datetime import timedelta
from typing import Any

import pytest
import torch

import jaxtorch
from conftest import ROOT, Run
from printed import assert_same_text

PROCESSES = ROOT / "compat_tests" / "distributed" / "processes"
QUIET = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}


def reference(path: str, run_python: Run) -> str:
    """What PyTorch's processes print. Gloo now and then aborts one (`gloo::EnforceNotMet`): then once more."""
    try:
        return run_python(path, env=QUIET).stdout
    except AssertionError as error:
        if "SIGABRT" not in str(error):
            raise
        return run_python(path, env=QUIET).stdout


@pytest.mark.parametrize("name", ["collectives", "data_parallel", "meshes"])
def test_processes_print_what_they_print_on_pytorch(name: str, run_python: Run):
    path = str(PROCESSES / f"{name}.py")
    ours = run_python("-m", "jaxtorch", path, env=QUIET).stdout
    theirs = reference(path, run_python)
    assert len(theirs.splitlines()) > 50
    assert_same_text(ours, theirs, rtol=1e-3, atol=2e-5)


def test_who_waits_in_vain_is_told(run_python: Run):
    """PyTorch's processes disagree about names of groups once one group could not be made, so only ours run."""
    said = run_python("-m", "jaxtorch", str(PROCESSES / "failures.py"), env=QUIET).stdout
    assert [line.strip() for line in said.splitlines()] == [
        "nobody comes RuntimeError",
        "no backend RuntimeError",
        "one is late RuntimeError",
        "barrier RuntimeError [Rank 0]: Rank 1 failed to pass monitoredBarrier in 1000 ms",
        "barrier RuntimeError [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 1000 ms",
        "message is late RuntimeError",
        "object is late RuntimeError",
        "message (1, [7.0, 7.0])",
        "object (1, ['seven'])",
        "message does not fit RuntimeError",
        "message does not fit RuntimeError",
        "pairs 4.0",
        "one has died RuntimeError",
        "nobody comes RuntimeError",
        "no backend RuntimeError",
        "pairs 4.0",
        "one has died RuntimeError",
        "no backend RuntimeError",
    ]


def stores(dist: Any, folder: Any) -> list[Any]:
    """What each kind of store answers."""
    second = timedelta(seconds=1)
    master = dist.TCPStore("127.0.0.1", 0, 2, True, timeout=timedelta(seconds=30), wait_for_workers=False)
    client = dist.TCPStore("127.0.0.1", master.port, 2, False)
    found: list[Any] = [master.host, master.timeout, client.timeout, master.num_keys()]
    shared = dist.FileStore(str(folder / "store"), 2)
    pairs = ((master, client), (shared, dist.FileStore(str(folder / "store"), 2)), (dist.HashStore(),) * 2)
    for one, other in (*pairs, (dist.PrefixStore("a", master), dist.PrefixStore("a", client))):
        one.set("key", "1")
        found += [other.get("key"), one.add("n", 5), other.add("n", -2), other.get("n"), one.check(["key", "n"])]
        found += [
            other.check(["key", "none"]),
            one.delete_key("key"),
            one.compare_set("c", "", "1"),
        ]
        found += [other.compare_set("c", "2", "3"), other.compare_set("c", "1", "3"), one.get("c")]
        one.set("b", b"\x00\xff")
        found += [other.get("b"), one.wait(["b", "c"], second)]
        if not isinstance(one, dist.FileStore):
            one.append("p", "x")
            other.append("p", "y")
            one.multi_set(["u", "v"], ["1", "2"])
            found += [one.get("p"), other.multi_get(["v", "u"]), sorted(one.list_keys())]
        found += [one.num_keys()]
        one.set_timeout(timedelta(milliseconds=100))
        for late in (
            lambda one=one: one.get("none"),
            lambda one=one: one.wait(["none", "nil"], timedelta(milliseconds=50)),
        ):
            try:
                late()
            except RuntimeError as error:
                found.append((type(error).__name__, str(error) if "FileStore" not in str(type(one)) else ""))
    for make in (
        lambda: dist.TCPStore("127.0.0.1", master.port, 1, True),
        lambda: dist.TCPStore("127.0.0.1", 0, 2, True, second),
    ):
        try:
            make()
        except RuntimeError as error:
            found.append((type(error).__name__, [type(error).__mro__[k].__name__ for k in (1, 2)]))
    return found


def test_stores(tmp_path: Any, capfd: Any):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    theirs = stores(torch.distributed, tmp_path / "theirs")
    assert stores(jaxtorch.distributed, tmp_path / "ours") == theirs


def test_an_interrupted_question_leaves_no_answer_behind(monkeypatch: pytest.MonkeyPatch):
    """A store's client that has asked and not listened must not take that answer for the one to its next question."""
    master = jaxtorch.distributed.TCPStore("127.0.0.1", 0, 1, True)
    master.set("one", "1")
    master.set("two", "2")

    receive = importlib.import_module("jaxtorch.distributed.tcp_store")._receive

    def interrupted(connection: Any) -> Any:
        if threading.current_thread() is threading.main_thread():  # the server's threads listen on
            raise KeyboardInterrupt
        return receive(connection)

    with monkeypatch.context() as patched:
        patched.setattr("jaxtorch.distributed.tcp_store._receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            master.get("one")
    with pytest.raises(jaxtorch.distributed.DistNetworkError):
        master.get("two")


def test_what_pytorch_does_otherwise(run_python: Run, tmp_path: Any):
    """Compiled functions communicate at each call, a tensor with gaps is reduced as it is, SyncBatchNorm works on the CPU, and a
    group can be made anew at the same address."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import socket, sys
        import torch, torch.distributed as dist, torch.multiprocessing as mp, torch.nn as nn

        def together(rank):
            # SyncBatchNorm over two unequal parts of a batch is BatchNorm of the whole
            x = torch.randn(10, 3, 4, 4, generator=torch.Generator().manual_seed(0)) * 2 + 1
            torch.manual_seed(0)
            def make():
                return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 2))
            one, other = make(), make()
            other.load_state_dict(one.state_dict())
            other = nn.SyncBatchNorm.convert_sync_batchnorm(other)
            parallel = nn.parallel.DistributedDataParallel(other)
            for model, batch, factor in ((one, x, 1), (parallel, x[:6] if rank == 0 else x[6:], 2)):
                optimizer = torch.optim.SGD(model.parameters(), 0.01)
                for _ in range(2):
                    optimizer.zero_grad()
                    (model(batch).square().sum() * factor).backward()
                    optimizer.step()
            for a, b in zip(one.state_dict().values(), other.state_dict().values()):
                assert torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-4), (a, b)

        def main(rank, port):
            dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
            @torch.compile
            def total(t):
                t = t * 2
                dist.all_reduce(t)
                return t + 1
            found = [total(torch.ones(2) * (rank + k)).tolist() for k in range(4)]
            rows = torch.arange(6.0).reshape(2, 3)
            dist.all_reduce(rows[:, ::2])
            dist.destroy_process_group()
            dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
            again = torch.ones(1) * rank
            dist.all_reduce(again)
            together(rank)
            if rank == 1:
                print(found, rows.tolist(), again.item())

        if __name__ == "__main__":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            mp.spawn(main, (port,), nprocs=2)
        """)
    )
    said = run_python("-m", "jaxtorch", str(program), env=QUIET).stdout
    totals = [[2.0 * (2 * k + 1) + 1] * 2 for k in range(4)]
    assert said == f"{totals} {[[0.0, 1.0, 4.0], [6.0, 4.0, 10.0]]} 1.0\n"


LAUNCHED = """
import os, sys
import torch, torch.distributed as dist
dist.init_process_group()
t = torch.ones(1) * (dist.get_rank() + 1)
dist.all_reduce(t)
names = "RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK OMP_NUM_THREADS TORCHELASTIC_RESTART_COUNT".split()
line = f"{torch.__name__} {sys.argv[1:]} {__name__} {t.item()} {[os.environ[n] for n in names]} {dist.is_torchelastic_launched()}"
sys.stdout.write(line + "\\n")
dist.barrier()
if "--fail" in sys.argv and dist.get_rank() == 1:
    sys.exit(3)
dist.barrier()
dist.destroy_process_group()
"""


def test_torchrun(run_python: Run, tmp_path: Any):
    """The launcher and its processes run as jaxtorch does; where one fails the others are ended, and the launcher fails."""
    (tmp_path / "launched.py").write_text(LAUNCHED)
    start = ("-m", "jaxtorch", "-m", "torch.distributed.run", "--nproc_per_node=2")
    env = {"OMP_NUM_THREADS": None}

    def lines(*more: str) -> list[str]:
        return [f"torch {[*more]} __main__ 3.0 ['{r}', '{r}', '2', '2', '0', '1', '0'] True" for r in (0, 1)]

    failed = run_python(*start, "--standalone", "--tee=1", "-m", "launched", "--fail", env=env, status=1)
    assert sorted(failed.stdout.splitlines()) == lines("--fail")
    assert "launched FAILED" in failed.stderr and "exitcode  : 3" in failed.stderr
    deprecated = (
        "-W",
        "ignore",
        "-m",
        "jaxtorch",
        "-m",
        "torch.distributed.launch",
        "--nproc_per_node=1",
        "launched.py",
        "2",
    )
    assert "torch ['--local-rank=0', '2'] __main__ 1.0" in run_python(*deprecated, env=QUIET).stdout
