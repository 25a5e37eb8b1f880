"""`torch.utils.data` against PyTorch: a table of programs run on both sides, and the failures of workers."""

from __future__ import annotations

import collections
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import jaxtorch
import jaxtorch.utils.data
from conftest import Run

if multiprocessing.get_all_start_methods()[0] != "fork" and "fork" in multiprocessing.get_all_start_methods():
    multiprocessing.set_start_method(
        "fork", force=True
    )  # PyTorch follows Python 3.14's default, jaxtorch forks as before

pytestmark = pytest.mark.filterwarnings("ignore:.*fork\\(\\):DeprecationWarning")

Pair = collections.namedtuple("Pair", "left right")


class Two(Exception):
    """An exception that cannot be made from a message alone."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(one, two)


def library(module: Any) -> Any:
    """A namespace with the datasets of the tests, built on one side's base classes."""
    data = module.utils.data

    class Space:
        torch = module
        d = data

        class Count(data.Dataset):
            def __init__(self, size: int = 10) -> None:
                self.size = size

            def __len__(self) -> int:
                return self.size

            def __getitem__(self, index: int) -> Any:
                return index

        class Rich(Count):
            def __getitem__(self, index: int) -> Any:
                row = np.full((2, 3), index, np.float32)
                return {"x": row, "y": index / 2, "name": f"n{index}", "pair": Pair(index, [row, index > 2])}

        class Batched(Count):
            def __getitems__(self, indices: list[int]) -> list[int]:
                return [index * 10 for index in indices]

        class Stream(data.IterableDataset):
            def __init__(self, size: int = 10) -> None:
                self.size = size

            def __iter__(self) -> Iterator[int]:
                return iter(range(self.size))

        class Shared(Stream):
            """Deals its numbers out to the workers."""

            def __iter__(self) -> Iterator[int]:
                info = data.get_worker_info()
                first, step = (info.id, info.num_workers) if info else (0, 1)
                return iter(range(first, self.size, step))

        class Measured(Stream):
            def __len__(self) -> int:
                return 4

        class Seeds(Count):
            def __getitem__(self, index: int) -> Any:
                info = data.get_worker_info()
                draws = (random.random(), float(np.random.rand()), module.initial_seed())
                return (index, info.id, info.seed, info.num_workers, *draws)

        class Bad(Count):
            error: Any = ValueError

            def __getitem__(self, index: int) -> Any:
                if index == 3:
                    raise self.error("bad item")
                return index

        class BadKey(Bad):
            error = KeyError

        class BadTwo(Bad):
            def __getitem__(self, index: int) -> Any:
                raise Two(1, 2)

        class BadStream(data.IterableDataset):
            def __iter__(self) -> Iterator[int]:
                yield 1
                raise ValueError("stream")

    return Space


SIDES = {"torch": library(torch), "jaxtorch": library(jaxtorch)}


def same(batch: Any) -> Any:
    """A collate function that leaves the samples alone."""
    return batch


