"""Resampling functions of `torch.nn.functional`: their arguments are checked here, the arithmetic is in
`_ops`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .._core.define.signature import need_kind
from .._core.tensor.tensor import Tensor
from .._core.types.size import need_sizes
from .._ops.nn import resampling as _resample

_MODES = {
    ("nearest", 3): "nearest", ("nearest", 4): "nearest", ("nearest", 5): "nearest",
    ("nearest-exact", 3): "nearest-exact", ("nearest-exact", 4): "nearest-exact",
    ("nearest-exact", 5): "nearest-exact", ("area", 3): "area", ("area", 4): "area", ("area", 5): "area",
    ("linear", 3): "linear", ("bilinear", 4): "bilinear", ("trilinear", 5): "trilinear",
    ("bicubic", 4): "bicubic", ("lanczos", 4): "lanczos",
}  # fmt: skip
_NEEDED = {"linear": 3, "bilinear": 4, "trilinear": 5}


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Resample the spatial dimensions of (N, C, *) to `size`, or by `scale_factor`.

    mode: 'nearest', 'nearest-exact', 'area', 'linear' (3-D input), 'bilinear', 'bicubic', 'lanczos' (4-D, with
    `antialias`), 'trilinear' (5-D).
    """
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | "
                "bicubic | trilinear"
            )
    elif align_corners is None:
        align_corners = False
    else:
        need_kind(f"upsample_{mode}", "align_corners", "bool", align_corners)
    n = input.dim() - 2
    computed = mode == "area" or bool(recompute_scale_factor)
    sizes, factors = _target_size(input, n, size, scale_factor, computed)
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and sizes is None:
        recompute_scale_factor = True
    if sizes is None:
        wanted = [float(s) * f for s, f in zip(tuple(input.shape)[2:], factors or (), strict=True)]
        if any(w >= 2.0**63 for w in wanted):
            raise RuntimeError("value cannot be converted to type int64_t without overflow")
        sizes = tuple(map(math.floor, wanted))
        if recompute_scale_factor:
            factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if (mode, input.dim()) not in _MODES:
        if mode in _NEEDED and 3 <= input.dim() <= 5:
            raise NotImplementedError(f"Got {input.dim()}D input, but {mode} mode needs {_NEEDED[mode]}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the modes: "
            "nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        what = "does not support align_corners=True" if align_corners else "requires antialias=True"
        raise ValueError(f"Lanczos mode {what}")
    need_sizes(f"upsample_{mode}", "output_size", sizes)
    return _resample._upsample(input, sizes, mode, bool(align_corners), factors, bool(antialias))


def _target_size(input: Tensor, n: int, size: Any, scale_factor: Any, computed: bool) -> tuple[Any, Any]:
    """(size, None) or (None, factors), one number for each spatial dimension. computed: the factors only give a size, so that
    they may be tensors."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    given, short = (size, "o") if size is not None else (scale_factor, "s")
    if given is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(given, (list, tuple)):
        if len(given) != n:
            shape = "output size in (o1, o2, ...,oK)" if short == "o" else "scale_factor in (s1, s2, ...,sK)"
            of = "output size of" if short == "o" else "scale_factor of shape"
            what = "output" if short == "o" else "scale_factor"
            raise ValueError(
                f"Input and {what} must have the same number of spatial dimensions, but got input with "
                "spatial dimensions "
                f"of {list(input.shape[2:])} and {of} {given}. Please provide input tensor in (N, C, d1, "
                "d2, ...,dK) format "
                f"and {shape} format."
            )
        values = tuple(given)
    else:
        values = (given,) * n
    if size is None and not computed and any(isinstance(v, str) for v in values):
        raise TypeError(
            f"interpolate(): argument 'scale_factor' must be a number for each dimension, not {scale_factor!r}"
        )
    if size is not None:
        for place, v in enumerate(values):
            if v.__class__ is not int and not (place and v.__class__ is bool and isinstance(given, (list, tuple))):
                need_kind("interpolate", "size", "int", v)
        return tuple(int(v) for v in values), None
    if not computed and any(isinstance(v, (Tensor, np.ndarray)) for v in values):
        raise TypeError(
            f"interpolate(): argument 'scale_factor' must be a number for each dimension, not {scale_factor!r}"
        )
    if not computed and not all(abs(v) * s < 2**63 for v, s in zip(values, input.shape[2:], strict=True)):
        raise RuntimeError("value cannot be converted to type int64_t without overflow")
    return None, tuple(float(v) for v in values)


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The old name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode='nearest')`."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """The old name of `interpolate(mode='bilinear', align_corners=True)`."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Sample (N, C, [D,] H, W) at the places in `grid` (N, [D,] H, W, 2 or 3), whose coordinates run from
    -1 to 1.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            "'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
    else:
        need_kind("grid_sampler", "align_corners", "bool", align_corners)
    return _resample._grid_sample(input, grid, mode, padding_mode, bool(align_corners))


def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    """The grid for `grid_sample` of affine maps `theta`, (N, 2, 3) or (N, 3, 4)."""
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since "
            "1.3.0. Please specify "
            "align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            stacklevel=2,
        )
    else:
        need_kind("affine_grid_generator", "align_corners", "bool", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    n = len(size) - 2
    if n not in (1, 2, 3) or n == 1:
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.dim() != 3 or theta.shape[-2] != n or theta.shape[-1] != n + 1:
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    if align_corners and 1 in size[-n:]:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. "
            "Please use affine_grid with align_corners=False if the grid of a size of 1 should be in the middle.",
            stacklevel=2,
        )
    return _resample._affine_grid(theta, tuple(size), bool(align_corners))
