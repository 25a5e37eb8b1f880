"""Non-maximum suppression of boxes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core.run.runner import concrete_array
from .._core.tensor.tensor import Tensor, from_host
from .._ops.common.rules import unsupported


def _need(dets: Tensor, scores: Tensor) -> None:
    if dets.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {dets.ndim}D")
    if dets.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {dets.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if dets.shape[0] != scores.shape[0]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{dets.shape[0]} and {scores.shape[0]}"
        )
    if dets.dtype is not scores.dtype:
        raise RuntimeError("dets should have the same type as scores")


_BLOCK = 128  # boxes that are compared with all others at a time


def _kept(boxes: Any, limit: float) -> Any:
    """Which of the boxes, the best first, overlap no better one that is kept by more than `limit` of their union."""
    x1, y1, x2, y2 = np.ascontiguousarray(boxes.T)
    kept = np.ones(len(boxes), bool)
    with np.errstate(all="ignore"):
        areas = (x2 - x1) * (y2 - y1)
        limit = areas.dtype.type(limit)
        for begin in range(0, len(boxes), _BLOCK):
            rest = begin + np.flatnonzero(kept[begin:])
            some = rest[: np.searchsorted(rest, begin + _BLOCK)]
            one = some[:, None]
            wide = np.minimum(x2[one], x2[rest]) - np.maximum(x1[one], x1[rest])
            high = np.minimum(y2[one], y2[rest]) - np.maximum(y1[one], y1[rest])
            shared = np.maximum(wide, 0) * np.maximum(high, 0)
            over = shared / (areas[one] + areas[rest] - shared) > limit
            over &= some[:, None] < rest
            stays = np.ones(len(some), bool)
            for k in range(len(some)):
                if stays[k]:
                    stays[over[k, : len(some)]] = False
            kept[some] = stays
            kept[rest[over[stays].any(0)]] = False
    return kept


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The numbers of the boxes (N, 4; x1, y1, x2, y2) that remain, by falling scores (N,): int64.

    A box goes whose intersection with a better one is more than `iou_threshold` of their union. Computed on the host.
    """
    _need(dets, scores)
    boxes, worth = (concrete_array(t.detach()._array(), "torchvision::nms") for t in (dets, scores))
    if boxes.dtype not in (np.float32, np.float64):
        unsupported("nms_kernel", boxes)
    order = np.argsort(-np.where(np.isnan(worth), np.inf, worth), kind="stable")
    kept = order[_kept(boxes[order], iou_threshold)].astype(np.int64)
    return from_host(kept, dets._value.aval.slot.device)
