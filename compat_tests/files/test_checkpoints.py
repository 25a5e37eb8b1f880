"""A training run that changes libraries on the way: checkpoints of model, optimizer and scheduler, PyTorch -> jaxtorch -> PyTorch."""

from __future__ import annotations

import functools
import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.common_optimizers import optim_db

import jaxtorch


def resnet18(t: Any) -> Any:
    """ResNet-18 with torchvision's names, an eighth of its width, for small images."""
    nn = t.nn

    class BasicBlock(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outer)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(outer)
            self.downsample = None
            if stride != 1 or inner != outer:
                self.downsample = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

        def forward(self, x: Any) -> Any:  # (N, C, H, W)
            identity = x if self.downsample is None else self.downsample(x)
            out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, 8, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(8)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            inner = 8
            for k, outer in enumerate((8, 16, 32, 64), 1):
                blocks = [BasicBlock(inner, outer, 1 if k == 1 else 2), BasicBlock(outer, outer, 1)]
                setattr(self, f"layer{k}", nn.Sequential(*blocks))
                inner = outer
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(64, 10)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

        def forward(self, x: Any) -> Any:  # (N, 3, 32, 32)
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(t.flatten(self.avgpool(x), 1))  # (N, 10)

    return ResNet()


def transformer(t: Any) -> Any:
    """A classifier of token sequences, with two encoder layers and dropout."""
    nn = t.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(50, 32, padding_idx=0)
            self.register_buffer("positions", t.arange(12))
            self.place = nn.Embedding(12, 32)
            layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.head = nn.Linear(32, 10)

        def forward(self, x: Any) -> Any:  # (N, 12)
            y = self.encoder(self.embedding(x) + self.place(self.positions), src_key_padding_mask=x == 0)
            return self.head(y.mean(1))  # (N, 10)

    return Classifier()


