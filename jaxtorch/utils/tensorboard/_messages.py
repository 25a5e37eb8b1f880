"""Tensors and numbers as tensorboard's messages."""

from __future__ import annotations

import io
import json
import wave
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import (
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto


def as_array(x: Any) -> np.ndarray:
    """A tensor, an array or numbers as an array."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.float() if "bfloat16" in str(x.dtype) else x
    return np.asarray(x)


def number(x: Any) -> float:
    found = as_array(x).reshape(-1)
    if found.size != 1:
        raise AssertionError(f"add_scalar: expected one number, got {found.size}")
    return float(found[0])


def _edges() -> np.ndarray:
    """TensorBoard's usual bins: growing by a tenth from 1e-12 to 1e20, on both sides of 0."""
    positive = 1e-12 * 1.1 ** np.arange(int(np.log(1e32) / np.log(1.1)) + 1)
    return np.concatenate([-positive[::-1], [0], positive])


def histogram(values: Any, bins: Any, max_bins: int | None) -> HistogramProto:
    values = as_array(values).reshape(-1).astype(np.float64)
    if not values.size:
        raise ValueError("add_histogram: there are no values")
    counts, limits = np.histogram(values, bins=_edges() if bins == "tensorflow" else bins)
    if max_bins is not None and len(counts) > max_bins:
        step = -(-len(counts) // max_bins)
        counts = np.add.reduceat(counts, np.arange(0, len(counts), step))
        limits = np.append(limits[:-1:step], limits[-1])
    filled = np.nonzero(counts)[0]
    if not filled.size:
        raise ValueError(f"add_histogram: none of {len(values)} values lies within the bins")
    first, last = int(filled[0]), int(filled[-1])
    head = [0] if first == 0 else [int(counts[first - 1])]
    return HistogramProto(
        min=values.min(), max=values.max(), num=len(values), sum=values.sum(), sum_squares=values.dot(values),
        bucket_limit=limits[first : last + 2].tolist(), bucket=[*head, *counts[first : last + 1].tolist()],
    )  # fmt: skip


def picture(image: Any, dataformats: str, boxes: Any = None, labels: Any = None, rescale: float = 1) -> Summary.Image:
    """A PNG of one image, or of a batch side by side, with boxes drawn into it."""
    from PIL import Image

    array, letters = as_array(image), dataformats.upper()
    if array.ndim != len(letters):
        raise AssertionError(f"add_image: shape {array.shape} does not fit dataformats={dataformats!r}")
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    order = [letters.index(c) for c in "NHWC" if c in letters]
    array = array.transpose(order)
    if "N" in letters:
        array = side_by_side(array, 8)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.shape[2] == 1:
        array = array.repeat(3, 2)
    shown = Image.fromarray(array)
    if boxes is not None:
        _draw(shown, boxes, labels)
    height, width, channels = array.shape
    if rescale != 1:
        shown = shown.resize((int(width * rescale), int(height * rescale)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    shown.save(file, "PNG")
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


def side_by_side(images: np.ndarray, columns: int) -> np.ndarray:
    """Images (n, height, width, channels) in rows of one image."""
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    blank = np.zeros((rows * columns - len(images), *images.shape[1:]), images.dtype)
    images = np.concatenate([images, blank])
    return np.concatenate([np.concatenate(list(images[r * columns : (r + 1) * columns]), 1) for r in range(rows)])


def _draw(image: Any, boxes: np.ndarray, labels: Any) -> None:
    """Red frames around boxes (n, 4: left, top, right, bottom), each with its label in the lower left corner."""
    from PIL import ImageDraw, ImageFont

    pen, font = ImageDraw.Draw(image), ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(boxes):
        corners = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        pen.line(corners, width=2, fill="Red")
        if labels is not None and labels[i]:
            x0, y0, x1, y1 = font.getbbox(labels[i])
            width, height = x1 - x0, y1 - y0
            margin = np.ceil(0.05 * height)
            pen.rectangle([(left, bottom - height - 2 * margin), (left + width, bottom)], fill="Red")
            pen.text((left + margin, bottom - height - margin), labels[i], fill="black", font=font)


def floats(array: np.ndarray) -> TensorProto:
    """An array as a tensor of float32."""
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
    return TensorProto(dtype="DT_FLOAT", tensor_shape=shape, float_val=array.reshape(-1).tolist())


def video(clips: Any, fps: float) -> Summary.Image:
    """Clips (n, time, channels, height, width), as many as a power of two side by side, as an animated GIF."""
    from PIL import Image

    array = as_array(clips)
    array = array.astype(np.float32) / (255.0 if array.dtype == np.uint8 else 1.0)
    n, time, channels, height, width = array.shape
    rows = 2 ** ((n.bit_length() - 1) // 2)
    if n & (n - 1):
        array = np.concatenate([array, np.zeros((2 ** n.bit_length() - n, *array.shape[1:]), np.float32)])
    array = array.reshape(rows, -1, time, channels, height, width).transpose(2, 0, 4, 1, 5, 3)
    array = array.reshape(time, rows * height, -1, channels)
    frames = [
        Image.fromarray(f[:, :, 0] if channels == 1 else f) for f in (array * 255.0).clip(0, 255).astype(np.uint8)
    ]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=1000 / fps, loop=0)
    return Summary.Image(
        height=array.shape[1], width=array.shape[2], colorspace=channels, encoded_image_string=file.getvalue()
    )


def audio(sound: Any, sample_rate: int) -> Summary.Audio:
    """Amplitudes from -1 to 1 as a WAV file of 16 bits."""
    array = as_array(sound).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as target:
        target.setnchannels(1)
        target.setsampwidth(2)
        target.setframerate(sample_rate)
        target.writeframes(samples.tobytes())
    return Summary.Audio(
        sample_rate=sample_rate, num_channels=1, length_frames=len(samples), encoded_audio_string=file.getvalue(),
        content_type="audio/wav",
    )  # fmt: skip


def curve(labels: Any, predictions: Any, thresholds: int, weights: Any) -> np.ndarray:
    """(6, thresholds): true and false positives, true and false negatives, precision and recall, where predictions from 0 to 1
    count as positive from each threshold on."""
    positive = as_array(labels).astype(np.float64)
    places = np.floor(as_array(predictions) * (thresholds - 1)).astype(np.int32)
    weights = 1.0 if weights is None else weights

    def at_least(counted: Any) -> np.ndarray:
        found, _ = np.histogram(places, bins=thresholds, range=(0, thresholds - 1), weights=counted)
        return np.cumsum(found[::-1])[::-1]

    right, wrong = at_least(positive * weights), at_least((1.0 - positive) * weights)
    missed = right[0] - right
    precision, recall = right / np.maximum(1e-7, right + wrong), right / np.maximum(1e-7, right + missed)
    return np.stack([right, wrong, wrong[0] - wrong, missed, precision, recall])


def curve_value(tag: str, data: np.ndarray, thresholds: int) -> Summary.Value:
    """A precision-recall curve, of six rows, as a value."""
    from tensorboard.plugins.pr_curve.plugin_data_pb2 import PrCurvePluginData

    about = PrCurvePluginData(version=0, num_thresholds=thresholds).SerializeToString()
    data_of = SummaryMetadata.PluginData(plugin_name="pr_curves", content=about)
    return Summary.Value(tag=tag, metadata=SummaryMetadata(plugin_data=data_of), tensor=floats(data))


def layout(categories: Any) -> Summary.Value:
    """Charts by category and title: ['Multiline', tags] or ['Margin', [value, lower, upper]]."""
    from tensorboard.plugins.custom_scalar import layout_pb2

    found = []
    for category, charts in categories.items():
        made = []
        for title, (kind, tags, *_) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(
                        f"a chart of kind 'Margin' takes 3 tags (value, lower, upper), got {len(tags)}"
                    )
                series = layout_pb2.MarginChartContent.Series(value=tags[0], lower=tags[1], upper=tags[2])
                made.append(layout_pb2.Chart(title=title, margin=layout_pb2.MarginChartContent(series=[series])))
            else:
                made.append(layout_pb2.Chart(title=title, multiline=layout_pb2.MultilineChartContent(tag=tags)))
        found.append(layout_pb2.Category(title=category, chart=made))
    text = layout_pb2.Layout(category=found).SerializeToString()
    data = SummaryMetadata.PluginData(plugin_name="custom_scalars")
    tensor = TensorProto(dtype="DT_STRING", string_val=[text], tensor_shape=TensorShapeProto())
    return Summary.Value(tag="custom_scalars__config__", tensor=tensor, metadata=SummaryMetadata(plugin_data=data))


def mesh(tag: str, vertices: Any, colors: Any, faces: Any, config: Any) -> list[Summary.Value]:
    """Meshes or clouds of points, each part (batch, n, 3) a value of its own."""
    from tensorboard.plugins.mesh import metadata
    from tensorboard.plugins.mesh.plugin_data_pb2 import MeshPluginData

    kinds = (vertices, MeshPluginData.VERTEX), (faces, MeshPluginData.FACE), (colors, MeshPluginData.COLOR)
    parts = [(as_array(part), kind) for part, kind in kinds if part is not None]
    components = metadata.get_components_bitmask([kind for _, kind in parts])
    text = "{}" if config is None else json.dumps(config, sort_keys=True)
    values = []
    for array, kind in parts:
        about = metadata.create_summary_metadata(tag, None, kind, components, array.shape, None, json_config=text)
        values.append(Summary.Value(tag=metadata.get_instance_name(tag, kind), tensor=floats(array), metadata=about))
    return values
