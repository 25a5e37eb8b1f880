"""`SummaryWriter` over the package tensorboard: what it writes is read back by tensorboard, beside what PyTorch's writes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from parity import candidate

pytest.importorskip("tensorboard", reason="tensorboard is not installed")


def write(t: Any, writer: Any, folder: Path) -> None:
    t.manual_seed(0)
    with writer(str(folder)) as w:
        for i in range(3):
            w.add_scalar("loss/train", t.tensor(i * 1.5), i)
        w.add_scalar("new", np.float32(3.5), 4, new_style=True)
        w.add_scalars("several", {"p": 1, "q": t.tensor(2.0)}, 3)
        w.add_histogram("normal", t.randn(100, dtype=t.float64), 1)
        w.add_histogram("auto", t.arange(10), 1, bins="auto")
        w.add_histogram("few", np.ones(5), 1, max_bins=3, bins=30)
        w.add_image("image", t.linspace(0, 1, 27).reshape(3, 3, 3), 0)
        w.add_image("gray", (np.arange(16).reshape(4, 4) * 10).astype(np.uint8), 0, dataformats="HW")
        w.add_images("images", t.linspace(0, 1, 24).reshape(2, 1, 3, 4), 0)
        w.add_text("text", "hello **x**", 2)
        w.add_tensor("tensor", t.arange(4.0).reshape(2, 2), 1)
        w.add_hparams({"lr": 0.1, "size": 4, "name": "x", "flag": True}, {"accuracy": 0.5}, run_name="run")
        with pytest.raises(AssertionError):
            w.add_scalar("two", t.ones(2))


def read(folder: Path) -> dict[Any, Any]:
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: dict[Any, Any] = {}
    for path in sorted(folder.rglob("events*")):
        log = EventAccumulator(str(path), size_guidance={"images": 0, "histograms": 0, "tensors": 0, "scalars": 0})
        log.Reload()
        where = path.parent.relative_to(folder).as_posix()
        tags = log.Tags()
        for tag in tags["scalars"]:
            found[where, tag] = [(e.step, e.value) for e in log.Scalars(tag)]
        for tag in tags["histograms"]:
            for e in log.Histograms(tag):
                h = e.histogram_value
                found[where, tag] = [
                    e.step,
                    *np.round([h.min, h.max, h.num, h.sum, h.sum_squares, *h.bucket_limit], 6),
                    h.bucket,
                ]
        for tag in tags["images"]:
            shots = [
                (e.step, np.asarray(Image.open(io.BytesIO(e.encoded_image_string))).tolist()) for e in log.Images(tag)
            ]
            found[where, tag] = shots
        for tag in tags["tensors"]:
            found[where, tag] = [(e.step, str(e.tensor_proto)) for e in log.Tensors(tag)]
        found[where, "plugins"] = {t: m.plugin_data.plugin_name for t, m in log.summary_metadata.items()}
    return found


def test_files_are_those_of_pytorch(tmp_path: Path):
    from torch.utils.tensorboard import SummaryWriter

    from jaxtorch.utils.tensorboard import _writer

    write(torch, SummaryWriter, tmp_path / "theirs")
    write(candidate(), _writer.SummaryWriter, tmp_path / "ours")
    expected, actual = read(tmp_path / "theirs"), read(tmp_path / "ours")
    assert set(actual) == set(expected)
    assert len(expected) > 15
    for key in expected:
        assert actual[key] == expected[key], key


def test_what_is_missing_is_named(tmp_path: Path):
    from jaxtorch.utils.tensorboard import _writer

    with (
        _writer.SummaryWriter(str(tmp_path)) as w,
        pytest.raises(NotImplementedError, match=r"SummaryWriter\.add_graph"),
    ):
        w.add_graph(None)