class Run:
    """One training run in one library: what a training script holds."""

    def __init__(self, t: Any, kind: str) -> None:
        self.t, self.kind = t, kind
        t.manual_seed(0)
        if kind == "resnet18":
            self.model = resnet18(t)
            self.optimizer = t.optim.SGD(
                self.model.parameters(), lr=0.002, momentum=0.9, weight_decay=1e-4, nesterov=True
            )
            self.scheduler = t.optim.lr_scheduler.MultiStepLR(self.optimizer, [2, 5], gamma=0.3)
        else:
            self.model = transformer(t)
            decay = [p for p in self.model.parameters() if p.dim() > 1]
            rest = [p for p in self.model.parameters() if p.dim() <= 1]
            groups = [{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}]
            self.optimizer = t.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), amsgrad=True)
            warm = t.optim.lr_scheduler.LinearLR(self.optimizer, 0.1, total_iters=3)
            cool = t.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, 10)
            self.scheduler = t.optim.lr_scheduler.SequentialLR(self.optimizer, [warm, cool], [3])
        self.step = 0

    def batch(self) -> tuple[Any, Any]:
        r = np.random.default_rng(self.step)
        target = self.t.from_numpy(r.integers(0, 10, 8))
        if self.kind == "resnet18":
            return self.t.from_numpy(r.standard_normal((8, 3, 32, 32), np.float32)), target
        return self.t.from_numpy(r.integers(0, 50, (8, 12))), target

    def train(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            x, target = self.batch()
            self.t.manual_seed(self.step)  # of dropout
            self.optimizer.zero_grad()
            loss = self.t.nn.functional.cross_entropy(self.model(x), target, label_smoothing=0.1)
            loss.backward()
            self.t.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
            self.step += 1
        return losses

    def save(self, path: Path) -> None:
        parts = ("model", "optimizer", "scheduler")
        self.t.save({**{p: getattr(self, p).state_dict() for p in parts}, "step": self.step}, path)

    def load(self, path: Path) -> None:
        checkpoint = self.t.load(path)
        for p in ("model", "optimizer", "scheduler"):
            getattr(self, p).load_state_dict(checkpoint[p])
        self.step = checkpoint["step"]


@pytest.mark.parametrize("kind", ["resnet18", "transformer"])
def test_training_goes_on_in_the_other_library(kind: str, tmp_path: Path):
    first = Run(torch, kind)
    first.train(3)
    first.save(tmp_path / "first.pt")
    second = Run(jaxtorch, kind)
    second.load(tmp_path / "first.pt")
    np.testing.assert_allclose(second.train(3), first.train(3), rtol=1e-4)
    second.save(tmp_path / "second.pt")
    third = Run(torch, kind)
    third.load(tmp_path / "second.pt")
    assert third.step == 6
    assert third.scheduler.get_last_lr() == pytest.approx(second.scheduler.get_last_lr())
    np.testing.assert_allclose(third.train(2), second.train(2), rtol=1e-4)
    ours, theirs = second.optimizer.state_dict(), third.optimizer.state_dict()
    for a, b in zip(ours["param_groups"], theirs["param_groups"], strict=True):
        assert {**a, "lr": 0} == {**b, "lr": 0}
    assert [sorted(s) for s in ours["state"].values()] == [sorted(s) for s in theirs["state"].values()]


class Fitting:
    """A regression by one optimizer: what `Run` is, for each class of `torch.optim`."""

    def __init__(self, t: Any, name: str) -> None:
        self.t, self.name = t, name
        t.manual_seed(0)
        nn, sparse = t.nn, name == "SparseAdam"
        first = [nn.EmbeddingBag(9, 4, sparse=True, mode="sum")] if sparse else [nn.Linear(9, 8), nn.Tanh()]
        last = [] if sparse or name == "Muon" else [nn.Linear(8, 4)]
        self.model = nn.Sequential(*first, *last)
        parameters = [p for p in self.model.parameters() if p.dim() == 2 or name != "Muon"]
        self.optimizer = getattr(t.optim, name)(parameters, lr=0.01)
        self.step = 0

    def train(self, steps: int) -> list[float]:
        losses = []
        for _ in range(steps):
            r = np.random.default_rng(self.step)
            number = r.integers(0, 9, (6, 3)) if self.name == "SparseAdam" else r.standard_normal((6, 9), np.float32)
            x = self.t.from_numpy(number)

            def closure() -> Any:
                self.optimizer.zero_grad()
                loss = (self.model(x) - 1).square().mean()  # noqa: B023
                loss.backward()
                return loss

            losses.append(self.optimizer.step(closure).item())
            self.step += 1
        return losses

    def through(self, path: Path, t: Any) -> Fitting:
        """The same run in another library, after a file."""
        self.t.save([self.model.state_dict(), self.optimizer.state_dict(), self.step], path)
        other = Fitting(t, self.name)
        model, optimizer, other.step = t.load(path)
        other.model.load_state_dict(model)
        other.optimizer.load_state_dict(optimizer)
        return other


@pytest.mark.parametrize("name", [info.optim_cls.__name__ for info in optim_db])
def test_every_optimizer_through_files(name: str, tmp_path: Path):
    first = Fitting(torch, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first.train(3)
        second = first.through(tmp_path / "first.pt", jaxtorch)
        tolerance = 5e-3 if name == "Muon" else 1e-4  # Muon iterates in bfloat16
        np.testing.assert_allclose(second.train(3), first.train(3), rtol=tolerance)
        third = second.through(tmp_path / "second.pt", torch)
        np.testing.assert_allclose(third.train(3), second.train(3), rtol=tolerance)


def _state_by_plain_names(t: Any) -> list[Any]:
    """What `torch.distributed.checkpoint.state_dict` makes of a model in one process: accelerate loads checkpoints through it."""
    from importlib import import_module

    names = import_module(t.__name__ + ".distributed.checkpoint.state_dict")
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
    model[0].bias.requires_grad_(False)
    get = functools.partial(names.get_model_state_dict, model)
    options = names.StateDictOptions

    def told(fn: Any) -> Any:
        try:
            return str(fn())
        except (RuntimeError, ValueError) as error:
            return type(error).__name__

    seen = [
        repr(options()),
        list(get()),
        list(get(options=options(ignore_frozen_params=True))),
        list(get(submodules={model[1]})),
    ]
    seen += [list(get(submodules={model[1]}, options=options(keep_submodule_prefixes=False)))]
    wrapped = t.nn.Sequential(t.compile(t.nn.Linear(2, 2)), t.nn.ReLU())
    seen += [list(names.get_model_state_dict(wrapped))]
    seen += [told(lambda: names.set_model_state_dict(wrapped, names.get_model_state_dict(wrapped)))]
    part, more = {"0.weight": t.zeros(2, 2)}, {**model.state_dict(), "x": t.ones(1)}
    for choice in ({}, {"strict": False}, {"full_state_dict": True}, {"full_state_dict": True, "strict": False}):
        for state in (part, more, {"0.weight": t.zeros(3, 2)}, {}):
            set_ = functools.partial(names.set_model_state_dict, model, state, options=options(**choice))
            seen += [told(set_), model[0].weight.tolist()]
    return [*seen, told(lambda: get(options=options(broadcast_from_rank0=True)))]


@pytest.mark.filterwarnings("ignore:Getting submodules")
def test_states_by_plain_names() -> None:
    assert _state_by_plain_names(jaxtorch) == _state_by_plain_names(torch)


def _text(t: Any, x: Any) -> Any:
    if isinstance(x, dict):
        return {k: _text(t, v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [_text(t, y) for y in x]
    return _text(t, x.tolist()) if isinstance(x, t.Tensor) else float(f"{x:.4g}") if isinstance(x, float) else x


def _refused(call: Any) -> Any:
    try:
        return call()
    except (RuntimeError, KeyError) as error:
        return type(error).__name__, str(error)


def _optimizer_states(t: Any) -> list[Any]:
    """The states of optimizers by the names of parameters: made, flattened, loaded into others, in part."""
    names = importlib.import_module(t.__name__ + ".distributed.checkpoint.state_dict")
    flat = names.StateDictOptions(flatten_optimizer_state_dict=True)

    def made(kind: Any, n: int = 2) -> tuple[Any, Any]:
        model = t.nn.Sequential(*[t.nn.Linear(2, 2) for _ in range(n)])
        with t.no_grad():
            for i, p in enumerate(model.parameters()):
                p.fill_(i + 1)
        first, *rest = model.parameters()
        return model, kind([{"params": [first], "lr": 0.5}, {"params": rest}], 0.25)

    adam, sgd = t.optim.Adam, functools.partial(t.optim.SGD, momentum=0.9)
    seen: list[Any] = []
    for kind in (adam, sgd, t.optim.SGD):
        model, optimizer = made(kind)
        seen += [names.get_optimizer_state_dict(model, optimizer), [p.grad for p in model.parameters()]]
        seen += [_text(t, list(model.parameters())), optimizer.param_groups[0]["lr"]]
        model(t.ones(1, 2)).sum().backward()
        optimizer.step()
        state = names.get_optimizer_state_dict(model, optimizer)
        flattened = names.get_optimizer_state_dict(model, optimizer, options=flat)
        both = names.get_state_dict(model, [optimizer, t.optim.SGD(model[0].parameters(), 3.0)])
        seen += [state, flattened, both]
        for given, options in ((state, None), (flattened, flat)):
            other, another = made(kind)
            another.param_groups[1]["lr"] = 7.0
            seen += [names.set_optimizer_state_dict(other, another, given, options=options), another.state_dict()]
        if state["state"]:
            other, another = made(kind, 1)
            seen += [names.set_optimizer_state_dict(other, another, state), another.state_dict()]
            other, another = made(kind, 3)
            seen += [_refused(lambda o=other, a=another, s=state: names.set_optimizer_state_dict(o, a, s))]
        other, another = made(kind)
        found = names.set_state_dict(other, another, model_state_dict=both[0], optim_state_dict=state)
        seen += [str(found), another.state_dict(), _text(t, list(other.parameters()))]
    seen += [_refused(lambda: names.get_optimizer_state_dict(model, []))]
    seen += [_refused(lambda: names.set_optimizer_state_dict(model, optimizer, {})), names.get_state_dict(model, [])]
    return [_text(t, x) for x in seen]


def test_states_of_optimizers_by_names() -> None:
    for a, b in zip(_optimizer_states(torch), _optimizer_states(jaxtorch), strict=True):
        assert b == a
