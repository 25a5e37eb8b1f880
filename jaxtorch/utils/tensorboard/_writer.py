"""`SummaryWriter` over the package tensorboard, for where tensorboardX is not installed: the calls that most programs make.

Event files, their queue and their thread are tensorboard's own; what is here turns tensors into its messages.
"""

from __future__ import annotations

import io
import os
import socket
import time
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog  # pyright: ignore[reportMissingImports]
from tensorboard.compat.proto.summary_pb2 import (  # pyright: ignore[reportMissingImports]
    HistogramProto,
    Summary,
    SummaryMetadata,
)
from tensorboard.compat.proto.tensor_pb2 import TensorProto  # pyright: ignore[reportMissingImports]
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto  # pyright: ignore[reportMissingImports]
from tensorboard.summary.writer.event_file_writer import EventFileWriter  # pyright: ignore[reportMissingImports]

__all__ = ["FileWriter", "SummaryWriter"]


def _array(x: Any) -> np.ndarray:
    """A tensor, an array or numbers as an array."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        x = x.float() if "bfloat16" in str(x.dtype) else x
    return np.asarray(x)


def _number(x: Any) -> float:
    found = _array(x).reshape(-1)
    if found.size != 1:
        raise AssertionError(f"add_scalar: expected one number, got {found.size}")
    return float(found[0])


def _edges() -> np.ndarray:
    """TensorBoard's usual bins: growing by a tenth from 1e-12 to 1e20, on both sides of 0."""
    positive = 1e-12 * 1.1 ** np.arange(int(np.log(1e32) / np.log(1.1)) + 1)
    return np.concatenate([-positive[::-1], [0], positive])


def _histogram(values: Any, bins: Any, max_bins: int | None) -> HistogramProto:
    values = _array(values).reshape(-1).astype(np.float64)
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


def _picture(image: Any, dataformats: str) -> Summary.Image:
    """A PNG of one image, or of a batch side by side."""
    from PIL import Image

    array, letters = _array(image), dataformats.upper()
    if array.ndim != len(letters):
        raise AssertionError(f"add_image: shape {array.shape} does not fit dataformats={dataformats!r}")
    if array.dtype != np.uint8:
        array = (array.astype(np.float32) * 255.0).clip(0, 255).astype(np.uint8)
    order = [letters.index(c) for c in "NHWC" if c in letters]
    array = array.transpose(order)
    if "N" in letters:
        columns = min(8, len(array))
        rows = -(-len(array) // columns)
        array = np.concatenate([array, np.zeros((rows * columns - len(array), *array.shape[1:]), np.uint8)])
        array = np.concatenate([np.concatenate(list(array[r * columns : (r + 1) * columns]), 1) for r in range(rows)])
    if array.ndim == 2:
        array = array[:, :, None]
    if array.shape[2] == 1:
        array = array.repeat(3, 2)
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    height, width, channels = array.shape
    return Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue())


class FileWriter:
    """Writes summaries to an event file in a folder."""

    def __init__(self, log_dir: Any, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = "") -> None:
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self) -> str:
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Write a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def flush(self) -> None:
        """Have what was added in the file."""
        self.event_writer.flush()

    def close(self) -> None:
        """Close the file."""
        self.event_writer.close()


