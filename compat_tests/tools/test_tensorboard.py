"""`SummaryWriter` over the package tensorboard: what it writes is read back by tensorboard, beside what PyTorch's writes."""

from __future__ import annotations

import io
import re
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
        w.add_histogram_raw("counted", 0, 3, 6, 9, 20, [1.0, 2.0, 3.0], t.tensor([1, 2, 3]), 2)
        boxes = t.tensor([[1.0, 2.0, 9.0, 11.0], [4.0, 4.0, 14.0, 14.0]])
        w.add_image_with_boxes("boxes", t.linspace(0, 1, 768).reshape(3, 16, 16), boxes, 0, labels=["a", "b"])
        w.add_image_with_boxes("larger", t.zeros(16, 16, dtype=t.uint8), boxes, 0, dataformats="HW", rescale=2)
        w.add_audio("sound", t.linspace(-1, 1, 100), 0, sample_rate=8000)
        labels, scores = t.arange(20) % 2, t.linspace(0, 1, 20)
        w.add_pr_curve("curve", labels, scores, 1)
        w.add_pr_curve("weighed", labels, scores, 1, num_thresholds=300, weights=np.linspace(1, 2, 20))
        w.add_pr_curve_raw("curve, counted", *[t.arange(5) + i for i in range(6)], 1, num_thresholds=5)
        w.add_custom_scalars({"A": {"one": ["Multiline", ["x", "y"]], "two": ["Margin", ["x", "y", "z"]]}})
        w.add_mesh("mesh", t.rand(1, 4, 3), t.ones(1, 4, 3), t.tensor([[[0, 1, 2]]]), {"lights": [1]}, 3)
        w.add_mesh("points", t.rand(1, 4, 3))
        pictures = t.linspace(0, 1, 60).reshape(5, 3, 2, 2)
        points = t.arange(10.0).reshape(5, 2)
        w.add_embedding(points, ["a", "b", "c", "d", "e"], pictures, tag="with/all")
        w.add_embedding(points, [[i, "x"] for i in range(5)], global_step=3, metadata_header=["number", "letter"])
        for wrong in (
            lambda: w.add_scalar("two", t.ones(2)),
            lambda: w.add_custom_scalars_marginchart(["a", "b"]),
            lambda: w.add_embedding(points, ["a"], tag="few"),
            lambda: w.add_embedding(t.ones(5), tag="flat"),
            lambda: w.add_audio("two", t.ones(2, 2)),
        ):
            with pytest.raises(AssertionError):
                wrong()
        with pytest.raises(ValueError, match=r"len\(bucket_limits\) != len\(bucket_counts\)"):
            w.add_histogram_raw("counted", 0, 3, 6, 9, 20, [1.0], [1, 2, 3])


def _about(data: Any) -> tuple[str, Any]:
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    parsed = str(HParamsPluginData.FromString(data.content)) if data.plugin_name == "hparams" else data.content
    return data.plugin_name, re.sub("start_time_secs: .*", "", parsed) if isinstance(parsed, str) else parsed


def read(folder: Path) -> dict[Any, Any]:
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found: dict[Any, Any] = {}
    for path in sorted(folder.rglob("events*")):
        log = EventAccumulator(
            str(path), size_guidance={"images": 0, "histograms": 0, "tensors": 0, "scalars": 0, "audio": 0}
        )
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
        for tag in tags["audio"]:
            found[where, tag] = [
                (e.step, e.encoded_audio_string, e.sample_rate, e.length_frames) for e in log.Audio(tag)
            ]
        for tag in tags["tensors"]:
            found[where, tag] = [(e.step, str(e.tensor_proto)) for e in log.Tensors(tag)]
        found[where, "plugins"] = {t: _about(m.plugin_data) for t, m in log.summary_metadata.items()}
    for path in [*folder.rglob("*.tsv"), *folder.rglob("*.png"), *folder.rglob("*.pbtxt")]:
        image = path.suffix == ".png"
        found[path.relative_to(folder).as_posix()] = (
            np.asarray(Image.open(path)).tolist() if image else path.read_text()
        )
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


def test_video(tmp_path: Path):
    """PyTorch writes nothing with today's moviepy."""
    from PIL import Image
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from jaxtorch.utils.tensorboard import _writer

    t = candidate()
    with _writer.SummaryWriter(str(tmp_path)) as w:
        w.add_video("video", t.linspace(0, 1, 3 * 4 * 3 * 5 * 6).reshape(3, 4, 3, 5, 6), 2, fps=10)
    log = EventAccumulator(str(tmp_path))
    log.Reload()
    (event,) = log.Images("video")
    shown = Image.open(io.BytesIO(event.encoded_image_string))
    assert (shown.format, shown.size, shown.n_frames, shown.info["duration"]) == ("GIF", (24, 5), 4, 100)
    assert (event.step, event.width, event.height) == (2, 24, 5)


def test_graph(tmp_path: Path):
    """Modules and functions, and who reads whose results; PyTorch's has other numbers in its names."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from jaxtorch.utils.tensorboard import _writer

    t = candidate()

    class Net(t.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU())

        def forward(self, x: Any) -> Any:
            return self.body(x) + t.cos(x).sum()

    net = Net()
    with _writer.SummaryWriter(str(tmp_path)) as w:
        w.add_graph(net, t.ones(4, 2))
    log = EventAccumulator(str(tmp_path))
    log.Reload()
    nodes = {n.name: n for n in log.Graph().node}
    assert not net.body[0]._forward_hooks
    assert [(n.op, list(n.input)) for n in nodes.values() if n.op not in ("IO Node", "prim::GetAttr")] == [
        ("aten::linear", ["input/input.1", "Net/Sequential[body]/Linear[0]/weight", "Net/Sequential[body]/Linear[0]/bias"]),
        ("aten::relu", ["Net/Sequential[body]/Linear[0]/linear.1"]),
        ("aten::cos", ["input/input.1"]),
        ("aten::sum", ["Net/cos.1"]),
        (nodes["output/output.1"].input[0].split("/")[1].split(".")[0].join(["aten::", ""]),
         ["Net/Sequential[body]/ReLU[1]/relu.1", "Net/sum.1"]),
    ]  # fmt: skip
    sizes = nodes["output/output.1"].attr["_output_shapes"].list.shape[0].dim
    assert [d.size for d in sizes] == [4, 3]
    with _writer.SummaryWriter(str(tmp_path)) as w, pytest.raises(RuntimeError):
        w.add_graph(net, t.ones(4, 7))


def test_what_is_missing_is_named(tmp_path: Path):
    from jaxtorch.utils.tensorboard import _writer

    with (
        _writer.SummaryWriter(str(tmp_path)) as w,
        pytest.raises(NotImplementedError, match=r"SummaryWriter\.add_onnx_graph"),
    ):
        w.add_onnx_graph("model.onnx")
