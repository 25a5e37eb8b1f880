"""`interpolate` and `grid_sample` as operations of `torch.ops.aten`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor.tensor import Tensor
from .._ops.nn import resampling
from .aten_backward import FUNCTIONS, _gradients

KINDS = {f"upsample_nearest{n}d": ("nearest", n) for n in (1, 2, 3)}
KINDS |= {f"_upsample_nearest_exact{n}d": ("nearest-exact", n) for n in (1, 2, 3)}
KINDS |= {"upsample_linear1d": ("linear", 1), "upsample_bilinear2d": ("bilinear", 2)}
KINDS |= {"upsample_trilinear3d": ("trilinear", 3), "upsample_bicubic2d": ("bicubic", 2)}
KINDS |= {"_upsample_bilinear2d_aa": ("bilinear", 2), "_upsample_bicubic2d_aa": ("bicubic", 2)}
KINDS |= {"_upsample_lanczos2d_aa": ("lanczos", 2)}


def _operation(name: str, mode: str) -> None:
    """Offer an operation `upsample_...` and its derivative."""
    aligned = not mode.startswith("nearest")

    def run(x: Tensor, size: Any, rest: Any) -> Tensor:
        align, *scales = rest if aligned else (False, *rest)
        factors = None if not scales or scales[0] is None else tuple(map(float, scales))
        return resampling._upsample(x, tuple(size), mode, bool(align), factors, name.endswith("_aa"))

    def forward(self: Tensor, output_size: Any, *rest: Any) -> Tensor:
        return run(self, output_size, rest)

    def backward(grad_output: Tensor, output_size: Any, input_size: Any, *rest: Any) -> Tensor:
        given = grad_output.new_zeros(input_size)
        return _gradients(lambda x: run(x, output_size, rest), [given], grad_output)[0]

    forward.__doc__, backward.__doc__ = f"`interpolate` with mode='{mode}'.", f"The gradient of `{name}`."
    FUNCTIONS[name], FUNCTIONS[f"{name}_backward"] = forward, backward


for _name, (_mode, _) in KINDS.items():
    _operation(_name, _mode)


MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def _sampled(n: int) -> Callable[..., Any]:
    def backward(
        grad_output: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool, output_mask: Any
    ) -> tuple[Any, Any]:
        modes, paddings = list(MODES), list(PADDINGS)

        def run(x: Tensor, g: Tensor) -> Tensor:
            return resampling._grid_sample(x, g, modes[mode], paddings[padding], align)

        first, second = _gradients(run, [input, grid], grad_output)
        return first if output_mask[0] else None, second

    backward.__doc__ = f"The gradients of `grid_sampler_{n}d`."
    return backward


for _n in (2, 3):
    FUNCTIONS[f"grid_sampler_{_n}d_backward"] = _sampled(_n)