class SummaryWriter:
    """Scalars, histograms, images, figures, texts and hyperparameters for TensorBoard, in a folder's event file.

    log_dir: runs/TIME_HOST + `comment` where not given. Not here, but in tensorboardX's: graphs, embeddings, audio, video, meshes,
    precision-recall curves and custom layouts raise NotImplementedError.
    """

    def __init__(
        self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            moment = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{moment}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.purge_step, self.max_queue, self.flush_secs = purge_step, max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        if self.file_writer is None:
            self.file_writer = FileWriter(self.log_dir, self.max_queue, self.flush_secs, self.filename_suffix)
            self.all_writers = {self.log_dir: self.file_writer}
            if self.purge_step is not None:
                start = Event(step=self.purge_step, file_version="brain.Event:2")
                self.file_writer.add_event(start, self.purge_step)
                begun = Event(step=self.purge_step, session_log=SessionLog(status=SessionLog.START))
                self.file_writer.add_event(begun, self.purge_step)
                self.purge_step = None
        return self.file_writer

    def _add(self, step: Any, walltime: float | None, **value: Any) -> None:
        self._get_file_writer().add_summary(Summary(value=[Summary.Value(**value)]), step, walltime)

    def get_logdir(self) -> str:
        """The folder that events are written to."""
        return self.log_dir

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None, walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """One number. new_style: as a tensor, which `double_precision` keeps whole."""
        number = _number(scalar_value)
        if new_style:
            content = {"double_val": [number]} if double_precision else {"float_val": [number]}
            tensor = TensorProto(dtype="DT_DOUBLE" if double_precision else "DT_FLOAT", **content)
            data = SummaryMetadata.PluginData(plugin_name="scalars")
            self._add(global_step, walltime, tag=tag, tensor=tensor, metadata=SummaryMetadata(plugin_data=data))
        else:
            self._add(global_step, walltime, tag=tag, simple_value=number)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers in one chart: each goes to an event file in a folder of its own."""
        self._get_file_writer()
        assert self.all_writers is not None
        for tag, number in tag_scalar_dict.items():
            folder = f"{self.log_dir}/{main_tag.replace('/', '_')}_{tag}"
            if folder not in self.all_writers:
                self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
            value = Summary.Value(tag=main_tag, simple_value=_number(number))
            self.all_writers[folder].add_summary(Summary(value=[value]), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """A tensor with its values."""
        array = _array(tensor).astype(np.float32)
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in array.shape])
        content = TensorProto(dtype="DT_FLOAT", tensor_shape=shape, float_val=array.reshape(-1).tolist())
        data = SummaryMetadata.PluginData(plugin_name="tensor")
        self._add(global_step, walltime, tag=tag, tensor=content, metadata=SummaryMetadata(plugin_data=data))

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How values are distributed. bins: as for `numpy.histogram`, or 'tensorflow'."""
        self._add(global_step, walltime, tag=tag, histo=_histogram(values, bins, max_bins))

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image: uint8, or numbers from 0 to 1; `dataformats` names its dimensions ('CHW', 'HWC', 'HW', ...)."""
        self._add(global_step, walltime, tag=tag, image=_picture(img_tensor, dataformats))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A batch of images, eight side by side."""
        self._add(global_step, walltime, tag=tag, image=_picture(img_tensor, dataformats))

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """One or several figures of matplotlib."""
        import matplotlib.pyplot as plt
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        shots = []
        for f in figure if isinstance(figure, list) else [figure]:
            canvas = FigureCanvasAgg(f)
            canvas.draw()
            shots.append(np.asarray(canvas.buffer_rgba())[:, :, :3])
            if close:
                plt.close(f)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(shots), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, shots[0], global_step, walltime, "HWC")

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text, in Markdown."""
        data = SummaryMetadata.PluginData(plugin_name="text", content=b"")
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        tensor = TensorProto(dtype="DT_STRING", string_val=[text_string.encode("utf-8")], tensor_shape=shape)
        metadata = SummaryMetadata(plugin_data=data)
        self._add(global_step, walltime, tag=tag + "/text_summary", metadata=metadata, tensor=tensor)

    def add_hparams(
        self, hparam_dict: Any, metric_dict: Any, hparam_domain_discrete: Any = None, run_name: str | None = None,
        global_step: Any = None,
    ) -> None:  # fmt: skip
        """A run's hyperparameters, and the numbers to compare it by."""
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2  # pyright: ignore[reportMissingImports]

        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        given = {k: v if isinstance(v, (bool, str, int, float)) else _number(v) for k, v in hparam_dict.items()}
        infos = []
        for name, value in given.items():
            kind = "BOOL" if isinstance(value, bool) else "STRING" if isinstance(value, str) else "FLOAT64"
            info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(f"DATA_TYPE_{kind}"))
            field = {"BOOL": "bool_value", "STRING": "string_value"}.get(kind, "number_value")
            for choice in (hparam_domain_discrete or {}).get(name, ()):
                info.domain_discrete.values.add(**{field: choice})
            infos.append(info)
        metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=m)) for m in metric_dict]
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as writer:
            begun = plugin_data_pb2.SessionStartInfo()
            for name, value in given.items():
                kind = {bool: "bool_value", str: "string_value"}.get(type(value), "number_value")
                setattr(begun.hparams[name], kind, value)
            done = plugin_data_pb2.SessionEndInfo(status=api_pb2.Status.Value("STATUS_SUCCESS"))
            for tag, content in (
                (metadata.EXPERIMENT_TAG, {"experiment": api_pb2.Experiment(hparam_infos=infos, metric_infos=metrics)}),
                (metadata.SESSION_START_INFO_TAG, {"session_start_info": begun}),
                (metadata.SESSION_END_INFO_TAG, {"session_end_info": done}),
            ):
                about = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**content))
                writer._add(global_step, None, tag=tag, metadata=about)
            for tag, number in metric_dict.items():
                writer.add_scalar(tag, number, global_step)

    def flush(self) -> None:
        """Have everything in the files."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Close the files; the next call opens another."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def __getattr__(self, name: str) -> Any:
        if name not in _ABSENT:
            raise AttributeError(f"'SummaryWriter' object has no attribute '{name}'")

        def missing(*args: Any, **kwargs: Any) -> NoReturn:
            raise NotImplementedError(
                f"SummaryWriter.{name}: jaxtorch has it with tensorboardX only: pip install tensorboardX"
            )

        return missing


_ABSENT = frozenset(
    """add_graph add_onnx_graph add_embedding add_audio add_video add_mesh add_pr_curve add_pr_curve_raw add_custom_scalars
    add_custom_scalars_marginchart add_custom_scalars_multilinechart add_image_with_boxes add_histogram_raw""".split()
)
