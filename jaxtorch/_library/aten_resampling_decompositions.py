"""The decompositions of `interpolate` and `grid_sample` (see `aten_decompositions.py`), and the derivatives of their operations."""

from __future__ import annotations

from typing import Any

from .._core.dispatch.torch_dispatch import Derivative, refused, rules
from .._core.tensor.tensor import Tensor
from .aten_decompositions import aten, made_of
from .aten_derivatives import of
from .aten_resampling import KINDS, MODES, PADDINGS


def _differentiate(name: str) -> None:
    @of(name)
    def derivative(c: Derivative, self: Tensor, output_size: Any, *rest: Any) -> Any:
        return aten(f"{name}_backward")(c.grad, output_size, list(self.shape), *rest)


for _name in KINDS:
    _differentiate(_name)


@made_of("_upsample")
def _upsample(input: Tensor, size: Any, mode: str, align_corners: bool, factors: Any, antialias: bool) -> Tensor:
    n = input.dim() - 2
    if mode == "area":
        if n != 2:
            raise refused(f"'interpolate' with mode='area' of {n + 2} dimensions")
        return rules["adaptive_avg_pool2d"](input, list(size))
    name = next(k for k, v in KINDS.items() if v == (mode, n) and k.endswith("_aa") is bool(antialias))
    rest = [] if mode.startswith("nearest") else [align_corners]
    return aten(name)(input, list(size), *rest, *([] if factors is None else factors))


@made_of("_grid_sample")
def _grid_sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    if grid.dim() != input.dim() or input.dim() not in (4, 5):
        raise refused("'grid_sample' of other than 4 or 5 dimensions")
    name = f"grid_sampler_{input.dim() - 2}d"
    return aten(name)(input, grid, MODES[mode], PADDINGS[padding_mode], align_corners)


def _differentiate_sampler(n: int) -> None:
    name = f"grid_sampler_{n}d"

    @of(name)
    def derivative(c: Derivative, input: Tensor, grid: Tensor, mode: int, padding: int, align: bool) -> Any:
        return aten(f"{name}_backward")(c.grad, input, grid, mode, padding, align, c.mask(input, grid))


_differentiate_sampler(2)
_differentiate_sampler(3)
