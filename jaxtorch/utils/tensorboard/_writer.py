"""`SummaryWriter` over the package tensorboard, for where tensorboardX is not installed: the calls that most programs make.

Event files, their queue and their thread are tensorboard's own; what is here turns tensors into its messages.
"""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from typing import Any, NoReturn

import numpy as np
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import _graph, _messages, _projector

__all__ = ["FileWriter", "SummaryWriter"]


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
    """Scalars, histograms, images, figures, sounds, texts, graphs and the rest for TensorBoard, in a folder's event file.

    log_dir: runs/TIME_HOST + `comment` where not given. Not here, but in tensorboardX's: `add_onnx_graph`.
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
        self._embeddings: list[Any] = []
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
        number = _messages.number(scalar_value)
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
            value = Summary.Value(tag=main_tag, simple_value=_messages.number(number))
            self.all_writers[folder].add_summary(Summary(value=[value]), global_step, walltime)

    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """A tensor with its values."""
        content = _messages.floats(_messages.as_array(tensor).astype(np.float32))
        data = SummaryMetadata.PluginData(plugin_name="tensor")
        self._add(global_step, walltime, tag=tag, tensor=content, metadata=SummaryMetadata(plugin_data=data))

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow", walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """How values are distributed. bins: as for `numpy.histogram`, or 'tensorflow'."""
        self._add(global_step, walltime, tag=tag, histo=_messages.histogram(values, bins, max_bins))

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """An image: uint8, or numbers from 0 to 1; `dataformats` names its dimensions ('CHW', 'HWC', 'HW', ...)."""
        self._add(global_step, walltime, tag=tag, image=_messages.picture(img_tensor, dataformats))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A batch of images, eight side by side."""
        self._add(global_step, walltime, tag=tag, image=_messages.picture(img_tensor, dataformats))

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
        from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2

        if not isinstance(hparam_dict, dict) or not isinstance(metric_dict, dict):
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        given = {
            k: v if isinstance(v, (bool, str, int, float)) else _messages.number(v) for k, v in hparam_dict.items()
        }
        infos = []
        for name, value in given.items():
            kind = "STRING" if isinstance(value, str) else "FLOAT64"  # a bool is a number, as in PyTorch
            info = api_pb2.HParamInfo(name=name, type=api_pb2.DataType.Value(f"DATA_TYPE_{kind}"))
            field = "string_value" if isinstance(value, str) else "number_value"
            for choice in (hparam_domain_discrete or {}).get(name, ()):
                info.domain_discrete.values.add(**{field: choice})
            infos.append(info)
        metrics = [api_pb2.MetricInfo(name=api_pb2.MetricName(tag=m)) for m in metric_dict]
        with SummaryWriter(os.path.join(self.log_dir, run_name or str(time.time()))) as writer:
            begun = plugin_data_pb2.SessionStartInfo()
            for name, value in given.items():
                setattr(begun.hparams[name], "string_value" if isinstance(value, str) else "number_value", value)
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

    def add_histogram_raw(
        self, tag: str, min: Any, max: Any, num: Any, sum: Any, sum_squares: Any, bucket_limits: Any, bucket_counts: Any,
        global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """A histogram that was counted elsewhere. bucket_limits: the upper end of each bucket."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        limits, counts = (_messages.as_array(x).tolist() for x in (bucket_limits, bucket_counts))
        found = HistogramProto(
            min=min, max=max, num=num, sum=sum, sum_squares=sum_squares, bucket_limit=limits, bucket=counts
        )
        self._add(global_step, walltime, tag=tag, histo=found)

    def add_image_with_boxes(
        self, tag: str, img_tensor: Any, box_tensor: Any, global_step: Any = None, walltime: float | None = None,
        rescale: float = 1, dataformats: str = "CHW", labels: Any = None,
    ) -> None:  # fmt: skip
        """An image with red frames. box_tensor: (n, 4), left, top, right, bottom. labels: a text for each."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        boxes = _messages.as_array(box_tensor)
        self._add(
            global_step, walltime, tag=tag, image=_messages.picture(img_tensor, dataformats, boxes, labels, rescale)
        )

    def add_video(
        self, tag: str, vid_tensor: Any, global_step: Any = None, fps: float = 4, walltime: float | None = None
    ) -> None:
        """Clips (n, time, channels, height, width), side by side, as a GIF: uint8, or numbers from 0 to 1."""
        self._add(global_step, walltime, tag=tag, image=_messages.video(vid_tensor, fps))

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: amplitudes from -1 to 1."""
        self._add(global_step, walltime, tag=tag, audio=_messages.audio(snd_tensor, sample_rate))

    def add_pr_curve(
        self, tag: str, labels: Any, predictions: Any, global_step: Any = None, num_thresholds: int = 127, weights: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision against recall. labels: 0 or 1. predictions: from 0 to 1. num_thresholds: at most 127."""
        n = min(num_thresholds, 127)
        value = _messages.curve_value(tag, _messages.curve(labels, predictions, n, weights), n)
        self._get_file_writer().add_summary(Summary(value=[value]), global_step, walltime)

    def add_pr_curve_raw(
        self, tag: str, true_positive_counts: Any, false_positive_counts: Any, true_negative_counts: Any,
        false_negative_counts: Any, precision: Any, recall: Any, global_step: Any = None, num_thresholds: int = 127,
        weights: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Precision against recall, counted elsewhere: each (num_thresholds,)."""
        rows = (
            true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts, precision, recall
        )  # fmt: skip
        data = np.stack([_messages.as_array(row) for row in rows])
        value = _messages.curve_value(tag, data, min(num_thresholds, 127))
        self._get_file_writer().add_summary(Summary(value=[value]), global_step, walltime)

    def add_custom_scalars(self, layout: Any) -> None:
        """Which scalars share a chart: {category: {title: ['Multiline', tags] or ['Margin', [value, lower, upper]]}}."""
        self._get_file_writer().add_summary(Summary(value=[_messages.layout(layout)]))

    def add_custom_scalars_multilinechart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags: Any, category: str = "default", title: str = "untitled") -> None:
        """One chart of a scalar between two others: tags of value, lower and upper end."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self, tag: str, vertices: Any, colors: Any = None, faces: Any = None, config_dict: Any = None, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Points (batch, n, 3) in space, with colors, and with faces, triples of points, where they are a mesh."""
        values = _messages.mesh(tag, vertices, colors, faces, config_dict)
        self._get_file_writer().add_summary(Summary(value=values), global_step, walltime)

    def add_embedding(
        self, mat: Any, metadata: Any = None, label_img: Any = None, global_step: Any = None, tag: str = "default",
        metadata_header: Any = None,
    ) -> None:  # fmt: skip
        """Points (n, dim) for the projector, with a label or row of labels, and an image (n, channels, height, width), for each."""
        step = 0 if global_step is None else global_step
        _projector.write(
            self._get_file_writer().get_logdir(), self._embeddings, mat, metadata, label_img, step, tag, metadata_header
        )

    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The functions that a model calls, by module. The model runs once, without recording gradients."""
        event = Event(graph_def=_graph.of_model(model, input_to_model, verbose).SerializeToString())
        self._get_file_writer().add_event(event)

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


_ABSENT = frozenset(["add_onnx_graph"])
