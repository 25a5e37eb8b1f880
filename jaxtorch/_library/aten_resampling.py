"""`interpolate` and `grid_sample` as operations of `torch.ops.aten`, with their rules (see `aten_rules.py`) and derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.dispatch.torch_dispatch import Derivative, refused, rules
from .._core.tensor.tensor import Tensor
from .._ops import resample
from .aten_backward import FUNCTIONS, _gradients
from .aten_gradients import of
from .aten_rules import aten, made_of

_KINDS = {f"upsample_nearest{n}d": ("nearest", n) for n in (1, 2, 3)}
_KINDS |= {f"_upsample_nearest_exact{n}d": ("nearest-exact", n) for n in (1, 2, 3)}
_KINDS |= {"upsample_linear1d": ("linear", 1), "upsample_bilinear2d": ("bilinear", 2)}
_KINDS |= {"upsample_trilinear3d": ("trilinear", 3), "upsample_bicubic2d": ("bicubic", 2)}
_KINDS |= {"_upsample_bilinear2d_aa": ("bilinear", 2), "_upsample_bicubic2d_aa": ("bicubic", 2)}
_KINDS |= {"_upsample_lanczos2d_aa": ("lanczos", 2)}


def _operation(name: str, mode: str, n: int) -> None:
    """Offer an operation `upsample_...` and its derivative."""
    aligned = not mode.startswith("nearest")

    def run(x: Tensor, size: Any, rest: Any) -> Tensor:
        align, *scales = rest if aligned else (False, *rest)
        factors = None if not scales or scales[0] is None else tuple(map(float, scales))
        return resample._upsample(x, tuple(size), mode, bool(align), factors, name.endswith("_aa"))

    def forward(self: Tensor, output_size: Any, *rest: Any) -> Tensor:
        return run(self, output_size, rest)

    def backward(grad_output: Tensor, output_size: Any, input_size: Any, *rest: Any) -> Tensor:
        given = grad_output.new_zeros(input_size)
        return _gradients(lambda x: run(x, output_size, rest), [given], grad_output)[0]

    forward.__doc__, backward.__doc__ = f"`interpolate` with mode='{mode}'.", f"The gradient of `{name}`."
    FUNCTIONS[name], FUNCTIONS[f"{name}_backward"] = forward, backward

    @of(name)
    def derivative(c: Derivative, self: Tensor, output_size: Any, *rest: Any) -> Any:
        return aten(f"{name}_backward")(c.grad, output_size, list(self.shape), *rest)


for _name, (_mode, _n) in _KINDS.items():
    _operation(_name, _mode, _n)


@made_of("_upsample")
def _upsample(input: Tensor, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Tensor:
    n = input.dim() - 2
    if mode == "area":
        if n != 2:
            raise refused(f"'interpolate' with mode='area' of {n + 2} dimensions")
        return rules["adaptive_avg_pool2d"](input, list(size))
    name = next(k for k, v in _KINDS.items() if v == (mode, n) and k.endswith("_aa") is bool(antialias))
    rest = [] if mode.startswith("nearest") else [align_corners]
    return aten(name)(input, list(size), *rest, *([] if factors is None else factors))


_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


@made_of("_grid_sample")
def _grid_sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    if grid.dim() != input.dim() or input.dim() not in (4, 5):
        raise refused("'grid_sample' of other than 4 or 5 dimensions")
    name = f"grid_sampler_{input.dim() - 2}d"
    return aten(name)(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


def _sampled(n: int) -> Callable[..., Any]:
    def backward(
        grad_output: Tensor, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool, output_mask: Any
    ) -> tuple[Any, Any]:
        modes, paddings = list(_MODES), list(_PADDINGS)

        def run(x: Tensor, g: Tensor) -> Tensor:
            return resample._grid_sample(x, g, modes[mode], paddings[padding], align)

        first, second = _gradients(run, [input, grid], grad_output)
        return first if output_mask[0] else None, second

    backward.__doc__ = f"The gradients of `grid_sampler_{n}d`."
    return backward


def _sampler(n: int) -> None:
    name = f"grid_sampler_{n}d"
    FUNCTIONS[f"{name}_backward"] = _sampled(n)

    @of(name)
    def derivative(c: Derivative, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Any:
        return aten(f"{name}_backward")(c.grad, input, grid, mode, padding, align, c.mask(input, grid))


_sampler(2)
_sampler(3)