def plain(value: Any) -> Any:
    """Tensors as (dtype, shape, values), recursively; what is left compares with `==`."""
    if isinstance(value, torch.Tensor | jaxtorch.Tensor):
        return "tensor", str(value.dtype).split(".")[-1], tuple(value.shape), value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, [(key, plain(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | collections.deque):
        return type(value).__name__, [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.tolist()
    return value


def clean(message: str) -> str:
    """A message without addresses, module names and the traceback's lines, which are not comparable."""
    message = re.sub(r"0x[0-9a-f]+", "0x", message.replace("jaxtorch", "torch"))
    return re.sub(r"Traceback \(most recent call last\):\n(?:  .*\n)*", "TRACEBACK\n", message)


def observe(program: Callable[[Any], Any], side: str) -> Any:
    space = SIDES[side]
    space.torch.manual_seed(7)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = plain(program(space))
        except Exception as error:
            outcome = type(error).__name__, clean(str(error))
        state = space.torch.randperm(1000).tolist()[:5]  # the draws left the generator in the same state
    notes = [(note.category.__name__, clean(str(note.message))) for note in caught]
    return outcome, [note for note in notes if "fork()" not in note[1]], state


def loader(space: Any, dataset: Any = None, **options: Any) -> Any:
    return space.d.DataLoader(space.Count() if dataset is None else dataset, **options)


def batches(space: Any, dataset: Any = None, **options: Any) -> list[Any]:
    return list(loader(space, dataset, **options))


def epochs(space: Any, count: int, dataset: Any = None, **options: Any) -> list[Any]:
    one = loader(space, dataset, **options)
    return [list(one) for _ in range(count)]


def generator(space: Any, seed: int = 3) -> Any:
    return space.torch.Generator().manual_seed(seed)


def with_length(space: Any, **options: Any) -> list[Any]:
    one = loader(space, space.Measured(), **options)
    return [len(one), *one]


def rows(space: Any) -> Any:
    t = space.torch
    return space.d.TensorDataset(t.arange(12).view(6, 2), t.arange(6).to(t.float32))


def left_early(space: Any) -> list[Any]:
    """Leaves an epoch of persistent workers in the middle, twice."""
    one = loader(space, num_workers=2, persistent_workers=True, shuffle=True, batch_size=2)
    return [[next(iter(one)) for _ in range(1)], [next(iter(one))], list(one)]


def past_errors(space: Any) -> list[Any]:
    iterator, seen = iter(loader(space, space.Bad(6), num_workers=2)), []
    while True:
        try:
            seen.append(next(iterator))
        except StopIteration:
            return seen
        except ValueError:
            seen.append("error")


def assign(space: Any, name: str) -> None:
    setattr(loader(space), name, 3)


def exchanged_sampler(space: Any) -> list[Any]:
    """What subclasses do that repeat their batch sampler: they lift the ban on setting attributes by its private name."""
    made = loader(space, batch_size=2, num_workers=1, multiprocessing_context="fork")
    made._DataLoader__initialized = False
    made.batch_sampler = [[1, 0]]
    made._DataLoader__initialized = True
    setting = made._DataLoader__multiprocessing_context.get_start_method()
    return [setting, [b.tolist() for b in made]]


def collated(*samples: Any) -> Callable[[Any], Any]:
    return lambda s: s.d.default_collate(list(samples))


def tensors(make: Callable[[Any], list[Any]]) -> Callable[[Any], Any]:
    return lambda s: s.d.default_collate(make(s.torch))


f4 = np.float32

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    # datasets
    "rows": lambda s: [list(rows(s)), rows(s)[1:3], rows(s)[-1], len(rows(s))],
    "rows mismatch": lambda s: s.d.TensorDataset(s.torch.ones(3), s.torch.ones(4)),
    "stack dict": lambda s: s.d.StackDataset(a=s.Batched(), b=list(range(10))).__getitems__([1, 2]),
    "stack tuple": lambda s: [s.d.StackDataset([1, 2], [3, 4])[1], len(s.d.StackDataset([1, 2]))],
    "stack mismatch": lambda s: s.d.StackDataset([1, 2], [3]),
    "stack both": lambda s: s.d.StackDataset([1], a=[1]),
    "stack none": lambda s: s.d.StackDataset(),
    "concat": lambda s: [(s.Count(3) + s.Count(2))[i] for i in (0, 3, -1, -5)],
    "concat range": lambda s: (s.Count(3) + s.Count(2))[-6],
    "concat none": lambda s: s.d.ConcatDataset([]),
    "concat stream": lambda s: s.d.ConcatDataset([s.Stream()]),
    "concat old name": lambda s: (s.Count(3) + s.Count(2)).cummulative_sizes,
    "chain": lambda s: list(s.Stream(3) + s.Stream(2)),
    "chain len": lambda s: len(s.d.ChainDataset([s.Measured(), s.Measured()])),
    "chain map": lambda s: list(s.d.ChainDataset([s.Stream(2), s.Count()])),
    "subset": lambda s: [s.d.Subset(s.Count(), [3, 1])[0], s.d.Subset(s.Batched(), [3, 1]).__getitems__([1])],
    "no getitem": lambda s: s.d.Dataset()[0],
    "no iter": lambda s: s.d.IterableDataset(),
    "split": lambda s: [part.indices for part in s.d.random_split(s.Count(11), [0.3, 0.3, 0.4])],
    "split counts": lambda s: [list(part) for part in s.d.random_split(s.Count(), [3, 7], generator(s))],
    "split sum": lambda s: s.d.random_split(s.Count(), [3, 3]),
    "split fraction": lambda s: s.d.random_split(s.Count(), [1.3, -0.3]),
    "split empty": lambda s: [len(part) for part in s.d.random_split(s.Count(1), [0.5, 0.5])],
    # samplers
    "random": lambda s: [list(s.d.RandomSampler(s.Count(), num_samples=n)) for n in (None, 3, 25)],
    "random replacement": lambda s: list(s.d.RandomSampler(s.Count(), replacement=True, num_samples=70)),
    "random replacement generator": lambda s: (
        list(s.d.RandomSampler(s.Count(), True, 40, g := generator(s))),
        s.torch.randperm(9, generator=g),
    ),
    "random generator": lambda s: (
        list(s.d.RandomSampler(s.Count(), generator=(g := generator(s)))),
        s.torch.randperm(9, generator=g),
    ),
    "random type": lambda s: s.d.RandomSampler(s.Count(), replacement=3),
    "random count": lambda s: s.d.RandomSampler(s.Count(), num_samples=0),
    "subset random": lambda s: list(s.d.SubsetRandomSampler(range(10, 20))),
    "weighted": lambda s: list(s.d.WeightedRandomSampler([1, 2.0, 0, 4], 12)),
    "weighted 2-d": lambda s: s.d.WeightedRandomSampler([[1, 2]], 2),
    "weighted count": lambda s: s.d.WeightedRandomSampler([1, 2], True),
    "weighted replacement": lambda s: s.d.WeightedRandomSampler([1, 2], 2, 1),
    "batch": lambda s: [list(s.d.BatchSampler(range(10), 3, drop)) for drop in (False, True)],
    "batch size": lambda s: s.d.BatchSampler(range(10), 0, False),
    "batch drop": lambda s: s.d.BatchSampler(range(10), 2, 1),
    "distributed": lambda s: [
        list(s.d.DistributedSampler(s.Count(n), 3, rank, shuffle=shuffle, seed=2, drop_last=drop))
        for n in (1, 10, 11)
        for rank in range(3)
        for shuffle in (False, True)
        for drop in (False, True)
    ],
    "distributed rank": lambda s: s.d.DistributedSampler(s.Count(), 2, 2),
    # collate
    "floats": collated(1.0, 2),
    "ints": collated(1, 2**40),
    "bools": collated(True, False),
    "bool and int": collated(True, 2),
    "int and float": collated(1, 2.5),
    "too big": collated(2**70),
    "strings": collated("a", "b"),
    "bytes": collated(b"a", b"b"),
    "arrays": collated(np.ones((2, 3), f4), np.zeros((2, 3), f4)),
    "array dtypes": collated(np.ones(2, np.int16), np.ones(2)),
    "array 0-d": collated(np.array(3), np.array(4)),
    "array shapes": collated(np.ones((2, 3)), np.ones((3, 2))),
    "array strings": collated(np.array(["a"])),
    "scalars": collated(f4(1.5), f4(2.5)),
    "scalar kinds": collated(np.int64(1), 2),
    "nested": collated(({"a": [1, f4(2)]}, "x"), ({"a": [3, f4(4)]}, "y")),
    "ordered": collated(collections.OrderedDict(a=1), collections.OrderedDict(a=2)),
    "default dict": collated(collections.defaultdict(int, a=1)),
    "named": collated(Pair(1, 2.0), Pair(3, 4.0)),
    "deque": collated(collections.deque([1, 2]), collections.deque([3, 4])),
    "range": collated(range(2), range(2)),
    "missing key": collated({"a": 1}, {"b": 2}),
    "unequal": collated([1], [1, 2]),
    "none": collated(None),
    "set": collated({1}),
    "no samples": collated(),
    "tensors": tensors(lambda t: [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])]),
    "tensor scalars": tensors(lambda t: [t.tensor(1), t.tensor(2)]),
    "tensor shapes": tensors(lambda t: [t.ones(2), t.ones(3)]),
    "tensor dtypes": tensors(lambda t: [t.tensor([1]), t.tensor([2.5])]),
    "half": tensors(lambda t: [t.ones(2, dtype=t.bfloat16)] * 2),
    "grad": tensors(lambda t: [t.ones(2, requires_grad=True), t.ones(2)]),
    "convert": lambda s: s.d.default_convert([np.ones(2), f4(3), "a", 1, Pair(np.ones(1), 2), (np.zeros(1),)]),
    "collate map": lambda s: s.d._utils.collate.collate(
        [1, 2], collate_fn_map={int: lambda batch, *, collate_fn_map=None: ("X", batch)}
    ),
    # loaders in one process
    "map": lambda s: batches(s, s.Rich(5), batch_size=2),
    "rows by 4": lambda s: epochs(s, 2, rows(s), batch_size=4, shuffle=True),
    "rows subset": lambda s: batches(s, s.d.Subset(rows(s), [5, 1, -2]), batch_size=2),
    "rows sampler": lambda s: batches(s, rows(s), batch_size=2, sampler=[-1, 2, 9]),
    "generator": lambda s: epochs(s, 2, batch_size=3, shuffle=True, generator=generator(s)),
    "drop last": lambda s: batches(s, batch_size=3, drop_last=True),
    "no batching": lambda s: batches(s, [np.ones(2), 2.0], batch_size=None),
    "batch sampler": lambda s: batches(s, batch_sampler=[[1, 2], [3]]),
    "getitems": lambda s: batches(s, s.Batched(), batch_size=4),
    "stream": lambda s: batches(s, s.Stream(), batch_size=3),
    "stream drop": lambda s: batches(s, s.Stream(), batch_size=3, drop_last=True),
    "stream over length": lambda s: with_length(s, batch_size=2),
    "stream no batching": lambda s: with_length(s, batch_size=None),
    "tensor as dataset": lambda s: batches(s, s.torch.arange(4), batch_size=2),
    "length": lambda s: [len(loader(s, batch_size=3, drop_last=drop)) for drop in (False, True)],
    "length stream": lambda s: len(loader(s, s.Stream())),
    "pin": lambda s: batches(s, s.Count(2), pin_memory=True),
    "pin device": lambda s: batches(s, s.Count(2), pin_memory=True, pin_memory_device="cuda"),
    "pickle iterator": lambda s: __import__("pickle").dumps(iter(loader(s))),
    # arguments
    "workers < 0": lambda s: loader(s, num_workers=-1),
    "timeout < 0": lambda s: loader(s, timeout=-1),
    "prefetch 0 workers": lambda s: loader(s, prefetch_factor=2),
    "prefetch < 0": lambda s: loader(s, num_workers=1, prefetch_factor=-1),
    "persistent 0 workers": lambda s: loader(s, persistent_workers=True),
    "stream shuffle": lambda s: loader(s, s.Stream(), shuffle=True),
    "stream sampler": lambda s: loader(s, s.Stream(), sampler=[1]),
    "stream batch sampler": lambda s: loader(s, s.Stream(), batch_sampler=[[1]]),
    "shuffle and sampler": lambda s: loader(s, shuffle=True, sampler=[1]),
    "batch sampler and size": lambda s: loader(s, batch_size=2, batch_sampler=[[1]]),
    "no batch, drop": lambda s: loader(s, batch_size=None, drop_last=True),
    "batch size 0": lambda s: loader(s, batch_size=0),
    "empty shuffle": lambda s: loader(s, s.Count(0), shuffle=True),
    "empty": lambda s: batches(s, s.Count(0)),
    "context 0 workers": lambda s: loader(s, multiprocessing_context="fork"),
    "context name": lambda s: loader(s, num_workers=1, multiprocessing_context="forks"),
    "context type": lambda s: loader(s, num_workers=1, multiprocessing_context=3),
    "many workers": lambda s: loader(s, num_workers=4096).num_workers,
    "no info": lambda s: s.d.get_worker_info(),
    **{f"set {name}": lambda s, name=name: assign(s, name) for name in ("batch_size", "sampler", "dataset")},
    "exchanged sampler": exchanged_sampler,
    # workers
    "w map": lambda s: batches(s, s.Rich(5), batch_size=2, num_workers=2),
    "w shuffle": lambda s: epochs(s, 2, batch_size=3, num_workers=2, shuffle=True),
    "w generator": lambda s: epochs(s, 2, batch_size=3, num_workers=2, shuffle=True, generator=generator(s)),
    "w seeds": lambda s: epochs(s, 2, s.Seeds(), batch_size=2, num_workers=2, collate_fn=same),
    "w persistent": lambda s: epochs(
        s, 3, s.Seeds(), num_workers=2, collate_fn=same, persistent_workers=True, shuffle=True
    ),
    "w left early": left_early,
    "w stream": lambda s: batches(s, s.Shared(11), batch_size=3, num_workers=2),
    "w stream uneven": lambda s: batches(s, s.Shared(3), num_workers=2, prefetch_factor=4),
    "w stream persistent": lambda s: epochs(s, 3, s.Shared(7), num_workers=2, persistent_workers=True),
    "w stream copies": lambda s: with_length(s, batch_size=4, num_workers=2, drop_last=True),
    "w no batching": lambda s: batches(s, s.Stream(3), batch_size=None, num_workers=2),
    "w any order": lambda s: sorted(int(b) for b in loader(s, num_workers=2, in_order=False)),
    "w lambda": lambda s: batches(s, s.Count(3), num_workers=1, collate_fn=lambda b: [i + 1 for i in b]),
    "w big": lambda s: batches(s, [np.full((3, 300, 600), i, f4) for i in range(4)], batch_size=2, num_workers=1)[1][
        1, 2, 299, 590:
    ],
    "w error": lambda s: batches(s, s.Bad(), num_workers=2),
    "w error key": lambda s: batches(s, s.BadKey(), num_workers=1),
    "w error two": lambda s: batches(s, s.BadTwo(), num_workers=1),
    "w error stream": lambda s: batches(s, s.BadStream(), num_workers=1),
    "w error init": lambda s: batches(s, num_workers=1, worker_init_fn=5),
    "w past errors": past_errors,
}


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name: str) -> None:
    assert observe(PROGRAMS[name], "jaxtorch") == observe(PROGRAMS[name], "torch")


class Dying(jaxtorch.utils.data.Dataset):
    def __init__(self, end: Callable[[], Any]) -> None:
        self.end = end

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        if index == 3:
            self.end()
        return index


@pytest.mark.parametrize(
    ("end", "message"),
    [
        (
            lambda: os.kill(os.getpid(), signal.SIGKILL),
            r"DataLoader worker \(pid \d+\) is killed by signal: Killed",
        ),
        (lambda: os._exit(3), r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"),
    ],
)
def test_death_of_a_worker(end: Callable[[], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        list(jaxtorch.utils.data.DataLoader(Dying(end), num_workers=2))


def test_timeout_and_no_process_left() -> None:
    loader = jaxtorch.utils.data.DataLoader(Dying(lambda: time.sleep(60)), num_workers=1, timeout=1)
    iterator = iter(loader)
    processes = [worker.process for worker in iterator._workers]
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(iterator)
    assert not any(process.is_alive() for process in processes)


def test_garbage_collection_ends_workers() -> None:
    iterator = iter(jaxtorch.utils.data.DataLoader(range(100), num_workers=2))
    next(iterator)
    processes = [worker.process for worker in iterator._workers]
    del iterator
    assert not any(process.is_alive() for process in processes)


def test_workers_follow_a_killed_parent() -> None:
    program = (
        "import os, signal, jaxtorch.utils.data as d\n"
        "it = iter(d.DataLoader(range(100), num_workers=2))\n"
        "print(*(w.process.pid for w in it._workers), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    pids = [int(word) for word in run.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(_runs(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Affine(jaxtorch.utils.data.Dataset):
    """Runs tensor arithmetic in `__getitem__`, which a spawned worker may do."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return jaxtorch.arange(3) * 2 + index


def test_spawned_workers_run_operations() -> None:
    loader = jaxtorch.utils.data.DataLoader(Affine(), batch_size=2, num_workers=1, multiprocessing_context="spawn")
    assert [batch.tolist() for batch in loader] == [[[0, 2, 4], [1, 3, 5]], [[2, 4, 6], [3, 5, 7]]]


def test_forked_workers_after_jax_has_run() -> None:
    """Tensors made by computation before the fork, indexed and collated in workers."""
    x = jaxtorch.arange(40).view(20, 2) * 3 + 1
    loader = jaxtorch.utils.data.DataLoader(
        jaxtorch.utils.data.TensorDataset(x), batch_size=8, num_workers=2, timeout=30
    )
    assert jaxtorch.cat([batch for (batch,) in loader]).tolist() == x.tolist()


def test_a_worker_waits_for_nothing_that_only_its_parent_can_finish(run_python: Run):
    run_python(
        "-c",
        """
import jaxtorch as torch
from jaxtorch._core.record.program import flush_all

torch.ones(1).item()
big = torch.rand(1500, 1500)
for _ in range(8):
    big = big @ big / 750
picked = big[torch.arange(1500)]  # flagged if an index is out of range
flush_all()

class Data(torch.utils.data.Dataset):
    numbers = torch.arange(4)

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return int(self.numbers[i]), picked[i, 0] >= 0

for numbers, positive in torch.utils.data.DataLoader(Data(), num_workers=2, batch_size=2, timeout=30):
    assert numbers.sum().item() in (1, 5) and positive.all(), (numbers, positive)
""",
    )


def test_a_sampler_without_iter_is_named() -> None:
    with pytest.raises(NotImplementedError, match=r"^Sampler\.__iter__ is not implemented$"):
        iter(jaxtorch.utils.data.Sampler())


def test_workers_are_forked_whoever_has_asked_for_the_start_method(run_python: Run):
    """That multiprocessing has answered with its own default, forkserver from Python 3.14 on, is no choice of the program's."""
    run_python(
        "-c",
        "import multiprocessing, sys, jaxtorch as torch\n"
        "class Rows(torch.utils.data.Dataset):\n"
        "    __len__ = lambda self: 4\n"
        "    __getitem__ = lambda self, i: self.hidden(i)\n"
        "rows = Rows()\n"
        "rows.hidden = lambda i: i * 2\n"
        "multiprocessing.get_start_method()\n"
        "assert [b.tolist() for b in torch.utils.data.DataLoader(rows, 2, num_workers=1)] == [[0, 2], [4, 6]]",
    )
