"""Samples that are made beside one another, so that they are the batch: the batches are PyTorch's, and samples that are kept stay."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch as pytorch

import jaxtorch
from jaxtorch._core import native
from jaxtorch._core.host import sample_memory, tiering
from jaxtorch._core.record import program
from jaxtorch.utils.data import _engine
from jaxtorch.utils.data._utils import copying, transport

SHAPE = (3, 40, 40)
IMAGES = np.random.default_rng(0).integers(0, 256, (22, *SHAPE), dtype=np.uint8)
needs_kernels = pytest.mark.skipif(
    program.IMMEDIATE or native.steps() is None, reason="samples are not made by the kernels"
)


class Images:
    """Scaled images, each with a number; `keep`: those whose index it divides are made once."""

    def __init__(self, torch: Any, kind: str = "scaled", keep: int = 0) -> None:
        self.torch, self.images, self.kind, self.keep = torch, torch.tensor(IMAGES), kind, keep
        self.kept: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, i: int) -> Any:
        if i in self.kept:
            return self.kept[i]
        image = self.images[i].float().div(255)
        match self.kind:
            case "scaled":
                sample = (image - 0.5) / 0.25, i
            case "pairs":
                sample = image - 0.5, image / 0.25
            case "turned":
                sample = {"image": (image - 0.5).transpose(1, 2), "label": i}
            case "with a mask":
                sample = image - 0.5, image > 0.5
            case "of two sizes":
                sample = image - 0.5, (image[:, 2:, 2:] / 0.25)
            case "read":
                sample = (image - float(image.max())) / 0.25, i
            case _:
                sample = (self.torch.zeros(SHAPE) if i % 3 else image - 0.5), i
        if self.keep and i % self.keep == 0:
            self.kept[i] = sample
        return sample


KINDS = ["scaled", "pairs", "turned", "with a mask", "of two sizes", "read", "some not computed"]


def flat(batch: Any) -> list[np.ndarray]:
    return [np.array(x.numpy()) for x in (batch.values() if isinstance(batch, dict) else batch)]


def epochs(torch: Any, dataset: Any, **options: Any) -> list[list[np.ndarray]]:
    torch.manual_seed(0)
    loader = torch.utils.data.DataLoader(dataset, **{"batch_size": 4, **options})
    return [flat(batch) for _ in range(3) for batch in loader]


def assert_same(ours: list[list[np.ndarray]], theirs: list[list[np.ndarray]]) -> None:
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        for x, y in zip(one, other, strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=2e-6, atol=1e-6)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many samples were copied together, each time."""
    found: list[int] = []
    concatenate = copying.concatenate
    monkeypatch.setattr(
        copying, "concatenate", lambda arrays, out: (found.append(len(arrays)), concatenate(arrays, out))
    )
    return found


@pytest.mark.parametrize("options", [{}, {"shuffle": True}, {"drop_last": True}, {"batch_size": 22}], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind: str, options: dict[str, Any]) -> None:
    ours, theirs = (epochs(torch, Images(torch, kind), **options) for torch in (jaxtorch, pytorch))
    assert_same(ours, theirs)


def test_iterable() -> None:
    def run(torch: Any) -> Any:
        class Stream(torch.utils.data.IterableDataset):
            def __iter__(self) -> Iterator[Any]:
                images = Images(torch)
                return (images[i] for i in range(len(images)))

        return epochs(torch, Stream())

    assert_same(run(jaxtorch), run(pytorch))


@needs_kernels
def test_nothing_is_copied(copies: list[int]) -> None:
    loader = jaxtorch.utils.data.DataLoader(Images(jaxtorch), batch_size=4)
    for _ in loader:  # the first runs are NumPy's, or the kernels' one by one
        pass
    copies.clear()
    sizes = [len(images) for images, _ in loader]
    assert sizes == [4] * 5 + [2]
    assert copies == []


@needs_kernels
def test_where_it_does_not_help_it_is_not_done_again(copies: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    loader = jaxtorch.utils.data.DataLoader(Images(jaxtorch, "pairs"), batch_size=4)
    list(loader)
    begun: list[Any] = []
    batch = sample_memory.Batch
    monkeypatch.setattr(sample_memory, "Batch", lambda *args: (begun.append(None), batch(*args))[1])
    copies.clear()
    list(loader)
    assert copies == [4, 4] * 5 + [2, 2]
    assert len(begun) == 1


@pytest.fixture
def reused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The memory of these batches, too, is used again when nobody holds it."""
    monkeypatch.setattr(transport, "KEPT_MINIMUM", 64)
    transport._kept.clear()
    yield
    transport._kept.clear()


@pytest.mark.usefixtures("reused")
def test_samples_that_are_kept_stay() -> None:
    dataset = Images(jaxtorch, keep=3)
    loader = jaxtorch.utils.data.DataLoader(dataset, batch_size=4)
    for turn in range(6):
        for images, labels in loader:
            expected = (IMAGES[labels.tolist()] / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
            np.testing.assert_allclose(images.numpy(), expected, rtol=2e-6, atol=1e-6)
            if turn % 2:
                images.mul_(0)
            else:
                images.numpy()[:] = 7
    for i, (image, _) in dataset.kept.items():
        expected = (IMAGES[i] / np.float32(255) - np.float32(0.5)) / np.float32(0.25)
        np.testing.assert_allclose(image.numpy(), expected, rtol=2e-6, atol=1e-6)


@pytest.mark.usefixtures("reused")
def test_batches_that_are_kept_stay() -> None:
    loader = jaxtorch.utils.data.DataLoader(Images(jaxtorch), batch_size=4)
    kept = [batch for _ in range(3) for batch in loader]
    assert_same([flat(batch) for batch in kept], epochs(pytorch, Images(pytorch)))


def test_a_changed_sample_is_its_own() -> None:
    """What a sample is after a write in place, not what its memory was."""

    class Changed(Images):
        def __getitem__(self, i: int) -> Any:
            image, label = super().__getitem__(i)
            image.sum().item()
            image[0] = label
            return image, label

    ours, theirs = (epochs(torch, Changed(torch)) for torch in (jaxtorch, pytorch))
    assert_same(ours, theirs)


def test_loaders_in_a_dataset_and_in_threads() -> None:
    def run(torch: Any) -> Any:
        class Nested(Images):
            def __getitem__(self, i: int) -> Any:
                image, label = super().__getitem__(i)
                inner = torch.utils.data.DataLoader(Images(torch), batch_size=2)
                other, _ = next(iter(inner))
                return image + other[1], label

        return epochs(torch, Nested(torch))

    expected = run(pytorch)
    found: list[Any] = [None] * 3

    def work(k: int) -> None:
        found[k] = run(jaxtorch)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ours in found:
        assert_same(ours, expected)


def test_threads_that_prepare_data_at_once_leave_the_process_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    both, threads = threading.Event(), []

    def flush(_: Any) -> None:
        if threading.current_thread() is threads[0]:
            both.wait(0.3)  # the other thread is to come in, if it can
        else:
            both.set()
            threads[0].join()

    monkeypatch.setattr(_engine, "flush", flush)
    threads += [threading.Thread(target=_engine.run_as_data) for _ in range(2)]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    threads[1].join()
    assert not tiering.is_patient()


def test_ever_other_shapes_have_no_memory_for_a_batch_each() -> None:
    batch = sample_memory.Batch(3, np.empty)
    places = [batch.place((n, sample_memory.SAMPLE_ELEMENTS)) for n in range(1, 9)]
    assert [p.base is not None for p in places] == [True] * 4 + [False] * 4
    assert [p.shape[0] for p in places] == [*range(1, 9)]
