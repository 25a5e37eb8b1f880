"""Image files as uint8 tensors (C, H, W), by Pillow: `torch.ops.image`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from .._core.tensor.tensor import Tensor, from_host

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}  # by the number of an ImageReadMode
_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}


def _bytes(name: str, data: Tensor) -> bytes:
    if data.ndim != 1 or str(data.dtype) != "torch.uint8":
        raise RuntimeError(f"{name}: expected a uint8 tensor of one dimension, got {data.dtype} of {data.ndim}")
    if not data.numel():
        raise RuntimeError(f"{name}: expected a non empty tensor")
    return data.detach().cpu().numpy().tobytes()


def read_file(filename: str) -> Tensor:
    """A file's bytes, uint8."""
    try:
        return from_host(np.frombuffer(Path(filename).read_bytes(), np.uint8).copy())
    except OSError as error:
        raise RuntimeError(f"[Errno {error.errno}] {error.strerror}: '{filename}'") from None


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    Path(filename).write_bytes(_bytes("write_file", data))


def _array(image: Any, mode: int) -> Any:
    """An opened image as (C, H, W)."""
    if mode in _MODES:
        image = image.convert(_MODES[mode])
    elif image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode.startswith("I;16") or image.mode == "I":
        return np.asarray(image).astype(np.uint16)[None]
    elif image.mode == "CMYK":
        image = image.convert("RGB")
    array = np.asarray(image)
    return array[None] if array.ndim == 2 else np.ascontiguousarray(array.transpose(2, 0, 1))


def _opened(name: str, data: Tensor, formats: list[str] | None, orient: bool) -> Any:
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(_bytes(name, data)), formats=formats)
        image.load()
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise RuntimeError(f"{name}: {error}") from None
    return ImageOps.exif_transpose(image) if orient else image


def _decoder(name: str, formats: list[str] | None, doc: str) -> Any:
    def decode(data: Tensor, mode: int = 0, apply_exif_orientation: bool = False) -> Tensor:
        image = _opened(name, data, formats, apply_exif_orientation)
        if image.format == "GIF":
            return decode_gif(data)
        return from_host(np.array(_array(image, mode)))

    decode.__name__ = decode.__qualname__ = name
    decode.__doc__ = doc
    return decode


decode_image = _decoder("decode_image", None, "An image of any format: (C, H, W).")
decode_jpeg = _decoder("decode_jpeg", ["JPEG"], "A JPEG image: (C, H, W).")
decode_png = _decoder("decode_png", ["PNG"], "A PNG image: (C, H, W).")
decode_webp = _decoder("decode_webp", ["WEBP"], "A WebP image: (C, H, W).")


def decode_gif(data: Tensor) -> Tensor:
    """A GIF image: (3, H, W), or (frames, 3, H, W) where it moves."""
    from PIL import ImageSequence

    frames = [_array(f, 3) for f in ImageSequence.Iterator(_opened("decode_gif", data, ["GIF"], False))]
    return from_host(np.stack(frames) if len(frames) > 1 else np.array(frames[0]))


def _encoded(name: str, data: Tensor, **options: Any) -> Tensor:
    from PIL import Image

    if str(data.dtype) != "torch.uint8":
        raise RuntimeError("Input tensor dtype should be uint8")
    if data.ndim != 3:
        raise RuntimeError("Input data should be a 3-dimensional tensor")
    if data.shape[0] not in (1, 3):
        raise RuntimeError(f"The number of channels should be 1 or 3, got: {data.shape[0]}")
    array = data.detach().cpu().numpy()
    image = Image.fromarray(array[0] if len(array) == 1 else np.ascontiguousarray(array.transpose(1, 2, 0)))
    found = io.BytesIO()
    image.save(found, **options)
    return from_host(np.frombuffer(found.getvalue(), np.uint8).copy())


def encode_jpeg(data: Tensor, quality: int = 75) -> Tensor:
    """The bytes of a JPEG file of (1 or 3, H, W)."""
    return _encoded("encode_jpeg", data, format="JPEG", quality=quality)


def encode_png(data: Tensor, compression_level: int = 6) -> Tensor:
    """The bytes of a PNG file of (1 or 3, H, W)."""
    return _encoded("encode_png", data, format="PNG", compress_level=compression_level)
