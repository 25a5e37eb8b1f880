"""Float layers that follow one another, held as one module so that they are observed and quantised together."""

from __future__ import annotations

from typing import Any

from ..... import nn

__all__ = ["BNReLU2d", "BNReLU3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d",
           "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearReLU"]  # fmt: skip


class _FusedModule(nn.Sequential):
    _KINDS: tuple[type, ...] = ()
    _fused = True

    def __init__(self, *parts: Any) -> None:
        for part, kind in zip(parts, self._KINDS, strict=True):
            if type(part) is not kind:
                expected = " and ".join(k.__name__ for k in self._KINDS)
                raise AssertionError(
                    f"{type(self).__name__}: expected {expected}, but got {', '.join(type(p).__name__ for p in parts)}"
                )
        super().__init__(*parts)


def _fused(name: str, names: str, *kinds: type) -> Any:
    """A class of those modules, whose constructor names its arguments."""
    given = names.split()

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _FusedModule.__init__(self, *args, *[kwargs.pop(n) for n in given[len(args) :]], **kwargs)

    text = f"{' then '.join(k.__name__ for k in kinds)}, in one module."
    return type(name, (_FusedModule,), {"__init__": __init__, "__module__": __name__, "__doc__": text, "_KINDS": kinds})


ConvReLU1d = _fused("ConvReLU1d", "conv relu", nn.Conv1d, nn.ReLU)
ConvReLU2d = _fused("ConvReLU2d", "conv relu", nn.Conv2d, nn.ReLU)
ConvReLU3d = _fused("ConvReLU3d", "conv relu", nn.Conv3d, nn.ReLU)
LinearReLU = _fused("LinearReLU", "linear relu", nn.Linear, nn.ReLU)
ConvBn1d = _fused("ConvBn1d", "conv bn", nn.Conv1d, nn.BatchNorm1d)
ConvBn2d = _fused("ConvBn2d", "conv bn", nn.Conv2d, nn.BatchNorm2d)
ConvBn3d = _fused("ConvBn3d", "conv bn", nn.Conv3d, nn.BatchNorm3d)
ConvBnReLU1d = _fused("ConvBnReLU1d", "conv bn relu", nn.Conv1d, nn.BatchNorm1d, nn.ReLU)
ConvBnReLU2d = _fused("ConvBnReLU2d", "conv bn relu", nn.Conv2d, nn.BatchNorm2d, nn.ReLU)
ConvBnReLU3d = _fused("ConvBnReLU3d", "conv bn relu", nn.Conv3d, nn.BatchNorm3d, nn.ReLU)
BNReLU2d = _fused("BNReLU2d", "batch_norm relu", nn.BatchNorm2d, nn.ReLU)
BNReLU3d = _fused("BNReLU3d", "batch_norm relu", nn.BatchNorm3d, nn.ReLU)
LinearBn1d = _fused("LinearBn1d", "linear bn", nn.Linear, nn.BatchNorm1d)
