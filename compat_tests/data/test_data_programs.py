"""What a dataset computes for each sample is no part of the training step's program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch as reference

import jaxtorch as torch
from jaxtorch._core.host import tiering
from jaxtorch._core.record import program
from jaxtorch._core.run import log

IMAGES = np.random.default_rng(0).random((40, 4, 4), np.float32)


def _pad(torch: Any) -> Callable[[Any], Any]:
    def collate(batch: Any) -> Any:
        images = torch.zeros(len(batch), 6, 4)
        for k, (image, _) in enumerate(batch):
            images[k, :4] = image
        return images, torch.stack([label for _, label in batch])

    return collate


def _loader(torch: Any, kind: str) -> Any:
    images, flips = torch.tensor(IMAGES), np.random.default_rng(1)
    transforms: dict[str, Any] = {
        "normalized": lambda x: (x - 0.5) / 0.3,
        "in place": lambda x: x.clone().sub_(0.5).div_(0.3).unsqueeze(0),
        "flipped": lambda x: x.flip(-1) if flips.random() < 0.5 else x,
        "noisy": lambda x: x + 0.1 * torch.randn_like(x),
        "rows": lambda x: x,
        "padded": lambda x: x * 2,
        "iterable": lambda x: x * 2,
        "one by one": lambda x: (x * 2)[None],
    }
    transform = transforms[kind]
    labels = torch.arange(len(IMAGES)) % 3

    class Map(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return len(images)

        def __getitem__(self, i: int) -> Any:
            return transform(images[i]), labels[i]

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self) -> Iterator[Any]:
            return ((transform(images[i]), labels[i]) for i in range(len(images)))

    if kind == "iterable":
        return torch.utils.data.DataLoader(Stream(), batch_size=8)
    if kind == "one by one":
        return torch.utils.data.DataLoader(
            [(transform(images[i]), labels[i : i + 1]) for i in range(8)], batch_size=None
        )
    return torch.utils.data.DataLoader(Map(), batch_size=8, collate_fn=_pad(torch) if kind == "padded" else None)


def _train(torch: Any, kind: str) -> list[float]:
    torch.manual_seed(0)
    loader = _loader(torch, kind)
    net = torch.nn.Linear(24 if kind == "padded" else 16, 3)
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.1), []
    for _ in range(2):
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(net(x.flatten(1)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss)
    return [float(loss.detach()) for loss in losses]


KINDS = ["normalized", "in place", "flipped", "noisy", "rows", "padded", "iterable", "one by one"]


@pytest.mark.parametrize("kind", KINDS)
def test_losses(kind: str) -> None:
    np.testing.assert_allclose(_train(torch, kind), _train(reference, kind), rtol=1e-5)


@pytest.mark.skipif(program.IMMEDIATE, reason="nothing is recorded")
@pytest.mark.parametrize("kind", ["normalized", "in place", "flipped", "noisy", "rows", "iterable"])
def test_a_sample_is_a_program_of_its_own(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[Any] = []
    monkeypatch.setattr(log, "new_structure", met.append)
    lengths: list[int] = []
    for x, _ in _loader(torch, kind):
        lengths.append(len(x))
    assert sum(lengths) == len(IMAGES)
    assert all(len(structure.plan.steps) < 8 for structure in met)


@pytest.mark.skipif(program.IMMEDIATE, reason="nothing is recorded")
def test_programs_of_data_are_compiled_when_they_have_cost_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(log, "compiled", lambda structure, seconds, quickly: compiled.append(structure))
    tiering.forget()
    images = [(torch.tensor(i), torch.tensor(0)) for i in np.random.default_rng(2).random((24, 4, 900), np.float32)]
    loader = torch.utils.data.DataLoader(images, batch_size=8, collate_fn=_wide)
    for _ in range(4):
        for x, _ in loader:
            assert x.shape == (8, 6, 900)
    assert not compiled
    monkeypatch.setattr(tiering, "COMPILE_EQUATION", 0.0)
    list(loader)
    assert len(compiled) == 1


def _wide(batch: Any) -> Any:
    images = torch.zeros(len(batch), 6, 900)
    for repeat in range(8):
        for k, (image, _) in enumerate(batch):
            images[k, :4] = image + repeat
    return images, torch.stack([label for _, label in batch])


@pytest.mark.skipif(program.IMMEDIATE, reason="nothing is recorded")
def test_samples_follow_each_other_without_their_program_being_worked_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiering, "HOST_PROGRAM", 1e9)
    images, weight = torch.tensor(IMAGES), torch.ones(4, requires_grad=True)
    loader = torch.utils.data.DataLoader([0] * 32, batch_size=8, collate_fn=lambda rows: (images[rows[0]] - 0.5) / 0.3)
    times: list[None] = []
    worked_out = program._run_unknown
    monkeypatch.setattr(program, "_run_unknown", lambda *args: (times.append(None), worked_out(*args))[1])

    def epoch() -> None:
        for x in loader:
            (x.sum() * weight).sum().backward()
            weight.grad.tolist()  # pyright: ignore[reportOptionalMemberAccess]

    for _ in range(4):
        epoch()
    times.clear()
    epoch()
    assert not times
