"""The files that TensorBoard's projector reads: points, their labels and pictures, and a configuration that names them."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from ._messages import as_array, side_by_side


def write(
    folder: str, known: list[Any], mat: Any, metadata: Any, images: Any, step: Any, tag: str, header: Any
) -> None:
    """Write points (n, dim), and the configuration of all `known` embeddings, of which these become one."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector import projector_config_pb2 as config

    points = as_array(mat)
    place = f"{str(step).zfill(5)}/{_encoded(tag)}"
    path = os.path.join(folder, place)
    if os.path.isdir(path):
        print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
    elif os.path.exists(path):
        raise NotADirectoryError(f"Path: `{path}` exists, but is a file. Cannot proceed.")
    os.makedirs(path, exist_ok=True)
    info = config.EmbeddingInfo(tensor_name=f"{tag}:{str(step).zfill(5)}", tensor_path=f"{place}/tensors.tsv")
    if metadata is not None:
        if len(metadata) != len(points):
            raise AssertionError("#labels should equal with #data points")
        _lines(os.path.join(path, "metadata.tsv"), _labels(metadata, header))
        info.metadata_path = f"{place}/metadata.tsv"
    if images is not None:
        if len(images) != len(points):
            raise AssertionError("#images should equal with #data points")
        _sprite(os.path.join(path, "sprite.png"), as_array(images))
        info.sprite.image_path = f"{place}/sprite.png"
        info.sprite.single_image_dim.extend([images.shape[3], images.shape[2]])
    if points.ndim != 2:
        raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
    _lines(os.path.join(path, "tensors.tsv"), ["\t".join(str(x.item()) for x in row) for row in points])
    known.append(info)
    text = text_format.MessageToString(config.ProjectorConfig(embeddings=known))
    with open(os.path.join(folder, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(text)


def _encoded(tag: str) -> str:
    """A tag as the name of one folder."""
    for c in "%/\\":
        tag = tag.replace(c, f"%{ord(c):02x}")
    return tag


def _labels(metadata: Any, header: Any) -> list[str]:
    if not header:
        return [str(x) for x in metadata]
    if len(header) != len(metadata[0]):
        raise AssertionError("len of header must be equal to the number of columns in metadata")
    return ["\t".join(str(x) for x in row) for row in [header, *metadata]]


def _lines(path: str, lines: list[str]) -> None:
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join(lines) + "\n")


def _sprite(path: str, images: np.ndarray) -> None:
    """All pictures in one square, from (n, 1 or 3, height, width)."""
    from PIL import Image

    images = images.transpose(0, 2, 3, 1)
    images = images.repeat(3, 3) if images.shape[3] == 1 else images
    found = side_by_side(images, math.ceil(len(images) ** 0.5))
    square = np.zeros((found.shape[1], found.shape[1], 3))
    square[: len(found)] = found
    Image.fromarray((square * 255).clip(0, 255).astype(np.uint8)).save(path, "PNG")
