"""The operations of `torch.ops.torchvision` and `torch.ops.image` by their schemas, for `torch.ops.load_library`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import autograd
from . import boxes, deformable, images, regions

_ALIGN = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_SIZES = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask"
)
_CONVOLVED = "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias"


def _gradient(fn: Callable[..., Any], grad: Any, shape: Any, *args: Any) -> Any:
    """The gradient of the input, of this shape, where `grad` is that of `fn(input, *args)`."""
    with autograd.enable_grad():
        x = grad.new_zeros(shape).requires_grad_()
        out = fn(x, *args)
        return autograd.grad(out[0] if isinstance(out, tuple) else out, x, grad)[0]


def _roi_align_backward(
    grad: Any, rois: Any, scale: float, ph: int, pw: int, n: int, c: int, h: int, w: int, ratio: int, aligned: bool
) -> Any:
    return _gradient(regions.roi_align, grad, (n, c, h, w), rois, scale, ph, pw, ratio, aligned)


def _roi_pool_backward(
    grad: Any, rois: Any, argmax: Any, scale: float, ph: int, pw: int, n: int, c: int, h: int, w: int
) -> Any:
    """`argmax` says which pixels had been the largest."""
    at = argmax.long()
    image = rois[:, 0].long()[:, None, None, None]
    channel = at.new_tensor(range(c))[None, :, None, None]
    place = (image * c + channel) * (h * w) + at.clamp(min=0)
    found = grad.new_zeros(n * c * h * w).index_add(0, place.reshape(-1), (grad * (at >= 0)).reshape(-1))
    return found.reshape(n, c, h, w)


def _ps_roi_align_backward(
    grad: Any, rois: Any, _: Any, scale: float, ph: int, pw: int, ratio: int, n: int, c: int, h: int, w: int
) -> Any:
    return _gradient(regions.ps_roi_align, grad, (n, c, h, w), rois, scale, ph, pw, ratio)


def _ps_roi_pool_backward(
    grad: Any, rois: Any, _: Any, scale: float, ph: int, pw: int, n: int, c: int, h: int, w: int
) -> Any:
    return _gradient(regions.ps_roi_pool, grad, (n, c, h, w), rois, scale, ph, pw)


def _deform_conv2d_backward(grad: Any, *args: Any) -> Any:
    with autograd.enable_grad():
        leaves = [t.detach().requires_grad_() for t in args[:5]]
        found = autograd.grad(deformable.deform_conv2d(*leaves, *args[5:]), leaves, grad, allow_unused=True)
    return tuple(t.new_zeros(t.shape) if g is None else g for t, g in zip(leaves, found, strict=True))


def _absent(name: str) -> Callable[..., Any]:
    def missing(*args: Any) -> Any:
        raise NotImplementedError(f"torchvision::{name}: jaxtorch does not have this operation")

    return missing


_PARTS = f"Tensor rois, Tensor channel_mapping, {_ALIGN}"
_RATIO = "int sampling_ratio"
TORCHVISION: dict[str, tuple[str, Callable[..., Any]]] = {
    "nms": ("Tensor dets, Tensor scores, float iou_threshold) -> Tensor", boxes.nms),
    "roi_align": (f"Tensor input, Tensor rois, {_ALIGN}, {_RATIO}, bool aligned) -> Tensor", regions.roi_align),
    "_roi_align_backward": (
        f"Tensor grad, Tensor rois, {_ALIGN}, {_SIZES}, {_RATIO}, bool aligned) -> Tensor",
        _roi_align_backward,
    ),
    "roi_pool": (f"Tensor input, Tensor rois, {_ALIGN}) -> (Tensor, Tensor)", regions.roi_pool),
    "_roi_pool_backward": (
        f"Tensor grad, Tensor rois, Tensor argmax, {_ALIGN}, {_SIZES}) -> Tensor",
        _roi_pool_backward,
    ),
    "ps_roi_align": (f"Tensor input, Tensor rois, {_ALIGN}, {_RATIO}) -> (Tensor, Tensor)", regions.ps_roi_align),
    "_ps_roi_align_backward": (f"Tensor grad, {_PARTS}, {_RATIO}, {_SIZES}) -> Tensor", _ps_roi_align_backward),
    "ps_roi_pool": (f"Tensor input, Tensor rois, {_ALIGN}) -> (Tensor, Tensor)", regions.ps_roi_pool),
    "_ps_roi_pool_backward": (f"Tensor grad, {_PARTS}, {_SIZES}) -> Tensor", _ps_roi_pool_backward),
    "deform_conv2d": (f"{_CONVOLVED}, {_DEFORM}) -> Tensor", deformable.deform_conv2d),
    "_deform_conv2d_backward": (
        f"Tensor grad, {_CONVOLVED}, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
        _deform_conv2d_backward,
    ),
    "box_iou_rotated": ("Tensor boxes1, Tensor boxes2) -> Tensor", _absent("box_iou_rotated")),
    "qnms": ("Tensor dets, Tensor scores, float iou_threshold) -> Tensor", _absent("qnms")),
    "qroi_align": (f"Tensor input, Tensor rois, {_ALIGN}, {_RATIO}, bool aligned) -> Tensor", _absent("qroi_align")),
    "_cuda_version": (") -> int", lambda: -1),
}
_DECODE = "Tensor data, int mode=0, bool apply_exif_orientation=False"
IMAGE: dict[str, tuple[str, Callable[..., Any]]] = {
    "read_file": ("str filename) -> Tensor", images.read_file),
    "write_file": ("str filename, Tensor data) -> ()", images.write_file),
    "decode_image": (f"{_DECODE}) -> Tensor", images.decode_image),
    "decode_jpeg": (f"{_DECODE}) -> Tensor", images.decode_jpeg),
    "decode_png": (f"{_DECODE}) -> Tensor", images.decode_png),
    "decode_webp": ("Tensor data, int mode=0) -> Tensor", images.decode_webp),
    "decode_gif": ("Tensor data) -> Tensor", images.decode_gif),
    "encode_jpeg": ("Tensor data, int quality) -> Tensor", images.encode_jpeg),
    "encode_png": ("Tensor data, int compression_level) -> Tensor", images.encode_png),
}
OPERATIONS: dict[str, dict[str, Callable[..., Any]]] = {
    namespace: {f"{name}({schema}": fn for name, (schema, fn) in operations.items()}
    for namespace, operations in (("torchvision", TORCHVISION), ("image", IMAGE))
}
