"""`torchrun`: starts the processes of a group on this machine, and ends them all where one fails.

    python -m jaxtorch -m torch.distributed.run --nproc-per-node=2 script.py ARGS

Each process finds its number and the others by the environment (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT, ...).
Several machines are started one by one, with `--nnodes`, `--node-rank`, `--master-addr` and `--master-port`. Elastic groups, whose
number of machines may change, and rendezvous by etcd raise NotImplementedError.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import FrameType
from typing import IO, Any

from .._running.install import installed
from .elastic.multiprocessing.errors import ChildFailedError
from .tcp_store import TCPStore

__all__ = ["get_args_parser", "main", "run"]

_GRACE = 30.0
"""Seconds that processes have to end after SIGTERM, before SIGKILL."""


class _Given(argparse.Action):
    """An option whose default may stand in the environment as PET_NAME."""

    def __init__(self, dest: str, default: Any = None, type: Any = None, **kwargs: Any) -> None:
        found = os.environ.get(f"PET_{dest.upper()}")
        super().__init__(dest=dest, default=default if found is None else found, type=type, **kwargs)

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)


def get_args_parser() -> argparse.ArgumentParser:
    """The options of `torchrun`; names may be written with hyphens or underscores."""
    parser = argparse.ArgumentParser(prog="torchrun", description="Start the processes of a group.")

    def spelled(name: str) -> list[str]:
        return [f"--{name}"] if "-" not in name else [f"--{name}", f"--{name.replace('-', '_')}"]

    def add(name: str, **options: Any) -> None:
        parser.add_argument(*spelled(name), action=_Given, **options)

    def flag(name: str, text: str, *short: str) -> None:
        parser.add_argument(*short, *spelled(name), action="store_true", help=text)

    add("nnodes", type=str, default="1:1", help="number of machines")
    add("nproc-per-node", type=str, default="1", help="processes on each machine; or auto, cpu, gpu")
    add("rdzv-backend", type=str, default="static", help="static or c10d")
    add("rdzv-endpoint", type=str, default="", help="HOST[:PORT] of the machine that the others find")
    add("rdzv-id", type=str, default="none", help="name of the group")
    add("rdzv-conf", type=str, default="", help="accepted")
    flag("standalone", "one machine, at a port that is free")
    add("max-restarts", type=int, default=0, help="how often all processes are started anew after one has failed")
    add("monitor-interval", type=float, default=0.1, help="seconds between two looks at the processes")
    add("start-method", type=str, default="spawn", choices=["spawn", "fork", "forkserver"], help="accepted")
    add("event-log-handler", type=str, default="null", help="accepted")
    add("role", type=str, default="default", help="name of the processes' role")
    flag("module", "the script is the name of a module, as with python -m", "-m")
    flag("no-python", "run the script itself, without the interpreter")
    flag("run-path", "accepted")
    add("log-dir", type=str, default=None, help="folder for what the processes write (see --redirects and --tee)")
    parser.add_argument(
        "-r", "--redirects", action=_Given, type=str, default="0", help="1: stdout, 2: stderr, 3: both into files"
    )
    parser.add_argument("-t", "--tee", action=_Given, type=str, default="0", help="the same, and shown too")
    add("local-ranks-filter", type=str, default="", help="accepted")
    add("node-rank", type=int, default=0, help="number of this machine")
    add("master-addr", type=str, default="127.0.0.1", help="address of machine 0")
    add("master-port", type=int, default=29500, help="port on machine 0")
    add("local-addr", type=str, default=None, help="accepted")
    add("logs-specs", type=str, default=None, help="accepted")
    add("numa-binding", type=str, default=None, help="accepted")
    add("signals-to-handle", type=str, default="SIGTERM,SIGINT,SIGHUP,SIGQUIT", help="accepted")
    parser.add_argument("training_script", type=str, help="the script, or module, that each process runs")
    parser.add_argument("training_script_args", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def parse_args(args: Sequence[str] | None = None) -> argparse.Namespace:
    """The options in `args`, by default those of the command line."""
    return get_args_parser().parse_args(args)


@dataclass
class Plan:
    """What is started. port: 0 for a free one. role, name: what the processes are told of them. numbered: each gets the option
    `--local-rank`."""

    command: list[str]
    arguments: list[str]
    processes: int
    nodes: int = 1
    node: int = 0
    address: str = "127.0.0.1"
    port: int = 29500
    restarts: int = 0
    role: str = "default"
    name: str = "none"
    pause: float = 0.1
    logs: str | None = None
    redirects: int = 0
    tee: int = 0
    numbered: bool = False


def _count_of(text: str) -> int:
    """How many processes `--nproc-per-node` asks for."""
    if text.isdecimal():
        return int(text)
    if text in ("auto", "cpu"):
        return os.cpu_count() or 1
    if text in ("gpu", "xpu"):
        raise ValueError(f"--nproc-per-node={text}: processes of jaxtorch share no GPUs; say how many")
    raise ValueError(f"Unsupported nproc_per_node value: {text}")


def planned(args: argparse.Namespace) -> Plan:
    """What the options ask for. NotImplementedError for elastic groups and rendezvous other than static and c10d."""
    low, _, high = args.nnodes.partition(":")
    nodes = int(low)
    if high and int(high) != nodes:
        raise NotImplementedError("torchrun: --nnodes=MIN:MAX is missing; give the number of machines")
    if args.rdzv_backend not in ("static", "c10d"):
        raise NotImplementedError(f"torchrun: --rdzv-backend={args.rdzv_backend} is missing; use static")
    address, port = args.master_addr, args.master_port
    if args.rdzv_endpoint:
        address, _, given = args.rdzv_endpoint.partition(":")
        port = int(given) if given else port
    alone = args.nnodes in ("1", "1:1") and not args.rdzv_endpoint and (address, port) == ("127.0.0.1", 29500)
    if args.standalone or alone:
        nodes, address, port, args.rdzv_id = 1, "localhost", 0, str(uuid.uuid4())
    elif nodes > 1 and args.rdzv_backend == "c10d" and "PET_NODE_RANK" not in os.environ and not args.node_rank:
        raise NotImplementedError(
            "torchrun: --rdzv-backend=c10d gives out no numbers of machines; use static and --node-rank"
        )
    return Plan(
        _command(args), args.training_script_args, _count_of(args.nproc_per_node), nodes, args.node_rank, address, port,
        args.max_restarts, args.role, args.rdzv_id, args.monitor_interval, args.log_dir, int(args.redirects), int(args.tee),
        not getattr(args, "use_env", True),
    )  # fmt: skip


def _command(args: argparse.Namespace) -> list[str]:
    """How each process runs the script: under jaxtorch where this one does."""
    if args.no_python:
        if args.module:
            raise ValueError("Don't use both the '--no-python' flag and the '--module' flag at the same time.")
        return [args.training_script]
    run_module = ["-m"] if args.module else []
    python = [sys.executable, "-u", *(["-m", "jaxtorch"] if installed() else [])]
    return [*python, *run_module, args.training_script]


class Launch:
    """The processes of a plan on this machine. `run` gives their exit statuses, or raises ChildFailedError."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.workers: list[subprocess.Popen[bytes]] = []
        self.files: list[IO[bytes]] = []
        self.copiers: list[threading.Thread] = []
        self.store: TCPStore | None = None

    def run(self) -> dict[int, int]:
        plan = self.plan
        if plan.node == 0:
            self.store = TCPStore(plan.address, plan.port, None, True, timedelta(seconds=60), False)
            plan.port = self.store.port
        before = {s: signal.signal(s, self._stopped) for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        try:
            for attempt in range(plan.restarts + 1):
                self._start(attempt)
                failed = self._watch()
                if failed is None:
                    return dict.fromkeys(self._ranks(), 0)
                self._end()
                if attempt < plan.restarts:
                    print(f"torchrun: process {failed} has failed; starting all anew", file=sys.stderr)
            raise ChildFailedError(plan.command[-1], self._report(failed))
        finally:
            self._end()
            for number, handler in before.items():
                signal.signal(number, handler)

    def _ranks(self) -> range:
        return range(self.plan.node * self.plan.processes, (self.plan.node + 1) * self.plan.processes)

    def _start(self, attempt: int) -> None:
        plan = self.plan
        self.workers = []
        for local, rank in enumerate(self._ranks()):
            environment = {**os.environ, **self._environment(local, rank, attempt)}
            if plan.processes > 1:
                environment.setdefault("OMP_NUM_THREADS", "1")
            out, err = self._outputs(local, attempt)
            command = [*plan.command, *([f"--local-rank={local}"] if plan.numbered else []), *plan.arguments]
            worker = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
            self.workers.append(worker)
            for pipe, name, shown in (
                (worker.stdout, "stdout.log", sys.stdout),
                (worker.stderr, "stderr.log", sys.stderr),
            ):
                if pipe is not None:
                    path = os.path.join(self._folder(local, attempt), name)
                    copier = threading.Thread(target=_copied, args=(pipe, path, shown), daemon=True)
                    copier.start()
                    self.copiers.append(copier)

    def _environment(self, local: int, rank: int, attempt: int) -> dict[str, str]:
        plan = self.plan
        total = plan.nodes * plan.processes
        found = {
            "LOCAL_RANK": local, "RANK": rank, "GROUP_RANK": plan.node, "ROLE_RANK": rank, "ROLE_NAME": plan.role,
            "LOCAL_WORLD_SIZE": plan.processes, "WORLD_SIZE": total, "GROUP_WORLD_SIZE": plan.nodes, "ROLE_WORLD_SIZE": total,
            "MASTER_ADDR": plan.address, "MASTER_PORT": plan.port, "TORCHELASTIC_RESTART_COUNT": attempt,
            "TORCHELASTIC_MAX_RESTARTS": plan.restarts, "TORCHELASTIC_RUN_ID": plan.name,
            "TORCHELASTIC_USE_AGENT_STORE": True,
        }  # fmt: skip
        return {name: str(value) for name, value in found.items()}

    def _outputs(self, local: int, attempt: int) -> tuple[Any, Any]:
        """Where a process writes to: files for what `--redirects` and `--tee` say."""
        plan = self.plan
        into = plan.redirects | plan.tee
        if not into:
            return None, None
        found: list[Any] = []
        for bit, name in ((1, "stdout.log"), (2, "stderr.log")):
            file = None
            if plan.tee & bit:
                file = subprocess.PIPE
            elif into & bit:
                file = open(os.path.join(self._folder(local, attempt), name), "wb")  # noqa: SIM115 - closed in `_end`
                self.files.append(file)
            found.append(file)
        return found[0], found[1]

    def _folder(self, local: int, attempt: int) -> str:
        """Where the files of a process lie."""
        plan = self.plan
        if plan.logs is None:
            plan.logs = tempfile.mkdtemp(prefix="torchelastic_")
        folder = os.path.join(plan.logs, plan.name, f"attempt_{attempt}", str(local))
        os.makedirs(folder, exist_ok=True)
        return folder

    def _watch(self) -> int | None:
        """Wait for the processes; the number of the first that fails, or None."""
        while True:
            states = [worker.poll() for worker in self.workers]
            for local, status in enumerate(states):
                if status:
                    return self._ranks()[local]
            if all(status == 0 for status in states):
                return None
            time.sleep(self.plan.pause)

    def _end(self) -> None:
        """End the processes that still run."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.terminate()
        end = time.monotonic() + _GRACE
        for worker in self.workers:
            try:
                worker.wait(max(end - time.monotonic(), 0.0))
            except subprocess.TimeoutExpired:
                worker.kill()
                worker.wait()
        for copier in self.copiers:
            copier.join()
        for file in self.files:
            file.close()
        self.files, self.copiers = [], []

    def _stopped(self, number: int, frame: FrameType | None) -> None:
        """A signal to the launcher goes on to the processes."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(number)
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    def _report(self, failed: int | None) -> dict[int, Any]:
        ranks = self._ranks()
        when = datetime.now().strftime("%Y-%m-%d_%H:%M:%S")
        found: dict[int, Any] = {}
        order = [failed, *[r for r in ranks if r != failed]] if failed is not None else list(ranks)
        for rank in order:
            worker = self.workers[rank - ranks[0]]
            if worker.returncode and (rank == failed or worker.returncode != -signal.SIGTERM):
                found[rank] = (worker.returncode, worker.pid, when)
        return found


def _copied(pipe: IO[bytes], path: str, shown: Any) -> None:
    """What a process writes goes to a file, and is shown."""
    with open(path, "wb") as file:
        for line in pipe:
            file.write(line)
            shown.buffer.write(line)
            shown.flush()


def run(args: argparse.Namespace) -> None:
    """Do what the options (of `get_args_parser`) ask for."""
    plan = planned(args)
    if plan.processes > 1 and "OMP_NUM_THREADS" not in os.environ:
        print("torchrun: each process gets OMP_NUM_THREADS=1, unless the environment says otherwise", file=sys.stderr)
    Launch(plan).run()


def main(args: Sequence[str] | None = None) -> None:
    """`torchrun`, with the options of the command line by default."""
    run(parse_args(args))


if __name__ == "__main__":
    main()
