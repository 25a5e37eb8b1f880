"""A batch normalisation in evaluation, merged into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ..._core.define.op import functions
from ..._core.tensor.tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse(w: Any, b: Any, mean: Any, var: Any, eps: float, scale: Any, shift: Any, shape: Any) -> tuple[Any, Any]:
    dtypes = w.dtype, w.dtype if b is None else b.dtype
    b = functions["zeros_like"](mean) if b is None else b
    scale = functions["ones_like"](mean) if scale is None else scale
    shift = functions["zeros_like"](mean) if shift is None else shift
    factor = scale * functions["rsqrt"](var + eps)
    weight = (w * factor.reshape(shape)).to(dtype=dtypes[0])
    bias = ((b - mean) * factor + shift).to(dtype=dtypes[1])
    return weight, bias


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the convolution that does both; `transpose`: of a transposed one."""
    shape = [1, -1] if transpose else [-1, 1]
    weight, bias = _fuse(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))
    needs = conv_w.requires_grad, conv_b is not None and conv_b.requires_grad
    return Parameter(weight.detach(), needs[0]), Parameter(bias.detach(), needs[1])


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of the convolution that does what both did; both in evaluation."""
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of the affine map that does both."""
    weight, bias = _fuse(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])
    needs = linear_w.requires_grad, linear_b is not None and linear_b.requires_grad
    return Parameter(weight.detach(), needs[0]), Parameter(bias.detach(), needs[1])


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of the linear layer that does what both did; both in evaluation."""
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(linear)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused
